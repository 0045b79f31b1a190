"""One conversion under way: its converters, its place in the source model, its resources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from yobx.errors import (
    ArgumentError,
    ConversionError,
    InternalError,
    OpOccurrence,
    UnsupportedDtypeError,
    UnsupportedOpError,
)
from yobx.onnx_optim import TensorType
from yobx.tensorflow.layers import LayerIndex
from yobx.tensorflow.register import (
    ConverterRegistration,
    accepts_verbose,
    dtypes_of,
    get_tf_op_converter,
    get_tf_op_registration,
    get_tf_op_registrations,
)
from yobx.tensorflow.tensorflow_helper import onnx_type
from yobx.words import nearest
from yobx.xbuilder import GraphBuilder

__all__ = ["Conversion", "current_conversion"]

_Call = tuple[Callable[..., Any], bool, ConverterRegistration | None]
_CURRENT: ContextVar[Conversion | None] = ContextVar("yobx_tensorflow_conversion", default=None)


def current_conversion() -> Conversion:
    """Returns the conversion that is under way.

    Raises:
        InternalError: If there is none: converters run inside ``to_onnx`` only.
    """
    found = _CURRENT.get()
    if found is None:
        raise InternalError(
            "A converter is called by to_onnx. Received: a call outside of any conversion."
        )
    return found


class _Noting:
    """Adds the place in the model to whatever a converter raises."""

    def __init__(self, op_type: str, name: str) -> None:
        self._note = f"While converting {op_type} {name!r}."

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(self._note)


@dataclass
class Conversion:
    """What converters of nested bodies share with the outermost one.

    Attributes:
        extra_converters: Converters that the caller brings; they come before the registry.
        layers: For the layer path of an operation.
        verbose: Verbosity level.
        on_op: Called with every operation of the outermost graph once it is converted.
        joined: A list of elements of several lengths, for which the vector of these lengths stands
            -> the elements one behind the other.
        shaped: A list -> whether its elements have their shape: a truth, or a boolean scalar; one
            that is not here has it.
        uneven: A list whose elements cannot be one tensor -> what was written to it.
        written: A boolean scalar of ``shaped`` -> the shapes of elements that were written where
            it was asked.
    """

    extra_converters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    layers: LayerIndex = field(default_factory=LayerIndex)
    verbose: int = 0
    on_op: Callable[[Any], None] = lambda op: None
    joined: dict[str, str] = field(default_factory=dict)
    shaped: dict[str, bool | str] = field(default_factory=dict)
    uneven: dict[str, str] = field(default_factory=dict)
    written: dict[str, list[Any]] = field(default_factory=dict)
    _resources: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    _places: list[str] = field(default_factory=list)
    _graphs: list[Any] = field(default_factory=list)
    _calls: dict[str, _Call] = field(default_factory=dict)

    @contextmanager
    def active(self) -> Iterator[Conversion]:
        """Makes this the current conversion inside the ``with`` block."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)

    # -- where we are -----------------------------------------------------------------------

    @contextmanager
    def inside(self, graph: Any, place: str, resources: Mapping[str, Any]) -> Iterator[None]:
        """Enters the body of a function.

        Args:
            graph: Graph of the body.
            place: Name of the operation that refers to it; ``""`` for the outermost graph.
            resources: Names of resource tensors of the body -> captured handles.

        Yields:
            Nothing.

        Raises:
            ConversionError: If the body is being converted already: the function calls itself.
        """
        if any(graph is other for other in self._graphs):
            raise ConversionError(
                "A function that calls itself has no ONNX form. Received: the function of "
                f"{self.place(place)!r}.",
                hint="Write the recursion as tf.while_loop.",
            )
        self._graphs.append(graph)
        self._resources.append(dict(resources))
        self._places.append(place)
        try:
            yield
        finally:
            self._places.pop()
            self._resources.pop()
            self._graphs.pop()

    @property
    def graph(self) -> Any:
        """The TensorFlow graph that is being converted."""
        return self._graphs[-1]

    def place(self, operation: str) -> str:
        """Returns the name of an operation with the calls that lead to it."""
        return "/".join([*(place for place in self._places if place), operation])

    def bind_resource(self, name: str, handle: Any) -> None:
        """Records the captured handle that a resource tensor of the current body stands for."""
        self._resources[-1][name] = handle

    def resource(self, name: str) -> Any | None:
        """Returns the captured eager handle of a resource tensor that is not a variable.

        Args:
            name: Name of the tensor in the current body, for example ``op.inputs[0].name``.

        Returns:
            The eager tensor, for example the handle of a hash table, or ``None`` if the name is
            no captured resource. Variables are initializers and are read like any value.
        """
        return self._resources[-1].get(name)

    def occurrence(self, op: Any) -> OpOccurrence:
        """Describes where an operation is, for an error."""
        name = self.place(op.name)
        return OpOccurrence(op.type, name, self.layers.path(name), ", ".join(dtypes_of(op)))

    # -- converting -------------------------------------------------------------------------

    def convert(self, g: GraphBuilder, op: Any, outputs: list[str], used: set[str]) -> None:
        """Converts one operation.

        Args:
            g: Builder to write to.
            op: The operation.
            outputs: Names that its converter must write to.
            used: Names of the tensors that something needs; others may be left out.

        Raises:
            UnsupportedOpError: If there is no converter.
            UnsupportedDtypeError: If the converter does not declare a dtype of the operation.
            ConversionError: If the converter leaves an output out or gives it another type.
        """
        function, with_verbose, registration = self._call_of(op)
        if registration is not None:
            self._check_dtypes(op, registration)
        name = self.place(op.name)
        here = g.provenance(op=op.type, name=name, layer=self.layers.path(name))
        with here, _Noting(op.type, name):
            if with_verbose:
                function(g, {}, outputs, op, verbose=self.verbose)
            else:
                function(g, {}, outputs, op)
        for tensor, output in zip(op.outputs, outputs, strict=True):
            self._check_output(g, op, tensor, output, is_used=tensor.name in used)

    def refuse_unknown(self) -> None:
        """Refuses converters for operations that do not exist: their names are misspelt.

        One for an operation that this model does not have may belong to another model, one with a
        dot in its name to a function of JAX.

        Raises:
            ArgumentError: If TensorFlow, with the libraries of operations that were loaded into it,
                has no such operation.
        """
        from tensorflow.python.framework import op_def_registry

        for name in self.extra_converters:
            if name in self._calls or "." in name or get_tf_op_converter(name) is not None:
                continue
            if op_def_registry.get(name) is None:
                known = (*self._calls, *get_tf_op_registrations())
                hint = nearest(name, self._calls, n=1) or nearest(name, known, n=1)
                raise ArgumentError(
                    "extra_converters names operations that exist. Received: "
                    f"{name!r}, which is no operation of TensorFlow and not in this model"
                    f"{f'; {hint}' if hint else '.'}",
                    argument="extra_converters",
                )

    def _call_of(self, op: Any) -> _Call:
        found = self._calls.get(op.type)
        if found is None:
            function = self.extra_converters.get(op.type)
            registration = None
            if function is None:
                function = get_tf_op_converter(op.type)
                registration = get_tf_op_registration(op.type)
            if function is None:
                occurrence = self.occurrence(op)
                raise UnsupportedOpError(
                    f"Every operation of a model needs a converter. Received: {op.type!r}, at "
                    f"{occurrence.name!r}.",
                    [occurrence],
                    hint=f"Pass extra_converters={{{op.type!r}: convert}}.",
                )
            found = self._calls[op.type] = (function, accepts_verbose(function), registration)
        return found

    def _check_dtypes(self, op: Any, registration: ConverterRegistration) -> None:
        odd = registration.undeclared(op)
        if not odd:
            return
        declared = registration.dtypes or frozenset()
        occurrence = self.occurrence(op)
        where = f" in layer {occurrence.layer!r}" if occurrence.layer else ""
        raise UnsupportedDtypeError(
            f"The converter of an operation says which dtypes it takes. Received: {op.type} of "
            f"dtype {', '.join(odd)} at {occurrence.name!r}{where}. Supported: "
            f"{', '.join(sorted(declared))}. Cast around the operation, or pass "
            f"extra_converters={{{op.type!r}: convert}}.",
            occurrence,
            sorted(declared),
        )

    def _check_output(
        self, g: GraphBuilder, op: Any, tensor: Any, output: str, *, is_used: bool
    ) -> None:
        if not g.has_name(output):
            if tensor.dtype.name in {"resource", "variant"} or not is_used:
                return
            raise ConversionError(
                "A converter writes to every output that is used. Received: the converter of "
                f"{op.type!r}, which left out {output!r} at {self.place(op.name)!r}.",
                hint="Pass outputs=outputs to the last g.op call, or g.alias(outputs[i], value).",
            )
        kind, wanted = g.get_type(output), onnx_type(tensor.dtype.base_dtype.name)
        if tensor.dtype.is_complex or wanted is None:
            return
        if kind not in (wanted, TensorType.kUndefined):
            raise ConversionError(
                "A converter keeps the dtype of an output. Received: the converter of "
                f"{op.type!r}, which made {output!r} {kind.name} where TensorFlow says "
                f"{tensor.dtype.name}, at {self.place(op.name)!r}. Add a g.op.Cast."
            )
        stated = tensor.shape
        if stated.rank is None:
            return
        shape = g.get_shape(output)
        if not shape.has_rank() or kind is TensorType.kUndefined:
            # What TensorFlow knows is worth more than nothing, for instance after a custom op.
            g.declare(output, wanted, stated.as_list())
            return
        sizes, known = stated.as_list(), shape.dims()
        if len(sizes) != len(known) or any(
            size is not None and dim.is_int() and dim.as_int() != size
            for size, dim in zip(sizes, known, strict=True)
        ):
            raise ConversionError(
                "A converter keeps the shape of an output. Received: the converter of "
                f"{op.type!r}, which made {output!r} of shape {shape} where TensorFlow says "
                f"{stated}, at {self.place(op.name)!r}. Check its axes."
            )
        if any(
            size is not None and not dim.is_int() for size, dim in zip(sizes, known, strict=True)
        ):
            merged = [dim if n is None else n for n, dim in zip(sizes, known, strict=True)]
            g.declare(output, shape=merged)
