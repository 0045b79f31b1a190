"""Whether a function that fails with symbolic sizes works with numbers, and what to write then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from yobx.advice import FIX_THE_SIZE, sizes_of_a_run, traced_with_numbers, trial_sizes
from yobx.errors import TraceError, YobxError
from yobx.places import line_that_raised
from yobx.user_code import UserCode

__all__ = ["needed_numbers"]


def needed_numbers(
    trace: Callable[..., Any],
    arrays: Sequence[tuple[Sequence[Any], Any]],
    shapes: Sequence[Sequence[int | str]],
    error: BaseException | None,
) -> dict[str, str]:
    """What is wrong and what to write where a function can be traced if its sizes are numbers.

    Args:
        trace: Traces it on abstract arrays.
        arrays: Shape and dtype of each argument, as it was given.
        shapes: Its sizes in the failed trace, with the names of those that are symbolic.
        error: What the function raised.

    Returns:
        ``sizes`` and ``instead`` of a `TraceError`; nothing where it fails for another reason.
    """
    import jax

    numbers = trial_sizes(shapes, [sizes for sizes, _ in arrays])
    if not numbers or not all(map(str.isidentifier, numbers)):
        return {}
    specs = [
        jax.ShapeDtypeStruct(tuple(numbers.get(str(n), n) for n in shape), dtype)
        for shape, (_, dtype) in zip(shapes, arrays, strict=True)
    ]
    try:
        with UserCode(lambda error: TraceError(str(error))):
            trace(*specs)
    except YobxError:
        return {}  # it fails for another reason, which is told already
    line = line_that_raised(error) if error is not None else ""
    why = traced_with_numbers(numbers, "symbolic")
    return {
        "sizes": f"{why}{f', at {line}' * bool(line)}",
        "instead": f"write {sizes_of_a_run('jax')}; or {FIX_THE_SIZE}",
    }
