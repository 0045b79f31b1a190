"""Transforms of any length against numpy's in its widest type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.lowering.running import run
from yobx.lowering import complex as pairs
from yobx.lowering.fourier import (
    chirp_transform,
    matrix_transform,
    of_real,
    one_sided,
    one_sided_inverse,
)
from yobx.lowering.shapes import Dim, axis_size
from yobx.xbuilder import GraphBuilder

EPSILON = np.finfo(np.float64).eps
LENGTHS = [1, 2, 3, 6, 17, 33, 64]


def _pairs(x: np.ndarray) -> np.ndarray:
    return np.stack([x.real, x.imag], axis=-1)


def _numbers(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def _near(got: np.ndarray, want: np.ndarray, units: float) -> None:
    """Differences are compared with the largest value, as each element is a sum of all."""
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= units * EPSILON * np.abs(want).max()


@pytest.mark.parametrize("inverse", [False, True], ids=["forward", "inverse"])
@pytest.mark.parametrize("axis", [-1, -2, -3])
@pytest.mark.parametrize(
    ("transform", "length"),
    [(matrix_transform, n) for n in LENGTHS]
    + [(chirp_transform, n) for n in (2, 3, 17, 65, 100, 1000)],
)
def test_transforms_of_complex_numbers(
    transform: Callable[..., str], length: int, axis: int, inverse: bool
) -> None:
    x = np.moveaxis(_numbers(2, 3, length), -1, axis)
    (got,) = run(lambda g, name: transform(g, name, axis, length, inverse=inverse), _pairs(x))
    function = np.fft.ifft if inverse else np.fft.fft
    want = function(x.astype(np.clongdouble), axis=axis)
    _near(got[..., 0] + 1j * got[..., 1], want, 8)


@pytest.mark.parametrize("length", LENGTHS)
def test_transforms_of_real_numbers(length: int) -> None:
    x = _numbers(2, length).real
    (got,) = run(lambda g, name: one_sided(g, name, length), x)
    _near(got[..., 0] + 1j * got[..., 1], np.fft.rfft(x.astype(np.longdouble)), 8)


@pytest.mark.parametrize("length", LENGTHS)
def test_inverse_transforms_of_half_a_spectrum(length: int) -> None:
    x = _numbers(2, length // 2 + 1)
    (got,) = run(lambda g, name: one_sided_inverse(g, name, length), _pairs(x))
    _near(got, np.fft.irfft(x.astype(np.clongdouble), length), 8)


# ---- elements that mirror themselves -------------------------------------------------------------

#: By a product, by onnxruntime's DFT of both kinds, and in float64 by a chirp.
OF_EACH_KIND = [1, 2, 7, 8, 10, 64, 66, 67, 128, 200]


def _sizes(g: GraphBuilder, name: str, lengths: tuple[int, ...], *, known: bool) -> list[Dim]:
    if known:
        return list(lengths)
    return [axis_size(g, name, i + 1) for i in range(len(lengths))]


def _own_mirrors(*lengths: int) -> np.ndarray:
    """Which elements of half a spectrum are real numbers, if the signal is real."""
    axes = [np.arange(n) * 2 % n == 0 for n in lengths]
    axes[-1] = axes[-1][: lengths[-1] // 2 + 1]
    return np.logical_and.reduce(np.meshgrid(*axes, indexing="ij"))


@pytest.mark.parametrize("known", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lengths", [*((n,) for n in OF_EACH_KIND), (5, 8), (66, 7), (3, 6, 4)])
def test_elements_that_mirror_themselves_are_real_numbers(
    lengths: tuple[int, ...], dtype: type, known: bool
) -> None:
    x = _numbers(2, *lengths).real.astype(dtype)
    (got,) = run(lambda g, name: pairs.rfft(g, name, _sizes(g, name, lengths, known=known)), x)
    real = _own_mirrors(*lengths)
    imaginary = got[..., 1]
    assert not imaginary[:, real].any()
    assert not np.signbit(imaginary[:, real]).any()
    assert imaginary[:, ~real].all()
    want = np.fft.rfftn(x.astype(np.float64), axes=range(1, x.ndim))
    error = np.abs(got[..., 0] + 1j * got[..., 1] - want).max()
    # onnxruntime's DFT, which is all there is for lengths not known: two units for each element.
    assert error <= 2 * max(lengths) * np.finfo(dtype).eps * np.abs(want).max()


@pytest.mark.parametrize("known", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("imaginary", [1e6, np.inf, np.nan])
@pytest.mark.parametrize("length", OF_EACH_KIND)
def test_back_from_a_spectrum_no_imaginary_part_is_read_that_cannot_be(
    length: int, imaginary: float, known: bool
) -> None:
    x = _pairs(_numbers(2, length // 2 + 1)).astype(np.float32)
    other = x.copy()
    other[:, _own_mirrors(length), 1] = imaginary
    size = np.array([length], np.int64)

    def build(g: GraphBuilder, name: str, given: str) -> str:
        return pairs.irfft(g, name, [length if known else given])

    (want,), (got,) = run(build, x, size), run(build, other, size)
    np.testing.assert_array_equal(got, want)
    near = np.fft.irfft(x[..., 0] + 1j * x[..., 1].astype(np.float64), length)
    assert np.abs(got - near).max() <= 8 * np.finfo(np.float32).eps * np.abs(x).max()


def test_a_size_of_zero_divides_nothing() -> None:
    x = np.zeros((1, 1, 2), np.float32)
    (got,) = run(lambda g, name, n: of_real(g, name, [n]), x + 1.0, np.zeros(1, np.int64))
    np.testing.assert_array_equal(got, [[[1.0, 0.0]]])
