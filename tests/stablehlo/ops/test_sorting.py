"""Sorting where the bits of floats decide: the sign of a NaN, and that of a zero."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from yobx.jax import to_onnx
from yobx.verification.runner import Session

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def odd(dtype: type) -> np.ndarray:
    """Two kinds of NaN, both zeros, both infinities, and numbers."""
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    values = np.array([1.5, np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, -1.5, 1e-3], dtype)
    sign = np.array(1, bits) << np.array(8 * bits.itemsize - 1, bits)
    whole = values.view(bits)
    whole[1] &= ~sign
    whole[2] |= sign
    return np.stack([values, values[::-1]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [3, 9])
def test_top_k_goes_by_the_bits_from_opset_26(dtype: type, k: int) -> None:
    x = odd(dtype)
    with jax.enable_x64(True):
        want = [np.asarray(a) for a in jax.lax.top_k(jnp.asarray(x), k)]
        model = to_onnx(lambda a: jax.lax.top_k(a, k), (x,), target_opset=26)
    values, places = Session(model).run({model.graph.input[0].name: x}).values.values()
    np.testing.assert_array_equal(places, want[1])
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    assert (values.view(bits) == want[0].view(bits)).all()


def test_top_k_without_bits_is_one_node_and_a_cast() -> None:
    x = np.arange(6, dtype=np.float32)
    model = to_onnx(lambda a: jax.lax.top_k(a, 3), (x,), dynamic_shapes={}, target_opset=25)
    assert [node.op_type for node in model.graph.node] == ["TopK", "Cast"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_of_a_nan_survive_a_bitcast(dtype: type) -> None:
    x = odd(dtype)
    bits = np.dtype(f"i{np.dtype(dtype).itemsize}")
    with jax.enable_x64(True):
        model = to_onnx(lambda a: jax.lax.bitcast_convert_type(a, bits), (x,), target_opset=26)
        back = to_onnx(
            lambda a: jax.lax.bitcast_convert_type(a, dtype), (x.view(bits),), target_opset=26
        )
    assert next(node.op_type for node in model.graph.node) == "BitCast"
    got = next(iter(Session(model).run({model.graph.input[0].name: x}).values.values()))
    np.testing.assert_array_equal(got, x.view(bits))
    got = next(iter(Session(back).run({back.graph.input[0].name: x.view(bits)}).values.values()))
    np.testing.assert_array_equal(got.view(bits), x.view(bits))
