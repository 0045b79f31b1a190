"""``OptimTensor``: what is known of one tensor, its contents included when they are small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.errors import ArgumentError
from yobx.onnx_optim.optim_dim import DimLike, OptimDim
from yobx.onnx_optim.optim_shape import UNKNOWN_SHAPE, OptimShape
from yobx.onnx_optim.tensor_type import TensorType, tensor_type, to_numpy

__all__ = ["MAX_CONSTANT_SIZE", "MAX_VALUE_SIZE", "UNKNOWN_TENSOR", "OptimTensor"]

MAX_VALUE_SIZE = 256
"""Largest number of elements whose symbolic values are tracked."""
MAX_CONSTANT_SIZE = 1024
"""Largest number of elements kept as a constant array."""

Value = tuple[OptimDim | None, ...]
ShapeLike = OptimShape | Iterable[DimLike] | None


class OptimTensor:
    """Immutable descriptor of a tensor (or of a map, when the element type is a map).

    Args:
        dtype: Element type, as :class:`TensorType`, ONNX number or numpy dtype.
        shape: Shape; ``None`` for an unknown rank.
        value: Contents in row-major order for a small integer or bool tensor (bool as 0 and 1);
            ``None`` inside for an element that is unknown.
        constant: Contents, when all are known and there are few.
        minimum: Lower bound of all elements, or ``None``.
        maximum: Upper bound of all elements, or ``None``.
        source: Rung of the fallback ladder that stated it (``"rule"`` is the normal one).

    Attributes:
        wire: What is written into models for it, kept by who writes it.
    """

    __slots__ = (
        "_constant",
        "_hash",
        "_value",
        "dtype",
        "maximum",
        "minimum",
        "shape",
        "source",
        "wire",
    )

    dtype: TensorType
    shape: OptimShape
    minimum: OptimDim | float | None
    maximum: OptimDim | float | None
    source: str
    wire: bytes | None
    _value: Value | None
    _constant: npt.NDArray[Any] | None
    _hash: int

    def __init__(
        self,
        dtype: TensorType | int | npt.DTypeLike,
        shape: ShapeLike = None,
        *,
        value: Sequence[DimLike | None] | None = None,
        constant: npt.NDArray[Any] | None = None,
        minimum: OptimDim | float | None = None,
        maximum: OptimDim | float | None = None,
        source: str = "rule",
    ) -> None:
        self.dtype = dtype if type(dtype) is TensorType else tensor_type(dtype)
        self.shape = shape if type(shape) is OptimShape else OptimShape(shape)
        self.minimum = minimum
        self.maximum = maximum
        self.source = source
        if constant is not None and value is None:
            value = _value_of(constant)
        self._value = None if value is None else _dims(value)
        self._constant = constant
        self._hash = 0
        self.wire = None

    @classmethod
    def of_constant(cls, array: npt.NDArray[Any], dtype: TensorType | None = None) -> OptimTensor:
        """Descriptor of a known array; its contents are kept when they are few."""
        kept = array if array.size <= MAX_CONSTANT_SIZE else None
        resolved = tensor_type(array.dtype) if dtype is None else dtype
        return cls(resolved, array.shape, constant=kept)

    # -- contents

    @property
    def value(self) -> Value | None:
        """Contents in row-major order as dimensions, or ``None``."""
        return self._value

    @property
    def constant(self) -> npt.NDArray[Any] | None:
        """Contents as an array when all are known, or ``None``; not to be written to."""
        if self._constant is None and self._value is not None:
            self._constant = self._array_of_value()
        return self._constant

    def _array_of_value(self) -> npt.NDArray[Any] | None:
        shape = self.shape.ints()
        ints = [d.as_int() for d in self._value or () if d is not None and d.is_int()]
        if shape is None or len(ints) != len(self._value or ()) or not self.dtype.is_tensor:
            return None
        info = to_numpy(self.dtype)
        if info.kind not in "iub":
            return None
        try:
            return np.array(ints, dtype=np.int64).astype(info).reshape(shape)
        except (OverflowError, ValueError):
            return None

    @property
    def value_as_shape(self) -> list[OptimDim | None] | None:
        """Contents of a scalar or vector as a list of dimensions, or ``None``."""
        if self._value is None or (self.shape.rank() or 0) > 1:
            return None
        return list(self._value)

    def has_value_as_shape(self) -> bool:
        """True when :attr:`value_as_shape` is known."""
        return self.value_as_shape is not None

    def scalar(self) -> OptimDim | None:
        """The only element, or ``None`` when there are others or it is unknown."""
        return self._value[0] if self._value is not None and len(self._value) == 1 else None

    def rank(self) -> int | None:
        """Number of dimensions, or ``None``."""
        return self.shape.rank()

    def has_min(self) -> bool:
        """True when a lower bound of the elements is known."""
        return self.minimum is not None

    def has_max(self) -> bool:
        """True when an upper bound of the elements is known."""
        return self.maximum is not None

    def is_unknown(self) -> bool:
        """True when neither element type nor rank is known."""
        return self.dtype == TensorType.kUndefined and not self.shape.has_rank()

    def replace(self, **changes: Any) -> OptimTensor:
        """A copy with some constructor arguments changed.

        Changing the dtype or the shape drops value and constant unless they are given too.
        """
        kept: dict[str, Any] = {
            "dtype": self.dtype,
            "shape": self.shape,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "source": self.source,
        }
        if not {"dtype", "shape", "value", "constant"} & changes.keys():
            kept |= {"value": self._value, "constant": self._constant}
        return OptimTensor(**(kept | changes))

    # -- identity

    def _key(self) -> tuple[object, ...]:
        constant = None
        if self._value is None and self._constant is not None:
            kept = self._constant
            constant = tuple(kept.ravel().tolist()) if kept.dtype == object else kept.tobytes()
        return (
            self.dtype,
            self.shape,
            self._value,
            constant,
            self.minimum,
            self.maximum,
            self.source,
        )

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash(self._key()) or 1
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, OptimTensor):
            return NotImplemented
        return hash(self) == hash(other) and self._key() == other._key()

    def __repr__(self) -> str:
        parts = [self.dtype.name, repr(self.shape)]
        if self._value is not None:
            parts.append(f"value={[None if d is None else d.value for d in self._value]}")
        elif self._constant is not None:
            parts.append(f"constant={self._constant.tolist()}")
        parts += [f"minimum={self.minimum}"] if self.minimum is not None else []
        parts += [f"maximum={self.maximum}"] if self.maximum is not None else []
        return f"OptimTensor({', '.join(parts)})"


def _dims(value: Sequence[DimLike | None]) -> Value | None:
    if len(value) > MAX_VALUE_SIZE:
        return None
    return tuple(d if d is None or type(d) is OptimDim else OptimDim(d) for d in value)


def _value_of(constant: npt.NDArray[Any]) -> list[int] | None:
    if constant.dtype.kind not in "iub" or constant.size > MAX_VALUE_SIZE:
        return None
    return [int(item) for item in constant.ravel().tolist()]


def check_size(constant: npt.NDArray[Any]) -> None:
    """Refuse an array that no descriptor should keep."""
    if constant.size > MAX_CONSTANT_SIZE:
        raise ArgumentError(
            f"A descriptor keeps at most {MAX_CONSTANT_SIZE} elements. Received: {constant.size}.",
            argument="constant",
        )


UNKNOWN_TENSOR = OptimTensor(TensorType.kUndefined, UNKNOWN_SHAPE, source="unknown")
