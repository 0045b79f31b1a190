"""A case computed by JAX in float64, to tell which side of a difference is right.

Where float32 sums many terms or cancels, JAX's own value is off by more than its tolerance. A model
whose result is the rounded float64 value, within the same tolerance, is right all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_float64"]

Array = NDArray[Any]

_WIDE = {
    "float16": np.float64,
    "bfloat16": np.float64,
    "float32": np.float64,
    "complex64": np.complex128,
}


def in_float64(harness: Any, args: Sequence[Array], dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
    """Run a case with every argument widened, and round the results.

    Args:
        harness: The case.
        args: Its arguments.
        dtypes: Element types of its results.

    Returns:
        The results, of these types; none if JAX does not compute the case in float64, or if that
        would be no other computation.
    """
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
