"""Operators that a Transpose can be moved across, and what changes in them when it is.

The *flipped* form of a value ``v`` is ``Transpose(v, perm)``. A rule says whether an operator can
compute the flipped forms of its outputs from the flipped forms of its inputs; axis ``a`` of the
original is then axis ``perm.index(a)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, constant, int_constant, known_dims, rank_of

__all__ = ["Flip", "Permutation", "keeps_order", "plan_flip"]

Permutation = tuple[int, ...]
Edit = Callable[[GraphEditor, ir.Node], None]

# fmt: off
_ELEMENTWISE = frozenset(
    (
        "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift",
        "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "Ceil", "Celu", "Cos",
        "Cosh", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater",
        "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu",
        "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not",
        "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid",
        "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tan",
        "Tanh", "ThresholdedRelu", "Where", "Xor"
    )
)
# fmt: on
_FIRST_ONLY = frozenset(("Clip", "Dropout", "CastLike"))
"""Elementwise in the first input, the others are scalars or not read."""
_AXIS_ATTRIBUTE = {
    "Softmax": -1,
    "LogSoftmax": -1,
    "Hardmax": -1,
    "Concat": 0,
    "Split": 0,
    "LpNormalization": -1,
}
# fmt: off
_REDUCTIONS = frozenset(
    (
        "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"
    )
)
# fmt: on


@dataclass(frozen=True)
class Flip:
    """How an operator is flipped.

    Attributes:
        inputs: Positions of the inputs that must be flipped.
        outputs: Whether the outputs come out flipped; otherwise they stay as they are.
        edits: Changes of attributes and parameter inputs.
        operands: Whether the inputs broadcast, so that one of lower rank gets leading axes.
    """

    inputs: tuple[int, ...]
    outputs: bool = True
    edits: tuple[Edit, ...] = field(default=())
    operands: bool = False


def keeps_order(dims: Sequence[int | str | None], perm: Permutation) -> bool:
    """Tells whether a permutation only moves axes of size 1, so that a reshape does the same.

    Args:
        dims: Sizes before.
        perm: Permutation of the axes.
    """
    moved = [axis for axis in perm if dims[axis] != 1]
    return moved == sorted(moved)


def plan_flip(node: ir.Node, perm: Permutation) -> Flip | None:
    """Finds out whether a node can work on flipped values.

    Args:
        node: Node.
        perm: Permutation that flips; its length is the rank of the values concerned.

    Returns:
        How, or ``None`` if it cannot.
    """
    if node.domain not in ("", "ai.onnx") or not node.inputs or node.inputs[0] is None:
        return None
    rule = _RULES.get(node.op_type)
    if rule is None or (rule is not _elementwise and rank_of(node.inputs[0]) != len(perm)):
        return None
    return rule(node, perm)


def _elementwise(node: ir.Node, perm: Permutation) -> Flip | None:
    ranks = [rank_of(value) for value in node.inputs]
    if any(rank is None or rank > len(perm) for rank in ranks) or len(perm) not in ranks:
        return None
    return Flip(tuple(range(len(ranks))), operands=True)


def _first_only(node: ir.Node, perm: Permutation) -> Flip | None:
    return Flip((0,))


def _axis(node: ir.Node, default: int, rank: int) -> int:
    attribute = node.attributes.get("axis")
    axis = default if attribute is None else attribute.as_int()
    return axis % rank


def _set_axis(axis: int) -> Edit:
    def edit(editor: GraphEditor, node: ir.Node) -> None:
        node.attributes["axis"] = ir.AttrInt64("axis", axis)

    return edit


def _axis_attribute(node: ir.Node, perm: Permutation) -> Flip | None:
    if node.op_type == "Concat" and any(rank_of(v) != len(perm) for v in node.inputs):
        return None
    axis = _axis(node, _AXIS_ATTRIBUTE[node.op_type], len(perm))
    inputs = tuple(range(len(node.inputs))) if node.op_type == "Concat" else (0,)
    return Flip(inputs, edits=(_set_axis(perm.index(axis)),))


def _set_input(index: int, values: Sequence[float], dtype: np.dtype[np.generic]) -> Edit:
    def edit(editor: GraphEditor, node: ir.Node) -> None:
        if index >= len(node.inputs):
            node.resize_inputs(index + 1)
        node.replace_input_with(index, editor.add_constant(np.array(values, dtype=dtype)))

    return edit


_INT64 = np.dtype(np.int64)


def _permute_input(node: ir.Node, index: int, perm: Permutation) -> Edit | None:
    """Reorders a parameter with one entry per axis, such as the sizes of Resize."""
    value = node.inputs[index]
    array = constant(value)
    if array is not None:
        if array.ndim != 1 or array.size != len(perm):
            return None
        return _set_input(index, array[list(perm)].tolist(), array.dtype)
    if value is None or known_dims(value) != (len(perm),):
        return None

    def edit(editor: GraphEditor, target: ir.Node) -> None:
        order = editor.add_constant(np.array(perm, dtype=np.int64))
        gather = editor.make_node(
            "Gather", [value, order], {"axis": 0}, like=target, dtype=value.dtype, shape=[len(perm)]
        )
        graph = target.graph
        if isinstance(graph, ir.Graph):
            graph.insert_before(target, gather)
        target.replace_input_with(index, gather.outputs[0])

    return edit


def _given_axes(node: ir.Node, index: int, rank: int) -> tuple[int, ...] | None:
    """Axes from the input or the attribute; all when absent, ``None`` when not constant."""
    attribute = node.attributes.get("axes")
    if attribute is not None:
        return tuple(axis % rank for axis in attribute.as_ints())
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None:
        return tuple(range(rank))
    axes = int_constant(value)
    return None if axes is None else tuple(axis % rank for axis in axes)


def _set_axes(node: ir.Node, index: int, axes: Sequence[int]) -> Edit:
    if "axes" in node.attributes:

        def edit(editor: GraphEditor, target: ir.Node) -> None:
            target.attributes["axes"] = ir.AttrInt64s("axes", list(axes))

        return edit
    return _set_input(index, axes, _INT64)


def _drops_axes(axes: Sequence[int], perm: Permutation) -> bool:
    """Whether the axes left have one order before and after."""
    left = [axis for axis in perm if axis not in axes]
    return left == sorted(left)


def _reduction(node: ir.Node, perm: Permutation) -> Flip | None:
    axes = _given_axes(node, 1, len(perm))
    absent = "axes" not in node.attributes and (len(node.inputs) < 2 or node.inputs[1] is None)
    idle = node.attributes.get("noop_with_empty_axes")
    if not axes or (absent and idle is not None and idle.as_int()):
        return None
    keep = node.attributes.get("keepdims")
    kept = keep is None or keep.as_int() == 1
    if not kept and not _drops_axes(axes, perm):
        return None
    if len(axes) == len(perm):
        return Flip((0,), outputs=kept)
    new_axes = sorted(perm.index(axis) for axis in axes)
    return Flip((0,), outputs=kept, edits=(_set_axes(node, 1, new_axes),))


def _arg_reduction(node: ir.Node, perm: Permutation) -> Flip | None:
    axis = _axis(node, 0, len(perm))
    keep = node.attributes.get("keepdims")
    kept = keep is None or keep.as_int() == 1
    if not kept and not _drops_axes([axis], perm):
        return None
    return Flip((0,), outputs=kept, edits=(_set_axis(perm.index(axis)),))


def _squeeze(node: ir.Node, perm: Permutation) -> Flip | None:
    axes = _given_axes(node, 1, len(perm))
    absent = "axes" not in node.attributes and (len(node.inputs) < 2 or node.inputs[1] is None)
    if axes is None or absent or not _drops_axes(axes, perm):
        return None
    new_axes = sorted(perm.index(axis) for axis in axes)
    return Flip((0,), outputs=False, edits=(_set_axes(node, 1, new_axes),))


def _slice(node: ir.Node, perm: Permutation) -> Flip | None:
    if len(node.inputs) < 3 or node.inputs[1] is None or node.inputs[1].dtype is None:
        return None
    axes = _given_axes(node, 3, len(perm))
    if len(node.inputs) < 4 or node.inputs[3] is None:
        count = known_dims(node.inputs[1])
        if not count or not isinstance(count[0], int):
            return None
        axes = tuple(range(count[0]))
    if axes is None:
        return None
    new_axes = [perm.index(axis) for axis in axes]
    return Flip((0,), edits=(_set_input(3, new_axes, node.inputs[1].dtype.numpy()),))


def _pad(node: ir.Node, perm: Permutation) -> Flip | None:
    rank = len(perm)
    if len(node.inputs) < 2:
        return None
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        axes = _given_axes(node, 3, rank)
        if axes is None:
            return None
        return Flip((0,), edits=(_set_input(3, [perm.index(axis) for axis in axes], _INT64),))
    both = (*perm, *(rank + axis for axis in perm))
    edit = _permute_input(node, 1, both)
    return None if edit is None else Flip((0,), edits=(edit,))


def _resize(node: ir.Node, perm: Permutation) -> Flip | None:
    listed = node.attributes.get("axes")
    if listed is not None:
        axes = [perm.index(axis % len(perm)) for axis in listed.as_ints()]

        def set_axes(editor: GraphEditor, target: ir.Node) -> None:
            target.attributes["axes"] = ir.AttrInt64s("axes", axes)

        return Flip((0,), edits=(set_axes,))
    edits: list[Edit] = []
    for index in range(1, len(node.inputs)):
        value = node.inputs[index]
        array = constant(value)
        if value is None or (array is not None and array.size == 0):
            continue
        order = (*perm, *(len(perm) + axis for axis in perm)) if index == 1 else perm
        edit = _permute_input(node, index, order)
        if edit is None:
            return None
        edits.append(edit)
    return Flip((0,), edits=tuple(edits))


def _per_axis(index: int) -> Callable[[ir.Node, Permutation], Flip | None]:
    def rule(node: ir.Node, perm: Permutation) -> Flip | None:
        edit = _permute_input(node, index, perm)
        return None if edit is None else Flip((0,), edits=(edit,))

    return rule


def _expand(node: ir.Node, perm: Permutation) -> Flip | None:
    shape = int_constant(node.inputs[1])
    if shape is not None and len(shape) < len(perm):
        padded = (1,) * (len(perm) - len(shape)) + shape
        return Flip((0,), edits=(_set_input(1, [padded[axis] for axis in perm], _INT64),))
    return _per_axis(1)(node, perm)


def _cumulative(node: ir.Node, perm: Permutation) -> Flip | None:
    axes = int_constant(node.inputs[1])
    if axes is None or len(axes) != 1:
        return None

    def edit(editor: GraphEditor, target: ir.Node) -> None:
        axis = perm.index(axes[0] % len(perm))
        target.replace_input_with(1, editor.add_constant(np.array(axis, dtype=np.int64)))

    return Flip((0,), edits=(edit,))


def _gather(node: ir.Node, perm: Permutation) -> Flip | None:
    axis = _axis(node, 0, len(perm))
    index_rank = rank_of(node.inputs[1])
    if index_rank == 1:
        return Flip((0,), edits=(_set_axis(perm.index(axis)),))
    if index_rank == 0 and _drops_axes([axis], perm):
        return Flip((0,), outputs=False, edits=(_set_axis(perm.index(axis)),))
    return None


def _quantize(node: ir.Node, perm: Permutation) -> Flip | None:
    if rank_of(node.inputs[1]) == 0:
        return Flip((0,))
    if rank_of(node.inputs[1]) != 1 or "block_size" in node.attributes:
        return None
    return Flip((0,), edits=(_set_axis(perm.index(_axis(node, 1, len(perm)))),))


_RULES: dict[str, Callable[[ir.Node, Permutation], Flip | None]] = {
    "ArgMax": _arg_reduction,
    "ArgMin": _arg_reduction,
    "CumSum": _cumulative,
    "DequantizeLinear": _quantize,
    "Expand": _expand,
    "Gather": _gather,
    "Pad": _pad,
    "QuantizeLinear": _quantize,
    "Resize": _resize,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Tile": _per_axis(1),
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(_FIRST_ONLY, _first_only),
    **dict.fromkeys(_AXIS_ATTRIBUTE, _axis_attribute),
    **dict.fromkeys(_REDUCTIONS, _reduction),
}
