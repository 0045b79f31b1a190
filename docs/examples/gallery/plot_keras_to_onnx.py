"""
.. _l-plot-keras-to-onnx:

A Keras model, checked
======================

A convolutional network with a dynamic batch is converted, checked under several batch sizes, and
looked at.
"""

# %%
# The model
# ---------

import keras
import numpy as np

keras.utils.set_random_seed(0)
layers = keras.layers
model = keras.Sequential(
    [
        keras.Input((16, 16, 3), name="image"),
        layers.Conv2D(8, 3, padding="same", name="features"),
        layers.BatchNormalization(name="normalised"),
        layers.ReLU(max_value=6.0, name="clipped"),
        layers.GlobalAveragePooling2D(name="pooled"),
        layers.Dense(4, activation="softmax", name="label"),
    ]
)
image = np.random.default_rng(0).normal(size=(2, 16, 16, 3)).astype(np.float32)

# %%
# Conversion
# ----------

from yobx.tensorflow import to_onnx

onx = to_onnx(model, (image,), dynamic_shapes=({0: "batch"},))
for node in onx.graph.node:
    layer = {entry.key: entry.value for entry in node.metadata_props}.get("yobx.layer", "")
    print(f"{node.op_type:24} from layer {layer}")

# %%
# A check
# -------
#
# The report lists what was done, also what was not.

from yobx.verification import check_conversion

report = check_conversion(model, (image,), dynamic_shapes=({0: "batch"},))
report.raise_if_failed()
print(report.text())

# %%
# Shapes of every value
# ---------------------

from yobx.cli.values import rows
from yobx.onnx_optim import infer_shapes

for row in rows(infer_shapes(onx)):
    print(f"{row.type:32} {row.producer}")
