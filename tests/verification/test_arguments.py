"""Arrays as a model takes them and as its source takes them."""

from __future__ import annotations

import numpy as np
import pytest

from yobx.verification import check_conversion
from yobx.verification.arguments import as_pairs, as_tuple, from_pairs, with_string_arrays
from yobx.verification.check import run_check


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


def test_lists_of_strings_are_inputs_where_nothing_else_is() -> None:
    for given in (["a", "b"], (["a", "b"],)):
        (array,) = with_string_arrays(given)
        assert array.shape == (2,)
        assert list(array) == ["a", "b"]
    assert with_string_arrays(([["a"], ["b"]],))[0].shape == (2, 1)
    for constants in (("same",), ([1, 2],), ([["a"], ["b", "c"]],), ([],), "same"):
        assert with_string_arrays(constants) == as_tuple(constants)
    mixed = (np.ones(2), ["a", "b"])
    assert with_string_arrays(mixed) is mixed


@pytest.mark.parametrize("args", [["a", "x"], (["a", "x"],)])
def test_a_list_of_strings_is_an_input_of_the_model(args: object) -> None:
    keras = pytest.importorskip("keras")
    result = run_check(keras.layers.StringLookup(vocabulary=["a", "b"]), args)
    assert result.report.passed
    assert len(result.model.graph.input) == 1
