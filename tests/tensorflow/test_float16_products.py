"""Products of transposed sequences in float16 load in onnxruntime, and are right."""

import subprocess
import sys

LOAD_AND_RUN = """
import jax.numpy as jnp, keras, numpy as np, onnxruntime, tensorflow as tf
import yobx.jax, yobx.tensorflow

keras.config.set_dtype_policy("mixed_float16")
keras.utils.set_random_seed(0)
x = np.random.default_rng(0).standard_normal((4, 9, 5)).astype(np.float32)
half, matrix = x.astype(np.float16), np.ones((5, 3), np.float16)
layers = keras.layers

def recurrent(layer, after):
    inputs = keras.Input((9, 5))
    return keras.Model(inputs, after(layer(7, return_sequences=True)(inputs))), x

def same(to_onnx, function, given, **sizes):
    model = to_onnx(function, (given,), **sizes)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    got = session.run(None, {session.get_inputs()[0].name: np.asarray(given)})[0]
    np.testing.assert_allclose(got, np.asarray(function(given)), rtol=1e-2, atol=1e-2)

CASES = (
    recurrent(layers.LSTM, layers.Dense(2)),
    recurrent(layers.GRU, layers.Dense(2, use_bias=False)),
    recurrent(layers.SimpleRNN, layers.Dense(2, dtype="float32")),
    (tf.function(lambda v: tf.matmul(tf.transpose(v, (1, 0, 2)), matrix)), half),
)
for function, given in CASES:
    print(function, flush=True)
    same(yobx.tensorflow.to_onnx, function, given)
    same(yobx.tensorflow.to_onnx, function, given, dynamic_shapes=({},))
for function in (
    lambda v: jnp.transpose(v, (1, 0, 2)) @ matrix,
    lambda v: jnp.transpose(v, (1, 0, 2)).astype(jnp.float32) @ matrix.astype(np.float32),
    lambda v: jnp.tensordot(matrix, v, axes=((0,), (2,))),
):
    same(yobx.jax.to_onnx, function, jnp.asarray(half))
print("done")
"""


def test_models_load_and_their_numbers_are_right() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD_AND_RUN], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout[-500:], done.stderr[-1500:])
    assert done.stdout.endswith("done\n")
