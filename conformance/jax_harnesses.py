"""JAX's own test cases: about 5,600 calls of its primitives, with JAX's values as truth.

They live in a private module of the installed JAX. If it moves, nothing can be run, and the caller
says so: an absent catalogue is not an empty one.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cells import Cell, Verdict
from conformance.jax_reference import more_exact
from conformance.jax_tolerances import disagreement
from yobx.errors import TraceError
from yobx.verification.arguments import from_pairs

__all__ = ["CatalogueMissingError", "check", "harnesses", "sample", "source"]

Array = NDArray[Any]

#: What functions raise on sizes that are no numbers.
_RAISED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
_MODULE = "jax._src.internal_test_util.test_harnesses"


class CatalogueMissingError(RuntimeError):
    """The installed JAX does not offer its cases where they were."""


def source(*, symbolic: bool = False, x64: bool = False) -> str:
    """What the names of the cells of a run begin with."""
    return "jax" + "-symbolic" * symbolic + "-x64" * x64


def harnesses(*, x64: bool = False) -> list[Any]:
    """List the cases, ordered by name.

    Args:
        x64: Whether 64-bit types are enabled, from now on and in the whole process; a few cases
            exist only then.

    Returns:
        JAX's ``Harness`` objects.

    Raises:
        CatalogueMissingError: If the private module is gone.
    """
    import jax

    if x64:
        jax.config.update("jax_enable_x64", True)
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


def check(harness: Any, *, symbolic: bool = False, x64: bool = False) -> Cell:
    """Convert one case and compare it with JAX.

    A value may differ from JAX's as much as JAX's own tests allow.

    Args:
        harness: One of :func:`harnesses`.
        symbolic: Whether a size is symbolic: the first one wherever it begins a shape, or else what
            JAX exports; the model then runs at several sizes.
        x64: Whether 64-bit types are enabled, as :func:`harnesses` did.

    Returns:
        What became of it. What JAX does not trace with any size symbolic is the source's.
    """
    import jax

    from yobx.verification.check import run_check

    name = f"{source(symbolic=symbolic, x64=x64)}/{harness.fullname}"
    group = str(harness.group_name)

    def call(*args: Any) -> Any:
        return jax.tree.map(jax.numpy.asarray, harness.dyn_fun(*args))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX tells on every 64-bit value that it is narrowed
        made = harness.dyn_args_maker(np.random.RandomState(0))
        # What JAX itself makes of the arguments: 64-bit values are narrowed unless x64 is on.
        args = tuple(np.asarray(leaf) for leaf in jax.tree.map(jax.numpy.asarray, made))
        try:
            results = jax.tree.leaves(jax.block_until_ready(call(*args)))
        except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            return Cell(name, group, Verdict.SOURCE, "source", text)
        choices: Sequence[Any] = _symbolic_sizes(args) if symbolic else [{}]
        cell = Cell(name, group, Verdict.SOURCE, "source", "no size that could be symbolic")
        for shapes in choices:
            result = run_check(call, args, dynamic_shapes=shapes, localize=False)
            cell = Cell.of_report(name, group, result.report)
            if symbolic and _is_of_jax(cell, result, call, args, shapes):
                cell = replace(cell, verdict=Verdict.SOURCE)
                continue
            if cell.phase in ("", "values") and result.runs:
                return _by_jax_tolerance(cell, harness, result.runs, [r.dtype for r in results])
            return cell
    return cell


def _is_of_jax(cell: Cell, result: Any, call: Any, args: Sequence[Any], shapes: Any) -> bool:
    """Whether JAX itself does not trace, or does not run, the function with other sizes."""
    if cell.phase in ("trace", "convert"):
        return isinstance(result.error, TraceError) and not _exports(call, args, shapes)
    said = result.report.phase("run").messages if cell.phase == "run" else []
    return bool(said) and all(text.startswith("the source ") for text in said)


def _exports(call: Any, args: Sequence[Any], shapes: Sequence[Any]) -> bool:
    """Whether JAX alone exports the function with these symbolic sizes."""
    import jax
    from jax import core, export

    texts = [
        ", ".join("n" if axis in shape else "_" for axis in range(array.ndim))
        for shape, array in zip(shapes, args, strict=True)
    ]
    try:
        export.export(jax.jit(call))(*export.symbolic_args_specs(tuple(args), texts))
    except (*_RAISED, core.InconclusiveDimensionOperation):
        return False
    return True


def _symbolic_sizes(args: Sequence[Array]) -> list[tuple[dict[int, str], ...]]:
    """Which axes to make symbolic, the best choice first.

    The first size wherever it begins a shape; the first axis of one array; or every axis of a size.
    """
    arrays = [array for array in args if array.ndim and array.shape[0]]
    if not arrays:
        return []
    first = arrays[0].shape[0]
    found = [tuple({0: "n"} if a.ndim and a.shape[0] == first else {} for a in args)]
    found += [tuple({0: "n"} if a is one else {} for a in args) for one in arrays]
    for size in dict.fromkeys(size for array in arrays for size in array.shape):
        found.append(
            tuple({i: "n" for i, other in enumerate(a.shape) if other == size} for a in args)
        )
    return [shapes for i, shapes in enumerate(found) if shapes not in found[:i]]


def _by_jax_tolerance(
    cell: Cell, harness: Any, runs: Sequence[Any], dtypes: Sequence[np.dtype[Any]]
) -> Cell:
    """Types and shapes are right: what JAX's tests allow decides about the values."""
    note = ""
    for run in runs:
        got = [np.asarray(value) for value in run.actual.values()]
        pairs = zip(run.expected, dtypes, strict=True)
        want = [from_pairs(np.asarray(value), dtype) for (_, value), dtype in pairs]
        args = [np.asarray(array) for array in run.args]
        found = disagreement(cell.group, got, want, args, harness.params)
        if found:
            exact = more_exact(harness, args, dtypes)
            if not exact or disagreement(cell.group, got, exact, args, harness.params):
                text = f"{found}; {cell.message}"[:600]
                return replace(cell, verdict=Verdict.WRONG, phase="values", message=text)
            note = f"the more exact value is the model's, not JAX's: {found}"[:600]
    return replace(cell, verdict=Verdict.PASS, phase="", message=note)
