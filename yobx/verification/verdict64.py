"""Whom a piece of a graph, computed in float64, agrees with: that side is right.

If it agrees with the source, the run time is off; if it agrees with onnxruntime, the converter
wrote another function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from yobx.verification.dtypes import epsilon_half, is_float, ulp_distance, widen
from yobx.verification.evidence import Reduction
from yobx.verification.findings import Localization
from yobx.verification.provenance import facts_of
from yobx.verification.reference64 import evaluate
from yobx.verification.runner import LoadError, RunError, Session
from yobx.verification.tolerances import load_tolerances
from yobx.words import counted

__all__ = [
    "BETWEEN",
    "OTHER_FUNCTION",
    "ROUNDS",
    "alike",
    "as_reduction",
    "describe_origin",
    "distance",
    "errors",
    "furthest",
    "rounds_alone",
    "still_fails",
    "verdict_of",
]

#: What is wrong where float64 sides with onnxruntime, unless the traced graph does so too.
OTHER_FUNCTION = "the converted graph is another function"


#: What is said where neither side is right.
BETWEEN = "the same nodes, computed in float64, lie between both"


ROUNDS = (
    "the same nodes, computed in float64, agree with onnxruntime where casts round as written → "
    "the converted graph casts to a narrower type than the source"
)


def verdict_of(exact: Any, ours: Any, theirs: Any, framework: str) -> tuple[str, str]:
    """Which side a float64 evaluation of the piece supports.

    Args:
        exact: What the piece gives in float64, or ``None``.
        ours: What onnxruntime gives.
        theirs: What the source gives.
        framework: Of the source.

    Returns:
        ``converter``, ``runtime`` or ``undecided``, and why.
    """
    if framework == "onnx":  # a ready model, whose source is what it is compared with
        framework = "the reference"
    if exact is None or np.shape(exact) != np.shape(ours):
        return "undecided", "this piece cannot be computed in float64"
    if not is_float(np.asarray(ours).dtype):
        same_ours, same_theirs = np.array_equal(exact, ours), np.array_equal(exact, theirs)
        near, far = (0.0 if same_ours else 1.0), (0.0 if same_theirs else 1.0)
    else:
        near, far = distance(exact, ours), distance(exact, theirs)
    table = load_tolerances()
    nearer = table.nearer
    if near < nearer * far:
        if (units := _units(exact, theirs, far)) <= table.same_ulp:
            return (
                "undecided",
                "the same nodes, computed in float64, agree with onnxruntime, and "
                f"{framework} is {units:.1g} units in the last place of its own type away, root "
                "mean square → it rounds more, or the converted graph is another function that is "
                "as near",
            )
        return (
            "converter",
            f"the same nodes, computed in float64, agree with onnxruntime → {OTHER_FUNCTION}",
        )
    if far < nearer * near:
        return (
            "runtime",
            f"the same nodes, computed in float64, agree with {framework} → the runtime is off, "
            "not the converter",
        )
    if near == far == 0.0:
        return "undecided", f"the sign of zeros alone differs: {_signs(exact, ours, theirs)}"
    return (
        "undecided",
        f"{BETWEEN} (onnxruntime {_away(exact, ours, near)}, {framework} "
        f"{_away(exact, theirs, far)})",
    )


def _signs(exact: Any, ours: Any, theirs: Any) -> str:
    """Whose signs of zeros float64 gives."""
    true, got, want = (
        np.signbit(np.asarray(side).astype(np.float64)) for side in (exact, ours, theirs)
    )
    if np.array_equal(true, got):
        return "float64 gives that of onnxruntime"
    return f"float64 gives that of {'the source' if np.array_equal(true, want) else 'neither'}"


def _away(exact: Any, other: Any, apart: float) -> str:
    """A distance to float64 in words, also where there is none."""
    if np.isfinite(apart):
        return f"{apart:.1e} away"
    wide, narrow = widen(np.asarray(exact)), widen(np.asarray(other))
    nans = int((np.isnan(wide) != np.isnan(narrow)).sum())
    if nans:
        return f"NaN in {counted(nans, 'other place')}"
    return f"infinite in {counted(int((np.isinf(wide) != np.isinf(narrow)).sum()), 'other place')}"


def _units(exact: Any, theirs: Any, far: float) -> float:
    """A distance in units in the last place of values of typical size; infinite for integers."""
    dtype = np.asarray(theirs).dtype
    wide = widen(np.asarray(exact))
    finite = np.isfinite(wide)
    if not is_float(dtype) or not finite.any() or not np.any(wide[finite]):
        return float("inf")
    with np.errstate(over="ignore"):
        size = float(np.sqrt(np.mean(np.square(np.abs(wide[finite])))))
    return far / (2.0 * epsilon_half(dtype) * size)


def rounds_alone(part: onnx.ModelProto, feeds: Mapping[str, Any], ours: Any, theirs: Any) -> bool:
    """Whether casts of the graph alone explain what the run time gives.

    Args:
        part: The piece.
        feeds: Its inputs.
        ours: What onnxruntime gives.
        theirs: What the source gives.
    """
    exact = evaluate(part, feeds, casts=True)
    return verdict_of(exact, ours, theirs, "")[0] == "converter"


def errors(one: Any, other: Any) -> NDArray[np.float64]:
    """Size of the difference of each element; not finite where one alone is infinite or NaN.

    Args:
        one: The one.
        other: The other, of the same shape.
    """
    a, b = np.asarray(one), np.asarray(other)
    wide, narrow = widen(a), widen(b)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(wide - narrow)
    same = (a == b) | (np.isnan(wide) & np.isnan(narrow))
    return np.asarray(np.where(same, 0.0, error))


def alike(one: NDArray[Any], other: NDArray[Any], ours: Any, theirs: Any) -> bool:
    """Whether two results are one but for rounding, measured by how far the sides are apart.

    Args:
        one: The one.
        other: The other, of the same shape.
        ours: What onnxruntime gives.
        theirs: What the source gives, in the type in which units in the last place are counted.
    """
    dtype = np.asarray(theirs).dtype
    if not is_float(dtype):
        return np.array_equal(one, other)
    table, apart = load_tolerances(), distance(ours, theirs)
    if np.isfinite(apart) and distance(one, other) <= table.nearer * apart:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = one.astype(dtype), other.astype(dtype)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    steps = np.where(equal, 0.0, ulp_distance(a, b))
    return bool(np.max(steps, initial=0.0) <= table.same_ulp)


def distance(exact: Any, other: Any) -> float:
    """Root mean square of the difference of two arrays, infinite where only one is finite.

    Args:
        exact: The one.
        other: The other, of the same shape.
    """
    error = errors(exact, other)
    if not np.all(np.isfinite(error)):
        return float("inf")
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean(np.square(error)))) if error.size else 0.0


def furthest(one: Any, other: Any) -> str:
    """The largest difference of two arrays of one shape, in words.

    Args:
        one: The one.
        other: The other.
    """
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind not in "biuf" and not is_float(a.dtype):
        return "what is no number"
    error = errors(a, b)
    odd = int((~np.isfinite(error)).sum())
    if odd:
        return f"{counted(odd, 'element')} finite on one side alone"
    return f"up to {float(error.max(initial=0.0)):.2g}"


def still_fails(
    part: onnx.ModelProto, feeds: Mapping[str, Any], want: Any, found: Localization
) -> int:
    """Number of nodes of the piece if it alone still shows the difference, else 0.

    Args:
        part: The piece.
        feeds: Its inputs.
        want: What the source gives.
        found: The value that differs, and by how much.
    """
    try:
        got = (
            Session(part, optimise=False)
            .run({n: np.asarray(v) for n, v in feeds.items()})
            .values[found.value]
        )
    except (LoadError, RunError):
        return 0
    difference = found.difference
    if difference is None or np.shape(got) != np.shape(want):
        return 0
    if not is_float(np.asarray(want).dtype):
        return len(part.graph.node) if not np.array_equal(got, want) else 0
    error = distance(want, got)
    shown = load_tolerances().shown * (difference.rms or 0.0)
    return len(part.graph.node) if error > shown else 0


def as_reduction(
    part: onnx.ModelProto, feeds: Mapping[str, Any], name: str, want: Any
) -> Reduction:
    """A piece that a checker accepts: its output has a type.

    Args:
        part: The piece; it is changed.
        feeds: Its inputs.
        name: Its output.
        want: What the source gives for it.
    """
    array = np.asarray(want)
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    del part.graph.output[:]
    part.graph.output.append(helper.make_tensor_value_info(name, kind, [None] * array.ndim))
    return Reduction(part, dict(feeds), {name: want})


def describe_origin(found: Localization, model: onnx.ModelProto, value: str) -> None:
    """Writes down of what operation, layer and line of the source a value is.

    Args:
        found: Where it is written.
        model: The converted model.
        value: Name of the value.
    """
    node = next((n for n in model.graph.node if value in n.output), None)
    if node is None:
        return
    found.op_type = node.op_type
    facts = facts_of(node)
    found.source_op = facts.get("op", "")
    found.source_name = facts.get("name", "")
    found.layer = facts.get("layer", "")
    found.user_line = facts.get("line", facts.get("location", ""))
