"""Every kind of model that ``to_onnx`` takes, and the names its inputs and outputs get."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import agree, data, dims, names_of
from yobx.errors import ArgumentError, ConversionError, UnreadableModelError
from yobx.tensorflow import to_onnx


def _two_inputs() -> Any:
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    h = keras.layers.Dense(3, name="h")(a)
    return keras.Model([a, b], [keras.layers.Add(name="total")([h, b]), h])


A, B = data(5, 3), data(5, 3, seed=1)


@pytest.mark.parametrize("args", [(A, B), ([A, B],), ({"a": A, "b": B},), ({"b": B, "a": A},)])
def test_functional_with_two_inputs(args: Any) -> None:
    model = _two_inputs()
    onx = to_onnx(model, args)
    assert names_of(onx) == (["a", "b"], ["total", "h"])
    agree(onx, model([A, B]), A, B)


def test_inputs_of_different_shapes_given_by_name() -> None:
    z, a = keras.Input((3,), name="z"), keras.Input((2,), name="a")
    model = keras.Model([z, a], keras.layers.Concatenate()([a, z]))
    onx = to_onnx(model, ({"z": A, "a": data(5, 2)},))
    assert names_of(onx)[0] == ["a", "z"]
    agree(onx, [model([A, data(5, 2)])], data(5, 2), A)
    swapped = keras.Model({"a": z, "z": a}, keras.layers.Concatenate()([a, z]))
    with pytest.raises(ArgumentError, match="input 'a', which takes"):
        to_onnx(swapped, ({"z": A, "a": data(5, 2)},))
    agree(to_onnx(swapped), [model([A, data(5, 2)])], A, data(5, 2))


@pytest.mark.parametrize("args", [(A, B), ([A, B],), ({"a": A, "b": B},)])
def test_functional_with_keywords(args: Any) -> None:
    """Keyword arguments change neither the names of the inputs nor what they are held to."""
    model, still = _two_inputs(), {"training": False}
    assert names_of(to_onnx(model, args, kwargs=still)) == (["a", "b"], ["total", "h"])
    dynamic = {"a": {0: "n"}, "b": {0: "n"}}
    onx = to_onnx(model, args, kwargs=still, dynamic_shapes=dynamic)
    agree(onx, model([A, B]), A, B)
    with pytest.raises(ArgumentError, match=r"the input 'b', which takes float32\[\?, 3\]"):
        to_onnx(model, (A, data(5, 2)), kwargs=still)
    masked = to_onnx(model, args, kwargs={"mask": [np.ones(5, bool), None]})
    assert names_of(masked)[0] == ["a", "b", "mask.0"]


def test_functional_with_dicts() -> None:
    q, c = keras.Input((3,), name="q"), keras.Input((3,), name="c")
    out = {"z": keras.layers.Add()([q, c]), "d": keras.layers.Dense(2)(q)}
    model = keras.Model({"q": q, "c": c}, out)
    onx = to_onnx(model, ({"q": A, "c": B},))
    assert names_of(onx) == (["c", "q"], ["d", "z"])
    wanted = model({"q": A, "c": B})
    agree(onx, [wanted["d"], wanted["z"]], B, A)
    assert names_of(to_onnx(model))[0] == ["c", "q"]
    with pytest.raises(ArgumentError, match="takes one dict"):
        to_onnx(model, (A, B))


def test_names_that_keras_counts_belong_to_the_model() -> None:
    first = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    once, again = to_onnx(first, (A,)), to_onnx(first, (A,))
    assert once == again
    assert names_of(once)[1] == [first.layers[-1].name]


def test_nested_shared_and_repeated_layers() -> None:
    inner = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, activation="relu")])
    a, b = keras.Input((3,)), keras.Input((3,))
    model = keras.Model([a, b], keras.layers.Subtract()([inner(inner(a)), inner(b)]))
    onx = to_onnx(model, (A, B))
    agree(onx, [model([A, B])], A, B)
    assert len(onx.graph.initializer) == 2


class _Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x, scale=None, training=None):
        y = self.dense(x)
        if training:
            y = y * 100.0
        return {"y": y, "scaled": y * scale if scale is not None else -y}


def test_subclassed_model_with_keywords() -> None:
    model = _Subclassed()
    model(A)
    onx = to_onnx(model, (A,))
    assert names_of(onx) == (["x"], ["scaled", "y"])
    wanted = model(A)
    agree(onx, [wanted["scaled"], wanted["y"]], A)
    scale = data(5, 1)
    onx = to_onnx(model, (A,), kwargs={"scale": scale})
    assert names_of(onx)[0] == ["x", "scale"]
    wanted = model(A, scale=scale)
    agree(onx, [wanted["scaled"], wanted["y"]], A, scale)


def test_single_layers() -> None:
    dense = keras.layers.Dense(2, name="alone")
    dense.build((None, 3))
    onx = to_onnx(dense, (A,))
    assert names_of(onx) == (["inputs"], ["alone"])
    agree(onx, [dense(A)], A)
    relu = keras.layers.ReLU()
    agree(to_onnx(relu, (A,)), [relu(A)], A)
    dropout = keras.layers.Dropout(0.9)
    agree(to_onnx(dropout, (A,)), [A], A)


def test_float64_data_is_cast_as_keras_does() -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    x = np.random.default_rng(0).normal(size=(5, 3))
    agree(to_onnx(model, (x,)), [model(x)], x)


def test_model_with_a_fixed_batch_stays_static() -> None:
    model = keras.Sequential([keras.Input(batch_shape=(5, 3)), keras.layers.Dense(2)])
    assert dims(to_onnx(model, (A,)).graph.input[0]) == [5, 3]


def test_tf_function_with_defaults_constants_and_keywords() -> None:
    @tf.function
    def f(x, factor=2.0, *, negative=False, offset=None):
        y = x * factor
        if offset is not None:
            y += offset
        return -y if negative else y

    agree(to_onnx(f, (A,)), [A * 2], A)
    agree(to_onnx(f, (A, 3.0)), [A * 3], A)
    agree(to_onnx(f, (A,), kwargs={"negative": True}), [A * -2], A)
    onx = to_onnx(f, (A, B), kwargs={"offset": B})
    assert names_of(onx) == (["x", "factor", "offset"], ["output_0"])
    agree(onx, [A * B + B], A, B, B)


def test_tf_function_with_an_input_signature() -> None:
    @tf.function(input_signature=[tf.TensorSpec((None, 3))])
    def f(x):
        return x + 1.0

    agree(to_onnx(f, (A,)), [A + 1], A)


def test_concrete_function() -> None:
    @tf.function
    def f(x, pair):
        return x + pair["b"] * pair["a"]

    spec = tf.TensorSpec((None, 3))
    function = f.get_concrete_function(spec, {"b": spec, "a": spec})
    onx = to_onnx(function, (A, {"a": A, "b": B}))
    assert names_of(onx)[0] == ["x", "a", "b"]
    agree(onx, [A + A * B], A, A, B)
    assert names_of(to_onnx(function))[0] == ["x", "a", "b"]
    with pytest.raises(ArgumentError, match="fixed to 3"):
        to_onnx(function, (A, {"a": A, "b": B}), dynamic_shapes=({0: "n", 1: "k"}, {}, {}))
    with pytest.raises(ArgumentError, match="takes float32"):
        to_onnx(function, (A.astype(np.float64), {"a": A, "b": B}))


def test_an_axis_that_keras_fixed_is_not_dynamic() -> None:
    inputs = keras.Input((8, 8, 3))
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(inputs))
    image = data(2, 8, 8, 3)
    with pytest.raises(ArgumentError, match=r"'H' for axis 1 .*, which is fixed to 8 in"):
        to_onnx(model, (image,), dynamic_shapes=({0: "B", 1: "H"},))
    onx = to_onnx(model, (image,), dynamic_shapes=({0: "B"},))
    agree(onx, [image.mean(axis=(1, 2))], image)


class _Module(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable(data(3, 2))
        self.table = [tf.Variable(data(2)), tf.Variable(data(2, seed=3))]

    @tf.function
    def __call__(self, x):
        return tf.nn.relu(x @ self.weight) + self.table[0], self.table[1] * 1.0

    @tf.function(input_signature=[tf.TensorSpec((None, 3), name="x")])
    def serve(self, x):
        y, t = self(x)
        return {"y": y, "t": t}

    @tf.function(input_signature=[tf.TensorSpec((None,), name="zz"), tf.TensorSpec((), name="aa")])
    def other(self, zz, aa):
        return {"o": zz - aa}


def test_module_names_variables_by_attribute() -> None:
    module = _Module()
    onx = to_onnx(module, (A,), passes=())
    assert {i.name for i in onx.graph.initializer} >= {"weight", "table/0", "table/1"}
    agree(onx, [*module(A)], A)


def test_saved_model(tmp_path: Path) -> None:
    module = _Module()
    signatures = {"serving_default": module.serve, "other": module.other}
    tf.saved_model.save(module, str(tmp_path), signatures=signatures)
    wanted = module.serve(A)
    onx = to_onnx(tmp_path, (A,))
    assert names_of(onx) == (["x"], ["t", "y"])
    agree(onx, [wanted["t"], wanted["y"]], A)
    agree(to_onnx(str(tmp_path)), [wanted["t"], wanted["y"]], A)
    agree(to_onnx(tmp_path, tag="serve"), [wanted["t"], wanted["y"]], A)

    x, s = data(4), data()
    onx = to_onnx(tmp_path, ({"zz": x, "aa": s},), signature="other")
    assert names_of(onx) == (["aa", "zz"], ["o"])
    agree(onx, [x - s], s, x)

    loaded = tf.saved_model.load(str(tmp_path))
    agree(to_onnx(loaded, (A,)), [*module(A)], A)
    agree(to_onnx(loaded, (A,), signature="serving_default"), [wanted["t"], wanted["y"]], A)
    with pytest.raises(ArgumentError, match=r"'absent'.*'other'"):
        to_onnx(tmp_path, (A,), signature="absent")
    with pytest.raises(ArgumentError, match="tag='absent'"):
        to_onnx(tmp_path, (A,), tag="absent")
    with pytest.raises(ArgumentError, match="signature belongs to a SavedModel"):
        to_onnx(module, (A,), signature="other")


def test_keras_exported_saved_model(tmp_path: Path) -> None:
    model = _two_inputs()
    model.export(tmp_path, verbose=False)
    onx = to_onnx(tmp_path)
    assert sorted(names_of(onx)[0]) == ["a", "b"]
    wanted = dict(zip(["total", "h"], model([A, B]), strict=True))
    feeds = {"a": A, "b": B}
    got = names_of(onx)[1]
    ordered = [wanted.get(name, wanted["total" if i == 0 else "h"]) for i, name in enumerate(got)]
    agree(onx, ordered, *(feeds[name] for name in names_of(onx)[0]))


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_keras_file(tmp_path: Path, suffix: str) -> None:
    model = _two_inputs()
    path = tmp_path / f"model.{suffix}"
    model.save(path)
    agree(to_onnx(path, (A, B)), model([A, B]), A, B)
    agree(to_onnx(str(path)), model([A, B]), A, B)


def test_keras_file_with_code_needs_permission(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda x: x * 2.0)])
    path = tmp_path / "model.keras"
    model.save(path)
    with pytest.raises(ArgumentError, match="allow_unsafe=True") as caught:
        to_onnx(path, (A,))
    assert caught.value.argument == "allow_unsafe"
    agree(to_onnx(path, (A,), allow_unsafe=True), [A * 2], A)


def test_broken_files(tmp_path: Path) -> None:
    (tmp_path / "model.keras").write_bytes(b"no archive")
    (tmp_path / "model.txt").write_text("text")
    (tmp_path / "model.h5").write_bytes(b"no archive")
    with zipfile.ZipFile(tmp_path / "other.keras", "w") as archive:
        archive.writestr("config.json", "{}")
    with pytest.raises(UnreadableModelError, match="Keras cannot load"):
        to_onnx(tmp_path / "other.keras")
    with pytest.raises(UnreadableModelError, match=r"is a zip archive.*, 10 bytes"):
        to_onnx(tmp_path / "model.keras")
    with pytest.raises(UnreadableModelError, match="is an HDF5 file"):
        to_onnx(tmp_path / "model.h5")
    with pytest.raises(ArgumentError, match="another file"):
        to_onnx(tmp_path / "model.txt")
    with pytest.raises(ArgumentError, match=r"saved_model\.pb"):
        to_onnx(tmp_path)


def test_plain_callables() -> None:
    class Scale:
        def __init__(self, factor):
            self.factor = tf.Variable(factor)

        def __call__(self, value):
            return value * self.factor

    onx = to_onnx(Scale(3.0), (A,))
    assert names_of(onx)[0] == ["value"]
    agree(onx, [A * 3], A)
    agree(to_onnx(tf.nn.relu, (A,)), [np.maximum(A, 0)], A)
    agree(to_onnx(lambda *parts: parts[0] + parts[1], (A, B)), [A + B], A, B)


def test_called_functions_are_inlined() -> None:
    weight = tf.Variable(data(3, 3), name="weight")

    @tf.function
    def inner(x):
        return tf.nn.relu(x @ weight)

    @tf.function
    def outer(x):
        return inner(inner(x)) + inner(x)

    onx = to_onnx(outer, (A,))
    assert not onx.functions
    assert dims(onx.graph.output[0]) == ["batch", 3]
    agree(onx, [outer(A)], A, rtol=1e-4)


def test_stateful_layer_is_refused() -> None:
    model = keras.Sequential(
        [keras.Input(batch_shape=(5, 2, 3)), keras.layers.LSTM(2, stateful=True, name="memory")]
    )
    with pytest.raises(ConversionError, match=r"no variables to write.*/memory/rnn_state of"):
        to_onnx(model, (data(5, 2, 3),))


def test_bfloat16_and_string_data() -> None:
    import ml_dtypes

    x = np.arange(4, dtype=np.float32).astype(ml_dtypes.bfloat16)
    onx = to_onnx(lambda x: (tf.identity(x),), (x,))
    assert onx.graph.input[0].type.tensor_type.elem_type == 16
    onx = to_onnx(tf.identity, (np.array(["a", "b"]),))
    assert onx.graph.output[0].type.tensor_type.elem_type == 8


def test_declared_input_signature() -> None:
    spec = tf.TensorSpec((None, 3), tf.float32, name="q")

    class Module(tf.Module):
        @tf.function(input_signature=[spec])
        def __call__(self, q):
            return {"double": q * 2.0}

    @tf.function(input_signature=[spec])
    def double(q):
        return {"double": q * 2.0}

    for model in (double, Module()):
        onx = to_onnx(model)
        assert names_of(onx) == (["q"], ["double"])
        agree(onx, [A * 2], A)


@pytest.mark.parametrize(
    "layer",
    [
        keras.layers.LSTM(2, dropout=0.5, recurrent_dropout=0.5),
        keras.layers.GRU(2, dropout=0.5, unroll=True),
        keras.layers.Bidirectional(keras.layers.SimpleRNN(2, recurrent_dropout=0.5)),
    ],
)
def test_dropout_in_recurrent_layers(layer: Any) -> None:
    model = keras.Sequential([keras.Input((4, 3)), layer])
    states = [variable for variable in model.variables if "seed" in variable.path]
    before = [np.array(state) for state in states]
    assert before
    onx = to_onnx(model, (data(5, 4, 3),))
    np.testing.assert_array_equal(before, [np.array(state) for state in states])
    agree(onx, [model(data(2, 4, 3))], data(2, 4, 3))


def test_random_numbers_at_inference_are_refused() -> None:
    class Noise(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.generator = keras.random.SeedGenerator(1)

        def call(self, x):
            return x + keras.random.normal(keras.ops.shape(x), seed=self.generator)

    model = keras.Sequential([keras.Input((3,)), Noise()])
    with pytest.raises(ConversionError, match="draws random numbers at inference"):
        to_onnx(model, (A,))


def test_an_unknown_rank_is_told_before_the_model_runs() -> None:
    with pytest.raises(ArgumentError, match=r"states the rank of its inputs.*'x' of unknown rank"):
        to_onnx(lambda x: tf.zeros(x.shape.as_list()), (tf.TensorSpec(None, name="x"),))


@pytest.mark.parametrize("name", ["two words", "x:0", "größe"])
def test_names_that_no_graph_takes_are_refused(name: str) -> None:
    layer = keras.layers.Dense(2, name=name)
    model = keras.Sequential([keras.Input((3,), name=f"input of {name}"), layer])
    with pytest.raises(ArgumentError, match="name of a TensorFlow scope") as caught:
        to_onnx(model, (A,))
    assert repr(name) in str(caught.value)
    # Keras keeps a scope open that failed to open, and names every later variable after it.
    later = keras.layers.Dense(2)
    later.build((None, 3))
    assert later.kernel.path == f"{later.name}/kernel"
