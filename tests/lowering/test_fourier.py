"""Transforms of any length against numpy's in its widest type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.lowering.running import run
from yobx.lowering.fourier import (
    chirp_transform,
    matrix_transform,
    one_sided,
    one_sided_inverse,
)

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
