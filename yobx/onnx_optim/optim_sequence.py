"""``OptimSequence`` and ``OptimOptional``: the values that are not tensors."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TypeAlias

from yobx.errors import ArgumentError
from yobx.onnx_optim.optim_dim import DimLike, OptimDim
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor, ShapeLike
from yobx.onnx_optim.tensor_type import TensorType, tensor_type

__all__ = ["Descriptor", "OptimOptional", "OptimSequence", "Presence"]


class OptimSequence:
    """Immutable descriptor of a sequence of tensors.

    Args:
        elem_dtype: Element type all tensors share; ``kUndefined`` when it is unknown.
        shapes: One shape per element, when they are known one by one; ``[]`` is the empty sequence.
        length: Number of elements, possibly symbolic; ``None`` when it is unknown.
        elem_shape: Shape that every element has, when only a common one is known.
    """

    __slots__ = ("_hash", "elem_dtype", "elem_shape", "elem_shapes", "length", "source")

    elem_dtype: TensorType
    elem_shapes: tuple[OptimShape, ...] | None
    length: OptimDim | None
    elem_shape: OptimShape

    def __init__(
        self,
        elem_dtype: TensorType | int = TensorType.kUndefined,
        shapes: Iterable[ShapeLike] | None = None,
        *,
        length: DimLike | None = None,
        elem_shape: ShapeLike = None,
        source: str = "rule",
    ) -> None:
        self.elem_dtype = tensor_type(elem_dtype)
        self.source = source
        if shapes is None:
            self.elem_shapes = None
            self.length = None if length is None else OptimDim(length)
            self.elem_shape = OptimShape(elem_shape)
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
        self._hash = hash((self.elem_dtype, self.elem_shapes, self.length, self.elem_shape))

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
            and self.elem_shape == other.elem_shape
        )

    def __repr__(self) -> str:
        if self.elem_shapes is not None:
            return f"OptimSequence({self.elem_dtype.name}, {list(self.elem_shapes)!r})"
        return (
            f"OptimSequence({self.elem_dtype.name}, length={self.length!r}, "
            f"elem_shape={self.elem_shape!r})"
        )


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


def common_shape(shapes: Iterable[OptimShape]) -> OptimShape:
    """The shape that all have, or the unknown one."""
    found: OptimShape | None = None
    for shape in shapes:
        if found is not None and found != shape:
            return OptimShape(None)
        found = shape
    return OptimShape(None) if found is None else found
