"""Slices: ``Slice``, and ``StridedSlice`` with all of its masks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.gather import gather
from yobx.lowering.legalise import legal
from yobx.lowering.shapes import Dim
from yobx.tensorflow.ops._complex import COMPLEX, by_parts
from yobx.tensorflow.ops._op import ALL, attr, constant, dims, rank
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_LAST = np.iinfo(np.int64).max
_FIRST = np.iinfo(np.int64).min + 1


@dataclass
class SlicePlan:
    """What a ``StridedSlice`` does to each axis of its input.

    Attributes:
        axes: Axes that are cut.
        starts: First position on each of them.
        ends: Position after the last one.
        steps: Step on each of them.
        dropped: Input axes that are removed (an index instead of a range).
        added: Axes of the result that are new.
    """

    axes: list[int] = field(default_factory=list)
    starts: list[Dim] = field(default_factory=list)
    ends: list[Dim] = field(default_factory=list)
    steps: list[Dim] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)


class _Specification:
    """The begin, end and stride vectors, entry by entry: an integer if known, else a name."""

    def __init__(self, g: GraphBuilder, op: Any) -> None:
        self._g = g
        self._inputs = [op.inputs[i].name for i in (1, 2, 3)]
        self._values = [constant(g, op, i) for i in (1, 2, 3)]
        self._vectors: dict[int, str] = {}
        sizes = [dims(g, op, i) for i in (1, 2, 3)]
        self.length = next(int(s[0]) for s in sizes if s is not None and s[0] is not None)

    def entry(self, which: int, index: int) -> Dim:
        """Return entry ``index`` of begin (0), end (1) or strides (2)."""
        value = self._values[which]
        if value is not None:
            return int(np.ravel(value)[index])
        if which not in self._vectors:
            self._vectors[which] = shapes.vector(self._g, self._inputs[which])
        picked = self._g.op.Gather(self._vectors[which], np.array([index], np.int64))
        known = self._g.get_constant(picked)
        return str(picked) if known is None else int(np.ravel(known)[0])


def _masked(g: GraphBuilder, step: Dim, forward: int, backward: int) -> Dim:
    """Return the open end of a range for a step of either sign."""
    if isinstance(step, int):
        return forward if step > 0 else backward
    positive = g.op.Greater(step, np.array([0], np.int64))
    choice = np.array([forward], np.int64), np.array([backward], np.int64)
    return str(g.op.Where(positive, *choice))


def plan_strided_slice(g: GraphBuilder, op: Any, x: str, n: int) -> SlicePlan:
    """Read begin, end, strides (inputs 1 to 3) and the masks of a slice of ``x``, of rank ``n``."""
    masks = {
        name: int(attr(op, f"{name}_mask"))
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    spec, plan = _Specification(g, op), SlicePlan()

    def is_set(name: str, index: int) -> bool:
        return bool(masks[name] & (1 << index))

    inserted = sum(is_set("new_axis", i) for i in range(spec.length) if not is_set("ellipsis", i))
    has_ellipsis = any(is_set("ellipsis", i) for i in range(spec.length))
    consumed = spec.length - inserted - int(has_ellipsis)
    axis = position = 0
    for i in range(spec.length):
        if is_set("ellipsis", i):
            axis += n - consumed
            position += n - consumed
        elif is_set("new_axis", i):
            plan.added.append(position)
            position += 1
        elif is_set("shrink_axis", i):
            _add_index(g, plan, axis, spec.entry(0, i))
            axis += 1
        else:
            step = spec.entry(2, i)
            begin = _masked(g, step, 0, _LAST) if is_set("begin", i) else spec.entry(0, i)
            end = _masked(g, step, _LAST, _FIRST) if is_set("end", i) else spec.entry(1, i)
            end = _end_before_start(g, x, axis, (begin, end, step))
            if (begin, end, step) != (0, _LAST, 1):
                _add_range(plan, axis, begin, end, step)
            axis += 1
            position += 1
    return plan


def _end_before_start(g: GraphBuilder, x: str, axis: int, entry: tuple[Dim, Dim, Dim]) -> Dim:
    """Return the end of a range, moved where going down begins before the first element.

    TensorFlow takes nothing then; ONNX begins at the first element.
    """
    begin, end, step = entry
    if (isinstance(step, int) and step > 0) or (isinstance(begin, int) and begin >= -1):
        return end
    known = shapes.dims(g, x)
    size = known[axis] if known is not None and axis < len(known) else None
    if isinstance(begin, int) and size is not None:
        return 0 if begin + size < 0 else end
    length: Any = g.op.Shape(x, start=axis, end=axis + 1)
    start = np.array([begin], np.int64) if isinstance(begin, int) else begin
    early = g.op.Less(start, g.op.Neg(length))
    if not isinstance(step, int):
        early = g.op.And(early, g.op.Less(step, np.array([0], np.int64)))
    other = np.array([end], np.int64) if isinstance(end, int) else end
    return str(g.op.Where(early, np.array([0], np.int64), other))


def _add_range(plan: SlicePlan, axis: int, begin: Dim, end: Dim, step: Dim) -> None:
    plan.axes.append(axis)
    plan.starts.append(begin)
    plan.ends.append(end)
    plan.steps.append(step)


def _add_index(g: GraphBuilder, plan: SlicePlan, axis: int, index: Dim) -> None:
    """Cut one element out of ``axis`` and drop the axis; -1 ends at the border, not at zero."""
    if isinstance(index, int):
        end: Dim = _LAST if index == -1 else index + 1
    else:
        after = g.op.Add(index, np.array([1], np.int64))
        wraps = g.op.Equal(after, np.array([0], np.int64))
        end = str(g.op.Where(wraps, np.array([_LAST], np.int64), after))
    _add_range(plan, axis, index, end, 1)
    plan.dropped.append(axis)


@register_tf_op_converter("StridedSlice", dtypes=(*ALL, *COMPLEX))
def convert_strided_slice(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Ranges, indices, new axes and an ellipsis, as in Python's ``x[...]``."""
    x = op.inputs[0].name
    plan = plan_strided_slice(g, op, x, _rank(g, op))
    if plan.axes == plan.dropped and len(plan.axes) == 1 and not plan.added:
        index: Any = plan.starts[0]
        chosen = np.array(index, np.int64) if isinstance(index, int) else shapes.scalar(g, index)
        return gather(g, x, chosen, plan.axes[0], outputs=outputs[:1], name=op.name)
    last = "added" if plan.added else "dropped" if plan.dropped else "cut"
    if plan.axes:
        names = outputs[:1] if last == "cut" else None
        x = _cut(g, x, plan, names, op.name)
    if plan.dropped:
        names = outputs[:1] if last == "dropped" else None
        x = g.op.Squeeze(x, np.array(plan.dropped, np.int64), outputs=names, name=op.name)
    if plan.added:
        x = g.op.Unsqueeze(x, np.array(plan.added, np.int64), outputs=outputs[:1], name=op.name)
    if not plan.axes and not plan.added:
        g.alias(outputs[0], x)
    return str(x)


def _rank(g: GraphBuilder, op: Any) -> int:
    """Return the rank of the input; an ellipsis in the middle cannot do without it."""
    known = dims(g, op, 0)
    if known is not None:
        return len(known)
    ellipsis = int(attr(op, "ellipsis_mask"))
    return 0 if ellipsis == 0 else rank(g, op, 0)


def _cut(g: GraphBuilder, x: str, plan: SlicePlan, outputs: list[str] | None, name: str) -> str:
    axes = np.array(plan.axes, np.int64)
    columns = [shapes.join_dims(g, c) for c in (plan.starts, plan.ends)]
    steps = None if all(s == 1 for s in plan.steps) else shapes.join_dims(g, plan.steps)
    return str(g.op.Slice(x, *columns, axes, steps, outputs=outputs, name=name))


@register_tf_op_converter("Slice", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_slice(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A block given by its begin and size; a size of -1 reaches to the end."""
    begin, size = constant(g, op, 1), constant(g, op, 2)
    last = np.array(_LAST, np.int64)
    if begin is not None and size is not None:
        start: Any = begin.astype(np.int64)
        end: Any = np.where(size < 0, last, start + size.astype(np.int64))
    else:
        start = shapes.vector(g, op.inputs[1].name)
        sizes = shapes.vector(g, op.inputs[2].name)
        open_end = g.op.Less(sizes, np.array(0, np.int64))
        end = g.op.Where(open_end, last, g.op.Add(start, sizes))
    return str(g.op.Slice(op.inputs[0].name, start, end, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("TensorStridedSliceUpdate", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_slice_update(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A copy of a tensor with the elements of a strided slice replaced."""
    return replace_slice(g, op, op.inputs[0].name, rank(g, op, 0), outputs)


def replace_slice(g: GraphBuilder, op: Any, x: str, n: int, outputs: list[str]) -> str:
    """Emit a copy of a tensor with the elements of a strided slice replaced.

    Args:
        g: The graph.
        op: An op whose inputs from 1 on are begin, end, strides and the new elements.
        x: The tensor.
        n: Its rank.
        outputs: Names to give.

    Returns:
        Name of the result, of the shape of ``x``.
    """
    update = op.inputs[4].name
    plan = plan_strided_slice(g, op, x, n)
    one = np.array(1, np.int64)
    total = g.op.ReduceProd(g.op.Shape(x), keepdims=0)
    flat_positions = g.op.Reshape(
        g.op.Range(np.array(0, np.int64), total, one), g.op.Shape(x), allowzero=1
    )
    picked = _cut(g, flat_positions, plan, None, op.name) if plan.axes else flat_positions
    kept = g.op.Squeeze(picked, np.array(plan.dropped, np.int64)) if plan.dropped else picked
    if plan.added:
        kept = g.op.Unsqueeze(kept, np.array(plan.added, np.int64))
    values = legal(g).Expand(update, g.op.Shape(kept))
    places = g.op.Unsqueeze(shapes.flatten(g, kept), np.array([1], np.int64))
    done = g.op.ScatterND(shapes.flatten(g, x), places, shapes.flatten(g, values))
    return str(g.op.Reshape(done, g.op.Shape(x), allowzero=1, outputs=outputs[:1], name=op.name))
