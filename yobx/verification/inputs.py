"""Example inputs from what a model declares, and inputs resized to other sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yobx.errors import ArgumentError
from yobx.onnx_optim.sizes import size_of, symbols_of
from yobx.verification.dtypes import is_float
from yobx.verification.sources import InputSpec

__all__ = ["generate", "resize"]

_WORDS = ("alpha", "Beta gamma", "", "delta-1", "épsilon", "zeta eta theta")
_OPEN_BATCH, _OPEN_SIZE = 3, 8
_TRIED_SIZES = 64


def generate(specs: Sequence[InputSpec], seed: int) -> list[NDArray[Any]]:
    """Makes one array an input.

    Args:
        specs: What the model declares.
        seed: Seed; the same seed gives the same arrays.

    Returns:
        Floats from normal(0, 1); ``uint8`` from its whole range, as an image has it; other integers
        from 0 to 9, which are valid ids of any table; bools and short strings. Open sizes are 3 on
        axis 0 and 8 elsewhere, the same for the same name; one that is an expression follows from
        those of its symbols, all of which are larger where it would be less than 1.

    Raises:
        ArgumentError: No sizes fit.
    """
    rng = np.random.default_rng(seed)
    named = _open_sizes(specs)
    arrays = []
    for spec in specs:
        shape = [
            size if isinstance(size, int) else _open_size(size, axis, named)
            for axis, size in enumerate(spec.shape or ())
        ]
        arrays.append(_draw(rng, spec.dtype, tuple(shape)))
    return arrays


def _default(axis: int) -> int:
    return _OPEN_BATCH if axis == 0 else _OPEN_SIZE


def _open_size(size: str | None, axis: int, named: Mapping[str, int]) -> int:
    known = size_of(size, named) if size else None
    return _default(axis) if known is None else known


def _open_sizes(specs: Sequence[InputSpec]) -> dict[str, int]:
    """One value for each symbol, such that no size is negative.

    Raises:
        ArgumentError: None was found.
    """
    named: dict[str, int] = {}
    written = []
    for spec in specs:
        for axis, size in enumerate(spec.shape or ()):
            if isinstance(size, str) and size:
                written.append(size)
                for symbol in symbols_of(size):
                    named.setdefault(symbol, _default(axis))
    for more in range(_TRIED_SIZES):
        sizes = {symbol: size + more for symbol, size in named.items()}
        if all((size_of(size, sizes) or 0) > 0 for size in written):
            return sizes
    raise ArgumentError(
        "Arrays are made where every size is 1 or more. Received: inputs of the sizes "
        f"{', '.join(dict.fromkeys(written))}, for which no values of the symbols were found.",
        argument="args",
        hint="Give arrays instead of descriptions.",
    )


def _draw(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if is_float(dtype):
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "OSU":
        return np.array(_WORDS, dtype=object)[rng.integers(0, len(_WORDS), shape)]
    most = 256 if dtype == np.uint8 else 10  # an image, or ids
    return rng.integers(0, most, shape).astype(dtype)


def resize(
    array: NDArray[Any],
    shape: Sequence[int],
    rng: np.random.Generator,
    squares: Sequence[int] = (),
) -> NDArray[Any]:
    """Brings an array to another size, along any axes, with values the original could have held.

    Integers, bools and strings are taken from the array (token ids stay valid). Floats are mixed
    between two random places, so that no two rows are equal and the range is kept; arrays of
    whole-numbered floats are taken, as masks and ids must stay what they are. A square matrix of
    floats stays invertible, symmetric or positive definite if it is.

    Args:
        array: Sample input.
        shape: New sizes, of the same rank.
        rng: Source of randomness.
        squares: Axes that are, with the next one, those of square matrices; no two are neighbours.

    Returns:
        The array itself when nothing changes.
    """
    result = np.asarray(array)
    if _is_mixed(result):
        for axis in squares:
            result = _grown_matrix(result, axis, shape[axis], rng)
    for axis, size in enumerate(shape):
        have = result.shape[axis]
        if size == have:
            continue
        if size < have:
            result = np.take(result, np.arange(size), axis=axis)
        elif have == 0:
            result = _draw(
                rng, result.dtype, (*result.shape[:axis], size, *result.shape[axis + 1 :])
            )
        else:
            result = _grown(result, axis, size, rng)
    return np.asarray(result, order="C")  # ascontiguousarray would make a vector of a scalar


def _grown(array: NDArray[Any], axis: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
    have = array.shape[axis]
    extra = size - have
    places = rng.integers(0, have, extra)
    first = np.take(array, places, axis=axis)
    if _is_mixed(array):
        wide: np.dtype[Any] = np.dtype(np.complex128 if array.dtype.kind == "c" else np.float64)
        # Another place where there is one; a single place is moved towards the mean.
        others = (places + rng.integers(1, max(have, 2), extra)) % have
        other = np.take(array, others, axis=axis) if have > 1 else array.astype(wide).mean()
        share = [1] * array.ndim
        share[axis] = extra
        weight = rng.uniform(0.1, 0.9, share)
        first = first.astype(wide) * weight + np.asarray(other).astype(wide) * (1.0 - weight)
    grown: NDArray[Any] = np.concatenate([array, first.astype(array.dtype)], axis=axis)
    return grown


def _grown_matrix(
    array: NDArray[Any], axis: int, size: int, rng: np.random.Generator
) -> NDArray[Any]:
    """Larger matrices over two axes, ``P A P'`` with other elements on the new diagonal.

    A row of ``P`` that is new mixes two rows, so that ``P A P'`` is no more invertible. With the
    largest element of A's diagonal on the new one it is, and if A is positive definite, so is it:
    a mixture ``w`` has ``w A w' < max(diagonal)`` then.
    """
    have = array.shape[axis]
    if have in (0, size) or size < have:
        return array
    extra = np.arange(size - have)
    places = rng.integers(0, have, len(extra))
    others = (places + rng.integers(1, max(have, 2), len(extra))) % have
    weight = rng.uniform(0.1, 0.9, len(extra))
    mixed = np.zeros((len(extra), have))
    mixed[extra, places] = weight
    if have > 1:
        mixed[extra, others] = 1.0 - weight
    rows = np.concatenate([np.eye(have), mixed])
    wide: np.dtype[Any] = np.dtype(np.complex128 if array.dtype.kind == "c" else np.float64)
    matrices = np.moveaxis(array.astype(wide), (axis, axis + 1), (-2, -1))
    grown = rows @ matrices @ rows.T
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    if not diagonal.any():
        diagonal = matrices.reshape(*diagonal.shape[:-1], -1)
    largest = np.argmax(np.abs(diagonal), axis=-1, keepdims=True)
    grown[..., have + extra, have + extra] = np.take_along_axis(diagonal, largest, axis=-1)
    placed: NDArray[Any] = np.moveaxis(grown, (-2, -1), (axis, axis + 1))
    return placed.astype(array.dtype)


def _is_mixed(array: NDArray[Any]) -> bool:
    """Whether new elements may lie between those that are there."""
    return is_float(array.dtype) and not _whole(array)


def _whole(array: NDArray[Any]) -> bool:
    if array.dtype.kind == "c":
        return False
    wide = array.astype(np.float64)
    return bool(np.all(np.isfinite(wide)) and np.all(wide == np.floor(wide)))
