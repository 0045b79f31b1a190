"""JAX's own test cases: about 5,600 calls of its primitives, with JAX's values as truth.

They live in a private module of the installed JAX. If it moves, nothing can be run, and the caller
says so: an absent catalogue is not an empty one.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.cells import Cell, Verdict
from conformance.jax_tolerances import disagreement

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

    A value may differ from JAX's as much as rounding explains, or as JAX's own tests allow.

    Args:
        harness: One of :func:`harnesses`.

    Returns:
        What became of it.
    """
    import jax

    from yobx.verification.check import run_check

    name, group = f"jax/{harness.fullname}", str(harness.group_name)

    def call(*args: Any) -> Any:
        return jax.tree.map(jax.numpy.asarray, harness.dyn_fun(*args))

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
        result = run_check(call, args, dynamic_shapes={}, localize=False)
    cell = Cell.of_report(name, group, result.report)
    if cell.verdict is Verdict.WRONG and cell.phase == "values" and result.runs:
        return _by_jax_tolerance(cell, harness, result.runs[0], args)
    return cell


def _by_jax_tolerance(cell: Cell, harness: Any, run: Any, args: tuple[Any, ...]) -> Cell:
    """Only values differ: what JAX's tests allow decides."""
    got = [np.asarray(value) for value in run.actual.values()]
    want = [np.asarray(value) for _, value in run.expected]
    found = disagreement(cell.group, got, want, args, harness.params)
    if found:
        return replace(cell, message=f"{found}; {cell.message}"[:600])
    return replace(cell, verdict=Verdict.PASS, phase="", message="")
