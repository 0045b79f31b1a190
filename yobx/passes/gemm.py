"""MatMul followed by a bias, as Gemm."""

from __future__ import annotations

import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, constant, graphs_of, rank_of

__all__ = ["matmul_add_to_gemm"]

_FLOATS = frozenset((ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16))


def matmul_add_to_gemm(model: ir.Model) -> None:
    """Merges ``x @ w + b`` into Gemm where ``x`` and ``w`` have rank 2 and ``b`` is a constant.

    Args:
        model: Model, changed in place.
    """
    if model.opset_imports.get("", 0) < 11:
        return  # the bias of Gemm is not optional, its broadcast is an attribute
    for graph in graphs_of(model):
        for node in list(graph):
            if node.graph is not graph or node.op_type != "MatMul" or node.domain:
                continue
            output = node.outputs[0]
            uses = list(output.uses())
            if output.is_graph_output() or len(uses) != 1 or output.dtype not in _FLOATS:
                continue
            add, index = uses[0]
            if add.op_type != "Add" or add.graph is not graph:
                continue
            bias = add.inputs[1 - index]
            array = constant(bias) if bias is not None and bias.is_initializer() else None
            if rank_of(node.inputs[0]) != 2 or rank_of(node.inputs[1]) != 2 or array is None:
                continue
            if array.ndim > 2 or (array.ndim == 2 and array.shape[0] != 1):
                continue
            node.op_type = "Gemm"
            node.resize_inputs(3)
            node.replace_input_with(2, bias)
            output.shape = add.outputs[0].shape
            GraphEditor.replace(add.outputs[0], output)
            graph.remove(add, safe=True)
