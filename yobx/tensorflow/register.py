"""Registry of converters, one per TensorFlow op type.

A converter has the signature ``(g, sts, outputs, op[, verbose]) -> name``: it writes ONNX nodes
with ``g.op.<OpType>(...)`` so that every name of ``outputs`` is produced, and returns the name of
the primary one. TensorFlow is not imported here, so that the registry can be listed quickly.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from yobx.xbuilder.converters import misfit_of, place_of

__all__ = [
    "TF_OP_CONVERTERS",
    "ConverterRegistration",
    "accepts_verbose",
    "dtypes_of",
    "get_tf_op_converter",
    "get_tf_op_converters",
    "get_tf_op_registration",
    "get_tf_op_registrations",
    "register_tf_op_converter",
]

Converter = Callable[..., Any]
_F = TypeVar("_F", bound=Converter)

#: Op type -> converter. Filled by :func:`register_tf_op_converter`.
TF_OP_CONVERTERS: dict[str, Converter] = {}


@dataclass(frozen=True)
class ConverterRegistration:
    """What is known of one registered op type.

    Attributes:
        op_type: TensorFlow op type, for example ``"MatMul"``.
        converter: The converter function.
        dtypes: TensorFlow dtype names that the converter takes (``"float32"``, ...), compared with
            the dtype of every input and output of the op; ``None`` means that nothing was declared.
        place: ``module.function (file:line)`` of the converter.
        by_attribute: Type attribute (``"T"``) -> dtype names, where they were declared so; only
            these attributes are compared then, and ``dtypes`` is all of them together.
    """

    op_type: str
    converter: Converter
    dtypes: frozenset[str] | None
    place: str
    by_attribute: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def undeclared(self, op: Any) -> list[str]:
        """Returns the dtypes of an operation that the converter does not declare, each once."""
        if self.dtypes is None:
            return []
        if not self.by_attribute:
            return list(dict.fromkeys(n for n in dtypes_of(op) if n not in self.dtypes))
        found: dict[str, None] = {}
        for name, declared in self.by_attribute.items():
            value = op.get_attr(name)
            kinds = value if isinstance(value, list) else [value]
            found.update((kind.name, None) for kind in kinds if kind.name not in declared)
        return list(found)


def dtypes_of(op: Any) -> list[str]:
    """Lists the dtypes of an operation, each once, inputs first; that of what a reference is to."""
    return list(dict.fromkeys(t.dtype.base_dtype.name for t in (*op.inputs, *op.outputs)))


_REGISTRATIONS: dict[str, ConverterRegistration] = {}


def misfit_of_converter(function: object) -> str:
    """Tells why a converter cannot be called as converters are, or ``""``."""
    optional = ("verbose",) if callable(function) and accepts_verbose(function) else ()
    parameters = ("g", "sts", "outputs", "op")
    return misfit_of(function, parameters, optional, also=", and verbose=0 if it likes")


def register_tf_op_converter(
    names: str | tuple[str, ...],
    *,
    dtypes: Iterable[str] | Mapping[str, Iterable[str]] | None = None,
) -> Callable[[_F], _F]:
    """Registers the decorated function as the converter of one or several TensorFlow op types.

    Args:
        names: An op type, or a tuple of op types that share the converter.
        dtypes: Names of the TensorFlow dtypes the converter takes, for all inputs and outputs
            (``("float32",)``) or for each type attribute (``{"T": ("float32",)}``). An op with
            another dtype is refused before the converter is called. ``None`` declares nothing and
            checks nothing.

    Returns:
        The decorator; it returns the function unchanged.

    Raises:
        TypeError: If an op type already has a converter, or occurs twice in ``names``, if
            ``names`` is not a string or a tuple of strings, or if the function cannot be called as
            converters are.
    """
    op_types = (names,) if isinstance(names, str) else names
    if (
        not isinstance(op_types, tuple)
        or not op_types
        or not all(isinstance(name, str) and name for name in op_types)
    ):
        raise TypeError(
            "register_tf_op_converter takes an op type or a non-empty tuple of op types, "
            f"received names={names!r}. Write e.g. @register_tf_op_converter(('Relu', 'Relu6'))."
        )
    if isinstance(dtypes, str):
        raise TypeError(
            f"dtypes is a collection of dtype names, received dtypes={dtypes!r}. "
            f"Write dtypes=({dtypes!r},)."
        )
    by_attribute: dict[str, frozenset[str]] = {}
    if isinstance(dtypes, Mapping):
        by_attribute = {name: frozenset(kinds) for name, kinds in dtypes.items()}
        dtypes = frozenset().union(*by_attribute.values())
    declared = None if dtypes is None else frozenset(dtypes)

    def decorate(function: _F) -> _F:
        why = misfit_of_converter(function)
        if why:
            raise TypeError(
                f"{why}, registered for {', '.join(map(repr, op_types))}. "
                "Try def convert(g, sts, outputs, op): ..."
            )
        place = place_of(function)
        for op_type in op_types:
            if op_type in TF_OP_CONVERTERS:
                known = _REGISTRATIONS.get(op_type)
                first = known.place if known else place_of(TF_OP_CONVERTERS[op_type])
                raise TypeError(
                    f"An op type has one converter. {op_type!r} is registered by {first} and again "
                    f"by {place}. Remove one of them, or pass yours to "
                    "to_onnx(..., extra_converters=...), which takes priority over the registry."
                )
            TF_OP_CONVERTERS[op_type] = function
            _REGISTRATIONS[op_type] = ConverterRegistration(
                op_type, function, declared, place, by_attribute
            )
        return function

    return decorate


def get_tf_op_converter(name: str) -> Converter | None:
    """Returns the converter registered for the op type ``name``, or ``None``."""
    return TF_OP_CONVERTERS.get(name)


def get_tf_op_converters() -> dict[str, Converter]:
    """Returns a copy of the registry: op type -> converter."""
    return dict(TF_OP_CONVERTERS)


def get_tf_op_registration(name: str) -> ConverterRegistration | None:
    """Returns the record kept for the op type ``name``, or ``None``."""
    return _REGISTRATIONS.get(name)


def get_tf_op_registrations() -> dict[str, ConverterRegistration]:
    """Returns a copy of the records: op type -> registration."""
    return dict(_REGISTRATIONS)


def accepts_verbose(function: Converter) -> bool:
    """Tells whether a converter takes the optional fifth argument ``verbose``."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return True
    return "verbose" in parameters
