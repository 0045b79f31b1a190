"""Convert a StableHLO module into nodes of a graph builder.

Functions are inlined, operations whose results nobody needs are left out, and everything without a
converter is reported at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from yobx.errors import (
    ConversionError,
    InternalError,
    OpOccurrence,
    UnsupportedDtypeError,
    UnsupportedOpError,
)
from yobx.onnx_optim import OptimDim
from yobx.onnx_optim.tensor_type import tensor_type
from yobx.xbuilder import GraphBuilder
from yobx.xbuilder.converters import place_of

from . import ir
from .dims import known_values
from .element_types import has_type, refuse_unknown_type
from .floor_division import mark_floor_division
from .fusion import fuse
from .markers import stays_whole
from .op import Op, part_type
from .registry import StablehloRegistration, get_stablehlo_op_converter
from .scans import flatten_loops
from .tensor import Tensor, full_tensor

__all__ = ["Parts", "Scope", "convert_module", "joined_layer", "needs_expansion"]

#: One real tensor, or the real and the imaginary one.
Parts = tuple[Tensor, ...]

_NOWHERE = ir.Location()

#: Why an operation has no converter, where there is more to say than that nobody wrote one.
WITHOUT_CONVERTER = {
    f"custom_call.lapack_{kind}geev_ffi": ": eigenvalues of matrices that are not symmetric take "
    "an iteration with shifts and deflation that ONNX's loops do not express for stacks of matrices"
    for kind in "sdcz"
}


def convert_module(
    g: GraphBuilder,
    module: ir.Module,
    inputs: Sequence[Sequence[str]],
    *,
    extra_converters: Mapping[str, Callable[..., Any]] | None = None,
) -> list[tuple[str, ...]]:
    """Add the nodes of a module's ``main`` to a builder.

    Args:
        g: Builder.
        module: Module.
        inputs: For each argument of ``main`` one ONNX value, or two for a complex argument.
        extra_converters: Converters by operation name, used before the registered ones.

    Returns:
        For each result the ONNX values of full shape: one, or two for a complex result.

    Raises:
        UnsupportedOpError: Some operations have no converter; all of them are listed.
    """
    converters = _prepare(module, extra_converters)
    converters.check_supported(g.opset(""))
    scope = Scope(g, (g,), converters)
    arguments = [
        tuple(full_tensor(name, part_type(argument.tensor)) for name in names)
        for argument, names in zip(module.main.body.arguments, inputs, strict=True)
    ]
    results = scope.call(module.main, arguments)
    return [tuple(t.full(g, scope.lineage) for t in parts) for parts in results]


def needs_expansion(
    module: ir.Module,
    opset: int,
    *,
    extra_converters: Mapping[str, Callable[..., Any]] | None = None,
) -> bool:
    """Whether a module as JAX lowers it must be exported first, which expands some operations.

    These are CHLO operations without a converter that is as exact, and, since the expansion decides
    on which side of a cut a value is, functions of complex numbers.

    Args:
        module: Module; patterns and loops are recognised in it, as for a conversion.
        opset: Opset of the standard domain that the nodes are for.
        extra_converters: Converters by operation name, used before the registered ones.

    Returns:
        Whether some operation that is needed is one of them.
    """
    converters = _prepare(module, extra_converters)
    return any(
        _is_complex(operation)
        or (operation.name.startswith("chlo.") and converters.lacks_chlo(operation, opset))
        for operation in converters.reachable(module.main.body, set())
    )


def _prepare(
    module: ir.Module, extra_converters: Mapping[str, Callable[..., Any]] | None
) -> _Converters:
    """Recognise loops and patterns, once."""
    from .ops import register

    register()
    if not module.is_prepared:
        mark_floor_division(module)
        flatten_loops(module)
        fuse(module)
        module.is_prepared = True
    return _Converters(module, extra_converters or {})


class _Converters:
    """The module and what converts its operations."""

    def __init__(self, module: ir.Module, extra: Mapping[str, Callable[..., Any]]) -> None:
        self.module = module
        self._extra = {k if "." in k else f"stablehlo.{k}": f for k, f in extra.items()}
        self._live: dict[ir.Block, list[ir.Operation]] = {}
        self.sizes: dict[GraphBuilder, dict[Any, list[Parts]]] = {}
        self._met: Counter[str] = Counter()

    def repeat(self, operation: ir.Operation, layer: str) -> str:
        """Tells primitives under one name stack apart, where a primitive is one operation.

        Args:
            operation: An operation.
            layer: Its name stack.

        Returns:
            How many there were before it, ``""`` for the first and where a primitive may be several
            operations.
        """
        whole = operation.name == "stablehlo.composite" or (
            operation.name == "stablehlo.log_plus_one" and layer.rpartition("/")[2] == "log1p"
        )
        if not whole:
            return ""
        self._met[layer] += 1
        return str(self._met[layer] - 1 or "")

    def find(self, operation: ir.Operation) -> StablehloRegistration | None:
        """The registration that converts an operation."""
        is_complex = _is_complex(operation)
        for name in registry_names(operation):
            if name in self._extra:
                return StablehloRegistration(name, self._extra[name], None, "each", "extra")
            found = get_stablehlo_op_converter(name, is_complex=is_complex)
            if found is not None:
                return found
        return None

    def inlined(self, operation: ir.Operation) -> ir.Function | None:
        """The function to inline for a call or composite that no converter takes."""
        name = operation.attributes.get("callee") or operation.attributes.get("decomposition")
        return self.module.functions.get(name) if isinstance(name, str) else None

    def live(self, block: ir.Block) -> list[ir.Operation]:
        """Operations of a block whose results are needed, in order, without the terminator."""
        if block not in self._live:
            self._live[block], _ = block.live()
        return self._live[block]

    def reachable(self, block: ir.Block, seen: set[str]) -> Iterable[ir.Operation]:
        """Operations that a conversion may meet, those of called functions and of regions too."""
        for operation in self.live(block):
            yield operation
            function = self.inlined(operation)
            if function is not None and function.name not in seen:
                seen.add(function.name)
                yield from self.reachable(function.body, seen)
            for region in operation.regions:
                yield from self.reachable(region, seen)

    def lacks_chlo(self, operation: ir.Operation, opset: int) -> bool:
        """Whether a CHLO operation has no converter that is as exact as its expansion."""
        found = self.find(operation)
        if found is None:
            return True
        if found.place == "extra":
            return False
        dtype = operation.operands[0].tensor.dtype
        return not stays_whole(operation.name.rpartition(".")[2], tensor_type(dtype), opset)

    def check_supported(self, opset: int) -> None:
        """Raise one error that lists every reachable operation without a converter.

        Raises:
            UnsupportedOpError: If there are such operations.
            UnsupportedDtypeError: If a value has a type that the opset does not have.
        """
        missing = list(self._missing(self.module.main.body, set(), _NOWHERE))
        if not missing:
            for operation in self.reachable(self.module.main.body, set()):
                for value in operation.results:
                    if value.type is not None and not has_type(value.type.dtype, opset):
                        refuse_unknown_type(value.type.dtype, opset, occurrence(operation))
            return
        lines = [
            f"  {m.op_type} at {m.layer or '?'} {m.detail}{WITHOUT_CONVERTER.get(m.op_type, '')}"
            for m in missing
        ]
        shown = "\n".join(dict.fromkeys(lines[:40]))
        raise UnsupportedOpError(
            f"Every operation needs a converter. Received {len(missing)} without a converter:\n"
            f"{shown}\n"
            "Give one with extra_converters={'<operation>': converter}, or replace the call.",
            missing,
        )

    def _missing(
        self, block: ir.Block, seen: set[str], caller: ir.Location
    ) -> Iterable[OpOccurrence]:
        for operation in self.live(block):
            place = operation.location if operation.location.source else caller
            if self.find(operation) is None:
                function = self.inlined(operation)
                if function is None:
                    yield occurrence(operation, caller)
                elif function.name not in seen:
                    seen.add(function.name)
                    yield from self._missing(function.body, seen, place)
            for region in operation.regions:
                if operation.name in _CONTROL:
                    yield from self._missing(region, seen, place)


_CONTROL = frozenset(("stablehlo.while", "stablehlo.case", "stablehlo.if"))
#: Elements of less than a byte, and operations on them that are converted.
_NARROW = frozenset(("int2", "uint2", "int4", "uint4", "float4_e2m1fn"))
_OF_ANY_TYPE = _CONTROL | {
    f"stablehlo.{word}" for word in ("convert", "constant", "get_dimension_size")
}
#: Operations that shapes are made of and that have no attributes but ``dimension``.
_SIZES = frozenset(
    f"stablehlo.{word}"
    for word in (
        *("get_dimension_size", "reshape", "concatenate", "convert", "add", "subtract"),
        *("multiply", "divide", "remainder", "maximum", "minimum"),
    )
)


def registry_names(operation: ir.Operation) -> list[str]:
    """Names under which a converter of an operation may be registered, most specific first."""
    if operation.name == "func.call":
        return [f"call.{operation.attributes['callee'].rpartition('__end')[0]}"]
    if operation.name == "stablehlo.composite":
        return [f"composite.{operation.attributes['name']}"]
    if operation.name == "stablehlo.custom_call":
        return [f"custom_call.{operation.attributes['call_target_name']}"]
    return [operation.name]


def occurrence(operation: ir.Operation, caller: ir.Location = _NOWHERE) -> OpOccurrence:
    """Describe where an operation is; ``caller`` is the place of the call around it."""
    own = operation.location
    joined = "/".join(part for part in (caller.name_stack, own.name_stack) if part)
    place = own if own.source else ir.Location(joined, caller.source)
    types = ", ".join(str(v.type) for v in operation.operands)
    results = ", ".join(str(v.type) for v in operation.results)
    return OpOccurrence(
        op_type=registry_names(operation)[0],
        name=operation.location.name_stack,
        layer=str(place),
        detail=f"({types}) -> ({results})",
    )


class Scope:
    """Values of one function body or region, and the builder its nodes go to.

    Attributes:
        g: Builder.
        lineage: ``g`` and the builders around it.
        converters: Module and converters.
    """

    def __init__(
        self,
        g: GraphBuilder,
        lineage: tuple[GraphBuilder, ...],
        converters: _Converters,
        parent: Scope | None = None,
        layer: str = "",
    ) -> None:
        self.g = g
        self.lineage = lineage
        self.converters = converters
        self._parent = parent
        self._layer = layer
        self._values: dict[ir.Value, Parts] = {}

    def get(self, value: ir.Value) -> Parts:
        """Tensors that stand for a value defined here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if value in scope._values:
                return scope._values[value]
            scope = scope._parent
        raise InternalError(f"A value is read before it is made. Type: {value.type}.")

    def known_scalar(self, value: ir.Value) -> OptimDim | None:
        """The integer that a scalar is, as the shape engine knows it."""
        known = known_values(self.g, self.get(value)[0].compact)
        return None if known is None else known[0]

    def bind(self, value: ir.Value, parts: Parts) -> None:
        """State what stands for a value."""
        self._values[value] = parts

    def nested(self, g: GraphBuilder | None = None) -> Scope:
        """A scope for a region; with a builder, for a region that becomes a subgraph."""
        lineage = self.lineage if g is None else (g, *self.lineage)
        return Scope(g or self.g, lineage, self.converters, self, self._layer)

    def live(self, block: ir.Block) -> list[ir.Operation]:
        """Operations of a block whose results are needed."""
        return self.converters.live(block)

    def call(
        self, function: ir.Function, arguments: Sequence[Parts], layer: str = ""
    ) -> list[Parts]:
        """Inline a function and return its results."""
        inner = Scope(self.g, self.lineage, self.converters, None, layer or self._layer)
        return inner.run(function.body, arguments)

    def inline(self, block: ir.Block, arguments: Sequence[Parts]) -> list[Parts]:
        """Convert a region into this builder's graph and return what it returns."""
        return self.nested().run(block, arguments)

    def run(self, block: ir.Block, arguments: Sequence[Parts]) -> list[Parts]:
        """Convert a block here and return what it returns."""
        for argument, parts in zip(block.arguments, arguments, strict=True):
            self.bind(argument, parts)
        for operation in self.live(block):
            self.convert(operation)
        return [self.get(value) for value in block.outputs]

    def convert(self, operation: ir.Operation) -> None:
        """Convert one operation and bind its results."""
        if all(_is_empty(value) for value in operation.results):
            self._bind_all(operation, [self._empty(value) for value in operation.results])
            return
        registration = self.converters.find(operation)
        layer = self.layer(operation)
        if registration is None:
            function = self.converters.inlined(operation)
            if function is None:
                raise InternalError(f"No converter and nothing to inline: {operation.name}.")
            arguments = [self.get(v) for v in operation.operands]
            self._bind_all(operation, self.call(function, arguments, layer))
            return
        key = self._size_key(operation)
        for g in self.lineage if key is not None else ():
            found = self.converters.sizes.get(g, {}).get(key)
            if found is not None:
                self._bind_all(operation, found)
                return
        _check_dtypes(registration, operation, layer)
        self._check_narrow(registration, operation, layer)
        short = operation.name.rpartition(".")[2]
        again = self.converters.repeat(operation, layer)
        with self.g.provenance(op=operation.name, name=short, layer=layer, repeat=again):
            results = self._results(registration, operation)
        self._bind_all(operation, results)
        if key is not None:
            self.converters.sizes.setdefault(self.g, {})[key] = results

    def _check_narrow(
        self, registration: StablehloRegistration, operation: ir.Operation, layer: str
    ) -> None:
        """Refuse computing with elements of less than a byte, for which there are no kernels."""
        values = (*operation.operands, *operation.results)
        narrow = [v.type for v in values if v.type is not None and v.type.dtype.name in _NARROW]
        if not narrow or operation.name in _OF_ANY_TYPE or registration.place == "extra":
            return
        known = (self.g.get_constant(self.get(v)[0].compact) for v in operation.operands)
        if any(value is None for value in known):
            raise UnsupportedDtypeError(
                f"{operation.name} has no kernel for elements of less than a byte. Received: "
                f"{narrow[0]}. Where: {layer}. Cast to int8 or float32 before the operation.",
                occurrence(operation),
            )

    def _size_key(self, operation: ir.Operation) -> Any:
        """What tells arithmetic on sizes apart, which JAX repeats for every use; else ``None``."""
        kind = operation.results[0].type
        if operation.name not in _SIZES or kind is None or kind.rank > 1 or kind.dtype.kind != "i":
            return None
        operands = [self.get(v)[0] for v in operation.operands]
        names = tuple((t.compact, t.type, t.covered) for t in operands)
        return operation.name, names, kind, operation.attributes.get("dimension")

    def _empty(self, value: ir.Value) -> Parts:
        """Arrays without elements need no computation."""
        kind = part_type(value.tensor)
        array = np.zeros(kind.static_shape() or (), dtype=kind.dtype)
        name = self.g.make_initializer(None, array)
        return (full_tensor(name, kind),) * (1 + value.tensor.is_complex)

    def layer(self, operation: ir.Operation) -> str:
        """JAX's name stack of an operation, that of the calls around it included."""
        return joined_layer(self._layer, operation)

    def occurrence(self, operation: ir.Operation) -> OpOccurrence:
        """Describe where an operation is."""
        return occurrence(operation)

    def _results(self, registration: StablehloRegistration, operation: ir.Operation) -> list[Parts]:
        operands = [self.get(v) for v in operation.operands]
        has_pairs = any(v.type is not None and v.type.is_complex for v in operation.results)
        if registration.complex_parts == "each" and has_pairs:
            halves = [
                self._single(
                    registration, operation, [parts[min(k, len(parts) - 1)] for parts in operands]
                )
                for k in (0, 1)
            ]
            return [
                (re, im) if value.tensor.is_complex else (re,)
                for value, re, im in zip(operation.results, *halves, strict=True)
            ]
        if registration.complex_parts in ("pair", "any"):
            op = Op(operation, self, [parts[0] for parts in operands], operands)
            return [
                tuple(self._tensor(part, value) for part in parts)
                for value, parts in zip(
                    operation.results, registration.converter(self.g, op), strict=True
                )
            ]
        return [(t,) for t in self._single(registration, operation, [p[0] for p in operands])]

    def _single(
        self,
        registration: StablehloRegistration,
        operation: ir.Operation,
        inputs: Sequence[Tensor],
    ) -> list[Tensor]:
        op = Op(operation, self, inputs)
        result = registration.converter(self.g, op)
        results = (
            () if result is None else result if isinstance(result, tuple | list) else (result,)
        )
        if len(results) != len(operation.results):
            raise ConversionError(
                f"A converter returns one name for each of the {len(operation.results)} results of "
                f"{registration.name!r}. Received: {len(results)}, from "
                f"{place_of(registration.converter)}."
            )
        return [self._tensor(r, v) for r, v in zip(results, operation.results, strict=True)]

    def _tensor(self, result: Tensor | str, value: ir.Value) -> Tensor:
        if isinstance(result, Tensor):
            return result
        kind = part_type(value.tensor)
        self._declare_sizes(result, kind)
        return full_tensor(result, kind)

    def _declare_sizes(self, name: str, kind: ir.TensorType) -> None:
        """State the sizes that StableHLO knows and ONNX does not, as of a slice anywhere."""
        known = self.g.get_shape(name)
        if not known.has_rank() or len(known) != kind.rank:
            return
        pairs = list(zip(kind.shape, known.dims(), strict=True))
        if any(size is not None and not dim.is_int() for size, dim in pairs):
            self.g.declare(name, shape=[dim if size is None else size for size, dim in pairs])

    def _bind_all(self, operation: ir.Operation, results: Sequence[Parts]) -> None:
        for value, parts in zip(operation.results, results, strict=True):
            self.bind(value, parts)


def _is_complex(operation: ir.Operation) -> bool:
    return any(
        v.type is not None and v.type.is_complex for v in (*operation.operands, *operation.results)
    )


def _is_empty(value: ir.Value) -> bool:
    return value.type is not None and 0 in (value.type.static_shape() or ())


def _check_dtypes(registration: StablehloRegistration, operation: ir.Operation, layer: str) -> None:
    if registration.dtypes is None:
        return
    for value in (*operation.operands, *operation.results):
        if value.type is not None and value.type.dtype.name not in registration.dtypes:
            raise UnsupportedDtypeError(
                f"{operation.name} takes {', '.join(sorted(registration.dtypes))}. "
                f"Received: {value.type}. Where: {layer}. Cast before the operation.",
                occurrence(operation),
                sorted(registration.dtypes),
            )


def joined_layer(caller: str, operation: ir.Operation) -> str:
    """JAX's name stack of an operation in a function that is called from the stack ``caller``."""
    own = operation.location.name_stack
    if not caller or own.startswith("jit("):
        return own or caller
    return f"{caller}/{own}" if own else caller
