"""How near JAX's own values a converted harness has to come.

JAX's tests compare two platforms with one tolerance for each element type, relative and absolute
alike, and with a wider one where the primitive amplifies rounding. The same notion is used here.
Decompositions are determined up to signs, or more where values coincide: they are judged by what
they are for, by putting the matrix together again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TOLERANCES", "WIDER", "disagreement"]

Array = NDArray[Any]

#: Element type -> relative and absolute tolerance of a harness.
TOLERANCES: Mapping[str, float] = {
    "float16": 1e-2,
    "bfloat16": 2e-2,
    "float32": 1e-5,
    "float64": 1e-12,
}
#: Groups that amplify rounding: sums of many terms in another order, iterations, steep functions.
WIDER: Mapping[str, float] = {
    "cholesky": 100,
    "conv_general_dilated": 30,
    "cumprod": 10,
    "custom_linear_solve": 100,
    "digamma": 100,
    "dot_general": 10,
    "erf_inv": 10,
    "fft": 100,
    "igamma": 100,
    "igammac": 100,
    "lu": 100,
    "qr": 100,
    "random_gamma": 100,
    "regularized_incomplete_beta": 100,
    "triangular_solve": 100,
    "tridiagonal_solve": 100,
}
#: The same for float16 and bfloat16: XLA rounds every partial result, onnxruntime the last one.
WIDER_HALVES: Mapping[str, float] = {"cumprod": 10, "cumsum": 10}
_DECOMPOSITION = 200


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
    is_half = any(array.dtype.name in ("float16", "bfloat16") for array in want)
    return _plain(results, want, max(WIDER.get(group, 1), is_half * WIDER_HALVES.get(group, 1)))


def _like(got: Array, want: Array) -> Array:
    if want.dtype.kind == "c" and got.dtype.kind != "c" and got.shape[-1:] == (2,):
        return np.ascontiguousarray(got).view(want.dtype)[..., 0]
    return got


def _tolerance(dtype: np.dtype[Any]) -> float:
    name = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
    return TOLERANCES.get(name, 0.0)


def _wide(array: Array) -> Array:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype.kind in "fV" else array


def _difference(got: Array, want: Array, factor: float) -> str:
    tolerance = factor * _tolerance(want.dtype)
    a, b = _wide(got), _wide(want)
    if a.dtype.kind == "c":
        # XLA and C disagree on which part of a complex overflow is infinite and which is NaN.
        odd = ~np.isfinite(b)
        a, b = np.where(odd & ~np.isfinite(a), 0, a), np.where(odd & ~np.isfinite(a), 0, b)
    exact = not tolerance
    same = a == b if exact else np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    if same.all():
        return ""
    worst = np.unravel_index(int(np.argmin(same)), same.shape)
    place = [int(i) for i in worst]
    return (
        f"{int((~same).sum())} of {same.size} elements differ, first at {place}: "
        f"got {got[worst]}, JAX has {want[worst]}"
    )


def _close(got: Array, want: Array, what: str, scale: Array | float = 1.0) -> str:
    """Like :func:`_difference`, with errors relative to the largest element."""
    tolerance = _DECOMPOSITION * _tolerance(want.dtype)
    size = max(float(np.max(np.abs(scale), initial=0.0)), 1e-30)
    error = float(np.max(np.abs(_wide(got) - _wide(want)), initial=0.0)) / size
    return "" if error <= tolerance else f"{what}: error {error:.2g} of the largest element"


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def _unit(x: Array) -> str:
    wanted = np.broadcast_to(np.eye(x.shape[-1]), (*x.shape[:-2], x.shape[-1], x.shape[-1]))
    return _close(_adjoint(x) @ x, wanted.astype(x.dtype), "vectors are not orthonormal")


def _eigh(
    got: Sequence[Array], want: Sequence[Array], args: Sequence[Array], params: Mapping[str, Any]
) -> str:
    vectors, values = sorted(got, key=lambda a: -a.ndim)
    _, expected = sorted(want, key=lambda a: -a.ndim)
    whole, known = sorted(want, key=lambda a: -a.ndim)
    matrix = (whole * known[..., None, :]) @ _adjoint(whole)
    again = (vectors * values[..., None, :]) @ _adjoint(vectors)
    return (
        _close(values, expected, "eigenvalues", expected)
        or _close(again, matrix.astype(again.dtype), "reconstruction", matrix)
        or _unit(vectors)
    )


def _svd(
    got: Sequence[Array], want: Sequence[Array], args: Sequence[Array], params: Mapping[str, Any]
) -> str:
    found = _close(got[0], want[0], "singular values", want[0])
    if found or len(got) == 1:
        return found
    s, u, v = got
    count = s.shape[-1]
    again = (u[..., :count] * s[..., None, :]) @ v[..., :count, :]
    matrix = (want[1][..., :count] * want[0][..., None, :]) @ want[2][..., :count, :]
    return (
        _close(again, matrix.astype(again.dtype), "reconstruction", matrix)
        or _unit(u)
        or _unit(_adjoint(v))
    )


def _plain(results: Sequence[Array], want: Sequence[Array], factor: float = 1.0) -> str:
    for number, (one, other) in enumerate(zip(results, want, strict=True)):
        found = _difference(one, other, factor)
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
