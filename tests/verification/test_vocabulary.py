"""Generated inputs hold keys of the tables that the model looks them up in."""

from __future__ import annotations

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import numpy_helper

from yobx.verification.check import check_conversion, run_check

LAYERS = keras.layers
TABLES = {
    "words": (lambda: LAYERS.StringLookup(vocabulary=["red", "green", "blue"]), (4,), "string"),
    "numbers": (lambda: LAYERS.IntegerLookup(vocabulary=[8001, 8002, 8003]), (4,), "int64"),
    "text": (lambda: LAYERS.TextVectorization(vocabulary=["red", "green"]), (1,), "string"),
}


def looked_up(name: str) -> keras.Model:
    layer, shape, dtype = TABLES[name]
    given = keras.Input(shape, dtype=dtype)
    return keras.Model(given, LAYERS.Embedding(9, 2)(layer()(given)))


def all_unknown(model: onnx.ModelProto) -> onnx.ModelProto:
    """Every key has the value of what is in no table."""
    wrong = onnx.ModelProto()
    wrong.CopyFrom(model)
    for node in wrong.graph.node:
        if node.op_type == "LabelEncoder":
            default = next(a.i for a in node.attribute if a.name == "default_int64")
            values = next(a for a in node.attribute if a.name == "values_int64s")
            values.ints[:] = [default] * len(values.ints)
    return wrong


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("seed", range(4))
def test_a_table_that_knows_no_key_is_found(name: str, seed: int) -> None:
    model = looked_up(name)
    right = run_check(model, None, seed=seed)
    assert right.report.passed, right.report.text()
    assert right.model is not None
    text = TABLES[name][2] == "string"
    report = check_conversion(
        all_unknown(right.model),
        None,
        reference=lambda x: model(tf.constant(x.tolist()) if text else x).numpy(),
        seed=seed,
        localize=False,
    )
    assert report.failed_phase == "values"


def test_the_same_seed_gives_the_same_keys_and_given_arrays_stay() -> None:
    model = looked_up("numbers")
    first, second = (run_check(model, None, seed=3) for _ in range(2))
    for one, other in zip(first.runs, second.runs, strict=True):
        for name, array in one.feeds.items():
            np.testing.assert_array_equal(array, other.feeds[name])
    given = np.full((2, 4), 7, np.int64)
    run = run_check(model, (given,), seed=3).runs[0]
    assert set(next(iter(run.feeds.values())).ravel()) == {7}


def test_keys_of_another_type_are_not_put_in() -> None:
    """The words are looked up, the numbers beside them are not."""
    words, numbers = keras.Input((4,), dtype="string"), keras.Input((4,), dtype="int64")
    found = LAYERS.StringLookup(vocabulary=["red", "green"])(words)
    run = run_check(keras.Model([words, numbers], found + numbers), None).runs[0]
    text, ids = run.feeds.values()
    assert {"red", "green"} & set(text.ravel())
    assert ids.dtype == np.int64
    assert ids.max() < 10


def test_keys_of_a_tensor_and_of_a_body_are_known() -> None:
    table = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 4]>
        g (int64[N] x, bool c) => (int64[N] y) {
            y = If (c) <
                then_branch = a () => (int64[N] p) { p = ai.onnx.ml.LabelEncoder(x) },
                else_branch = b () => (int64[N] q) { q = Identity(x) }
            >
        }"""
    )
    node = table.graph.node[0].attribute[0].g.node[0]
    for name, numbers in {"keys_tensor": [501, 502], "values_tensor": [1, 2]}.items():
        tensor = numpy_helper.from_array(np.array(numbers, np.int64))
        node.attribute.append(onnx.helper.make_attribute(name, tensor))
    unknown = numpy_helper.from_array(np.array([0], np.int64))
    node.attribute.append(onnx.helper.make_attribute("default_tensor", unknown))
    run = run_check(table, None, reference=lambda x, c: x).runs[0]
    assert {501, 502} & set(run.feeds["x"])
