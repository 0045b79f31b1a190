"""A piece of a graph on the inputs of either side, where those agree and are not equal.

Values agree within what rounding explains. A root near zero, a step, a quotient of small numbers
make much of that: each side then follows from its own inputs, and neither is off in this place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from yobx.verification.reference64 import evaluate
from yobx.verification.verdict64 import alike, furthest

__all__ = ["ILL_CONDITIONED", "unequal", "what_follows"]

#: Verdict where both sides follow from inputs that differ by rounding.
ILL_CONDITIONED = "ill-conditioned"


def unequal(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Names of the values that are not the same on both sides, bit by bit.

    Args:
        ours: Values of the converted model.
        theirs: Values of the source, under the same names.
    """
    return [name for name, value in theirs.items() if not _same(ours[name], value)]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) or isinstance(other, list):
        pairs = isinstance(one, list) and isinstance(other, list) and len(one) == len(other)
        return pairs and all(_same(a, b) for a, b in zip(one, other, strict=True))
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return np.array_equal(a, b) if a.dtype.kind in "OSU" else a.tobytes() == b.tobytes()


def what_follows(
    part: onnx.ModelProto,
    own: Mapping[str, Any],
    given: Mapping[str, Any],
    ours: Any,
    theirs: Any,
) -> tuple[str, str] | None:
    """Looks whether onnxruntime is right on its own inputs, where those are not the source's.

    Args:
        part: The piece.
        own: Its inputs in the converted model.
        given: Its inputs in the source.
        ours: What onnxruntime gives.
        theirs: What the source gives.

    Returns:
        A verdict that does not blame the run time, and why; ``None`` where it may be off.
    """
    apart = unequal(own, given)
    if not apart or not _gives(evaluate(part, own), ours, ours, theirs):
        return None
    shown = ", ".join(f"%{name} by {furthest(own[name], given[name])}" for name in apart[:3])
    if not _gives(evaluate(part, given), theirs, ours, theirs):
        return (
            "undecided",
            "onnxruntime gives on its own inputs what float64 does, the source on its own does "
            f"not; the inputs differ by rounding ({shown})",
        )
    return (
        ILL_CONDITIONED,
        "on each side's own inputs float64 gives the result of that side → ill-conditioned here: "
        f"inputs that differ by rounding ({shown}) give results that differ by "
        f"{furthest(ours, theirs)}; neither the runtime nor the converter is off in this place",
    )


def _gives(exact: Any, result: Any, ours: Any, theirs: Any) -> bool:
    """Whether a result is the exact one but for rounding."""
    if exact is None or np.shape(exact) != np.shape(result):
        return False
    return alike(np.asarray(exact), np.asarray(result), ours, theirs)
