"""JAX's own test cases: about 5,600 calls of its primitives, with JAX's values as truth.

They live in a private module of the installed JAX. If it moves, nothing can be run, and the caller
says so: an absent catalogue is not an empty one.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
from typing import Any

import numpy as np

from conformance.cells import Cell, Verdict

__all__ = ["CatalogueMissingError", "check", "harnesses", "sample"]

_MODULE = "jax._src.internal_test_util.test_harnesses"


class CatalogueMissingError(RuntimeError):
    """The installed JAX does not offer its cases where they were."""


def harnesses() -> list[Any]:
    """List the cases, ordered by name.

    Returns:
        JAX's ``Harness`` objects.

    Raises:
        CatalogueMissingError: If the private module is gone.
    """
    try:
        found = importlib.import_module(_MODULE).all_harnesses
    except (ImportError, AttributeError) as error:
        raise CatalogueMissingError(f"{_MODULE} is not in this JAX: {error}") from error
    return sorted(found, key=lambda harness: str(harness.fullname))


def sample(count: int) -> list[Any]:
    """Choose cases that stay the same while others come and go.

    Args:
        count: How many.

    Returns:
        The cases whose hashed names are smallest.
    """

    def key(harness: Any) -> str:
        return hashlib.sha256(str(harness.fullname).encode()).hexdigest()

    return sorted(harnesses(), key=key)[:count]


def check(harness: Any) -> Cell:
    """Convert one case and compare it with JAX.

    Args:
        harness: One of :func:`harnesses`.

    Returns:
        What became of it.
    """
    import jax

    from yobx.verification import check_conversion

    name, group = f"jax/{harness.fullname}", str(harness.group_name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX tells on every 64-bit value that it is narrowed
        made = harness.dyn_args_maker(np.random.RandomState(0))
        # What JAX itself makes of the arguments: 64-bit values are narrowed unless x64 is on.
        args = tuple(np.asarray(leaf) for leaf in jax.tree.map(jax.numpy.asarray, made))
        try:
            jax.block_until_ready(harness.dyn_fun(*args))
        except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            return Cell(name, group, Verdict.SOURCE, "source", text)
        report = check_conversion(harness.dyn_fun, args, dynamic_shapes={}, localize=False)
    return Cell.of_report(name, group, report)
