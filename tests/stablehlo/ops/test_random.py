"""Random bits against JAX, bit for bit."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tests.stablehlo.jax_cases import run
from yobx.jax import to_onnx

ALGORITHMS = {
    "threefry": jax.lax.RandomAlgorithm.RNG_THREE_FRY,
    "philox": jax.lax.RandomAlgorithm.RNG_PHILOX,
    "default": jax.lax.RandomAlgorithm.RNG_DEFAULT,
}
SHAPES = [(), (1,), (5,), (8,), (3, 5), (3, 4), (2, 3, 7)]


@pytest.mark.parametrize("width", ["uint32", "uint64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bits_and_state(algorithm: str, shape: tuple[int, ...], width: str) -> None:
    key = np.array([2**32 - 1, 17, 2**32 - 3, 2**32 - 1], np.uint32)  # the counter overflows

    def draw(state: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.lax.rng_bit_generator(
            state, shape, dtype=np.dtype(width), algorithm=ALGORITHMS[algorithm]
        )

    with jax.enable_x64(True):
        model = to_onnx(draw, (key,), dynamic_shapes={})
        wanted = [np.asarray(x) for x in draw(jax.numpy.asarray(key))]
    for got, want in zip(run(model, (key,)), wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_a_stream_continues() -> None:
    key = np.array([1, 2, 3, 4], np.uint32)

    def draw(state: jax.Array) -> tuple[jax.Array, jax.Array]:
        state, first = jax.lax.rng_bit_generator(state, (3,))
        return first, jax.lax.rng_bit_generator(state, (5,))[1]

    for got, want in zip(
        run(to_onnx(draw, (key,), dynamic_shapes={}), (key,)), draw(key), strict=True
    ):
        np.testing.assert_array_equal(got, want)
