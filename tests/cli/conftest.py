"""Models in files, built once: the commands are tried on what users have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MODULE = """
import numpy as np
import tensorflow as tf


@tf.function
def twice(x):
    return 2.0 * x


def jax_norm(x):
    import jax.numpy as jnp

    return jnp.sqrt(jnp.sum(x * x, axis=-1))


def with_inputs():
    return twice, (np.ones((3, 4), np.float32),), {"dynamic_shapes": ({0: "rows"},)}


@tf.function
def unsupported(x):
    return tf.raw_ops.BesselY0(x=x) + tf.raw_ops.BesselY1(x=x)


def raising(x):
    raise RuntimeError("the model is broken")
"""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Keras archive, one with code inside, a SavedModel and a module."""
    import keras
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("cli_models")
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((4,), name="features"), keras.layers.Dense(2, name="scores")]
    )
    model.save(folder / "model.keras")
    unsafe = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: 2 * x)])
    unsafe.save(folder / "unsafe.keras")

    module = tf.Module()
    spec = tf.TensorSpec([None, 3], tf.float32, name="x")
    module.double = tf.function(lambda x: {"y": 2.0 * x}, input_signature=[spec])
    module.half = tf.function(lambda x: {"y": 0.5 * x}, input_signature=[spec])
    signatures = {"double": module.double, "half": module.half}
    tf.saved_model.save(module, str(folder / "saved"), signatures=signatures)
    (folder / "cli_heavy_models.py").write_text(MODULE)
    return folder


@pytest.fixture
def in_files(files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in that folder, with the import path restored afterwards."""
    monkeypatch.chdir(files)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield files
    sys.modules.pop("cli_heavy_models", None)
