"""``OptimSequence`` and ``OptimOptional``: the values that are not tensors."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TypeAlias

from yobx.errors import ArgumentError
from yobx.onnx_optim.optim_dim import DimLike, OptimDim
from yobx.onnx_optim.optim_shape import UNKNOWN_SHAPE, OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor, ShapeLike
from yobx.onnx_optim.tensor_type import TensorType, tensor_type

__all__ = ["Descriptor", "OptimOptional", "OptimSequence", "Presence"]

ElemDims: TypeAlias = tuple[OptimDim | None, ...] | None


class OptimSequence:
    """Immutable descriptor of a sequence of tensors.

    Args:
        elem_dtype: Element type all tensors share; ``kUndefined`` when it is unknown.
        shapes: One shape per element, when they are known one by one; ``[]`` is the empty sequence.
        length: Number of elements, possibly symbolic; ``None`` when it is unknown.
        elem_shape: Shape that every element has, when only a common one is known.
        elem_dims: The same, with ``None`` for a size that may differ from element to element.

    Attributes:
        elem_shape: The common shape; of unknown rank when any size may differ.
        elem_dims: What all elements share, ``None`` when not even the rank is known.
    """

    __slots__ = (
        "_hash",
        "elem_dims",
        "elem_dtype",
        "elem_shape",
        "elem_shapes",
        "length",
        "source",
    )

    elem_dtype: TensorType
    elem_shapes: tuple[OptimShape, ...] | None
    length: OptimDim | None
    elem_shape: OptimShape
    elem_dims: ElemDims

    def __init__(
        self,
        elem_dtype: TensorType | int = TensorType.kUndefined,
        shapes: Iterable[ShapeLike] | None = None,
        *,
        length: DimLike | None = None,
        elem_shape: ShapeLike = None,
        elem_dims: Iterable[DimLike | None] | None = None,
        source: str = "rule",
    ) -> None:
        self.elem_dtype = tensor_type(elem_dtype)
        self.source = source
        if shapes is None:
            self.elem_shapes = None
            self.length = None if length is None else OptimDim(length)
            if elem_dims is None:
                self.elem_shape = OptimShape(elem_shape)
                self.elem_dims = _dims(self.elem_shape)
            else:
                self.elem_dims = tuple(None if d is None else OptimDim(d) for d in elem_dims)
                known = [d for d in self.elem_dims if d is not None]
                full = len(known) == len(self.elem_dims)
                self.elem_shape = OptimShape(known) if full else UNKNOWN_SHAPE
        else:
            self.elem_shapes = tuple(OptimShape(s) for s in shapes)
            self.length = OptimDim(len(self.elem_shapes))
            if length is not None and OptimDim(length) != self.length:
                raise ArgumentError(
                    f"The length of a sequence is the number of its shapes. Received: "
                    f"length={length}, {len(self.elem_shapes)} shapes.",
                    argument="length",
                )
            self.elem_shape = common_shape(self.elem_shapes)
            self.elem_dims = common_dims(_dims(shape) for shape in self.elem_shapes)
        self._hash = hash((self.elem_dtype, self.elem_shapes, self.length, self.elem_dims))

    def has_elem_dtype(self) -> bool:
        """True when the element type is known."""
        return self.elem_dtype != TensorType.kUndefined

    def has_elem_shapes(self) -> bool:
        """True when each element's shape is known, which an empty sequence satisfies."""
        return self.elem_shapes is not None

    def has_length(self) -> bool:
        """True when the number of elements is known or named."""
        return self.length is not None

    def is_empty(self) -> bool | None:
        """Whether there is no element; ``None`` when that is not known."""
        if self.length is None:
            return None
        if self.length.is_int():
            return self.length == 0
        low = self.length.bounds()[0]
        return False if low is not None and low > 0 else None

    def element(self, index: int | None = None) -> OptimTensor:
        """Descriptor of one element: of that position if it is known, else of any."""
        shapes = self.elem_shapes or ()
        if index is not None and -len(shapes) <= index < len(shapes):
            return OptimTensor(self.elem_dtype, shapes[index])
        return OptimTensor(self.elem_dtype, self.elem_shape)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, OptimSequence):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.elem_dtype == other.elem_dtype
            and self.elem_shapes == other.elem_shapes
            and self.length == other.length
            and self.elem_dims == other.elem_dims
        )

    def __repr__(self) -> str:
        if self.elem_shapes is not None:
            return f"OptimSequence({self.elem_dtype.name}, {list(self.elem_shapes)!r})"
        return (
            f"OptimSequence({self.elem_dtype.name}, length={self.length!r}, "
            f"elem_shape={self.shown_shape()})"
        )

    def shown_shape(self) -> str:
        """The common shape as text, ``?`` for a size that may differ."""
        if self.elem_dims is None:
            return str(self.elem_shape)
        return f"[{', '.join('?' if d is None else str(d) for d in self.elem_dims)}]"

    def symbols(self) -> frozenset[str]:
        """All symbols in the shapes and the length."""
        found = frozenset[str]() if self.length is None else self.length.symbols()
        for shape in self.elem_shapes or ():
            found |= shape.symbols()
        return found.union(*(d.symbols() for d in self.elem_dims or () if d is not None))


class Presence(enum.Enum):
    """Whether an optional holds something."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


class OptimOptional:
    """Immutable descriptor of an optional value.

    Args:
        element: Descriptor of what it holds when it holds something.
        present: Whether it does.
    """

    __slots__ = ("element", "present", "source")

    element: OptimTensor | OptimSequence
    present: Presence

    def __init__(
        self,
        element: OptimTensor | OptimSequence,
        present: Presence | bool | None = None,
        *,
        source: str = "rule",
    ) -> None:
        self.element = element
        if isinstance(present, Presence):
            self.present = present
        else:
            self.present = {True: Presence.YES, False: Presence.NO, None: Presence.MAYBE}[present]
        self.source = source

    def __hash__(self) -> int:
        return hash((self.element, self.present))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OptimOptional):
            return NotImplemented
        return self.element == other.element and self.present == other.present

    def __repr__(self) -> str:
        return f"OptimOptional({self.element!r}, {self.present.value})"


Descriptor: TypeAlias = OptimTensor | OptimSequence | OptimOptional


def _dims(shape: OptimShape) -> ElemDims:
    return shape.dims() if shape.has_rank() else None


def common_dims(dims: Iterable[ElemDims]) -> ElemDims:
    """Per axis the size that all have, ``None`` for one that differs; ``None`` without a rank."""
    found: ElemDims = None
    for position, other in enumerate(dims):
        if other is None or (position and (found is None or len(found) != len(other))):
            return None
        if found is None:
            found = other
        elif found != other:
            found = tuple(a if a == b else None for a, b in zip(found, other, strict=True))
    return found


def without_symbols(dims: ElemDims, names: frozenset[str]) -> ElemDims:
    """The sizes that do not depend on one of the symbols, ``None`` for the others."""
    if dims is None:
        return None
    return tuple(d if d is not None and names.isdisjoint(d.symbols()) else None for d in dims)


def common_shape(shapes: Iterable[OptimShape]) -> OptimShape:
    """The shape that all have, or the unknown one."""
    found: OptimShape | None = None
    for shape in shapes:
        if found is not None and found != shape:
            return OptimShape(None)
        found = shape
    return OptimShape(None) if found is None else found
