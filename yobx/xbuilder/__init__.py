"""Builds ONNX graphs: names, initializers, nodes, subgraphs, and the way out to a model."""

from yobx.xbuilder.attributes import AttributeRef
from yobx.xbuilder.graph_builder import GraphBuilder

__all__ = ["AttributeRef", "GraphBuilder"]
