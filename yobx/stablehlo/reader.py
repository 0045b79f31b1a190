"""Read StableHLO through the MLIR bindings of jaxlib into :mod:`yobx.stablehlo.ir`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from yobx.errors import InvalidModelError

from .constants import decode_constant, decode_dense, element_dtype
from .ir import Block, Function, Location, Module, Operation, TensorType, Value

__all__ = ["read_artifact", "read_module"]

_DYNAMIC = -(2**63)


def read_artifact(artifact: bytes) -> Module:
    """Read a portable StableHLO artifact, as ``jax.export`` and ``XlaCallModule`` hold it.

    Args:
        artifact: Serialized module.

    Returns:
        The module.

    Raises:
        InvalidModelError: The bytes are not such an artifact, or of a version jaxlib cannot read.
    """
    from jax.interpreters import mlir as jax_mlir
    from jaxlib.mlir.dialects import stablehlo

    context = jax_mlir.make_ir_context()
    try:
        module = stablehlo.deserialize_portable_artifact(context, artifact)
    except (RuntimeError, ValueError, TypeError) as error:
        raise InvalidModelError(
            "A StableHLO artifact must be one that this jaxlib can deserialize. "
            f"Received: {len(artifact)} bytes, {error}.",
            hint="Try a newer jax.",
        ) from error
    return read_module(module)


def read_module(module: Any) -> Module:
    """Read a ``jaxlib.mlir.ir.Module``.

    Args:
        module: Module of StableHLO, CHLO and ``func``.

    Returns:
        The module as plain Python objects.
    """
    return _Reader().module(module)


class _Reader:
    """Walks one MLIR module; types and locations met before are reused."""

    def __init__(self) -> None:
        self._types: dict[Any, TensorType | None] = {}
        self._locations: dict[Any, Location] = {}

    def module(self, module: Any) -> Module:
        functions = {}
        for operation in module.body.operations:
            if operation.operation.name == "func.func":
                function = self._function(operation.operation)
                functions[function.name] = function
        return Module(functions)

    def _function(self, operation: Any) -> Function:
        attributes = operation.attributes
        return Function(
            name=attributes["sym_name"].value,
            body=self._block(operation.regions[0].blocks[0], {}),
            argument_attributes=_dicts(attributes, "arg_attrs"),
            result_attributes=_dicts(attributes, "res_attrs"),
        )

    def _block(self, block: Any, outer: Mapping[Any, Value]) -> Block:
        values = dict(outer)
        arguments: list[Value] = []
        for argument in block.arguments:
            value = Value(self._type(argument.type), None, len(arguments))
            arguments.append(value)
            values[argument] = value
        return Block(arguments, [self._operation(o.operation, values) for o in block.operations])

    def _operation(self, source: Any, values: dict[Any, Value]) -> Operation:
        operation = Operation(
            name=source.name,
            operands=[values[operand] for operand in source.operands],
            attributes=self._attributes(source),
            regions=[
                self._block(block, values) for region in source.regions for block in region.blocks
            ],
            location=self._location(source.location),
        )
        for result in source.results:
            values[result] = operation.add_result(self._type(result.type))
        return operation

    def _attributes(self, source: Any) -> dict[str, Any]:
        if source.name == "stablehlo.constant":
            return {"value": self._constant(source)}
        attributes = source.attributes
        return {name: decode_attribute(attributes[name]) for name in attributes}

    def _constant(self, source: Any) -> np.ndarray[Any, Any]:
        kind = self._type(source.results[0].type)
        if kind is None:
            raise InvalidModelError(
                f"A constant must be a tensor. Received: {source.results[0].type}."
            )
        if kind.is_complex:  # the bindings cannot even hand out such an attribute
            return decode_constant(source.get_asm(), kind.static_shape() or (), kind.dtype)
        return decode_dense(source.attributes["value"])

    def _type(self, source: Any) -> TensorType | None:
        if source not in self._types:
            self._types[source] = _tensor_type(source)
        return self._types[source]

    def _location(self, source: Any) -> Location:
        if source not in self._locations:
            self._locations[source] = _location(source)
        return self._locations[source]


def _tensor_type(source: Any) -> TensorType | None:
    from jaxlib.mlir import ir

    if not isinstance(source, ir.RankedTensorType):
        return None
    dtype = element_dtype(str(source.element_type))
    if dtype is None:
        return None
    return TensorType(tuple(None if d == _DYNAMIC else int(d) for d in source.shape), dtype)


def _location(source: Any) -> Location:
    from jaxlib.mlir import ir

    name, frame = "", ""
    while True:
        if isinstance(source, ir.NameLoc):
            inner = source.child_loc
            if isinstance(inner, ir.FileLineColLoc):
                frame = f"{source.name_str} ({inner.filename}:{inner.start_line})"
            elif not name:
                name = source.name_str.rstrip(":")
            source = inner
        elif isinstance(source, ir.CallSiteLoc):
            source = source.callee
        elif isinstance(source, ir.FusedLoc) and source.locations:
            source = source.locations[0]
        else:
            return Location(name, frame)


def _dicts(attributes: Any, name: str) -> tuple[dict[str, Any], ...]:
    return tuple(decode_attribute(attributes[name])) if name in attributes else ()


_NUMBERS = ("GatherDimensionNumbers", "ScatterDimensionNumbers", "DotDimensionNumbers")
_FIELDS = ("dims", "dim", "dimension", "dimensions", "index_map")


def _dimension_numbers(attribute: Any) -> dict[str, Any] | None:
    """Fields of the attributes that describe dimensions, as ints and tuples."""
    from jaxlib.mlir.dialects import stablehlo

    for name in (*_NUMBERS, "ConvDimensionNumbers"):
        cls = getattr(stablehlo, name)
        if cls.isinstance(attribute):
            typed = cls(attribute)
            fields = (f for f in vars(cls) if f.endswith(_FIELDS))
            return {f: _plain(getattr(typed, f)) for f in fields}
    return None


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int) else tuple(int(v) for v in value)


def _enumeration(attribute: Any) -> Any:
    """Word of an enumeration attribute such as ``#stablehlo<comparison_direction LT>``."""
    text = str(attribute)
    return (
        text.rstrip(">").rpartition(" ")[2] if text.startswith(("#stablehlo<", "#chlo<")) else text
    )


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "IntegerAttr": lambda a: int(a.value),
    "FloatAttr": lambda a: float(a.value),
    "BoolAttr": lambda a: bool(a.value),
    "StringAttr": lambda a: a.value_bytes.decode("utf-8", "replace"),
    "FlatSymbolRefAttr": lambda a: a.value,
    "SymbolRefAttr": lambda a: ".".join(a.value),
    "ArrayAttr": lambda a: [decode_attribute(item) for item in a],
    "DictAttr": lambda a: {item.name: decode_attribute(item.attr) for item in a},
    "DenseI64ArrayAttr": lambda a: tuple(int(item) for item in a),
    "DenseI32ArrayAttr": lambda a: tuple(int(item) for item in a),
    "DenseBoolArrayAttr": lambda a: tuple(bool(item) for item in a),
    "DenseIntElementsAttr": decode_dense,
    "DenseFPElementsAttr": decode_dense,
    "TypeAttr": lambda a: str(a.value),
    "UnitAttr": lambda a: True,
}


def decode_attribute(attribute: Any) -> Any:
    """Python value of an attribute: number, text, tuple, array, list or dict."""
    decoder = _DECODERS.get(type(attribute).__name__)
    if decoder is not None:
        return decoder(attribute)
    numbers = _dimension_numbers(attribute)
    return numbers if numbers is not None else _enumeration(attribute)
