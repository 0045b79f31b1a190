"""Arithmetic after a dense layer, put into its weights and one offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, constant, graphs_of, rank_of

__all__ = ["fold_into_dense"]

Array = npt.NDArray[Any]
_AFFINE = frozenset(("Add", "Sub", "Mul", "Div"))
# Bytes of a type whose rounding is small beside that of a product: weights of fewer take no factor.
_FULL = 4


def fold_into_dense(model: ir.Model) -> None:
    """Folds a chain of Add, Sub, Mul and Div by feature after ``x @ w`` into ``w`` and one Add.

    Weights are never changed in place: another node may use them.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.op_type != "MatMul" or node.domain or node.graph is not graph:
                continue
            weights = constant(node.inputs[1])
            if weights is None or weights.ndim != 2 or weights.dtype.kind != "f":
                continue
            chain = _chain(graph, node, weights.shape[1])
            if chain is None or (chain.scaled and weights.dtype.itemsize < _FULL):
                continue
            if len(chain.nodes) > 1 or chain.scaled:
                editor = editor or GraphEditor(model)
                _fold(editor, graph, node, weights, chain)


@dataclass
class _Chain:
    """``scale * (x @ w) + offset`` by feature, in float64.

    Attributes:
        nodes: The nodes that compute it after the MatMul.
        scale: Factor of each feature.
        offset: Summand of each feature.
    """

    nodes: list[ir.Node]
    scale: Array
    offset: Array

    @property
    def scaled(self) -> bool:
        """Whether the weights change."""
        return bool(np.any(self.scale != 1))


def _chain(graph: ir.Graph, node: ir.Node, features: int) -> _Chain | None:
    rank = rank_of(node.outputs[0])
    if rank is None or rank < 2:
        return None
    chain = _Chain([], np.ones(features), np.zeros(features))
    value = node.outputs[0]
    while True:
        uses = list(value.uses())
        if value.is_graph_output() or len(uses) != 1:
            break
        user, index = uses[0]
        if user.graph is not graph or user.domain or user.op_type not in _AFFINE:
            break
        other = _by_feature(constant(user.inputs[1 - index]), rank, features)
        if other is None or not _extend(chain, user.op_type, index, other):
            break
        chain.nodes.append(user)
        value = user.outputs[0]
    return chain if chain.nodes else None


def _by_feature(array: Array | None, rank: int, features: int) -> Array | None:
    """The entries of a constant that varies along the last axis only."""
    if array is None or array.dtype.kind != "f" or array.ndim > rank:
        return None
    if array.size not in (1, features) or (array.ndim and array.shape[-1] != array.size):
        return None
    return array.reshape(-1).astype(np.float64)


def _extend(chain: _Chain, op_type: str, index: int, other: Array) -> bool:
    if op_type == "Add":
        chain.offset = chain.offset + other
    elif op_type == "Sub" and index == 0:
        chain.offset = chain.offset - other
    elif op_type == "Sub":
        chain.scale, chain.offset = -chain.scale, other - chain.offset
    elif op_type == "Mul":
        chain.scale, chain.offset = chain.scale * other, chain.offset * other
    elif index == 0 and np.all(other != 0):
        chain.scale, chain.offset = chain.scale / other, chain.offset / other
    else:
        return False
    return True


def _fold(
    editor: GraphEditor, graph: ir.Graph, node: ir.Node, weights: Array, chain: _Chain
) -> None:
    if chain.scaled:
        scaled = (weights.astype(np.float64) * chain.scale).astype(weights.dtype)
        name = node.inputs[1].name if node.inputs[1] is not None else None
        node.replace_input_with(1, editor.add_constant(scaled, f"{name}/folded"))
        # It gives no more what the product of the source gives.
        node.metadata_props.clear()
        node.metadata_props.update(chain.nodes[-1].metadata_props)
    output = node.outputs[0]
    last = chain.nodes[-1].outputs[0]
    if np.any(chain.offset != 0):
        offset = np.broadcast_to(chain.offset, (weights.shape[1],)).astype(weights.dtype)
        add = editor.make_node(
            "Add",
            [output, editor.add_constant(offset, f"{output.name}/bias")],
            like=chain.nodes[-1],
            hint=f"{output.name}/moved",
            dtype=output.dtype,
        )
        add.outputs[0].shape = output.shape
        graph.insert_after(node, add)
        output = add.outputs[0]
    editor.replace(last, output)
    for done in reversed(chain.nodes):
        graph.remove(done, safe=True)
