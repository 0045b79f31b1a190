"""The builder's link to the shape engine: one ``ShapesContext`` for each graph being built."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import onnx

from yobx.errors import GraphError, ShapeError
from yobx.onnx_optim import OptimShape, OptimTensor, ShapesContext, TensorType, compute_shapes
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.type_protos import type_of_descriptor

__all__ = ["Inference"]

_UNKNOWN = OptimTensor(TensorType.kUndefined, OptimShape(None))


class Inference:
    """What is known about the values of one graph; a subgraph also sees the outer values.

    Args:
        opsets: Opset by domain.
        outer: Enclosing graph of a subgraph.
    """

    def __init__(self, opsets: Mapping[str, int], outer: Inference | None = None) -> None:
        parent: ShapesContext | None = outer.context if outer is not None else None
        self.context: ShapesContext = ShapesContext(opsets=dict(opsets), parent=parent)
        self._count = 0

    def declare(self, name: str, dtype: TensorType, shape: OptimShape) -> None:
        """States type and shape of a graph input.

        Args:
            name: Value name.
            dtype: Element type.
            shape: Shape.
        """
        self.context.set(name, OptimTensor(dtype, shape))

    def constant(self, name: str, array: npt.NDArray[np.generic]) -> None:
        """States type, shape and (when small) contents of an initializer.

        Args:
            name: Value name.
            array: Its contents.
        """
        self.context.set(name, OptimTensor.of_constant(array))

    def refine(self, name: str, dtype: TensorType | None, shape: OptimShape | None) -> None:
        """Adds a statement about a tensor to what is known of it.

        Args:
            name: Value name.
            dtype: Its element type, or ``None``.
            shape: Its shape, or ``None``.

        Raises:
            GraphError: If the statement contradicts what is known.
        """
        known = self.tensor(name)
        unknown = known.dtype == TensorType.kUndefined
        if dtype is not None and not unknown and known.dtype != dtype:
            raise GraphError(
                f"The declared element type contradicts the inferred one. Received: {name!r} "
                f"declared {dtype.onnx_text()}, inferred {known.dtype.onnx_text()}.",
                value=name,
                hint="Try a Cast.",
            )
        merged = known.shape
        if shape is not None and shape.has_rank():
            merged = _merge(name, known.shape, shape)
            for mine, theirs in zip(merged, shape, strict=True):
                self.context.add_constraint(mine, theirs)
        self.context.set(
            name, known.replace(dtype=dtype if unknown and dtype else known.dtype, shape=merged)
        )

    def set_opset(self, domain: str, version: int) -> None:
        """Adds the opset of a domain.

        Args:
            domain: Operator domain.
            version: Its opset.
        """
        self.context.set_opset_version(domain, version)

    def add_function(self, function: onnx.FunctionProto) -> None:
        """Makes a local function known, so that calls of it are inferred.

        Args:
            function: The finished function.
        """
        self.context.set_local_function(function)

    def run(self, node: onnx.NodeProto) -> None:
        """Infers the outputs of a node.

        Args:
            node: Node whose inputs are all known here.

        Raises:
            GraphError: If the node can never be valid.
        """
        try:
            # The position tells the contexts of the graphs inside two nodes apart.
            compute_shapes(self.context, node, node_index=self._count)
        except ShapeError as error:
            raise GraphError(error.said, op_type=node.op_type, hint=error.hint) from error
        self._count += 1

    def descriptor(self, name: str) -> Descriptor | None:
        """Returns what is known about a value of any kind, ``None`` if nothing.

        Args:
            name: Value name.
        """
        return self.context.lookup(name)

    def tensor(self, name: str) -> OptimTensor:
        """Returns what is known about a tensor, possibly nothing.

        Args:
            name: Value name.
        """
        found = self.context.lookup(name)
        return found if isinstance(found, OptimTensor) else _UNKNOWN

    def value_info(self, name: str, *, called: str | None = None) -> onnx.ValueInfoProto:
        """Writes what is known about a value.

        Args:
            name: Value name.
            called: Name to write instead.

        Returns:
            The proto, without a type when nothing is known.
        """
        proto = onnx.ValueInfoProto(name=called or name)
        found = self.context.lookup(name)
        kind = None if found is None else type_of_descriptor(found)
        if kind is not None:
            proto.type.CopyFrom(kind)
        return proto


def _merge(name: str, known: OptimShape, stated: OptimShape) -> OptimShape:
    if not known.has_rank():
        return stated
    pairs = list(zip(known, stated, strict=False))
    if len(known) != len(stated) or any(
        mine.is_int() and theirs.is_int() and mine != theirs for mine, theirs in pairs
    ):
        raise GraphError(
            f"The declared shape contradicts the inferred one. Received: {name!r} declared "
            f"{stated}, inferred {known}.",
            value=name,
            hint="Try the inferred shape.",
        )
    return OptimShape([mine if mine.is_int() else theirs for mine, theirs in pairs])
