"""``OptimShape``: rank unknown, rank known, or dimensions known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import overload

from yobx.errors import ShapeError
from yobx.onnx_optim.optim_dim import DimLike, OptimDim

__all__ = ["UNKNOWN_SHAPE", "OptimShape"]


class OptimShape:
    """Immutable shape of a tensor.

    Args:
        dims: Dimensions (integers, texts, :class:`OptimDim`), or ``None`` when the rank is unknown.
    """

    __slots__ = ("_dims", "_hash")

    _dims: tuple[OptimDim, ...] | None
    _hash: int

    def __init__(self, dims: Iterable[DimLike] | OptimShape | None = None) -> None:
        if isinstance(dims, OptimShape):
            self._dims = dims._dims
        elif dims is None:
            self._dims = None
        else:
            self._dims = tuple(d if type(d) is OptimDim else OptimDim(d) for d in dims)
        self._hash = hash(self._dims)

    def has_rank(self) -> bool:
        """True when the number of dimensions is known."""
        return self._dims is not None

    def rank(self) -> int | None:
        """Number of dimensions, or ``None``."""
        return None if self._dims is None else len(self._dims)

    def dims(self) -> tuple[OptimDim, ...]:
        """The dimensions.

        Raises:
            ShapeError: The rank is unknown.
        """
        if self._dims is None:
            raise ShapeError(
                "The dimensions of a shape exist only when its rank is known. Received: a shape of "
                "unknown rank.",
                hint="Try has_rank() first.",
            )
        return self._dims

    def empty(self) -> bool:
        """True for the shape of a scalar (rank 0)."""
        return self._dims == ()

    def is_fully_known(self) -> bool:
        """True when every dimension is an integer."""
        return self._dims is not None and all(d.is_int() for d in self._dims)

    def ints(self) -> tuple[int, ...] | None:
        """All dimensions as integers, or ``None`` when one is not."""
        return tuple(d.as_int() for d in self._dims or ()) if self.is_fully_known() else None

    def n_elements(self) -> OptimDim | None:
        """Product of the dimensions, or ``None`` when the rank is unknown."""
        if self._dims is None:
            return None
        total = OptimDim(1)
        for dim in self._dims:
            total = total * dim
        return total

    def symbols(self) -> frozenset[str]:
        """Names of all symbols in the dimensions."""
        return frozenset().union(*(d.symbols() for d in self._dims or ()))

    def __len__(self) -> int:
        return len(self.dims())

    def __bool__(self) -> bool:
        raise ShapeError(
            "A shape has no truth value.",
            hint="Try has_rank() or is_fully_known().",
        )

    @overload
    def __getitem__(self, index: int) -> OptimDim: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[OptimDim, ...]: ...
    def __getitem__(self, index: int | slice) -> OptimDim | tuple[OptimDim, ...]:
        return self.dims()[index]

    def __iter__(self) -> Iterator[OptimDim]:
        return iter(self.dims())

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, OptimShape):
            return self._hash == other._hash and self._dims == other._dims
        if isinstance(other, list | tuple):
            return self._dims is not None and self._dims == OptimShape(other)._dims
        return NotImplemented

    def __str__(self) -> str:
        return "[...]" if self._dims is None else f"[{', '.join(map(str, self._dims))}]"

    def __repr__(self) -> str:
        if self._dims is None:
            return "OptimShape(None)"
        return f"OptimShape({[d.value for d in self._dims]!r})"

    def __reduce__(self) -> tuple[type[OptimShape], tuple[list[OptimDim] | None]]:
        return (OptimShape, (None if self._dims is None else list(self._dims),))


UNKNOWN_SHAPE = OptimShape(None)
