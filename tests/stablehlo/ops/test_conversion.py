"""Conversions from and to integers of four bits, which onnxruntime only casts."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from yobx.errors import UnsupportedDtypeError
from yobx.jax import to_onnx
from yobx.verification.runner import Session

FLOATS = [0.5, 1.5, -1.5, 7.9, 8.2, -8.9, 100, -100, np.nan, np.inf, -np.inf, 15.7, 16, 3.2]
NARROW = pytest.mark.parametrize("narrow", [ml_dtypes.int4, ml_dtypes.uint4])


def _same(function: Any, x: np.ndarray[Any, Any]) -> None:
    model = to_onnx(function, (x,), dynamic_shapes={})
    (got,) = Session(model).run({"x": x}).values.values()
    want = np.asarray(function(jnp.asarray(x)))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


@NARROW
@pytest.mark.parametrize("other", [jnp.int32, jnp.int8, jnp.uint8, jnp.float32, jnp.bfloat16])
def test_four_bits_to_others(narrow: Any, other: Any) -> None:
    low = ml_dtypes.iinfo(narrow)
    _same(lambda x: x.astype(other), np.arange(low.min, low.max + 1).astype(narrow))


@NARROW
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8"])
def test_integers_to_four_bits_wrap(narrow: Any, dtype: str) -> None:
    _same(lambda x: x.astype(narrow), np.arange(-20, 20).astype(dtype))


@NARROW
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_floats_to_four_bits_saturate(narrow: Any, dtype: str) -> None:
    x = np.array(FLOATS).astype(jnp.dtype(dtype))
    _same(lambda x: x.astype(narrow), x)
    _same(lambda x: x.astype(narrow).astype(jnp.int32), x)


@NARROW
def test_computing_with_four_bits_is_refused(narrow: Any) -> None:
    x = np.arange(4).astype(narrow)
    for function in (lambda x: x + x, lambda x: x.reshape(2, 2), lambda x: x.astype(bool)):
        with pytest.raises(UnsupportedDtypeError, match=r"less than a byte.*Cast to int8"):
            to_onnx(function, (x,), dynamic_shapes={})


def test_weights_of_four_bits() -> None:
    weights = np.arange(-6, 6).reshape(3, 4).astype(ml_dtypes.int4)

    def function(x: Any) -> Any:
        return x @ (jnp.asarray(weights).T.astype(jnp.float32) * 0.5)

    _same(function, np.ones((2, 4), np.float32))
