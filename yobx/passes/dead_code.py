"""What nothing reads."""

from __future__ import annotations

from functools import lru_cache

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

__all__ = ["remove_dead_code"]


def remove_dead_code(model: ir.Model) -> None:
    """Removes nodes, initializers and optional outputs without users; graph inputs stay.

    Args:
        model: Model, changed in place.
    """
    bodies: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    done = [_remove_nodes(body) for body in bodies]
    if not all(done):
        # Which outputs are optional is asked of the schemas, node by node.
        common.RemoveUnusedNodesPass()(model)
        return
    kept = {id(value) for value in (*model.graph.inputs, *model.graph.outputs)}
    initializers = model.graph.initializers
    for name, value in [*initializers.items()]:
        if not value.uses() and id(value) not in kept:
            del initializers[name]


def _remove_nodes(body: ir.Graph | ir.Function) -> bool:
    """Removes the nodes without users; tells whether those that stay are as short as can be."""
    outputs = {id(value) for value in body.outputs}
    done = True
    for node in reversed(body):
        used = [bool(value.uses()) or id(value) in outputs for value in node.outputs]
        if not any(used):
            body.remove(node, safe=True)
            continue
        omitted = bool(node.inputs) and node.inputs[-1] is None
        spare = not all(used) and _has_optional_outputs(node.op_type, node.domain)
        done = done and not (spare or omitted or "training_mode" in node.attributes)
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
                done = _remove_nodes(attribute.as_graph()) and done
            elif attribute.type == ir.AttributeType.GRAPHS and not attribute.is_ref():
                inner = [_remove_nodes(graph) for graph in attribute.as_graphs()]
                done = done and all(inner)
    return done


@lru_cache(maxsize=1024)
def _has_optional_outputs(op_type: str, domain: str) -> bool:
    try:
        outputs = onnx.defs.get_schema(op_type, domain).outputs
    except onnx.defs.SchemaError:
        return False
    return any(o.option == onnx.defs.OpSchema.FormalParameterOption.Optional for o in outputs)
