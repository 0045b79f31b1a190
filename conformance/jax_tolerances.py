"""How near JAX's own values a converted harness has to come: as near as JAX's own tests ask.

JAX compares two ways of computing a harness with one tolerance for each element type, relative and
absolute alike, and has a wider one for the functions whose implementations are known to differ.
Both are read from the installed JAX; nothing is added. Decompositions are determined up to signs,
or more where values coincide: JAX's tests put the matrix together again, and so does this module.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["disagreement", "tolerance"]

Array = NDArray[Any]

#: Groups whose name is not that of the function in JAX's table of operations.
_FUNCTIONS: Mapping[str, str] = {"regularized_incomplete_beta": "betainc"}
#: JAX's test of these harnesses has one exception, which stands in the test and not in the package.
_CONVOLUTION = {np.float32: 1e-4}
#: JAX's tests of decompositions: norms of errors, in epsilons of the norm of the matrix; how far
#: vectors are from orthonormal, in epsilons.
_EIGENVECTORS, _EIGENVECTORS_UNIT = 80, 5
_SINGULAR, _SINGULAR_UNIT = 200, 300


@functools.cache
def _wider() -> Mapping[str, Any]:
    """JAX's own tolerances of functions, by the name of the function."""
    from jax._src.internal_test_util.lax_test_util import lax_ops

    return {record.op: record.tol for record in lax_ops() if record.tol is not None}


def tolerance(group: str, dtype: np.dtype[Any]) -> float:
    """How far two results may be apart, relative to them and absolutely.

    Args:
        group: Name of the group of a harness.
        dtype: Element type of the result.

    Returns:
        JAX's tolerance; 0 for what is not a number with a fraction.
    """
    from jax._src import public_test_util

    own = _wider().get(_FUNCTIONS.get(group, group))
    if group == "conv_general_dilated":
        own = _CONVOLUTION
    return float(public_test_util.tolerance(dtype, own))


def disagreement(
    group: str,
    got: Sequence[Array],
    want: Sequence[Array],
    args: Sequence[Array],
    params: Mapping[str, Any],
) -> str:
    """Compare the results of a harness.

    Args:
        group: Name of its group.
        got: Results of the model; a complex one may have a last axis of 2 instead.
        want: JAX's results.
        args: Arguments.
        params: Parameters of the harness.

    Returns:
        What differs, or ``""``.
    """
    if len(got) != len(want):
        return f"{len(got)} results, JAX has {len(want)}"
    results = [_like(g, w) for g, w in zip(got, want, strict=True)]
    for number, (one, other) in enumerate(zip(results, want, strict=True)):
        if one.dtype != other.dtype or one.shape != other.shape:
            return (
                f"result {number} is {one.dtype}{list(one.shape)}, "
                f"JAX has {other.dtype}{list(other.shape)}"
            )
    judge = _JUDGES.get(group)
    if judge is not None and all(array.size for array in (*want, *args)):
        return judge(results, want, args, params)
    return _plain(results, want, group)


def _like(got: Array, want: Array) -> Array:
    if want.dtype.kind == "c" and got.dtype.kind != "c" and got.shape[-1:] == (2,):
        return np.ascontiguousarray(got).view(want.dtype)[..., 0]
    return got


def _wide(array: Array) -> Array:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype.kind in "fV" else array


def _difference(got: Array, want: Array, group: str) -> str:
    allowed = tolerance(group, want.dtype)
    a, b = _wide(got), _wide(want)
    exact = not allowed
    same = a == b if exact else np.isclose(a, b, rtol=allowed, atol=allowed, equal_nan=True)
    if same.all():
        return ""
    worst = np.unravel_index(int(np.argmin(same)), same.shape)
    place = [int(i) for i in worst]
    return (
        f"{int((~same).sum())} of {same.size} elements differ, first at {place}: "
        f"got {got[worst]}, JAX has {want[worst]}"
    )


def _norm(x: Array) -> Array:
    return np.asarray(np.sqrt((np.abs(_wide(x)) ** 2).sum(axis=(-2, -1))))


def _near(got: Array, want: Array, allowed: Array | float, what: str) -> str:
    """Compare the norms of matrices' differences with what is allowed, in epsilons."""
    limit = allowed * float(np.finfo(got.dtype).eps)
    error = _norm(_wide(got) - _wide(want))
    if (error <= limit).all():  # false if there is a NaN
        return ""
    return f"{what}: the norm of the error is {error.max():.2g}, {np.max(limit):.2g} is allowed"


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def _unit(x: Array, allowed: float) -> str:
    product = (_adjoint(_wide(x)) @ _wide(x)).astype(x.dtype)
    return _near(product, np.eye(x.shape[-1]), allowed, "vectors are not orthonormal")


def _eigh(
    got: Sequence[Array], want: Sequence[Array], args: Sequence[Array], params: Mapping[str, Any]
) -> str:
    vectors, values = sorted(got, key=lambda a: -a.ndim)
    whole, known = sorted(want, key=lambda a: -a.ndim)
    matrix = (whole * known[..., None, :]) @ _adjoint(whole)
    allowed = _EIGENVECTORS * _norm(matrix)
    return (
        _near(values[..., None], known[..., None], allowed, "eigenvalues")
        or _near(matrix @ vectors, vectors * values[..., None, :], allowed, "eigenvectors")
        or _unit(vectors, _EIGENVECTORS_UNIT * (values.shape[-1] + 1))
    )


def _svd(
    got: Sequence[Array], want: Sequence[Array], args: Sequence[Array], params: Mapping[str, Any]
) -> str:
    size = np.sqrt((_wide(want[0]) ** 2).sum(axis=-1))
    allowed = _SINGULAR * size
    found = _near(got[0][..., None], want[0][..., None], allowed, "singular values")
    if found or len(got) == 1:
        return found
    s, u, v = got
    count = s.shape[-1]
    again = (u[..., :count] * s[..., None, :]) @ v[..., :count, :]
    matrix = (want[1][..., :count] * want[0][..., None, :]) @ want[2][..., :count, :]
    return (
        _near(again, matrix, allowed, "reconstruction")
        or _unit(u, _SINGULAR_UNIT)
        or _unit(_adjoint(v), _SINGULAR_UNIT)
    )


def _plain(results: Sequence[Array], want: Sequence[Array], group: str = "") -> str:
    for number, (one, other) in enumerate(zip(results, want, strict=True)):
        found = _difference(one, other, group)
        if found:
            return f"result {number}: {found}"
    return ""


def _sort(
    got: Sequence[Array], want: Sequence[Array], args: Sequence[Array], params: Mapping[str, Any]
) -> str:
    """An unstable sort leaves the order of what has equal keys open."""
    keys = params.get("num_keys", 1)
    if params.get("is_stable", True) or keys == len(want):
        return _plain(got, want)
    found = _plain(got[:keys], want[:keys])
    if found or want[0].ndim != 1:
        return found or _plain(got, want)
    rows = [np.stack(arrays)[:, np.lexsort(arrays[::-1])] for arrays in (list(got), list(want))]
    return _plain(rows[:1], rows[1:])


def _approximate_top_k(
    got: Sequence[Array], want: Sequence[Array], args: Sequence[Array], params: Mapping[str, Any]
) -> str:
    """Of equal elements any may be taken, but none twice."""
    found = _plain(got[:1], want[:1])
    if found:
        return found
    places = np.sort(got[1], axis=-1)
    if (places[..., 1:] == places[..., :-1]).any():
        return "result 1: an element is taken twice"
    return _plain([np.take_along_axis(args[0], got[1], axis=-1)], want[:1])


_JUDGES = {"approx_top_k": _approximate_top_k, "eigh": _eigh, "sort": _sort, "svd": _svd}
