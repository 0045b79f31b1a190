"""Products of transposed values that onnxruntime crashes on while it loads them.

It turns Transpose - Cast - MatMul into Cast - Transpose - MatMul, so that the last two become one
node. A Transpose of the first batch axis becomes none unless both operands have one rank; the
nodes are changed by then, but it takes the graph for unchanged and reads nodes that are not
complete. It writes such a Cast itself before every MatMul of float16, which it has no kernel for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, graphs_of, known_dims, producer_of, rank_of
from yobx.passes.layout import inverse, transpose_perm
from yobx.passes.layout_rules import Permutation

__all__ = ["keep_transposed_products"]

_MATRIX = 2
_LOWEST_BATCH = 3


def keep_transposed_products(model: ir.Model) -> None:
    """Writes a MatMul of a transposed value so that onnxruntime has nothing to exchange.

    Where a Cast stands between, it changes places with the Transpose. Else the Transpose moves
    behind the MatMul, if its other operand is one matrix of weights; if it is not, two nodes that
    change nothing part the Transpose from the MatMul.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            for side in (0, 1):
                found = _exchanged(graph, node, side)
                if found is not None:
                    editor = editor or GraphEditor(model)
                    _Rewrite(editor, graph, node).operand(side, *found)


def _exchanged(
    graph: ir.Graph, node: ir.Node, side: int
) -> tuple[ir.Node, Permutation, ir.Node | None] | None:
    """What onnxruntime exchanges before an operand: the Transpose, how it permutes, the Cast."""
    if node.op_type != "MatMul" or node.domain:
        return None  # a product that was turned is a Transpose by now
    operand = node.inputs[side]
    cast = producer_of(operand, "Cast")
    if operand is None or (cast is None and operand.dtype != ir.DataType.FLOAT16):
        return None
    turned = operand if cast is None else cast.inputs[0]
    transpose = producer_of(turned, "Transpose")
    perm = transpose_perm(transpose)
    if turned is None or transpose is None or perm is None or turned.is_graph_output():
        return None
    if transpose.graph is not graph or (cast is not None and cast.graph is not graph):
        return None
    if not _turns_batch(perm) or rank_of(node.inputs[1 - side]) == len(perm):
        return None
    return transpose, perm, cast


def _turns_batch(perm: Permutation) -> bool:
    """Whether the first axis moves behind all others but the last, or behind them all."""
    rank = len(perm)
    last = rank - 1
    turns = ((*range(1, last), 0, last), (*range(1, rank), 0))
    return rank >= _LOWEST_BATCH and perm in turns


class _Rewrite:
    """One MatMul; what nothing reads any more is left to be removed."""

    def __init__(self, editor: GraphEditor, graph: ir.Graph, node: ir.Node) -> None:
        self._editor = editor
        self._graph = graph
        self._node = node

    def operand(
        self, side: int, transpose: ir.Node, perm: Permutation, cast: ir.Node | None
    ) -> None:
        """Writes the product so that the operand is exchanged with nothing.

        Args:
            side: Which operand.
            transpose: The Transpose before it.
            perm: Its permutation.
            cast: The Cast behind the Transpose, if there is one.
        """
        node = self._node
        operand, other, source = node.inputs[side], node.inputs[1 - side], transpose.inputs[0]
        if operand is None or source is None:
            return
        if cast is not None and operand.dtype != ir.DataType.FLOAT16:
            source = self._cast(source, cast)
            attributes = {"perm": list(perm)}
            turned = self._before(
                "Transpose",
                [source],
                operand,
                known_dims(operand),
                attributes=attributes,
                like=transpose,
            )
            node.replace_input_with(side, turned)
        elif side == 0 and perm[-1] == len(perm) - 1 and rank_of(other) == _MATRIX:
            self._turn_the_product(source if cast is None else self._cast(source, cast), perm)
        else:
            self._part(side, operand)

    def _cast(self, source: ir.Value, cast: ir.Node) -> ir.Value:
        return self._before(
            "Cast",
            [source],
            cast.outputs[0],
            known_dims(source),
            attributes={"to": cast.attributes["to"].as_int()},
            like=cast,
        )

    def _turn_the_product(self, source: ir.Value, perm: Permutation) -> None:
        """The node itself becomes the Transpose of the product: an output keeps its name."""
        node = self._node
        output = node.outputs[0]
        dims = known_dims(output)
        back = None if dims is None else [dims[axis] for axis in inverse(perm)]
        product = self._before("MatMul", [source, node.inputs[1]], output, back)
        node.op_type = "Transpose"
        node.resize_inputs(1)
        node.replace_input_with(0, product)
        node.attributes["perm"] = ir.AttrInt64s("perm", list(perm))

    def _part(self, side: int, operand: ir.Value) -> None:
        """An axis more and one less again, which part the operand from its Transpose."""
        dims = known_dims(operand)
        axes = self._editor.add_constant(np.array([0], np.int64))
        opened = None if dims is None else [1, *dims]
        more = self._before("Unsqueeze", [operand, axes], operand, opened)
        less = self._before("Squeeze", [more, axes], operand, dims)
        self._node.replace_input_with(side, less)

    def _before(
        self,
        op_type: str,
        inputs: Sequence[ir.Value | None],
        value: ir.Value,
        dims: Iterable[int | str | None] | None,
        *,
        attributes: Mapping[str, Any] | None = None,
        like: ir.Node | None = None,
    ) -> ir.Value:
        """Puts a node in front of the MatMul, for a value of the type of another."""
        made = self._editor.make_node(
            op_type,
            inputs,
            attributes,
            like=like or self._node,
            hint=f"{value.name}/moved",
            dtype=value.dtype,
            shape=dims,
        )
        self._graph.insert_before(self._node, made)
        return made.outputs[0]
