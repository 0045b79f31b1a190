"""Nodes that compute the same thing from the same inputs, kept once."""

from __future__ import annotations

from collections.abc import Hashable

import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, graphs_of

__all__ = ["merge_common_subexpressions"]

_RANDOM = frozenset(
    (
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    )
)
_COMMUTATIVE = frozenset(("Add", "Mul", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr"))
_STANDARD = frozenset(("", "ai.onnx", "ai.onnx.ml"))
_LARGEST_TENSOR = 1024


def merge_common_subexpressions(model: ir.Model) -> None:
    """Merges equal nodes of the same graph; random and custom operators are left alone.

    Args:
        model: Model, changed in place.
    """
    for graph in graphs_of(model):
        seen: dict[Hashable, ir.Node] = {}
        for node in list(graph):
            key = _key(node)
            if key is None:
                continue
            first = seen.setdefault(key, node)
            if first is node:
                continue
            done = [
                GraphEditor.replace(old, new)
                for old, new in zip(node.outputs, first.outputs, strict=True)
            ]
            if all(done):
                graph.remove(node, safe=True)


def _key(node: ir.Node) -> Hashable | None:
    if node.domain not in _STANDARD or node.op_type in _RANDOM:
        return None
    attributes = []
    for name, attribute in sorted(node.attributes.items()):
        content = _content(attribute)
        if content is None:
            return None
        attributes.append((name, content))
    inputs = [id(value) for value in node.inputs]
    if node.op_type in _COMMUTATIVE:
        inputs.sort()
    wanted = tuple(bool(output.name) for output in node.outputs)
    return (node.domain, node.op_type, wanted, tuple(inputs), tuple(attributes))


def _content(attribute: ir.Attr) -> Hashable | None:
    """Something that is equal for equal attributes; ``None`` for graphs and large tensors."""
    if attribute.is_ref():
        return ("reference", attribute.ref_attr_name)
    if attribute.type == ir.AttributeType.TENSOR:
        tensor = attribute.as_tensor()
        if tensor.size > _LARGEST_TENSOR or tensor.dtype == ir.DataType.STRING:
            return None
        return (tensor.dtype, tuple(tensor.shape.numpy()), tensor.tobytes())
    if attribute.type in _LISTS:
        return (attribute.type, tuple(repr(item) for item in attribute.value))
    if attribute.type in _SCALARS:
        return (attribute.type, repr(attribute.value))
    return None


_SCALARS = frozenset((ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.STRING))
_LISTS = frozenset((ir.AttributeType.INTS, ir.AttributeType.FLOATS, ir.AttributeType.STRINGS))
