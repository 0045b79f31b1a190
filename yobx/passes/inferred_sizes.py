"""Sizes that a Reshape would infer beside one that is 0 in some run.

onnxruntime finds a -1 by dividing by the product of the other sizes, those that are copied by a 0
included, and stops if that is 0: an empty batch. TensorFlow and JAX know the size all the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from yobx.onnx_optim import OptimDim
from yobx.passes.graph_edit import GraphEditor, graphs_of, int_constant, known_dims

__all__ = ["settle_inferred_sizes"]

_SHAPE_RANGES = 18  # the opset in which Shape takes a part, and ReduceProd its axes as an input


def settle_inferred_sizes(model: ir.Model) -> None:
    """Writes what a Reshape would infer as a number, or computes it where that is open.

    Args:
        model: Model, changed in place.
    """
    if model.opset_imports.get("", 0) < _SHAPE_RANGES:
        return
    writer: _Writer | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.op_type != "Reshape" or node.domain:
                continue
            target = int_constant(node.inputs[1])
            if target is None or -1 not in target or not _copies(node, target):
                continue
            writer = writer if writer and writer.graph is graph else _Writer(model, graph)
            _settle(writer, node, target)


def _copies(node: ir.Node, target: Sequence[int]) -> bool:
    """Whether a 0 of a target stands for a size of the input."""
    attribute = node.attributes.get("allowzero")
    return 0 in target and (attribute is None or attribute.as_int() == 0)


@dataclass
class _Writer:
    """Makes the nodes of sizes in one graph, each of them once.

    Attributes:
        model: The model.
        graph: The graph.
    """

    model: ir.Model
    graph: ir.Graph
    editor: GraphEditor = field(init=False)
    made: dict[tuple[object, ...], ir.Value] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.editor = GraphEditor(self.model)

    def vector(self, numbers: Sequence[int]) -> ir.Value:
        """A constant of integers."""
        return self.editor.add_constant(np.array(numbers, dtype=np.int64))

    def node(
        self,
        before: ir.Node,
        op_type: str,
        inputs: Sequence[ir.Value],
        size: int,
        **attributes: int,
    ) -> ir.Value:
        """The result of a node, a vector of integers."""
        key = (op_type, *map(id, inputs), *sorted(attributes.items()))
        if key not in self.made:
            made = self.editor.make_node(
                op_type, inputs, attributes, like=before, dtype=ir.DataType.INT64, shape=[size]
            )
            self.graph.insert_before(before, made)
            self.made[key] = made.outputs[0]
        return self.made[key]

    def sizes(self, before: ir.Node, x: ir.Value, start: int, end: int) -> ir.Value:
        """The sizes of some axes of a value."""
        return self.node(before, "Shape", [x], end - start, start=start, end=end)


def _settle(writer: _Writer, node: ir.Node, target: Sequence[int]) -> None:
    source, wanted = node.inputs[0], known_dims(node.outputs[0])
    dims = known_dims(source)
    if source is None or wanted is None or dims is None or None in dims:
        return
    place = target.index(-1)
    known = wanted[place]
    if isinstance(known, int) and known:
        numbers = [known if size == -1 else size for size in target]
        node.replace_input_with(1, writer.vector(numbers))
    elif list(target) == [0, -1]:
        node.op_type = "Flatten"
        node.attributes.clear()
        node.resize_inputs(1)
        node.attributes["axis"] = ir.AttrInt64("axis", 1)
    elif (part := _part_of(dims, wanted, place)) is not None:
        sizes = _joined(writer, node, source, target, _product(writer, node, source, part))
        node.replace_input_with(1, sizes)
        node.attributes["allowzero"] = ir.AttrInt64("allowzero", 1)


@dataclass(frozen=True)
class _Part:
    """Axes of the input that the inferred size is made of.

    Attributes:
        start: The first axis, with an open size.
        end: The axis behind the last one, which has an open size too.
        times: What the product of their sizes is multiplied by.
        by: What it is divided by then.
    """

    start: int
    end: int
    times: int
    by: int


def _part_of(
    dims: Sequence[int | str | None], wanted: Sequence[int | str | None], place: int
) -> _Part | None:
    """Finds the axes whose open sizes are not those before or after the one that is inferred."""
    before, after = wanted[:place], wanted[place + 1 :]
    start = next((i for i in range(len(dims)) if _open(dims[:i]) == _open(before)), None)
    ends = range(len(dims), 0, -1)
    end = next((i for i in ends if _open(dims[i:]) == _open(after)), None)
    if start is None or end is None:
        return None
    axes = [i for i in range(start, end) if isinstance(dims[i], str)]
    if not axes:
        return None
    # The sizes of a product are read in one piece, with the numbers between them.
    inside = _known(dims[axes[0] : axes[-1] + 1])
    times, by = _known(dims), inside * _known(before) * _known(after)
    common = math.gcd(times, by)
    return _Part(axes[0], axes[-1] + 1, times // common, by // common) if common else None


def _known(dims: Sequence[int | str | None]) -> int:
    """The product of the sizes that are numbers."""
    return math.prod(dim for dim in dims if isinstance(dim, int))


def _open(dims: Sequence[int | str | None]) -> OptimDim | None:
    """The product of the sizes that are not."""
    total = OptimDim(1)
    for dim in dims:
        if dim is None:
            return None
        total = total * OptimDim(dim) if isinstance(dim, str) else total
    return total


def _product(writer: _Writer, node: ir.Node, source: ir.Value, part: _Part) -> ir.Value:
    """Emits the inferred size."""
    value = writer.sizes(node, source, part.start, part.end)
    if part.end - part.start > 1:
        value = writer.node(node, "ReduceProd", [value], 1, keepdims=1)
    if part.times != 1:
        value = writer.node(node, "Mul", [value, writer.vector([part.times])], 1)
    if part.by != 1:
        value = writer.node(node, "Div", [value, writer.vector([part.by])], 1)
    return value


def _joined(
    writer: _Writer, node: ir.Node, source: ir.Value, target: Sequence[int], inferred: ir.Value
) -> ir.Value:
    """Emits a target with the inferred size, and with those of the input that it copies."""
    parts: list[ir.Value] = []
    for kind, run in itertools.groupby(enumerate(target), lambda item: min(item[1], 1)):
        axes = list(run)
        if kind < 0:
            parts.append(inferred)
        elif kind == 0:
            parts.append(writer.sizes(node, source, axes[0][0], axes[-1][0] + 1))
        else:
            parts.append(writer.vector([size for _, size in axes]))
    return writer.node(node, "Concat", parts, len(target), axis=0)
