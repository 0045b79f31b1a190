"""Frozen graphs of TensorFlow 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from tests.tensorflow.helpers import agree, data, dims, names_of
from yobx.errors import ArgumentError, ConversionError
from yobx.tensorflow import load_graph_def, to_onnx
from yobx.verification import check_conversion

WEIGHTS = data(3, 2, seed=3)


@pytest.fixture(scope="module")
def frozen() -> Any:
    """A graph as TensorFlow 1 writes it: two inputs, a switch with a default, two results."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        bias = tf.compat.v1.placeholder(tf.float32, [2], name="bias")
        training = tf.compat.v1.placeholder_with_default(False, [], name="training")
        hidden = tf.matmul(x, tf.constant(WEIGHTS), name="hidden")
        kept = tf.where(training, hidden * 0.5, hidden)
        tf.identity(kept + bias, name="sums")
        tf.nn.softmax(kept, name="scores")
    return graph.as_graph_def()


X, BIAS = data(4, 3), data(2, seed=1)


def test_names_of_inputs_and_outputs(frozen: Any) -> None:
    onx = to_onnx(load_graph_def(frozen, ["bias:0", "x"], ["scores:0", "sums"]))
    assert names_of(onx) == (["bias", "x"], ["scores", "sums"])
    sums = X @ WEIGHTS
    agree(onx, [tf.nn.softmax(sums), sums + BIAS], BIAS, X)


def test_placeholders_and_unused_results_by_default(frozen: Any) -> None:
    onx = to_onnx(frozen, dynamic_shapes={"x": {0: "rows"}})
    assert names_of(onx) == (["x", "bias"], ["sums", "scores"])
    assert dims(onx.graph.input[0]) == ["rows", 3]
    agree(onx, [X @ WEIGHTS + BIAS, tf.nn.softmax(X @ WEIGHTS)], X, BIAS)


def test_cut_at_inner_tensors(frozen: Any) -> None:
    hidden = data(5, 2)
    onx = to_onnx(load_graph_def(frozen, ["hidden:0"], ["scores:0"]), (hidden,))
    assert names_of(onx) == (["hidden"], ["scores"])
    agree(onx, [tf.nn.softmax(hidden)], hidden)


@pytest.mark.parametrize("suffix", [".pb", ".pbtxt"])
def test_files(frozen: Any, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"frozen{suffix}"
    if suffix == ".pb":
        path.write_bytes(frozen.SerializeToString())
    else:
        path.write_text(text_format.MessageToString(frozen))
    assert names_of(to_onnx(path)) == (["x", "bias"], ["sums", "scores"])
    check_conversion(path).raise_if_failed()
    with pytest.raises(ArgumentError, match="signature belongs to a SavedModel"):
        to_onnx(path, signature="serving_default")


def test_what_is_wrong_is_told(frozen: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="did you mean 'scores:0'"):
        load_graph_def(frozen, outputs=["score"])
    with pytest.raises(ArgumentError, match="inputs names tensors"):
        load_graph_def(frozen, inputs=["y:0"])
    path = tmp_path / "broken.pb"
    path.write_bytes(b"no graph")
    with pytest.raises(ArgumentError, match="holds a GraphDef"):
        to_onnx(path)
    with pytest.raises(ArgumentError, match="No such file"):
        load_graph_def(tmp_path / "absent.pb")
    constant = tf.Graph()
    with constant.as_default():
        tf.constant(1.0)
    with pytest.raises(ArgumentError, match="results that no operation uses"):
        load_graph_def(constant.as_graph_def())


def test_variables_that_are_not_frozen_are_refused() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        w = tf.compat.v1.get_variable("w", initializer=np.float32(2), use_resource=False)
        tf.multiply(x, w, name="y")
    with pytest.raises(ConversionError, match=r"'w' \(VariableV2\), which has none.* or freeze"):
        to_onnx(load_graph_def(graph.as_graph_def(), ["x"], ["y"]))


WORDS = ["", "one", "zwei", "trois"]


def with_table(kind: str, folder: Path) -> Any:
    """A graph with a table, and the operation that fills it."""
    v1 = tf.compat.v1
    (folder / "words.txt").write_text("one\nzwei\ntrois\n", encoding="utf-8")
    graph = tf.Graph()
    with graph.as_default():
        words = v1.placeholder(tf.string, [None], name="words")
        keys, values = tf.constant(WORDS[1:]), tf.constant([11, -22, 33], tf.int64)
        if kind == "mutable":
            table = tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
        else:
            table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
        if kind == "file":
            tf.raw_ops.InitializeTableFromTextFileV2(
                table_handle=table, filename=str(folder / "words.txt"), key_index=-2, value_index=-1
            )
        elif kind == "old":
            tf.raw_ops.InitializeTableV2(table_handle=table, keys=keys, values=values)
        elif kind != "empty":
            tf.raw_ops.LookupTableImportV2(table_handle=table, keys=keys, values=values)
        missing = tf.constant(-7, tf.int64)
        found = tf.raw_ops.LookupTableFindV2(table_handle=table, keys=words, default_value=missing)
        tf.identity(found, name="found")
        tf.raw_ops.LookupTableSizeV2(table_handle=table, name="size")
    return graph.as_graph_def()


@pytest.mark.parametrize("kind", ["new", "old", "mutable", "file"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_tables_with_their_initializers(kind: str, dynamic: bool, tmp_path: Path) -> None:
    function = load_graph_def(with_table(kind, tmp_path), ["words"], ["found", "size"])
    words = np.array([*WORDS, "one", "four"], object)
    model = to_onnx(function, (words,), dynamic_shapes=({0: "n"} if dynamic else {},))
    numbers = [0, 1, 2] if kind == "file" else [11, -22, 33]
    wanted = [np.array([-7, *numbers, numbers[0], -7], np.int64), np.array(3, np.int64)]
    agree(model, wanted, words)
    check_conversion(function, (words,)).raise_if_failed()


def test_a_table_that_nothing_fills(tmp_path: Path) -> None:
    function = load_graph_def(with_table("empty", tmp_path), ["words"], ["found"])
    with pytest.raises(ConversionError, match="has one operation that fills it"):
        to_onnx(function, (np.array(["one"], object),))


def test_a_table_whose_file_is_not_there(tmp_path: Path) -> None:
    function = load_graph_def(with_table("file", tmp_path), ["words"], ["found"])
    (tmp_path / "words.txt").unlink()
    with pytest.raises(ConversionError, match=r"has what fills a table.*words\.txt"):
        to_onnx(function, (np.array(["one"], object),))


def test_a_table_that_is_changed_is_refused() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
    words = np.array(["a", "zz"], object)
    model = to_onnx(tf.function(table.lookup), (words,))
    agree(model, [np.array([1, -1], np.int64)], words)

    def changed(keys: Any) -> Any:
        table.insert(keys, tf.fill(tf.shape(keys), tf.constant(9, tf.int64)))
        return table.lookup(keys)

    def emptied(keys: Any) -> Any:
        table.remove(keys)
        return table.lookup(keys)

    for function in (changed, emptied):
        with pytest.raises(ConversionError, match="nor tables"):
            to_onnx(tf.function(function), (words,))


def _frozen(function: Any, *specs: Any) -> Any:
    """A graph whose branches and loops are functions of its library."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    concrete = tf.function(function).get_concrete_function(*specs)
    return convert_variables_to_constants_v2(concrete, lower_control_flow=False)


def test_branches_and_loops_of_the_library() -> None:
    weights = tf.Variable(data(3, 3))

    def function(x: Any, n: Any) -> Any:
        def turn(i: Any, y: Any) -> Any:
            larger = tf.cond(tf.reduce_sum(y) > 0, lambda: y * 0.5, lambda: y - 1.0)
            return i + 1, tf.nn.relu(larger @ weights) + 1.0

        return tf.while_loop(lambda i, y: i < n, turn, [0, x])[1]

    spec = tf.TensorSpec([None, 3], tf.float32, "x"), tf.TensorSpec([], tf.int32, "n")
    frozen = _frozen(function, *spec)
    results = [tensor.name for tensor in frozen.outputs]
    onx = to_onnx(load_graph_def(frozen.graph.as_graph_def(), ["x", "n"], results))
    for turns in (0, 1, 4):
        count = np.array(turns, np.int32)
        agree(onx, [function(tf.constant(X), tf.constant(count))], X, count, rtol=1e-4)


def test_a_recurrent_layer_of_the_library_is_one_node() -> None:
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, keras.layers.LSTM(3)(inputs))
    frozen = _frozen(lambda x: model(x), tf.TensorSpec([None, None, 4], tf.float32, "x"))
    result = frozen.outputs[0].name
    onx = to_onnx(load_graph_def(frozen.graph.as_graph_def(), ["x"], [result]))
    assert "LSTM" in [node.op_type for node in onx.graph.node]
    agree(onx, [model(data(2, 5, 4))], data(2, 5, 4))


def test_functions_that_are_operations() -> None:
    """tf.nn.ctc_loss is made of functions of TensorFlow 1."""
    labels = tf.constant([[1, 2, 1], [3, 1, 0]])

    def function(logits: Any) -> Any:
        return tf.nn.ctc_loss(
            labels, logits, tf.constant([3, 2]), tf.constant([6, 5]), False, blank_index=0
        )

    logits = data(2, 6, 4)
    onx = to_onnx(tf.function(function), (logits,), dynamic_shapes=({},))
    agree(onx, [function(logits)], logits, rtol=1e-4)


def test_inputs_that_state_their_shape_are_inputs(frozen: Any) -> None:
    """``PlaceholderV2``, which TensorFlow wrote for a while."""
    old = type(frozen)()
    old.CopyFrom(frozen)
    old.versions.producer = 20
    for node in old.node:
        if node.op == "Placeholder":
            node.op = "PlaceholderV2"
    onx = to_onnx(old, dynamic_shapes={"x": {0: "rows"}})
    assert names_of(onx) == (["x", "bias"], ["sums", "scores"])
    agree(onx, [X @ WEIGHTS + BIAS, tf.nn.softmax(X @ WEIGHTS)], X, BIAS)
