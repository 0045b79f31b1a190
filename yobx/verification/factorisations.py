"""Factors of a matrix that are as good as another's, though they are others.

Eigenvectors and singular vectors are free in sign, or phase, and inside a cluster of equal values;
and rounding moves factors as much as the matrix amplifies it. What a backward stable algorithm
promises is that its factors are the exact ones of a matrix nearby. So factors are put together
again, and what comes out is compared with the matrix, much as LAPACK's own tests do that.
Order, signs where a convention fixes them, and what must be zero are compared as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FACTORISATIONS", "Values", "equally_good"]

Array = NDArray[Any]
#: An array of another side -> arrays that may be the same, best first.
Finder = Callable[[Array], Iterator[Array]]

_MOST = 48  # arrays of one shape that are tried
_NEAR = 8  # nodes between the real and the imaginary part of one array


class Values:
    """Arrays of a converted model, among which the factors are looked for.

    Args:
        arrays: Name -> array, in the order in which they are computed; results at the end, of
            which the first is the last. For a value of a loop or a branch a list of arrays, one
            for each time that it was computed.
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._turns = [a for a in arrays.values() if isinstance(a, list)]
        self._floats = _floats(a for a in arrays.values() if not isinstance(a, list))

    def at(self, turn: int | None) -> Values:
        """The arrays for one turn of a body: its own, those of the main graph, all others.

        Args:
            turn: Number of times that the body was run before; ``None`` outside of bodies.
        """
        if turn is None:
            return self
        there = Values({})
        now = _floats(arrays[turn] for arrays in self._turns if len(arrays) > turn)
        others = _floats(a for arrays in self._turns for i, a in enumerate(arrays) if i != turn)
        there._floats = [*now, *self._floats, *others]
        return there

    def like(self, array: Array) -> Iterator[Array]:
        """Arrays that fit a shape but for batch axes of one, also transposed; the last first.

        Two real arrays, or one with a last axis for both parts, make a complex one.
        """
        if array.dtype.kind == "c":
            yield from self._complex(array)
            return
        same = self._fitting(array.shape)
        # What is computed in float64 is rounded to the type of the result.
        same.sort(key=lambda a: a.dtype != array.dtype)
        for found in same[:_MOST]:
            yield found.astype(array.dtype)

    def _fitting(self, shape: tuple[int, ...]) -> list[Array]:
        own = min(2, len(shape))
        found = []
        for a in self._floats:
            if a.ndim < own or a.size != np.prod(shape):
                continue
            if a.shape[-own:] == shape[-own:]:
                found.append(a.reshape(shape))
            elif own == 2 and a.shape[-2:] == shape[:-3:-1]:
                found.append(np.swapaxes(a, -1, -2).reshape(shape))
        if own == 2 and shape[-1] == shape[-2]:
            found += [np.swapaxes(a, -1, -2) for a in found]
        return found

    def _complex(self, array: Array) -> Iterator[Array]:
        part = array.real.dtype
        for pair in self._floats:
            if pair.shape == (*array.shape, 2):
                yield (pair[..., 0] + 1j * pair[..., 1].astype(array.dtype)).astype(array.dtype)
        same = [a.astype(part) for a in self._fitting(array.shape)][:_MOST]
        for i, imaginary in enumerate(same):
            for real in same[max(0, i - _NEAR) : i + _NEAR + 1]:
                if real is not imaginary:
                    yield (real + 1j * imaginary.astype(array.dtype)).astype(array.dtype)


def _floats(arrays: Iterable[Any]) -> list[Array]:
    """Real arrays of floats, the last first."""
    kept = [np.asarray(a) for a in arrays if a is not None]
    return [a for a in kept if a.dtype.kind == "f"][::-1]


def equally_good(
    name: str,
    params: Mapping[str, Any],
    operands: Sequence[Array],
    results: Sequence[Array],
    *,
    values: Values,
    factor: float,
) -> list[Array] | None:
    """Looks for results of a factorisation that are as good as those given.

    Args:
        name: The factorisation, as JAX calls it.
        params: Its parameters.
        operands: What it is given.
        results: What the source makes of it.
        values: Where other results may be.
        factor: What is allowed, times size, machine epsilon and norm.

    Returns:
        The results, those of `values` where they are found; `None` if none is found.
    """
    given = [np.asarray(a) for a in operands]
    made = [np.asarray(a) for a in results]
    floats = [a for a in (*given, *made) if a.dtype.kind in "fc"]
    usable = floats and all(a.size and np.isfinite(a).all() for a in floats)
    if name not in FACTORISATIONS or not usable:
        return None
    size = _steps(*given[0].shape[-2:])
    allowed = factor * size * float(np.finfo(made[0].dtype).eps)
    found = FACTORISATIONS[name](params, given, made, values.like, allowed)
    kept = [a if b is None else b for a, b in zip(made, found, strict=True)]
    return kept if any(b is not None for b in found) else None


# ---- norms ---------------------------------------------------------------------------------------


def _wide(a: Array) -> Array:
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def _steps(rows: int, columns: int) -> float:
    """Roundings that add up: of as many steps as there are factors, and at random of a long sum."""
    return float(max(min(rows, columns), np.sqrt(max(rows, columns))))


def _norm(a: Array) -> Array:
    """The Frobenius norm: as large as the greatest singular value, not as the number of rows."""
    return np.asarray(np.sqrt((np.abs(a) ** 2).sum(axis=(-2, -1))))


def _adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def _small(error: Array, matrix: Array, allowed: float) -> bool:
    return bool((_norm(error) <= allowed * _norm(matrix)).all())


def _unit(vectors: Array, allowed: float) -> bool:
    """Whether columns are orthonormal."""
    error = _adjoint(vectors) @ vectors - np.eye(vectors.shape[-1])
    return bool((_norm(error) <= allowed).all())


def _nearest(a: Array, known: Array) -> Array:
    """The matrix with orthonormal columns for which ``q @ known`` is nearest to ``a``."""
    u, _, v = np.linalg.svd(a @ _adjoint(known), full_matrices=False)
    return np.asarray(u @ v)


def _first(arrays: Iterable[Array], good: Callable[[Array], bool]) -> Array | None:
    return next((a for a in arrays if np.isfinite(a).all() and good(_wide(a))), None)


def _all(arrays: Iterable[Array], good: Callable[[Array], bool]) -> list[Array]:
    return [a for a in arrays if np.isfinite(a).all() and good(_wide(a))]


def _close(want: Array, matrix: Array, allowed: float) -> Callable[[Array], bool]:
    """Whether values are where those of a matrix nearby may be (Weyl)."""
    limit = allowed * _norm(matrix)[..., None]
    return lambda got: bool((np.abs(got - _wide(want)) <= limit).all())


# ---- factorisations ------------------------------------------------------------------------------

Found = list[Array | None]


def _eigh(
    params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float
) -> Found:
    a = _wide(given[0])
    triangle = np.tril(a, -1) if params["lower"] else _adjoint(np.triu(a, 1))
    diagonal = np.eye(a.shape[-1]) * a.real
    a = triangle + _adjoint(triangle) + diagonal
    vectors, values = made
    w = _wide(values)[..., None, :]

    def good(v: Array) -> bool:
        return _small(a @ v - v * w, a, allowed) and _unit(v, allowed)

    return [_first(find(vectors), good), _first(find(values), _close(values, a, allowed))]


def _svd(params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float) -> Found:
    a = _wide(given[0])
    values = _first(find(made[0]), _close(made[0], a, allowed))
    if len(made) == 1:
        return [values]
    s = _wide(made[0])[..., None, :]
    count = s.shape[-1]

    def left(u: Array) -> bool:
        us = u[..., :count] * s
        return _small(a - us @ _adjoint(_nearest(_adjoint(a), _adjoint(us))), a, allowed)

    def right(v: Array) -> bool:
        sv = np.swapaxes(s, -1, -2) * v[..., :count, :]
        return _small(a - _nearest(a, sv) @ sv, a, allowed)

    def whole(u: Array, v: Array) -> bool:
        return _small((u[..., :count] * s) @ v[..., :count, :] - a, a, allowed)

    us = _all(find(made[1]), lambda u: _unit(u, allowed))
    vs = _all(find(made[2]), lambda v: _unit(_adjoint(v), allowed))
    # Where both are there, nothing else is asked: each alone is only judged by the other one that
    # would be best, whose rounding grows with the square of the condition.
    both = _pair(us, vs, whole)
    return [values, *(both or _together(_all(us, left), _all(vs, right), whole))]


def _pair(
    lefts: list[Array], rights: list[Array], good: Callable[[Array, Array], bool]
) -> list[Array] | None:
    """The first two factors of one matrix that are good for each other."""
    pairs = ([x, y] for x in lefts for y in rights)
    return next((pair for pair in pairs if good(_wide(pair[0]), _wide(pair[1]))), None)


def _together(
    lefts: list[Array], rights: list[Array], good: Callable[[Array, Array], bool]
) -> Found:
    """Two factors of one matrix, good for each other; one alone where the other is not there."""
    both = _pair(lefts, rights, good)
    if both is not None or (lefts and rights):
        return list(both or (None, None))
    return [next(iter(lefts), None), next(iter(rights), None)]


def _qr(params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float) -> Found:
    if params.get("pivoting"):
        return [None] * len(made)
    a, signs = _wide(given[0]), np.diagonal(_wide(made[1]), axis1=-2, axis2=-1)

    def good(q: Array, r: Array) -> bool:
        limit = allowed * _norm(a)[..., None]
        diagonal = np.diagonal(r, axis1=-2, axis2=-1)
        alike = (diagonal.real * signs.real >= 0) | (np.abs(signs) <= limit)
        return (
            _small(q @ r - a, a, allowed)
            and _unit(q, allowed)
            and _small(np.tril(r, -1), a, allowed)
            and bool(alike.all() and (np.abs(diagonal.imag) <= limit).all())
        )

    qs = _all(find(made[0]), lambda q: good(q, _adjoint(q) @ a))
    rs = _all(find(made[1]), lambda r: good(_nearest(a, r), r))
    return _together(qs, rs, good)


def _cholesky(
    params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float
) -> Found:
    a, above = np.tril(_wide(given[0])), np.triu(_wide(made[0]), 1)

    # Above the diagonal is zero, or what was there before.
    free = np.where(above == 0, 0.0, allowed * _norm(a)[..., None, None])

    def good(factor: Array) -> bool:
        lower = np.tril(factor)
        positive = np.diagonal(lower, axis1=-2, axis2=-1)
        error = np.tril(lower @ _adjoint(lower)) - a
        return (
            _small(error, a, allowed)
            and bool((positive.real > 0).all() and (positive.imag == 0).all())
            and bool((np.abs(np.triu(factor, 1) - above) <= free).all())
        )

    return [_first(find(made[0]), good)]


def _lu(params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float) -> Found:
    permutation = made[2].astype(np.int64)
    a = np.take_along_axis(_wide(given[0]), permutation[..., None], axis=-2)
    m, n = a.shape[-2:]
    count = min(m, n)

    def good(packed: Array) -> bool:
        lower = np.tril(packed, -1)[..., :count] + np.eye(m, count)
        upper = np.triu(packed)[..., :count, :]
        limit = allowed * (np.abs(lower) @ np.abs(upper))
        # LAPACK chooses a complex pivot by the sum of its parts.
        largest = np.sqrt(2.0) if packed.dtype.kind == "c" else 1.0
        bounded = np.abs(np.tril(packed, -1)[..., :count]).max() <= largest + allowed
        return bool(bounded and (np.abs(lower @ upper - a) <= limit).all())

    return [_first(find(made[0]), good), None, None]


def _triangular_solve(
    params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float
) -> Found:
    a, b = _wide(given[0]), _wide(given[1])
    a = np.tril(a) if params["lower"] else np.triu(a)
    if params["unit_diagonal"]:
        eye = np.eye(a.shape[-1])
        a = a * (1 - eye) + eye
    a = np.conj(a) if params["conjugate_a"] else a
    a = np.swapaxes(a, -1, -2) if params["transpose_a"] else a

    def product(p: Array, x: Array) -> Array:
        return np.asarray(p @ x if params["left_side"] else x @ p)

    def good(x: Array) -> bool:
        limit = allowed * product(np.abs(a), np.abs(x))
        return bool((np.abs(product(a, x) - b) <= limit).all())

    return [_first(find(made[0]), good)]


def _condition(a: Array) -> Array:
    """One-norm condition numbers; infinite for a singular matrix."""
    with np.errstate(all="ignore"):
        numbers = np.linalg.cond(a, 1)
    return np.asarray(np.where(np.isnan(numbers), np.inf, numbers))


def _determinant(
    params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float
) -> Found:
    # Of a matrix nearby the determinant is off by tr(inv(A) E) (Golub and Van Loan, 2.3).
    want, a = _wide(made[-1]), _wide(given[0])
    size = 1.0 if params["logarithm"] else np.abs(want)
    limit = allowed * _condition(a) * size
    near = _first(find(made[-1]), lambda got: bool((np.abs(got - want) <= limit).all()))
    return [*[None] * (len(made) - 1), near]


def _inverse(
    params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float
) -> Found:
    a = _adjoint(_wide(given[0])) if params["adjoint"] else _wide(given[0])
    eye = np.eye(a.shape[-1])

    def good(x: Array) -> bool:
        limit = allowed * _norm(a) * _norm(x)
        errors = (_norm(a @ x - eye), _norm(x @ a - eye))
        return bool((np.minimum(*errors) <= limit).all())

    return [_first(find(made[0]), good)]


def _solve(
    params: Any, given: list[Array], made: list[Array], find: Finder, allowed: float
) -> Found:
    a, b = _wide(given[0]), _wide(given[1])
    a = _adjoint(a) if params["adjoint"] else a

    def good(x: Array) -> bool:
        limit = allowed * _norm(a)[..., None] * np.abs(x).sum(axis=-2)
        return bool((np.abs(b - a @ x).sum(axis=-2) <= limit).all())

    return [_first(find(made[0]), good)]


_Rule = Callable[[Any, list[Array], list[Array], Finder, float], Found]
#: Rules by the name of JAX's primitive, and those of what TensorFlow computes at once.
FACTORISATIONS: Mapping[str, _Rule] = {
    "cholesky": _cholesky,
    "determinant": _determinant,
    "eigh": _eigh,
    "inverse": _inverse,
    "lu": _lu,
    "qr": _qr,
    "solve": _solve,
    "svd": _svd,
    "triangular_solve": _triangular_solve,
}
