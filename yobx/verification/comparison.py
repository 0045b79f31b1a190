"""Compares one output with what the source computed.

Dtype, rank and shape come first. Integers, bools and strings are compared bitwise, never through a
float. Floats are compared with an `Allowance`, which says for every element what rounding
explains; positions of NaN, of infinities and the sign of zeros are categories of their own.
Statistics are computed in float64, or in Python integers where float64 is not wide enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from ml_dtypes import finfo
from numpy.typing import NDArray

from yobx.verification.dtypes import (
    dtype_name,
    epsilon_half,
    is_complex,
    is_float,
    spacing,
    ulp_distance,
    widen,
)
from yobx.verification.findings import UNDECIDED, Outcome, OutputReport
from yobx.verification.tolerances import load_tolerances
from yobx.words import counted

__all__ = ["EXACT", "Allowance", "compare", "compare_values", "resemble", "ulp_allowance"]

_Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Allowance:
    """What an error may be.

    Attributes:
        rule: The rule in words.
        absolute: Absolute error allowed for each element (float64), or ``None`` for bitwise.
        ulp: Units in the last place allowed; the larger of both counts.
        rms: Root mean square allowed for the whole array, or ``None``.
        zero_sign: Whether the sign of a zero must agree.
        unstable: Elements of an integer or bool array that rounding alone turns over, and those of
            floats that it makes a number or none; ``None`` if there are none.
        weak_above: Median allowance, as a share of the spread, above which a warning is given.
        blind_above: The same, above which the comparison proves nothing and fails.
        same_ulp: Units in the last place within which both sides are one value, whatever rounding
            could have done: agreement as close as that needs no allowance.
        same_share: The same, as a share of how far the elements typically are from their median.
        elements: What each tensor of a sequence is allowed; all of them the same if ``None``.
        usual: Whether nothing could be measured, and the usual tolerance of the dtype stands in.
    """

    rule: str
    absolute: NDArray[np.float64] | None = None
    ulp: float = 0.0
    rms: float | None = None
    zero_sign: bool = True
    unstable: _Mask | None = None
    weak_above: float = 0.01
    blind_above: float = 0.5
    same_ulp: float = 4.0
    same_share: float = 1e-5
    elements: tuple[Allowance, ...] | None = None
    usual: bool = False


EXACT = Allowance("bitwise")


def ulp_allowance(rule: str, ulp: float, *, zero_sign: bool = True) -> Allowance:
    """An allowance counted in units in the last place."""
    return Allowance(rule, ulp=ulp, zero_sign=zero_sign)


def compare(name: str, got: object, want: object, allowance: Allowance) -> OutputReport:
    """Compares one output, a tensor or a sequence of tensors.

    Args:
        name: ONNX name.
        got: Value of the converted model.
        want: Value of the source.
        allowance: What an error may be.

    Returns:
        The report; for a sequence that of its first failing element, else of its last.
    """
    got_list, want_list = isinstance(got, list), isinstance(want, list)
    if got_list != want_list:
        return _refused(name, "dtype", f"{_kind(got)} where the source gives {_kind(want)}")
    if got is None or want is None:
        return _compare_nothing(name, got, want)
    if not (isinstance(got, list) and isinstance(want, list)):
        return compare_values(name, np.asarray(got), np.asarray(want), allowance)
    return _compare_sequences(name, got, want, allowance)


def _compare_sequences(
    name: str, got: list[Any], want: list[Any], allowance: Allowance
) -> OutputReport:
    if len(got) != len(want):
        return _refused(
            name,
            "shape",
            f"a sequence of {counted(len(got), 'tensor')}, the source gives {len(want)}",
        )
    each = allowance.elements or (allowance,) * len(want)
    if len(each) != len(want):
        # The model, not optimised, gives another number of tensors: nothing was measured of these.
        message = (
            f"{counted(len(want), 'tensor')}, of {len(each)} of which it was measured what "
            "rounding explains"
        )
        return _refused(name, "shape", message)
    reports = [
        compare(f"{name}[{i}]", g, w, a)
        for i, (g, w, a) in enumerate(zip(got, want, each, strict=True))
    ]
    failed = next((report for report in reports if report.failed), None)
    if failed is not None:
        return failed
    whole = OutputReport(name, dtype="sequence", shape=(len(got),), rule=allowance.rule)
    whole.elements = sum(report.elements for report in reports)
    whole.vacuous = all(report.vacuous for report in reports)
    for report in reports:
        if report.outcome is Outcome.WARNING:
            whole.outcome = Outcome.WARNING
            whole.notes += [f"{report.name}: {note}" for note in report.notes]
    for statistic in ("max_abs", "max_rel", "budget_used"):
        found = [getattr(report, statistic) for report in reports]
        known = [value for value in found if value is not None]
        setattr(whole, statistic, max(known, default=None))
    return whole


def _compare_nothing(name: str, got: object, want: object) -> OutputReport:
    """An optional value that is not there agrees with nothing alone."""
    if got is None and want is None:
        report = OutputReport(name, dtype="nothing", rule="exact")
        report.vacuous = True
        report.notes.append("vacuous: neither side gives anything")
        return report
    return _refused(name, "dtype", f"{_kind(got)} where the source gives {_kind(want)}")


def compare_values(
    name: str, got: NDArray[Any], want: NDArray[Any], allowance: Allowance
) -> OutputReport:
    """Compares two arrays.

    Args:
        name: Name for the report.
        got: Array of the converted model.
        want: Array of the source.
        allowance: What an error may be.

    Returns:
        The report.
    """
    strange = _no_text(got) or _no_text(want)
    if strange:
        message = f"an array of objects, {strange} among them, is no tensor"
        return _refused(name, "dtype", message, got)
    got_name, want_name = dtype_name(got.dtype), dtype_name(want.dtype)
    if got_name != want_name:
        return _refused(name, "dtype", f"{got_name}, the source gives {want_name}", got)
    if got.ndim != want.ndim:
        message = (
            f"rank {got.ndim} {list(got.shape)}, the source gives rank {want.ndim} "
            f"{list(want.shape)}"
        )
        return _refused(name, "rank", message, got)
    if got.shape != want.shape:
        return _refused(
            name, "shape", f"shape {list(got.shape)}, the source gives {list(want.shape)}", got
        )
    report = OutputReport(
        name, dtype=want_name, shape=tuple(want.shape), rule=allowance.rule, elements=int(want.size)
    )
    if want.size == 0:
        report.vacuous = True
        report.notes.append("vacuous: the array is empty, only dtype and shape were compared")
        return report
    if is_float(want.dtype):
        _compare_floats(report, got, want, allowance)
    else:
        _compare_exact(report, got, want, allowance)
    return report


# ---- integers, bools, strings
# ------------------------------------------------------------------------------


def _compare_exact(
    report: OutputReport, got: NDArray[Any], want: NDArray[Any], allowance: Allowance
) -> None:
    report.rule = "exact"
    if report.dtype == "string":
        got, want = _texts(got), _texts(want)
    differ: _Mask = np.asarray(got != want, dtype=np.bool_)
    if not differ.any():
        return
    if report.dtype != "string":
        _measure_whole(report, differ, got, want)
    unstable = allowance.unstable
    wrong = differ if unstable is None else differ & ~unstable
    if unstable is not None:
        _judge_turned_values(report, differ & unstable, unstable, allowance)
    if wrong.any():
        _mark(report, "values", wrong, got, want)


def _measure_whole(
    report: OutputReport, differ: _Mask, got: NDArray[Any], want: NDArray[Any]
) -> None:
    """The largest error of integers and booleans, also where it is excused."""
    rows = np.argwhere(differ)[:100_000]
    errors = [abs(int(got[tuple(i)]) - int(want[tuple(i)])) for i in rows]
    worst = int(max(range(len(errors)), key=errors.__getitem__))
    report.max_abs = float(errors[worst])
    report.max_abs_index = tuple(int(i) for i in rows[worst])


def _judge_turned_values(
    report: OutputReport, excused: _Mask, unstable: _Mask, allowance: Allowance
) -> None:
    """Tells of what rounding turns over, and refuses where that is most of an output."""
    if not excused.any():
        return
    turned = int(unstable.sum())
    if turned > allowance.blind_above * unstable.size:
        report.outcome, report.category = Outcome.FAILED, UNDECIDED
        report.notes.append(
            f"not decidable: rounding alone turns {turned} of {unstable.size} elements over, of "
            f"which {int(excused.sum())} differ, so nothing was proven"
        )
        return
    report.outcome = Outcome.WARNING
    report.notes.append(
        f"{int(excused.sum())} elements differ where rounding alone turns the result over: "
        "undecided"
    )


def _no_text(array: NDArray[Any]) -> str:
    """The class of what makes an array of objects no array of strings, or ``""``."""
    objects = array.ravel() if array.dtype.kind == "O" else ()
    return next((type(x).__name__ for x in objects if not isinstance(x, (str, bytes))), "")


def _texts(array: NDArray[Any]) -> NDArray[Any]:
    flat = [
        v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else str(v)
        for v in array.ravel()
    ]
    return np.array(flat, dtype=object).reshape(array.shape)


# ---- floats
# ------------------------------------------------------------------------------------------------


def _compare_floats(
    report: OutputReport, got: NDArray[Any], want: NDArray[Any], allowance: Allowance
) -> None:
    wide_got, wide_want = widen(got), widen(want)
    nan_wrong = _part_mismatch(wide_got, wide_want, np.isnan)
    inf_wrong = _inf_mismatch(wide_got, wide_want) & ~nan_wrong
    turned = _turned_over(nan_wrong, allowance)
    nan_wrong = nan_wrong & ~turned
    zero_wrong = _zero_sign_mismatch(wide_got, wide_want)
    finite = np.isfinite(wide_got) & np.isfinite(wide_want)
    with np.errstate(invalid="ignore", over="ignore"):
        error: NDArray[np.float64] = np.where(finite, np.abs(wide_got - wide_want), 0.0)
    ulp = np.where(finite, ulp_distance(got, want), 0.0)
    flushed = _flushed(wide_got, wide_want, want.dtype)
    # What is moved alone is not flushed, and is compared bit by bit.
    if flushed.any() and (allowance.ulp or allowance.absolute is not None):
        error, ulp = np.where(flushed, 0.0, error), np.where(flushed, 0.0, ulp)
        report.notes.append(
            f"{int(flushed.sum())} elements are subnormal, and zero in the source: frameworks set "
            "processors to flush them"
        )
    allowed = _allowed(allowance, wide_want, want.dtype)
    value_wrong = finite & (error > allowed) & (ulp > allowance.ulp)
    _statistics(report, error, wide_want, ulp, finite)
    if (allowance.absolute is not None or allowance.ulp) and finite.any():
        spread = max(_spread(wide_want[finite]), _spread(wide_got[finite]))
        _measure_budget(report, error[finite], allowed[finite], spread, allowance)
        same = ulp[finite].max() <= allowance.same_ulp or error[finite].max() <= (
            allowance.same_share * _typical_deviation(wide_want[finite])
        )
        _judge_budget(report, allowance, same=bool(same))
        size = np.maximum(np.abs(wide_want[finite]), spread)
        blind = (allowed[finite] > size) & (ulp[finite] > allowance.same_ulp)
        _judge_blind_elements(report, blind, want.dtype, allowance)
    _judge_turned_over(report, turned, allowance)
    if not allowance.zero_sign and zero_wrong.any():
        report.notes.append(
            f"the sign of {int(zero_wrong.sum())} zeros differs (left open by the operators)"
        )
        zero_wrong = np.zeros_like(zero_wrong)
    masks = {"nan": nan_wrong, "inf": inf_wrong, "zero sign": zero_wrong, "values": value_wrong}
    _verdict(report, masks, got, want)
    _check_rms(report, error, finite & np.isfinite(allowed), allowance)
    if allowance.usual and not report.failed and report.max_abs:
        report.outcome = Outcome.WARNING
        report.notes.append(
            f"errors up to {report.max_abs:.1e} are let pass by the usual tolerance, not by what "
            f"rounding explains: {allowance.rule}"
        )
    if not finite.any() and not report.failed:
        report.outcome, report.vacuous = Outcome.WARNING, True
        report.notes.append("no element is finite: only the places of NaN and infinities agree")


def _flushed(got: NDArray[Any], want: NDArray[Any], dtype: np.dtype[Any]) -> _Mask:
    """Where the source is zero since its framework has the processor flush subnormal numbers.

    Processors do so in float32 and float64 alone. What is as small in float16 is not subnormal in
    the float32 in which it is computed; bfloat16 has the range of float32.
    """
    if is_complex(dtype) or dtype.name not in {"float32", "float64", "bfloat16"}:
        return np.zeros(want.shape, np.bool_)
    least = float(finfo(dtype).smallest_normal)
    return np.asarray((want == 0.0) & (got != 0.0) & (np.abs(got) < least))


def _verdict(
    report: OutputReport, masks: dict[str, _Mask], got: NDArray[Any], want: NDArray[Any]
) -> None:
    """Names the categories present; the first in order gives the index shown."""
    present = {category: mask for category, mask in masks.items() if mask.any()}
    if not present:
        return
    category, mask = next(iter(present.items()))
    # A wrong value says more than the sign of a zero beside it.
    if category == "zero sign" and "values" in present:
        category, mask = "values", present["values"]
    _mark(report, category, mask, got, want)
    report.wrong = int(np.logical_or.reduce(list(present.values())).sum())
    for other, other_mask in present.items():
        if other != category:
            report.notes.append(f"{int(other_mask.sum())} more elements differ: {other}")


def _check_rms(
    report: OutputReport, error: NDArray[np.float64], judged: _Mask, allowance: Allowance
) -> None:
    if allowance.rms is None or not judged.any():
        return
    report.allowed_rms = allowance.rms
    with np.errstate(over="ignore"):
        rms = report.rms = float(np.sqrt(np.mean(np.square(error[judged]))))
    # A quantised output cannot be nearer than its own last place.
    if rms <= allowance.rms:
        return
    if not report.failed or report.category == UNDECIDED:
        report.outcome, report.category = Outcome.FAILED, "values"
        index = np.unravel_index(int(np.argmax(np.where(judged, error, 0.0))), error.shape)
        report.first_index = tuple(int(i) for i in index)
    report.notes.append(
        f"systematic: root mean square {rms:.2e}, rounding explains {allowance.rms:.2e}"
    )
    report.budget_used = max(
        report.budget_used or 0.0, rms / allowance.rms if allowance.rms else np.inf
    )


def _allowed(allowance: Allowance, want: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    allowed = np.zeros(want.shape, np.float64)
    if allowance.absolute is not None:
        allowed = np.broadcast_to(allowance.absolute, want.shape)
    if allowance.ulp and not is_complex(dtype):
        with np.errstate(invalid="ignore", over="ignore"):
            unit = np.where(np.isfinite(want), spacing(np.nan_to_num(want), dtype), 0.0)
        allowed = np.maximum(allowed, allowance.ulp * unit)
    return allowed


def _statistics(
    report: OutputReport,
    error: NDArray[np.float64],
    want: NDArray[Any],
    ulp: NDArray[np.float64],
    finite: _Mask,
) -> None:
    if not finite.any():
        return
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    report.max_abs = float(error[worst])
    report.max_abs_index = tuple(int(i) for i in worst)
    magnitude = np.abs(want[finite])
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(error[finite] == 0.0, 0.0, error[finite] / magnitude)
    report.max_rel = float(relative.max())
    p50, p99 = np.percentile(ulp[finite], [50, 99])
    report.ulp = (float(p50), float(p99), float(ulp[finite].max()))
    with np.errstate(over="ignore"):
        report.rms = float(np.sqrt(np.mean(np.square(error[finite]))))
    report.histogram = _histogram(error[finite])


def _histogram(error: NDArray[np.float64]) -> list[tuple[str, int]]:
    """Counts by power of ten, from exact zeros upwards; at most seven buckets."""
    rows = [("0", int((error == 0.0).sum()))]
    positive = error[error > 0.0]
    if positive.size == 0:
        return rows
    exponents = np.floor(np.log10(positive)).astype(int)
    low = max(int(exponents.min()), int(exponents.max()) - 5)
    for exponent in range(low, int(exponents.max()) + 1):
        chosen = exponents == exponent if exponent > low else exponents <= exponent
        rows.append((f"<1e{exponent + 1}", int(chosen.sum())))
    return rows


def _spread(values: NDArray[Any]) -> float:
    """How much an output varies; the magnitude of a constant one."""
    return float(np.std(values)) or float(np.abs(values).max())


def _typical_deviation(values: NDArray[Any]) -> float:
    """The median of how far elements are from their median; large ones alone do not move it."""
    return float(np.median(np.abs(values - np.median(values))))


def _measure_budget(
    report: OutputReport,
    error: NDArray[np.float64],
    allowed: NDArray[np.float64],
    spread: float,
    allowance: Allowance,
) -> None:
    """How much of the allowance is used, and how much the output itself varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.where(error == 0.0, 0.0, error / allowed)
    report.budget_used = float(used.max())
    if spread == 0.0 or allowance.rms is None:
        return
    report.relative_budget = float(np.median(allowed)) / spread


def _judge_budget(report: OutputReport, allowance: Allowance, *, same: bool) -> None:
    """Refuses agreement that only an allowance as wide as the output itself could explain."""
    if report.relative_budget is None:
        return
    if report.relative_budget > allowance.blind_above and same:
        report.outcome = Outcome.WARNING
        report.notes.append(
            f"fragile: both sides agree to {report.max_abs or 0.0:.1e}, but rounding alone could "
            f"move the output by {_share(report.relative_budget)} of its own spread"
        )
    elif report.relative_budget > allowance.blind_above:
        report.outcome, report.category = Outcome.FAILED, UNDECIDED
        report.notes.append(
            f"not decidable in {report.dtype}: rounding alone moves the output by "
            f"{_share(report.relative_budget)} of its own spread, so nothing was proven"
        )
    elif report.relative_budget > allowance.weak_above:
        report.outcome = Outcome.WARNING
        report.notes.append(
            f"weak: rounding alone moves the output by {report.relative_budget:.1%} of its own "
            "spread"
        )


def _share(part: float) -> str:
    return f"{part:.0%}" if part < 10.0 else "more than 999%"


def _judge_blind_elements(
    report: OutputReport, blind: _Mask, dtype: np.dtype[Any], allowance: Allowance
) -> None:
    """Tells of elements that may be anything, and refuses units as large as the value itself."""
    if report.failed:
        return
    whole = not is_complex(dtype) and allowance.ulp * 2.0 * epsilon_half(dtype) >= 1.0
    if whole and blind.any():
        report.outcome, report.category = Outcome.FAILED, UNDECIDED
        report.notes.append(
            f"not decidable: {allowance.ulp:g} units in the last place of {report.dtype} are as "
            "much as the values themselves"
        )
    elif blind.any():
        report.outcome = Outcome.WARNING
        report.notes.append(
            f"{int(blind.sum())} of {blind.size} elements differ and are allowed more than they "
            "are: undecided"
        )


def _turned_over(wrong: _Mask, allowance: Allowance) -> _Mask:
    """Elements that are numbers on one side alone, as rounding alone may make them."""
    unstable = allowance.unstable
    return np.zeros_like(wrong) if unstable is None else np.asarray(wrong & unstable)


def _judge_turned_over(report: OutputReport, turned: _Mask, allowance: Allowance) -> None:
    if not turned.any() or report.failed:
        return
    few = turned.mean() <= allowance.blind_above
    report.outcome = Outcome.WARNING if few else Outcome.FAILED
    report.category = "" if few else UNDECIDED
    report.notes.append(
        f"{int(turned.sum())} of {turned.size} elements are numbers on one side alone, where "
        "rounding alone makes them so: undecided"
    )


def _part_mismatch(got: NDArray[Any], want: NDArray[Any], test: Any) -> _Mask:
    if is_complex(want.dtype):
        return np.asarray((test(got.real) != test(want.real)) | (test(got.imag) != test(want.imag)))
    return np.asarray(test(got) != test(want))


def _inf_mismatch(got: NDArray[Any], want: NDArray[Any]) -> _Mask:
    if is_complex(want.dtype):
        return _inf_mismatch(got.real, want.real) | _inf_mismatch(got.imag, want.imag)
    either = np.isinf(got) | np.isinf(want)
    return np.asarray(either & (got != want))


def _zero_sign_mismatch(got: NDArray[Any], want: NDArray[Any]) -> _Mask:
    if is_complex(want.dtype):
        return np.zeros(want.shape, np.bool_)
    both = (got == 0.0) & (want == 0.0)
    return np.asarray(both & (np.signbit(got) != np.signbit(want)))


# ---- shared
# --------------------------------------------------------------------------------------------------


def _mark(
    report: OutputReport, category: str, wrong: _Mask, got: NDArray[Any], want: NDArray[Any]
) -> None:
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    report.outcome = Outcome.FAILED
    report.category = category
    report.wrong = int(wrong.sum())
    report.first_index = index
    report.got, report.want = _show(got[index]), _show(want[index])


def _show(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, (np.floating, np.complexfloating)):
        return str(value)
    return str(value.item() if isinstance(value, np.generic) else value)


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    return "a sequence of tensors" if isinstance(value, list) else "a tensor"


def _refused(
    name: str, category: str, message: str, got: NDArray[Any] | None = None
) -> OutputReport:
    report = OutputReport(name, outcome=Outcome.FAILED, category=category, notes=[message])
    if got is not None:
        report.dtype, report.shape = dtype_name(got.dtype), tuple(got.shape)
    return report


def resemble(got: Any, want: Any) -> bool:
    """Whether two results of one source are the same but for rounding.

    Args:
        got: An array, or a list of arrays, which resembles nothing.
        want: An array; complex numbers as pairs.
    """
    if isinstance(got, list) or np.shape(got) != np.shape(want):
        return False
    got, want = np.asarray(got), np.asarray(want)
    if not is_float(want.dtype) or got.dtype != want.dtype:
        return bool(np.array_equal(got, want))
    got, want = widen(got), widen(want)
    peak = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
    share = load_tolerances().resemblance
    return bool(np.all(np.isclose(got, want, rtol=share, atol=share * peak, equal_nan=True)))
