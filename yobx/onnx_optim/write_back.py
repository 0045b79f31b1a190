"""Writing what was inferred into a model: outputs and value_info, at every level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

import onnx

from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.local_functions import FUNCTION, MAX_NESTED_CALLS
from yobx.onnx_optim.merging import LENGTH, merge
from yobx.onnx_optim.node_signature import MAX_READ
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor, OptimOptional, OptimSequence
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.registry import normal_domain
from yobx.onnx_optim.type_protos import type_field
from yobx.onnx_optim.wire import varint

__all__ = ["write_back"]

_GRAPH_VALUE_INFO = b"\x6a"
_FUNCTION_VALUE_INFO = b"\x62"
_FUNCTION_VALUE_INFO_IR = 10
# Tag of the name of a ValueInfoProto.
_NAME = b"\x0a"


def write_back(model: onnx.ModelProto, context: ShapesContext) -> None:
    """Write the types of all values of a model, of its subgraphs and of its functions.

    Args:
        model: The model that was inferred; it is changed.
        context: Context of its main graph.
    """
    calls = _write_graphs(model.graph, context)
    if context.session.nested_calls > MAX_NESTED_CALLS:
        return  # what holds in all calls is not known
    own = model.ir_version >= _FUNCTION_VALUE_INFO_IR
    for function in model.functions:
        key = (normal_domain(function.domain), function.name, function.overload)
        if key in calls:
            _write_function(function, calls[key], own_values=own)


def _write_graphs(
    main: onnx.GraphProto, context: ShapesContext
) -> dict[tuple[str, str, str], list[ShapesContext]]:
    """Write the main graph and its subgraphs; returns the contexts of each function's calls."""
    calls: dict[tuple[str, str, str], list[ShapesContext]] = {}
    seen: set[int] = set()
    stack: list[tuple[onnx.GraphProto | None, ShapesContext]] = [(main, context)]
    writers: dict[int, _Writer] = {}
    while stack:
        graph, scope = stack.pop()
        if graph is not None:
            token = scope.constraints_store.token
            writer = writers.get(token)
            if writer is None:
                writer = writers[token] = _Writer(scope)
            writer.graph(graph, scope)
        nodes: Sequence[onnx.NodeProto] = (graph or scope.graph or onnx.GraphProto()).node
        for (index, attribute), child in scope.subgraph_contexts().items():
            if id(child) in seen:
                continue
            seen.add(id(child))
            inner: onnx.GraphProto | None = None
            if attribute == FUNCTION:
                if child.function_chain:
                    calls.setdefault(child.function_chain[-1], []).append(child)
            elif graph is not None and 0 <= index < len(nodes):
                inner = next((a.g for a in nodes[index].attribute if a.name == attribute), None)
            stack.append((inner, child))
    return calls


def name_inputs(graph: onnx.GraphProto, context: ShapesContext) -> None:
    """Write the symbols that stand for the unnamed sizes of the inputs of the main graph."""
    if not context.unnamed_inputs:
        return
    for value in graph.input:
        if value.name not in context.unnamed_inputs:
            continue
        found = context.values.get(value.name)
        if not value.type.HasField("tensor_type") or not isinstance(found, OptimTensor):
            continue
        stated = value.type.tensor_type.shape.dim
        if not found.shape.has_rank() or len(stated) != len(found.shape):
            continue
        for dim, known in zip(stated, found.shape, strict=True):
            if not dim.HasField("dim_value") and not dim.dim_param and known.is_expr():
                dim.dim_param = str(known)


class _Writer:
    """Writes descriptors as types, each different one encoded once."""

    def __init__(self, context: ShapesContext) -> None:
        self._context = context if context.constraints_store.has_solutions() else None
        # By identity: the contexts keep the descriptors alive as long as the writer exists.
        self._encoded: dict[int, bytes] = {}

    def encoded(self, descriptor: Descriptor) -> bytes:
        """The type as field of a ``ValueInfoProto``; empty when nothing is known."""
        if self._context is None and isinstance(descriptor, OptimTensor):
            # Descriptors outlive an inference, and with them what is written for them.
            if descriptor.wire is None:
                descriptor.wire = type_field(descriptor)
            return descriptor.wire
        found = self._encoded.get(id(descriptor))
        if found is None:
            known = simplified(descriptor, self._context) if self._context else descriptor
            found = self._encoded[id(descriptor)] = type_field(known)
        return found

    def graph(self, graph: onnx.GraphProto, context: ShapesContext) -> None:
        """Write the outputs and the value_info of one graph, not of its subgraphs."""
        if context.parent is not None:
            for value in graph.input:
                if not value.HasField("type"):  # a subgraph need not declare its inputs
                    self._overwrite(value, context)
        given: set[str] = set()
        for output in graph.output:
            given.add(output.name)
            self._overwrite(output, context)
        self.rest(graph, context, given, _GRAPH_VALUE_INFO)

    def _overwrite(self, value: onnx.ValueInfoProto, context: ShapesContext) -> None:
        found = context.lookup(value.name)
        data = b"" if found is None else self.encoded(found)
        if data:
            value.ClearField("type")
            value.MergeFromString(data)

    def rest(
        self,
        holder: onnx.GraphProto | onnx.FunctionProto,
        context: ShapesContext,
        given: set[str],
        field: bytes,
    ) -> None:
        """Rewrite existing value_info and add the missing ones in the order of the nodes.

        They are added in wire format in one call: building them through the Python classes takes
        longer than inferring them.
        """
        encoded = self.encoded
        for info in holder.value_info:
            given.add(info.name)
            self._overwrite(info, context)
        entry = _entry if len(context.values) > MAX_READ else _entry_written_before
        parts: list[bytes] = []
        for name, descriptor in islice(context.values.items(), context.seeded, None):
            data = encoded(descriptor)
            if data and name not in given:
                parts.append(entry(field, name, data))
        if parts:
            holder.MergeFromString(b"".join(parts))


def _entry(field: bytes, name: str, data: bytes) -> bytes:
    """A ``ValueInfoProto`` as an element of a repeated field."""
    raw = name.encode()
    size = varint(len(raw))
    total = varint(1 + len(size) + len(raw) + len(data))
    return b"".join((field, total, _NAME, size, raw, data))


# A model is mostly written once more after a change to a few of its values.
_entry_written_before = lru_cache(maxsize=MAX_READ)(_entry)


def simplified(descriptor: Descriptor, context: ShapesContext) -> Descriptor:
    """The descriptor with its sizes rewritten by the equalities known."""
    if isinstance(descriptor, OptimTensor):
        if not descriptor.shape.has_rank():
            return descriptor
        dims = [context.simplify(d) for d in descriptor.shape]
        return OptimTensor(descriptor.dtype, OptimShape(dims))
    if isinstance(descriptor, OptimSequence):
        if descriptor.elem_dims is None:
            return descriptor
        shared = [None if d is None else context.simplify(d) for d in descriptor.elem_dims]
        return OptimSequence(descriptor.elem_dtype, elem_dims=shared)
    inner = simplified(descriptor.element, context)
    return descriptor if isinstance(inner, OptimOptional) else OptimOptional(inner)


def _write_function(
    function: onnx.FunctionProto, calls: Sequence[ShapesContext], *, own_values: bool
) -> None:
    """Write what holds in all calls; a size that differs between calls stays unnamed.

    The graphs inside are written because a runtime goes by them for loops without iteration.
    """
    if own_values:
        shared = _shared_by(calls)
        _Writer(shared).rest(function, shared, set(function.input), _FUNCTION_VALUE_INFO)
        _forget_differences(function.value_info)
    stack: list[tuple[Sequence[onnx.NodeProto], Sequence[ShapesContext]]] = [(function.node, calls)]
    while stack:
        nodes, scopes = stack.pop()
        for index, attribute in scopes[0].subgraph_contexts():
            found = [s.subgraph_contexts().get((index, attribute)) for s in scopes]
            children = [child for child in found if child is not None]
            if attribute == FUNCTION or len(children) < len(scopes) or index >= len(nodes):
                continue
            inner = next((a.g for a in nodes[index].attribute if a.name == attribute), None)
            if inner is not None:
                shared = _shared_by(children)
                _Writer(shared).graph(inner, shared)
                _forget_differences([*inner.input, *inner.output, *inner.value_info])
                stack.append((inner.node, children))


def _shared_by(calls: Sequence[ShapesContext]) -> ShapesContext:
    """A context of what holds in all of these."""
    shared = ShapesContext(parent=calls[0].parent, isolated=True)
    shared.seeded = calls[0].seeded
    for name, first in calls[0].values.items():
        found: Descriptor = first
        for call in calls[1:]:
            found = merge(found, call.values.get(name, UNKNOWN_TENSOR), _differs)
        shared.values[name] = found
    return shared


def _forget_differences(values: Iterable[onnx.ValueInfoProto]) -> None:
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == _DIFFERS:
                dim.ClearField("dim_param")


_DIFFERS = "differs between calls"


def _differs(_a: OptimDim, _b: OptimDim, axis: int) -> OptimDim:
    return OptimDim(_DIFFERS if axis != LENGTH else 0)
