from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from yobx.verification.comparison import EXACT, Allowance, compare, resemble, ulp_allowance
from yobx.verification.dtypes import ordered_bits, spacing, ulp_distance
from yobx.verification.findings import Outcome
from yobx.verification.tolerances import load_tolerances


def loose(size: float) -> Allowance:
    return Allowance("test", np.asarray(size))


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "f2", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
)
def test_neighbours_are_one_ulp_apart(dtype):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    values = np.arange(3, 100, dtype=bits).view(dtype)
    assert (ulp_distance(values[1:], values[:-1]) == 1).all()
    negative = (-values.astype("f8")).astype(dtype)
    assert (ulp_distance(negative[1:], negative[:-1]) == 1).all()
    assert (np.diff(ordered_bits(values)) == 1).all()


def test_both_zeros_have_one_position():
    zeros = np.array([0.0, -0.0], np.float64)
    assert (ordered_bits(zeros) == 0).all()
    smallest = np.nextafter(np.float64(0), np.float64(1))
    assert ulp_distance(np.array([smallest]), np.array([-smallest]))[0] == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_spacing_is_that_of_numpy(dtype):
    values = np.array([1.0, 1.5, 2.0, 3.0e-3, 6.0e4], dtype)
    expected = np.spacing(values).astype(np.float64)
    np.testing.assert_array_equal(spacing(values, np.dtype(dtype)), expected)


def test_dtype_rank_and_shape_come_first():
    x = np.ones((3, 1), np.float32)
    assert compare("y", x, x.astype("f8"), loose(1)).category == "dtype"
    assert compare("y", x, np.float32(1), loose(1)).category == "rank"
    assert compare("y", x, x.T, loose(1)).category == "shape"


def test_integers_never_go_through_a_float():
    got, want = np.array([2**62 + 1], np.int64), np.array([2**62], np.int64)
    report = compare("y", got, want, loose(1e30))
    assert report.failed
    assert report.max_abs == 1.0


def test_empty_arrays_are_vacuous():
    report = compare("y", np.zeros((0, 3), "f4"), np.zeros((0, 3), "f4"), EXACT)
    assert not report.failed
    assert report.elements == 0
    assert "vacuous" in report.notes[0]


def test_nan_positions():
    want = np.array([1.0, np.nan, 3.0], np.float32)
    assert not compare("y", want.copy(), want, EXACT).failed
    report = compare("y", np.array([1.0, 2.0, 3.0], np.float32), want, loose(10))
    assert (report.category, report.first_index) == ("nan", (1,))


def test_a_nan_does_not_hide_a_wrong_value():
    want = np.array([1.0, np.nan, 3.0], np.float32)
    report = compare("y", np.array([9.0, 2.0, 3.0], np.float32), want, loose(1))
    assert report.wrong == 2
    assert "1 more elements differ: values" in report.notes


def test_infinities():
    want = np.array([np.inf, -np.inf, 1e38], np.float32)
    assert not compare("y", want.copy(), want, EXACT).failed
    got = np.array([np.inf, np.inf, 1e38], np.float32)
    assert compare("y", got, want, loose(1e38)).category == "inf"
    overflowed = np.array([np.inf, -np.inf, np.inf], np.float32)
    assert compare("y", overflowed, want, loose(1e38)).first_index == (2,)


def test_sign_of_zero():
    got, want = np.array([0.0], np.float32), np.array([-0.0], np.float32)
    assert compare("y", got, want, EXACT).category == "zero sign"
    free = ulp_allowance("test", 1, zero_sign=False)
    report = compare("y", got, want, free)
    assert not report.failed
    assert "sign of 1 zeros" in report.notes[0]


def test_complex_numbers_by_parts():
    want = np.array([1 + 2j, 3 + np.nan * 1j], np.complex64)
    got = np.array([1 + 2j, 3 + 4j], np.complex64)
    assert compare("y", got, want, loose(9)).category == "nan"
    close = want + np.complex64(1e-3)
    assert not compare("y", close, want, loose(1e-2)).failed
    assert compare("y", close, want, loose(1e-4)).failed


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float16])
def test_low_precision_by_bit_pattern(dtype):
    want = np.array([1.0, 2.0, -3.0], dtype)
    bits = f"u{np.dtype(dtype).itemsize}"
    got = (want.view(bits) + 1).view(dtype)
    report = compare("y", got, want, EXACT)
    assert report.failed
    assert report.ulp == (1.0, 1.0, 1.0)
    assert not compare("y", got, want, ulp_allowance("test", 1)).failed


def test_strings_of_any_kind_are_strings():
    want = np.array(["a", "b"], dtype=object)
    assert not compare("y", np.array(["a", "b"]), want, EXACT).failed
    assert not compare("y", np.array([b"a", b"b"]), want, EXACT).failed
    assert compare("y", np.array(["a", "c"]), want, EXACT).first_index == (1,)


def test_sequences_element_by_element():
    a, b = np.ones(2, "f4"), np.zeros(3, "f4")
    assert not compare("y", [a, b], [a, b], EXACT).failed
    assert compare("y", [a], [a, b], EXACT).category == "shape"
    assert compare("y", [a, b + 1], [a, b], EXACT).name == "y[1]"
    assert compare("y", a, [a], EXACT).category == "dtype"


def test_every_tensor_of_a_sequence_has_its_own_allowance():
    a, b = np.ones(2), np.full(3, 1e-4)
    each = Allowance("each", elements=(loose(1e-2), loose(1e-6)))
    assert not compare("y", [a + 1e-3, b], [a, b], each).failed
    assert compare("y", [a, b * 1.05], [a, b], each).name == "y[1]"
    assert compare("y", [a], [a], each).failed


def test_a_tolerance_that_stands_in_for_a_measurement_is_no_silent_one():
    want = np.array([1.0, 2.0])
    usual = Allowance("rtol 1e-3", np.asarray(1e-3), usual=True)
    report = compare("y", want + 1e-4, want, usual)
    assert report.outcome is Outcome.WARNING
    assert "not by what rounding explains" in report.notes[0]
    assert "rtol 1e-3" in report.notes[0]
    assert compare("y", want, want, usual).outcome is Outcome.PASSED
    failed = compare("y", want + 1e-2, want, usual)
    assert failed.failed
    assert not failed.notes


def test_the_root_mean_square_sees_what_no_element_shows():
    want = np.linspace(1, 2, 1000, dtype=np.float64)
    allowance = Allowance("test", np.asarray(1e-3), rms=1e-4)
    assert not compare("y", want + 5e-5, want, allowance).failed
    report = compare("y", want + 5e-4, want, allowance)
    assert report.failed
    assert report.wrong == 0
    assert "systematic" in report.notes[-1]


def test_an_allowance_as_large_as_the_output_proves_nothing():
    want = np.linspace(1, 2, 1000)
    weak = compare("y", want, want, Allowance("test", np.asarray(0.05), rms=0.05))
    assert weak.outcome is Outcome.WARNING
    blind = compare("y", want + 0.1, want, Allowance("test", np.asarray(1.0), rms=1.0))
    assert blind.failed
    assert "nothing was proven" in blind.notes[0]
    equal = compare("y", want, want, Allowance("test", np.asarray(1.0), rms=1.0))
    assert equal.outcome is Outcome.WARNING


def test_agreement_far_closer_than_the_output_varies_needs_no_allowance():
    """Most elements count: few large ones hide nothing, nor does a constant that noise moves."""
    anything = Allowance("test", np.asarray(1e9), rms=1e9)
    want = np.linspace(1, 2, 1000)
    want[500] = 1e-9
    close = compare("y", want + 1e-6, want, anything)
    assert close.outcome is Outcome.WARNING
    assert close.notes[0].startswith("fragile: both sides agree to 1.0e-06")
    assert compare("y", want + 1e-5, want, anything).undecided
    few = np.array([1e9, 1.0, 2.0, 3.0, 4.0])
    assert compare("y", few + 1e-4, few, anything).undecided
    constant = 1.0 + 1e-12 * np.sin(np.arange(100))
    assert compare("y", constant + 1e-13, constant, anything).undecided


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "int4"])
def test_integers_of_which_rounding_turns_most_over_are_not_decidable(dtype):
    want = np.array([1, 1, 0, 0]).astype(ml_dtypes.int4 if dtype == "int4" else dtype)
    got = np.array([1, 0, 0, 0]).astype(want.dtype)
    most = Allowance("exact", unstable=np.array([False, True, True, True]))
    half = Allowance("exact", unstable=np.array([False, True, True, False]))
    report = compare("y", got, want, most)
    assert report.undecided
    assert "not decidable: rounding alone turns 3 of 4 elements over" in report.notes[0]
    assert report.max_abs == 1.0
    assert not compare("y", want, want, most).notes
    report = compare("y", got, want, half)
    assert report.outcome is Outcome.WARNING
    assert (report.max_abs, report.max_abs_index) == (1.0, (1,))
    wrong = compare("y", np.zeros_like(want), want, most)
    assert (wrong.category, wrong.wrong) == ("values", 1)


def test_elements_that_rounding_turns_over_are_undecided_not_equal():
    want = np.array([3, 4, 5])
    unstable = np.array([False, True, False])
    report = compare("y", np.array([3, 9, 5]), want, Allowance("exact", unstable=unstable))
    assert report.outcome is Outcome.WARNING
    report = compare("y", np.array([9, 4, 5]), want, Allowance("exact", unstable=unstable))
    assert report.failed


def test_statistics():
    want = np.zeros((10, 10), np.float32)
    got = want.copy()
    got[3, 4], got[5, 6] = 1e-3, -2e-2
    report = compare("y", got, want, loose(1e-2))
    assert report.wrong == 1
    assert report.first_index == (5, 6)
    assert report.max_abs == pytest.approx(2e-2)
    assert report.max_abs_index == (5, 6)
    assert sum(count for _, count in report.histogram) == 100
    assert dict(report.histogram)["0"] == 98


def test_huge_and_tiny_values_do_not_break_the_statistics():
    want = np.array([3e38, 1e-45, 0.0], np.float32)
    report = compare("y", -want, want, EXACT)
    assert report.failed
    assert report.max_abs == pytest.approx(6e38)


@pytest.mark.parametrize(("step", "outcome"), [(1, Outcome.WARNING), (40, Outcome.FAILED)])
def test_a_constant_output_needs_no_allowance_to_agree(step, outcome):
    """Lengths of unit vectors are all 1: their spread is rounding, but they can be compared."""
    want = np.ones(64, np.float32)
    want[::2] = np.nextafter(np.float32(1), np.float32(0))
    got = np.ones(64, np.float32)
    got[1::2] += step * np.spacing(np.float32(1))
    wide = np.full(64, 100 * np.spacing(np.float32(1)), np.float64)
    report = compare("y", got, want, Allowance("measured", wide, rms=float(wide[0])))
    assert report.outcome is outcome
    assert any(("fragile" if step == 1 else "not decidable") in note for note in report.notes)


FLUSHED = np.array([0.0, 0.0, 1.0], np.float32)
ONE = ulp_allowance("1 ULP", 1.0)


@pytest.mark.parametrize("allowance", [ONE, loose(0.0)])
def test_subnormal_numbers_may_be_zero_in_the_source(allowance):
    report = compare("y", np.array([3e-45, -1.1e-38, 1.0], np.float32), FLUSHED, allowance)
    assert not report.failed
    assert "2 elements are subnormal, and zero in the source" in report.notes[0]
    assert not compare("y", np.array([1e-309]), np.array([0.0]), allowance).failed


@pytest.mark.parametrize(
    ("got", "want", "allowance"),
    [
        ([1.2e-38, 0.0, 1.0], FLUSHED, ONE),  # a normal number
        ([0.0, 0.0, 1.0], np.array([3e-39, 0.0, 1.0], np.float32), ONE),
        ([1e-39, 0.0, 1.0], np.array([2e-39, 0.0, 1.0], np.float32), ONE),
        ([3e-45, 0.0, 1.0], FLUSHED, ulp_allowance("exact", 0.0)),
        ([3e-45, 0.0, 1.0], FLUSHED, EXACT),
        ([3e-45, 0.0, 1.1], FLUSHED, ONE),
        ([2e-7, 1.0], np.array([0.0, 1.0], np.float16), ONE),  # no subnormal of float32
    ],
)
def test_nothing_else_is_flushed(got, want, allowance):
    assert compare("y", np.asarray(got, want.dtype), want, allowance).failed


def test_two_runs_of_one_source_resemble_each_other() -> None:
    share = load_tolerances().resemblance
    want = np.array([1.0, -100.0, 1e-3, np.nan], np.float32)
    assert resemble(want * np.float32(1 + share / 2), want)
    assert resemble(want + np.float32(share * 50), want)  # by the largest one
    assert not resemble(want + np.float32(share * 300), want)
    assert not resemble(want[:2], want)
    assert not resemble([want], want)
    assert not resemble(want.astype(np.float64), want.astype(np.float32) + 1)
    assert resemble(np.array([1, 2]), np.array([1, 2]))
    assert not resemble(np.array([1, 2]), np.array([1, 3]))
