"""
.. _l-plot-jax-to-onnx:

A JAX function with a symbolic batch
====================================

A small network written in plain JAX becomes an ONNX model whose batch size is a symbol.
"""

# %%
# The function
# ------------
#
# Parameters that it closes over become initializers of the ONNX model.

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
weights = rng.normal(0.0, 0.3, (10, 32)).astype(np.float32)
head = rng.normal(0.0, 0.3, (32, 4)).astype(np.float32)


def policy(observation):
    """Probabilities of four actions."""
    return jax.nn.softmax(jnp.tanh(observation @ weights) @ head, axis=-1)


observation = rng.normal(size=(3, 10)).astype(np.float32)

# %%
# Conversion
# ----------
#
# :func:`yobx.tensorflow.to_onnx` notices that the function is JAX's. The same name stands for the
# same size, in the inputs and in everything computed from them.

from yobx.tensorflow import to_onnx

onx = to_onnx(policy, (observation,), dynamic_shapes=({0: "batch"},))
for node in onx.graph.node:
    print(node.op_type, list(node.input), "->", list(node.output))

# %%
# Its outputs keep the symbol.

for value in onx.graph.output:
    print(value.name, [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim])

# %%
# Comparison
# ----------

import onnxruntime

runner = onnxruntime.InferenceSession(onx.SerializeToString(), providers=["CPUExecutionProvider"])
(name,) = [value.name for value in onx.graph.input]
larger = rng.normal(size=(7, 10)).astype(np.float32)
(got,) = runner.run(None, {name: larger})
difference = float(np.abs(got - np.asarray(policy(larger))).max())
print("largest difference", difference)
if not difference < 1e-5:
    raise SystemExit("the models differ")

# %%
# The intermediate step
# ---------------------
#
# What lies between is a concrete function that wraps a StableHLO module.

from yobx.tensorflow.tensorflow_helper import jax_to_concrete_function

concrete = jax_to_concrete_function(policy, (observation,), dynamic_shapes=({0: "batch"},))
print([op.type for op in concrete.graph.get_operations()])
