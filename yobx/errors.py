"""One tree of exceptions, each carrying what a program needs to react to it.

Every message answers four questions: which rule is broken, what was received, where, and what to
try. The same facts are available as attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "ArgumentError",
    "ConversionError",
    "GraphError",
    "InternalError",
    "InvalidModelError",
    "OpOccurrence",
    "ShapeContradictionError",
    "ShapeError",
    "TraceError",
    "UnreadableModelError",
    "UnsupportedAttributeError",
    "UnsupportedDtypeError",
    "UnsupportedOpError",
    "UnsupportedOpsetError",
    "VerificationError",
    "YobxError",
]


class YobxError(Exception):
    """Base of every exception that yobx raises on purpose.

    Attributes:
        said: The message without what to try.
        hint: What to try, or ``""``; the text of the exception ends with it.
    """

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(f"{message} {hint}" if hint else message)
        self.said = message
        self.hint = hint


class InternalError(YobxError):
    """A fault of yobx itself; please report it with the message and a small model."""


class ArgumentError(YobxError, ValueError):
    """An argument of a public function is wrong; the message names it and what is accepted.

    Attributes:
        argument: Name of the offending argument.
    """

    def __init__(self, message: str, *, argument: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.argument = argument


class GraphError(YobxError):
    """The graph builder was asked for something that is not a valid ONNX graph.

    Attributes:
        op_type: ONNX operator being added, or ``""``.
        value: Name of the value concerned, or ``""``.
    """

    def __init__(self, message: str, *, op_type: str = "", value: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.op_type = op_type
        self.value = value


class InvalidModelError(YobxError):
    """An ONNX model handed in is malformed: unreadable, cyclic, or with a missing input."""


class UnreadableModelError(InvalidModelError, ArgumentError):
    """A file is there and holds no whole model of its kind: it is cut off, corrupt, or another."""


class ShapeError(YobxError):
    """Shape inference met a node that cannot be valid.

    Attributes:
        node: Description of the node (operator, name, index).
        value: Name of the value concerned, or ``""``.
    """

    def __init__(self, message: str, *, node: str = "", value: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.node = node
        self.value = value


class ShapeContradictionError(ShapeError):
    """Two statements about one value exclude each other; the message names both sources."""


class ConversionError(YobxError):
    """A model could not be converted. Nothing was written."""


class TraceError(ConversionError):
    """The model itself failed while the framework traced it; the cause is chained.

    Attributes:
        sizes: Where it fails for a dynamic size alone: which, and where, in one sentence.
        instead: What to write there instead.
    """

    def __init__(self, message: str, *, sizes: str = "", instead: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.sizes = sizes
        self.instead = instead


@dataclass(frozen=True)
class OpOccurrence:
    """One place in the source model where an operation occurs.

    Attributes:
        op_type: Operation type in the source framework, for example ``"Betainc"``.
        name: Name of the operation.
        layer: Layer path or call stack that produced it, or ``""``.
        detail: Dtypes, shapes or attributes worth showing, or ``""``.
    """

    op_type: str
    name: str
    layer: str = ""
    detail: str = ""


class UnsupportedOpError(ConversionError):
    """The model holds operations without a converter; all of them are listed.

    Attributes:
        occurrences: Every place where such an operation occurs.
    """

    def __init__(
        self, message: str, occurrences: Sequence[OpOccurrence] = (), *, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.occurrences = tuple(occurrences)


class UnsupportedDtypeError(ConversionError):
    """An operation is used with a dtype its converter does not declare.

    Attributes:
        occurrence: Where it occurs.
        supported: Dtypes that work.
    """

    def __init__(
        self,
        message: str,
        occurrence: OpOccurrence | None = None,
        supported: Sequence[str] = (),
        *,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.occurrence = occurrence
        self.supported = tuple(supported)


class UnsupportedAttributeError(ConversionError):
    """An operation has an attribute value that cannot be expressed in ONNX.

    Attributes:
        occurrence: Where it occurs.
    """

    def __init__(
        self, message: str, occurrence: OpOccurrence | None = None, *, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.occurrence = occurrence


class UnsupportedOpsetError(GraphError, ConversionError):
    """The target opset has no such operator or attribute, or onnxruntime none of this opset.

    Attributes:
        since: The oldest opset that has it.
        until: The newest opset for which onnxruntime has it; `None` if for all newer ones too.
    """

    def __init__(
        self,
        message: str,
        *,
        since: int,
        until: int | None = None,
        op_type: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, op_type=op_type, hint=hint)
        self.since = since
        self.until = until


class VerificationError(YobxError, AssertionError):
    """A converted model does not do what its original does; the message shows where."""
