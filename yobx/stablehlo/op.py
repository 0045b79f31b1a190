"""The view of one operation that a converter works with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from yobx.errors import OpOccurrence, UnsupportedAttributeError
from yobx.lowering.legalise import LegalOps, legal
from yobx.onnx_optim import OptimDim
from yobx.xbuilder import GraphBuilder

from . import ir
from .dims import Dims, dims_of, known_values
from .tensor import Tensor, full_tensor

if TYPE_CHECKING:
    from .convert import Scope

__all__ = ["Op"]


class Op:
    """One operation with its operands as ONNX values.

    Attributes:
        source: The operation as read.
        scope: Where its values live; converts regions and calls.
        inputs: Its operands, of one real part each.
        parts: Its operands with both parts of the complex ones.
    """

    __slots__ = ("inputs", "parts", "scope", "source")

    def __init__(
        self,
        source: ir.Operation,
        scope: Scope,
        inputs: Sequence[Tensor],
        parts: Sequence[tuple[Tensor, ...]] = (),
    ) -> None:
        self.source = source
        self.scope = scope
        self.inputs = tuple(inputs)
        self.parts = tuple(parts) or tuple((tensor,) for tensor in self.inputs)

    @property
    def g(self) -> GraphBuilder:
        """The builder nodes are added to."""
        return self.scope.g

    @property
    def emit(self) -> LegalOps:
        """Emitter of ONNX nodes that casts where onnxruntime lacks a kernel."""
        return legal(self.scope.g)

    def x(self, index: int = 0) -> str:
        """ONNX name of an operand, of its full shape."""
        return self.inputs[index].full(self.scope.g, self.scope.lineage)

    def xs(self) -> list[str]:
        """ONNX names of all operands, of their full shapes."""
        return [self.x(i) for i in range(len(self.inputs))]

    def attr(self, name: str, default: Any = None) -> Any:
        """Decoded attribute."""
        return self.source.attributes.get(name, default)

    def ints(self, name: str) -> tuple[int, ...]:
        """Attribute that lists integers."""
        return tuple(int(v) for v in np.asarray(self.attr(name, ())).ravel())

    def in_type(self, index: int = 0) -> ir.TensorType:
        """StableHLO type of an operand, of one real part."""
        return self.inputs[index].type

    def out_type(self, index: int = 0) -> ir.TensorType:
        """StableHLO type of a result; the real part's if it is complex."""
        return part_type(self.source.results[index].tensor)

    def out_dtype(self, index: int = 0) -> np.dtype[Any]:
        """Element type of a result; the real part's if it is complex."""
        return self.out_type(index).dtype

    def dims(self, index: int = 0) -> Dims:
        """Sizes of an operand as the shape engine knows them."""
        tensor = self.inputs[index]
        if None not in tensor.type.shape or not tensor.is_full:
            known = tensor.type.static_shape()
            if known is not None:
                return tuple(OptimDim(d) for d in known)
        return dims_of(self.g, self.x(index))

    def values(self, index: int) -> Dims | None:
        """Elements of a small integer operand, ``None`` where unknown."""
        return known_values(self.g, self.x(index))

    def flat_values(self, index: int) -> Dims | None:
        """Elements of a small integer operand of any rank, in row-major order."""
        return _flat_values(self.scope, self.source.operands[index])

    def static_ints(self, index: int) -> tuple[int, ...] | None:
        """Elements of a small integer operand when all of them are numbers."""
        values = self.values(index)
        if values is None or not all(v is not None and v.is_int() for v in values):
            return None
        return tuple(v.as_int() for v in values if v is not None)

    def constant(self, index: int) -> np.ndarray[Any, Any] | None:
        """Value of an operand that is a constant, else ``None``."""
        found = self.g.get_constant(self.inputs[index].compact)
        return None if found is None else np.asarray(found)

    def scalar(self, value: float, index: int = 0) -> np.ndarray[Any, Any]:
        """Scalar array of an operand's element type."""
        return np.array(value).astype(self.in_type(index).dtype)

    def elementwise(self, name: str, *, dtype: Any = None) -> Tensor:
        """Result of an element-wise computation on the compact operands.

        Args:
            name: ONNX value computed from them.
            dtype: Element type of the result if it is not that of the operation's.

        Returns:
            The tensor, with the broadcast that its operands still lack in common.
        """
        return self.broadcast_result(name, range(len(self.inputs)), dtype)

    def broadcast_result(self, name: str, operands: Sequence[int], dtype: Any = None) -> Tensor:
        """Like :meth:`elementwise`, for a computation on some of the operands."""
        used = [self.inputs[i] for i in operands]
        used = [t for t in used if t.type.rank] or used[:1]
        kind = ir.TensorType(used[0].type.shape, np.dtype(dtype or self.out_dtype()))
        covered = tuple(any(flags) for flags in zip(*(t.covered for t in used), strict=True))
        shape = next((t.shape for t in used if t.shape is not None), None)
        return Tensor(name, kind, covered, shape)

    def compacts(self) -> list[str]:
        """ONNX names of all operands in the form that broadcasts."""
        return [t.compact for t in self.inputs]

    def full(self, name: str, index: int = 0) -> Tensor:
        """Wrap a value that has a result's full shape."""
        return full_tensor(name, self.out_type(index))

    @property
    def occurrence(self) -> OpOccurrence:
        """Where this is, for an error."""
        return self.scope.occurrence(self.source)

    def unsupported(self, what: str, advice: str) -> UnsupportedAttributeError:
        """An error that says which form of the operation has no conversion.

        Args:
            what: What was received.
            advice: What to try.

        Returns:
            The error, to be raised.
        """
        where = self.occurrence
        return UnsupportedAttributeError(
            f"{self.source.name} cannot be converted in this form. Received: {what}. "
            f"Where: {where.layer or where.name}.",
            where,
            hint=advice,
        )


def _flat_values(scope: Scope, value: ir.Value) -> Dims | None:
    """Known elements of a value that is joined and reshaped from vectors the engine knows."""
    known = known_values(scope.g, scope.get(value)[0].full(scope.g, scope.lineage))
    owner = value.owner
    if known is not None or owner is None:
        return known
    if owner.name == "stablehlo.reshape":
        return _flat_values(scope, owner.operands[0])
    if owner.name == "stablehlo.concatenate" and owner.attributes["dimension"] == 0:
        parts = [_flat_values(scope, operand) for operand in owner.operands]
        if all(part is not None for part in parts):
            return tuple(v for part in parts for v in part or ())
    return None


def part_type(kind: ir.TensorType) -> ir.TensorType:
    """Type of the real part of a complex type; a real type is returned as it is."""
    if not kind.is_complex:
        return kind
    return ir.TensorType(kind.shape, np.dtype(f"f{kind.dtype.itemsize // 2}"))
