"""Arrays as a model takes them and as its source takes them."""

from __future__ import annotations

import numpy as np
import pytest

from yobx.verification import check_conversion
from yobx.verification.arguments import as_pairs, from_pairs


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_complex_arrays_are_pairs_and_back(dtype: type, shape: tuple[int, ...]) -> None:
    array = np.asarray(np.ones(shape) * (1 - 2j), dtype)
    pairs = as_pairs(array)
    assert pairs.shape == (*shape, 2)
    assert pairs.dtype.itemsize * 2 == array.dtype.itemsize
    back = from_pairs(pairs, array.dtype)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_real_arrays_stay() -> None:
    array = np.ones(3, np.float32)
    assert as_pairs(array) is array
    assert from_pairs(array, array.dtype) is array


def test_a_complex_function_is_checked_and_a_wrong_one_found() -> None:
    import jax

    x = np.array([[1 + 2j, 3 - 1j]], np.complex64)
    good = check_conversion(lambda x: jax.numpy.conj(x) * x, (x,))
    assert good.passed, good.text()
    wrong = check_conversion(lambda x: jax.numpy.conj(x), (x,), extra_converters={"negate": _same})
    assert not wrong.passed


def _same(g: object, op: object) -> object:
    return op.inputs[0]  # type: ignore[attr-defined]
