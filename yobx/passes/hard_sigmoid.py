"""``clip(x + 3, 0, 6) / 6``, as HardSigmoid."""

from __future__ import annotations

import onnx_ir as ir

from yobx.passes.graph_edit import graphs_of, known_dims, producer_of, scalar_constant

__all__ = ["merge_hard_sigmoid"]

_TOLERANCE = 1e-6


def merge_hard_sigmoid(model: ir.Model) -> None:
    """Merges a shifted, clipped and scaled value into HardSigmoid.

    To be run after the clips are merged.

    Args:
        model: Model, changed in place.
    """
    for graph in graphs_of(model):
        for node in list(graph):
            if node.op_type not in ("Div", "Mul") or node.domain:
                continue
            found = _match(node)
            if found is not None:
                source, alpha, beta = found
                node.op_type = "HardSigmoid"
                node.attributes.clear()
                node.attributes["alpha"] = ir.AttrFloat32("alpha", alpha)
                node.attributes["beta"] = ir.AttrFloat32("beta", beta)
                node.resize_inputs(1)
                node.replace_input_with(0, source)


def _match(node: ir.Node) -> tuple[ir.Value, float, float] | None:
    """Reads a node as ``clip(alpha * x + beta, 0, 1)``."""
    for index in (0, 1) if node.op_type == "Mul" else (0,):
        clip = producer_of(node.inputs[index], "Clip")
        number = scalar_constant(node.inputs[1 - index])
        if clip is None or not number or len(clip.inputs) != 3:
            continue
        factor = number if node.op_type == "Mul" else 1.0 / number
        low, high = (scalar_constant(value) for value in clip.inputs[1:])
        if low != 0.0 or high is None or abs(high * factor - 1.0) > _TOLERANCE:
            continue
        shifted = _shifted(clip.inputs[0])
        if shifted is not None and _keeps_shape(shifted[0], node):
            return shifted[0], factor, shifted[1] * factor
    return None


def _shifted(value: ir.Value | None) -> tuple[ir.Value, float] | None:
    """Reads a value as ``x + shift``; the shift is 0 where it went into a convolution."""
    add = producer_of(value, "Add")
    for source, other in () if add is None else (add.inputs, add.inputs[::-1]):
        shift = scalar_constant(other)
        if source is not None and shift is not None:
            return source, shift
    return None if value is None else (value, 0.0)


def _keeps_shape(source: ir.Value, node: ir.Node) -> bool:
    dims = known_dims(source)
    # The factor is an attribute of float32, which a sixth in float64 does not fit into.
    single = source.dtype is ir.DataType.FLOAT
    return dims is not None and dims == known_dims(node.outputs[0]) and single
