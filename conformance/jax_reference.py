"""A case computed more exactly, to tell which side of a difference is right.

Where float32 sums many terms or cancels, JAX's own value is off by more than its tolerance. A model
whose result is the rounded float64 value, within the same tolerance, is right all the same. In
float64, functions of one array, and factorisations of a matrix, are computed in numpy's next wider
type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["more_exact"]

Array = NDArray[Any]

_WIDE = {
    "float16": np.float64,
    "bfloat16": np.float64,
    "float32": np.float64,
    "complex64": np.complex128,
}


_EXTENDED: dict[str, Any] = {
    "float64": np.longdouble,
    "complex128": np.clongdouble,
}
#: Groups about a function of one array that numpy has under another name, or under the same one.
_FUNCTIONS = {
    **{f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{name: name for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{name: name for name in ("exp", "exp2", "expm1", "log", "log1p", "sqrt")},
}


def more_exact(harness: Any, args: Sequence[Array], dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
    """Compute a case with every argument widened, and round the results.

    Args:
        harness: The case.
        args: Its arguments.
        dtypes: Element types of its results.

    Returns:
        The results, of these types; none if nothing more exact is known.
    """
    return _in_float64(harness, args, dtypes) or _in_extended(harness, args)


def _in_extended(harness: Any, args: Sequence[Array]) -> list[Array]:
    if len(args) != 1 or args[0].dtype.name not in _EXTENDED:
        return []
    wide: Array = args[0].astype(_EXTENDED[args[0].dtype.name])
    group = str(harness.group_name)
    with np.errstate(all="ignore"):
        if group in _FUNCTIONS:
            made = [np.asarray(getattr(np, _FUNCTIONS[group])(wide))]
        elif group == "cholesky":
            made = [_cholesky(wide)]
        elif group == "qr":
            made = _qr(wide, full=bool(harness.params.get("full_matrices", True)))
        else:
            return []
    return [array.astype(args[0].dtype) for array in made]


def _cholesky(a: Array) -> Array:
    """Lower factor of `(*b, n, n)`; the upper half stays as it is."""
    factor = a.copy()
    for j in range(a.shape[-1]):
        row = np.conj(factor[..., j, :j, None])
        rest = a[..., j:, j] - (factor[..., j:, :j] @ row)[..., 0]
        factor[..., j:, j] = rest / np.sqrt(rest[..., :1].real)
    return factor


def _qr(a: Array, *, full: bool) -> list[Array]:
    """Both factors by Householder reflections, with LAPACK's signs."""
    m, n = a.shape[-2:]
    count, r = min(m, n), a.copy()
    q = np.zeros((*a.shape[:-2], m, m), a.dtype)
    q[..., range(m), range(m)] = 1
    for j in range(count):
        x = r[..., j:, j]
        alpha = x[..., :1]
        length = np.sqrt((np.abs(x) ** 2).sum(axis=-1, keepdims=True))
        # no reflection where nothing is to be made 0, as LAPACK has it
        trivial = (np.abs(x[..., 1:]).sum(axis=-1, keepdims=True) == 0) & (alpha.imag == 0)
        beta = np.where(alpha.real < 0, length, -length)
        tau = np.where(trivial, 0, (beta - alpha) / np.where(beta == 0, 1, beta))
        v = x / np.where(trivial, 1, alpha - beta)
        v[..., 0] = 1
        v, across = v[..., :, None], np.conj(v[..., None, :])
        q[..., :, j:] -= tau[..., None] * (q[..., :, j:] @ v) * across
        r[..., j:, :] -= np.conj(tau[..., None]) * v * (across @ r[..., j:, :])
    kept = m if full else count
    return [q[..., :, :kept], np.triu(r)[..., :kept, :]]


def _in_float64(
    harness: Any, args: Sequence[Array], dtypes: Sequence[np.dtype[Any]]
) -> list[Array]:
    import jax

    wide = [array.astype(_WIDE.get(array.dtype.name, array.dtype)) for array in args]
    narrow = [array.dtype for array in args] == [array.dtype for array in wide]
    if narrow or not all(dtype.name in _WIDE or dtype.kind in "iub" for dtype in dtypes):
        return []
    with jax.enable_x64(True):
        try:
            made = jax.tree.leaves(harness.dyn_fun(*wide))
        except (NotImplementedError, RuntimeError, TypeError, ValueError):
            return []
        results = [np.asarray(leaf) for leaf in made]
    if any(array.dtype.itemsize < 8 and array.dtype.kind in "fc" for array in results):
        return []
    return [array.astype(dtype) for array, dtype in zip(results, dtypes, strict=True)]
