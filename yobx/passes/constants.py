"""Values that are the same in every run become initializers.

Two sources: what the shape engine found out while the graph was built (``const_value`` of a node's
output), and chains of arithmetic on constants. Chains are computed in float64 and rounded once, at
the place where something else reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, constant, graphs_of, int_constant

__all__ = ["fold_constants"]

Array = npt.NDArray[Any]
_SMALL = 1 << 16
"""Results up to this many elements are always kept, larger ones if no larger than an input."""


def fold_constants(model: ir.Model) -> None:
    """Replaces constant values by initializers; the nodes left without users are dead.

    A Constant node becomes an initializer too, so that the order of nodes puts no limit on who
    may read it.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    exact: dict[ir.Value, Array] = {}
    for graph in graphs_of(model):
        for node in list(graph):
            if node.domain not in ("", "ai.onnx") or node.op_type == "Constant":
                continue
            _evaluate(node, exact)
        for node in list(graph):
            for output in node.outputs:
                array = _known(output, exact)
                if array is None or output.is_graph_output() or not output.uses():
                    continue
                if all(user.outputs and _folded(user, exact) for user, _ in output.uses()):
                    continue
                editor = editor or GraphEditor(model)
                output.replace_all_uses_with(editor.add_constant(array, output.name or "cst"))


def _folded(node: ir.Node, exact: dict[ir.Value, Array]) -> bool:
    return all(output in exact and not output.is_graph_output() for output in node.outputs)


def _known(value: ir.Value, exact: dict[ir.Value, Array]) -> Array | None:
    if value in exact:
        array = exact[value]
        dtype = value.dtype
        return array if dtype is None else _round(array, dtype.numpy())
    producer = value.producer()
    if producer is not None and producer.op_type == "Constant":
        return constant(value)
    return None if value.const_value is None else value.const_value.numpy()


def _round(array: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return array.astype(dtype, copy=False)


def _evaluate(node: ir.Node, exact: dict[ir.Value, Array]) -> None:
    """Computes a node of constants; floats stay float64 until something reads them."""
    rule = _ARITHMETIC.get(node.op_type) or _EXACT.get(node.op_type)
    if rule is None or len(node.outputs) != 1 or node.outputs[0].const_value is not None:
        return
    inputs: list[Array] = []
    dtypes: list[np.dtype[Any]] = []
    for value in node.inputs:
        if value is None or value.dtype in _NOT_COMPUTED:
            return
        shadow = exact.get(value)
        array = shadow if shadow is not None else _initial(value)
        if array is None:
            return
        dtypes.append(array.dtype if value.dtype is None else value.dtype.numpy())
        inputs.append(array)
    if not inputs:
        return
    dtype = dtypes[0]
    is_float = _is_float(dtype)
    if node.op_type in _ARITHMETIC and is_float:
        inputs = [array.astype(np.float64) for array in inputs]
    elif node.op_type in _ARITHMETIC or node.op_type == "Cast":
        # Integers wrap around in their own type; a Cast starts from the rounded value.
        inputs = [_round(array, kind) for array, kind in zip(inputs, dtypes, strict=True)]
    with np.errstate(all="ignore"):
        result = rule(node, inputs)
    output = node.outputs[0]
    if result is None or result.size > max(_SMALL, *(array.size for array in inputs)):
        return
    if node.op_type == "Cast":
        if result.size > _SMALL and _widens(dtype, node):
            return
        output.dtype = ir.DataType(node.attributes["to"].as_int())
    kind = ir.DataType.from_numpy(dtype) if output.dtype is None else output.dtype
    output.dtype = kind
    if not _is_float(kind.numpy()):
        result = _round(result, kind.numpy())
    exact[output] = result


def _widens(dtype: np.dtype[Any], cast: ir.Node) -> bool:
    """Whether a Cast makes whole numbers wider: quantised weights, which are kept as they are.

    onnxruntime computes it once, when it loads the model; the file stays small.
    """
    target = ir.DataType(cast.attributes["to"].as_int())
    return dtype.kind in "iu" and target.itemsize > dtype.itemsize


# Strings, and types so narrow that every operation would have to round by its own rules.
_NOT_COMPUTED = frozenset(
    dtype
    for dtype in ir.DataType
    if dtype.name.startswith(("FLOAT8", "FLOAT6", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2"))
    or dtype in (ir.DataType.STRING, ir.DataType.UNDEFINED)
)


def _initial(value: ir.Value) -> Array | None:
    array = constant(value)
    if array is None and value.const_value is not None and not value.is_graph_input():
        array = value.const_value.numpy()
    return array


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name in ("bfloat16", "float16")


Rule = Callable[[ir.Node, Sequence[Array]], "Array | None"]


def _binary(function: Callable[[Any, Any], Any]) -> Rule:
    return lambda node, inputs: np.asarray(function(inputs[0], inputs[1]))


def _unary(function: Callable[[Any], Any]) -> Rule:
    return lambda node, inputs: np.asarray(function(inputs[0]))


def _variadic(function: Callable[[Any, Any], Any]) -> Rule:
    return lambda node, inputs: np.asarray(reduce(function, inputs))


def _divide(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    first, second = inputs
    if first.dtype.kind == "f":
        return np.asarray(first / second)
    if np.any(second == 0):
        return None
    quotient = np.abs(first) // np.abs(second)  # ONNX truncates towards zero
    return np.asarray(np.sign(first) * np.sign(second) * quotient).astype(first.dtype)


def _power(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    base, exponent = inputs
    if base.dtype.kind != "f":
        return None
    return np.asarray(base**exponent)


def _cast(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    target = ir.DataType(node.attributes["to"].as_int())
    source = inputs[0]
    if target in _NOT_COMPUTED or "saturate" in node.attributes:
        return None
    kind = target.numpy()
    if kind.kind in "iu" and source.dtype.kind not in "iub":
        bounds = np.iinfo(kind) if kind.kind in "iu" else None
        wide = source.astype(np.float64)
        if bounds is None or not np.all((wide > bounds.min) & (wide < bounds.max)):
            return None  # what a run does with such values depends on the machine
    return source.astype(kind)


def _reshape(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    data, shape = inputs
    target = [int(size) for size in shape]
    allow_zero = node.attributes.get("allowzero")
    if allow_zero is None or not allow_zero.as_int():
        if any(size == 0 and axis >= data.ndim for axis, size in enumerate(target)):
            return None
        target = [size or data.shape[axis] for axis, size in enumerate(target)]
    return data.reshape(target)


def _axes(node: ir.Node, inputs: Sequence[Array]) -> list[int] | None:
    attribute = node.attributes.get("axes")
    if attribute is not None:
        return list(attribute.as_ints())
    return [int(axis) for axis in inputs[1]] if len(inputs) > 1 else None


def _squeeze(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    axes = _axes(node, inputs)
    return np.squeeze(inputs[0], None if axes is None else tuple(axes))


def _unsqueeze(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    axes = _axes(node, inputs)
    return None if axes is None else np.expand_dims(inputs[0], tuple(axes))


def _transpose(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    perm = node.attributes.get("perm")
    return np.transpose(inputs[0], None if perm is None else perm.as_ints())


def _concat(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    return np.concatenate(list(inputs), axis=node.attributes["axis"].as_int())


def _expand(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    target = int_constant(node.inputs[1])
    if target is None or int(np.prod(target)) > max(_SMALL, inputs[0].size):
        return None
    return np.broadcast_to(inputs[0], np.broadcast_shapes(inputs[0].shape, target))


def _gather(node: ir.Node, inputs: Sequence[Array]) -> Array | None:
    axis = node.attributes.get("axis")
    place = 0 if axis is None else axis.as_int()
    size = inputs[0].shape[place]
    if np.any((inputs[1] < -size) | (inputs[1] >= size)):
        return None
    return np.take(inputs[0], inputs[1], axis=place)


_ARITHMETIC: dict[str, Rule] = {
    "Add": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Div": _divide,
    "Max": _variadic(np.maximum),
    "Min": _variadic(np.minimum),
    "Pow": _power,
    "Neg": _unary(np.negative),
    "Abs": _unary(np.abs),
    "Sqrt": _unary(np.sqrt),
    "Exp": _unary(np.exp),
    "Log": _unary(np.log),
    "Reciprocal": lambda node, inputs: np.asarray(1.0 / inputs[0]),
}
_EXACT: dict[str, Rule] = {
    "Cast": _cast,
    "Identity": _unary(lambda array: array),
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Expand": _expand,
    "Gather": _gather,
}
