"""The source in float64 acquits what is right, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.verification.models import model, value
from tests.verification.wide_mutations import ACQUITTED
from yobx.verification import Outcome, check_conversion, register_source
from yobx.verification.bindings import Binding
from yobx.verification.comparison import Allowance, compare, ulp_allowance
from yobx.verification.evidence import BindingRun
from yobx.verification.findings import OutputReport
from yobx.verification.sources import WideRun
from yobx.verification.wide_source import judged, may_be_asked

X = np.random.default_rng(0).uniform(0.1, 9.9, (23, 4)).astype(np.float32)

# ---- one comparison ----------------------------------------------------------------------------

EXACT = np.array([1.0, 2.0, 3.0], np.float64)
F32 = EXACT.astype(np.float32)
OFF = F32 * np.float32(1 + 1e-5)  # of a source that is not exact


def _run(got: Any, want: Any) -> BindingRun:
    return BindingRun(Binding("sample", {}), (), {}, [("y", want)], {"y": got}, {})


def _judged(
    got: Any,
    found: WideRun,
    want: Any = OFF,
    category: str = "values",
    other: tuple[OutputReport, ...] = (),
) -> Any:
    failed = OutputReport("y", outcome=Outcome.FAILED, category=category, notes=["off"])
    run = _run(got, want)
    if not may_be_asked([failed, *other], run):
        return None
    return judged([failed, *other], run, {"y": ulp_allowance("2 ULP", 2.0)}, found)


def test_what_float64_gives_is_acquitted_with_a_warning() -> None:
    (report,) = _judged(F32, WideRun([lambda: [OFF]], lambda: [EXACT]))
    assert report.outcome is Outcome.WARNING
    assert report.notes[-1] == (
        "the source itself is off by rounding: computed in float64 it gives what the converted "
        "model gives (max 0 ULP), and its own float32 result is up to 126 ULP away"
    )
    assert report.rule == "2 ULP, from the source in float64"


def test_rounded_steps_acquit_what_is_far_and_exact_ones_do_not() -> None:
    far = F32 * np.float32(1 + 1e-4)
    steps = WideRun([lambda: [far]], lambda: [EXACT[::-1]], (), lambda: [EXACT])
    assert _judged(F32, steps, far)[0].outcome is Outcome.WARNING
    exact = WideRun([lambda: [far]], lambda: [EXACT], (), lambda: [EXACT[::-1]])
    assert _judged(F32, exact, far) is None


def test_a_run_that_agrees_with_the_source_acquits_nothing_by_itself() -> None:
    """Else twice the allowance would pass."""
    between = np.nextafter(np.nextafter(F32, np.float32(9)), np.float32(9))
    got = np.nextafter(np.nextafter(between, np.float32(9)), np.float32(9))
    assert _judged(got, WideRun([lambda: [F32], lambda: [between]], lambda: [EXACT]), F32) is None


def test_operations_that_stay_narrow_are_told() -> None:
    (report,) = _judged(F32, WideRun([lambda: [OFF]], lambda: [EXACT], ("ResizeBilinear",)))
    assert report.notes[-1].endswith("; without a kernel for float64: ResizeBilinear")


@pytest.mark.parametrize(
    "got", [F32 * np.float32(1 - 1e-5), F32 * np.float32(1 + 5e-7), F32[::-1].copy()]
)
def test_what_agrees_with_neither_is_refused(got: Any) -> None:
    assert _judged(got, WideRun([lambda: [OFF]], lambda: [EXACT])) is None


def test_a_trace_that_is_another_function_acquits_nothing() -> None:
    assert _judged(F32, WideRun([lambda: [F32]], lambda: [EXACT])) is None


def test_one_way_to_run_the_trace_is_enough() -> None:
    def fails() -> list[Any]:
        raise ValueError("no such kernel")

    found = WideRun([lambda: [F32], fails, lambda: [OFF, OFF], lambda: [OFF]], lambda: [EXACT])
    assert _judged(F32, found)[0].outcome is Outcome.WARNING
    none = WideRun([lambda: [F32], fails, lambda: [OFF, OFF]], lambda: [EXACT])
    assert _judged(F32, none) is None


def test_what_the_trace_gives_step_by_step_is_acquitted() -> None:
    found = WideRun([lambda: [OFF], lambda: [F32]], lambda: [EXACT[::-1]])
    (report,) = _judged(F32, found)
    assert report.outcome is Outcome.WARNING
    assert "step by step" in report.notes[-1]
    assert not report.wrong
    assert _judged(F32[::-1].copy() * np.float32(1.1), found) is None


def _steps(units: int) -> np.ndarray:
    return (ORDERED + units).view(np.float32)


ORDERED = F32.view(np.int32)


@pytest.mark.parametrize(
    ("got", "steps", "acquitted"),
    [(3, 6, True), (4, 7, True), (3, 2, False), (-1, 6, False), (5, 9, False), (3, 3000, False)],
)
def test_a_model_may_lie_between_two_runs_of_the_source(
    got: int, steps: int, acquitted: bool
) -> None:
    """Of 2 ULP that are allowed, those may be apart four times as much."""
    found = WideRun([lambda: [F32], lambda: [_steps(steps)]], lambda: [EXACT[::-1]])
    judged = _judged(_steps(got), found, F32)
    assert (judged is not None) == acquitted
    assert judged is None or judged[0].outcome is Outcome.WARNING


def test_what_rounding_moves_is_decided_by_the_last_places_of_what_is_exact() -> None:
    wide = Allowance("noise", absolute=np.full(3, 0.5), rms=0.5)
    loss = F32 * np.float32(0.9)

    def asked(got: Any, want: Any) -> Any:
        report = compare("y", got, want, wide)
        assert report.undecided
        run = _run(got, want)
        assert may_be_asked([report], run)
        found = WideRun([lambda: [want]], lambda: [EXACT], (), lambda: [loss])
        return judged([report], run, {"y": wide}, found)

    (report,) = asked(F32, loss)
    assert report.outcome is Outcome.WARNING
    assert "off by rounding" in report.notes[-1]
    assert asked(F32 * np.float32(1 + 1e-4), loss) is None


LOST = np.array([1.0, np.nan, np.inf, 4.0], np.float16)
WITHIN = np.array([1.0, 2.0, 3e5, 4.0], np.float64)


@pytest.mark.parametrize("base", ["the source", "rounded steps", "float64"])
def test_what_leaves_the_range_of_float16_is_asked_in_that_of_float32(base: str) -> None:
    with np.errstate(over="ignore"):
        got = WITHIN.astype(np.float16)
    want, others = LOST.copy(), np.where(np.isnan(LOST), 7.0, LOST)
    if base != "the source":
        want[0] += np.float16(2e-2 if base == "rounded steps" else 4e-3)
    wide = others if base == "float64" else others * 2
    found = WideRun(
        [lambda: [want]],
        lambda: [wide],
        (),
        lambda: [others if base == "rounded steps" else wide],
        lambda: [WITHIN],
    )
    (report,) = _judged(got, found, want, "nan")
    assert report.outcome is Outcome.WARNING
    assert "leaves the range of float16 on its way to 2 elements" in report.notes[-1]


def _in_range(got: Any, within: Any = WITHIN, want: Any = LOST) -> Any:
    found = WideRun([lambda: [want]], lambda: [WITHIN], (), lambda: [WITHIN], lambda: [within])
    with np.errstate(over="ignore"):
        return _judged(np.asarray(got, np.float16), found, np.asarray(want), "nan")


def test_what_leaves_its_range_acquits_nothing_else() -> None:
    assert _in_range(WITHIN)
    assert _in_range([1.0, 2.1, 3e5, 4.0]) is None  # another number
    assert _in_range([1.0, 2.0, 3.0, 4.0]) is None  # infinite by itself
    assert _in_range([1.0, np.inf, np.inf, 4.0]) is None
    assert _in_range([1.1, 2.0, 3e5, 4.0]) is None  # beside it
    assert _in_range([np.inf, 2.0, 3e5, 4.0]) is None  # where the source is finite
    assert _in_range(WITHIN, WITHIN[:3]) is None
    assert _in_range(WITHIN, want=LOST.astype(np.float32)) is None  # of more range
    assert _judged(WITHIN, WideRun([lambda: [LOST]], lambda: [WITHIN]), LOST, "nan") is None


@pytest.mark.parametrize("category", ["nan", "inf", "zero sign", "dtype", "shape"])
def test_only_values_are_asked_about(category: str) -> None:
    assert _judged(F32, WideRun([lambda: [OFF]], lambda: [EXACT]), category=category) is None


def test_another_output_that_is_wrong_forbids_it() -> None:
    other = (OutputReport("z", outcome=Outcome.FAILED, category="missing"),)
    assert _judged(F32, WideRun([lambda: [OFF]], lambda: [EXACT]), other=other) is None


@pytest.mark.parametrize("want", [np.array([1, 2, 3]), [OFF], None])
def test_only_floats_are_asked_about(want: Any) -> None:
    assert not may_be_asked(
        [OutputReport("y", outcome=Outcome.FAILED, category="values")], _run(F32, want)
    )


@pytest.mark.parametrize(
    "wide",
    [EXACT[:2], np.array([1.0, np.inf, 3.0]), np.array([1.0, 2.0, np.nan]), np.array([1, 2, 3])],
)
def test_other_shapes_and_infinities_give_no_verdict(wide: Any) -> None:
    assert _judged(F32, WideRun([lambda: [OFF]], lambda: [wide])) is None


def test_what_overflows_when_it_is_narrowed_gives_no_verdict() -> None:
    assert _judged(F32, WideRun([lambda: [OFF]], lambda: [EXACT * 1e40])) is None


def test_another_number_of_outputs_gives_no_verdict() -> None:
    assert _judged(F32, WideRun([lambda: [OFF, OFF]], lambda: [EXACT, EXACT])) is None


def test_which_side_is_told_of_what_is_refused() -> None:
    failed = OutputReport("y", outcome=Outcome.FAILED, category="values")
    run, allowances = _run(OFF, F32), {"y": ulp_allowance("2 ULP", 2.0)}
    assert judged([failed], run, allowances, WideRun([lambda: [F32]], lambda: [EXACT])) is None
    assert failed.notes == [
        "computed in float64, the source gives its own result (max 0 ULP) and not that of the "
        "converted model (max 126 ULP)"
    ]


# ---- a check with a source of nobody's framework -----------------------------------------------


class _Fake:
    """A sine whose source is off by as much as is asked for."""

    def __init__(self, off: float = 1e-5, wide: Any = None, fault: float = 0.0) -> None:
        self.off, self.wide, self.fault, self.asked = off, wide, fault, 0


class _FakeSource:
    framework = "fake"
    name = "fake"

    def __init__(self, fake: _Fake, extra: Mapping[str, Any]) -> None:
        self.fake = fake

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        scale = {"k": np.float32(1.0 + self.fake.fault)}
        nodes = [helper.make_node("Sin", ["x"], ["s"]), helper.make_node("Mul", ["s", "k"], ["y"])]
        return model(nodes, [value("x", ("n", 4))], [value("y", ("n", 4))], scale)

    def run(self, args: tuple[Any, ...], keywords: Any = None) -> list[tuple[str, Any]]:
        exact = np.sin(args[0].astype(np.float64)) * (1.0 + self.fake.off)
        return [("y", exact.astype(np.float32))]

    def example(self, seed: int, options: Mapping[str, Any]) -> None:
        return None

    def intermediates(self, args: Any, names: Any, options: Any) -> dict[str, Any]:
        return {}

    def run_in_float64(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> WideRun | None:
        self.fake.asked += 1
        if self.fake.wide == "raises":
            raise ValueError("no float64 here")
        if self.fake.wide == "none":
            return None
        exact = [np.sin(args[0].astype(np.float64))]
        return WideRun([lambda: [self.run(args)[0][1]]], lambda: exact, (), lambda: exact)


register_source("wide", lambda m: isinstance(m, _Fake), _FakeSource)


def test_a_check_passes_and_says_why() -> None:
    report = check_conversion(_Fake(), (X,))
    assert report.passed
    assert report.phase("values").outcome is Outcome.WARNING
    assert ACQUITTED in report.text()
    assert ACQUITTED in str(report.as_dict())


def test_nobody_asks_while_all_agrees() -> None:
    fake = _Fake(off=0.0)
    report = check_conversion(fake, (X,))
    assert report.passed
    assert fake.asked == 0


@pytest.mark.parametrize("wide", ["none", "raises"])
def test_without_float64_all_is_as_before(wide: str) -> None:
    report = check_conversion(_Fake(wide=wide), (X,))
    assert report.failed_phase == "values"
    assert ("could not be computed in float64: ValueError" in str(report.notes)) is (
        wide == "raises"
    )


def test_a_wrong_model_fails_and_is_asked_about_once() -> None:
    fake = _Fake(fault=-1e-5)
    report = check_conversion(fake, (X,))
    assert report.failed_phase == "values"
    assert fake.asked == 1
