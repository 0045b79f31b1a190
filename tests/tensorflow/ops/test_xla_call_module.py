"""JAX functions inside TensorFlow graphs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tests.stablehlo.jax_cases import normal, operators, run
from yobx.tensorflow import to_onnx
from yobx.tensorflow.tensorflow_helper import jax_to_concrete_function


def function(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Two results, one with a special function."""
    h = jax.nn.gelu(x @ w, approximate=False)
    return h, h.reshape(-1).sum(keepdims=True)


def test_plain_function_and_concrete_function() -> None:
    x, w = normal(5, 4), normal(4, 3)
    shapes = ({0: "batch"}, {})
    models = [
        to_onnx(function, (x, w), dynamic_shapes=shapes),
        to_onnx(
            jax_to_concrete_function(function, (x, w), dynamic_shapes=shapes),
            (x, w),
            dynamic_shapes=shapes,
        ),
    ]
    for model in models:
        assert "Gelu" in operators(model)
        for n in (5, 1):
            args = (normal(n, 4, seed=n), w)
            wanted = jax.jit(function)(*args)
            for one, other in zip(run(model, args), wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_default_batch_axis() -> None:
    model = to_onnx(lambda x: jnp.sin(x) + x.shape[0], (normal(5, 4),))
    (dim, _) = model.graph.input[0].type.tensor_type.shape.dim
    assert dim.dim_param
    x = normal(2, 4)
    np.testing.assert_allclose(run(model, (x,))[0], np.sin(x) + 2, rtol=1e-6)


def test_complex_values_are_pairs() -> None:
    x = (normal(5, 4) + 1j * normal(5, 4, seed=1)).astype(np.complex64)
    model = to_onnx(lambda x: (x * x, jnp.abs(x)), (x,))
    square, size = run(model, (x,))
    np.testing.assert_allclose(square[..., 0] + 1j * square[..., 1], x * x, rtol=1e-5)
    np.testing.assert_allclose(size, np.abs(x), rtol=1e-6)
