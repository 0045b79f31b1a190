"""SavedModels that TensorFlow 1 wrote: variables by reference, and tables with initializers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import agree, data, names_of, run
from yobx.errors import ConversionError
from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion

v1 = tf.compat.v1
Build = Callable[[], tuple[dict[str, Any], dict[str, Any]]]


def _variable(name: str, value: Any) -> Any:
    return v1.get_variable(name, initializer=tf.constant(value), use_resource=False)


def _x() -> Any:
    return v1.placeholder(tf.float32, [None, 3], name="x")


def _save(folder: Path, build: Build, *tags: str) -> Any:
    """Writes a SavedModel as TensorFlow 1 does, and returns its signature."""
    with tf.Graph().as_default(), v1.Session() as session:
        inputs, outputs = build()
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder = v1.saved_model.Builder(str(folder))
        signature = v1.saved_model.predict_signature_def(inputs, outputs)
        builder.add_meta_graph_and_variables(
            session,
            list(tags or ("serve",)),
            {"serving_default": signature},
            main_op=v1.tables_initializer(),
        )
        builder.save()
    loaded = tf.saved_model.load(str(folder), tags=list(tags) or None)
    return loaded.signatures["serving_default"], loaded


def _texts(wanted: Any) -> Any:
    return np.array([text.decode() for text in wanted.numpy()], object)


def test_variables_by_reference(tmp_path: Path) -> None:
    """Also parts of one variable, and two files in which the same name has other values."""

    def build(scale: float) -> Build:
        def made() -> tuple[dict[str, Any], dict[str, Any]]:
            x = _x()
            with v1.variable_scope("parts", partitioner=v1.fixed_size_partitioner(3)):
                parts = tf.convert_to_tensor(_variable("w", data(3, 4)))
            return {"x": x}, {"y": x @ parts * _variable("scale", scale)}

        return made

    for scale in (2.0, -3.0):
        folder = tmp_path / str(scale)
        signature, _kept = _save(folder, build(scale), "serve", "gpu")
        x = data(5, 3, seed=1)
        onx = to_onnx(folder, (x,), tag=["serve", "gpu"])
        assert names_of(onx) == (["x"], ["y"])
        wanted = signature(x=tf.constant(x))["y"]
        np.testing.assert_allclose(wanted, x @ data(3, 4) * scale, rtol=1e-5)
        agree(onx, [wanted], x)
        check_conversion(folder, (x,), tag=["serve", "gpu"]).raise_if_failed()


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "string", "complex64", "bfloat16"])
def test_variables_by_reference_of_other_dtypes(tmp_path: Path, dtype: str) -> None:
    kind = tf.as_dtype(dtype)
    value = np.array(["a", "b", "c"]) if dtype == "string" else np.array([0, 1, 2])

    def build() -> tuple[dict[str, Any], dict[str, Any]]:
        i = v1.placeholder(tf.int64, [None], name="i")
        start = tf.constant(value) if dtype == "string" else tf.cast(value, kind)
        held = v1.get_variable("v", initializer=start, use_resource=False)
        picked = tf.gather(held, i)
        given = tf.math.real(picked) if kind.is_complex else picked
        return {"i": i}, {"y": tf.cast(given, tf.float32) if dtype == "bfloat16" else given}

    signature, _kept = _save(tmp_path / "m", build)
    i = np.array([2, 0, 0], np.int64)
    wanted = signature(i=tf.constant(i))["y"]
    (got,) = run(to_onnx(tmp_path / "m", (i,)), i)
    np.testing.assert_array_equal(got, _texts(wanted) if dtype == "string" else wanted)


@pytest.mark.parametrize("values", [[10, 20, 30], ["x", "y", "z"]])
def test_tables(tmp_path: Path, values: list[Any]) -> None:
    def build() -> tuple[dict[str, Any], dict[str, Any]]:
        words = v1.placeholder(tf.string, [None], name="words")
        kinds = {"value_dtype": tf.string} if values[0] == "x" else {"value_dtype": tf.int64}
        filled = tf.lookup.KeyValueTensorInitializer(["a", "b", "c"], values, **kinds)
        table = tf.lookup.StaticHashTable(filled, "?" if values[0] == "x" else -1)
        return {"words": words}, {"y": table.lookup(words)}

    signature, _kept = _save(tmp_path / "m", build)
    words = np.array(["c", "q", "a"], object)
    wanted = signature(words=tf.constant(words.tolist()))["y"]
    (got,) = run(to_onnx(tmp_path / "m", (words,)), words)
    np.testing.assert_array_equal(got, _texts(wanted) if values[0] == "x" else wanted)


@pytest.mark.parametrize("needed", [True, False])
def test_a_variable_that_is_written_is_refused(tmp_path: Path, needed: bool) -> None:
    """Whether the result is what was written, or only comes after it."""

    def build() -> tuple[dict[str, Any], dict[str, Any]]:
        x, count = _x(), _variable("count", 0.0)
        written = v1.assign_add(count, 1.0)
        if needed:
            return {"x": x}, {"y": x + written}
        with tf.control_dependencies([written]):
            return {"x": x}, {"y": x * 2.0}

    _save(tmp_path / "m", build)
    with pytest.raises(ConversionError, match=r"no variables to write to.*\(AssignAdd\)"):
        to_onnx(tmp_path / "m", (data(5, 3),))
