"""Branches, loops and lists: nested, with captured values, with sizes that change."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

from conformance.tf_ops.control_flow import (
    array_written,
    counted,
    over_numbers,
    range_written,
    two_branches,
    uneven_apart,
    uneven_loop,
)
from yobx.errors import UnsupportedAttributeError, UnsupportedDtypeError
from yobx.tensorflow import to_onnx


def kinds(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node}


def test_a_known_number_of_turns_becomes_scan() -> None:
    x = np.ones((2, 3), np.float32)
    model = to_onnx(tf.function(lambda x: counted(5, x)[1]), (x,))
    assert "Scan" in kinds(model)
    assert "Loop" not in kinds(model)


def test_rows_written_in_order_are_not_carried() -> None:
    x = np.ones((2, 3), np.float32)
    model = to_onnx(tf.function(lambda x: array_written(5, x)), (x,))
    scan = next(node for node in model.graph.node if node.op_type == "Scan")
    body = next(a.g for a in scan.attribute if a.name == "body")
    assert not {"ScatterND", "SequenceInsert"} & {node.op_type for node in body.node}


def test_a_constant_condition_is_decided_while_converting() -> None:
    x = np.ones((2, 3), np.float32)
    model = to_onnx(tf.function(lambda x: two_branches(tf.constant(True), x)[0]), (x,))
    assert "If" not in kinds(model)


def test_what_a_for_carries_keeps_its_shape() -> None:
    function = tf.function(lambda x: over_numbers(x, 0, 3, step=1, grows=True))
    with pytest.raises(UnsupportedAttributeError, match="keeps its shape"):
        to_onnx(function, (np.ones(2, np.float32),), dynamic_shapes=({},))


def test_a_loop_over_a_range_that_writes_each_element_is_a_scan() -> None:
    x = np.ones((2, 3), np.float32)
    model = to_onnx(tf.function(range_written), (x,))
    assert [node.op_type for node in model.graph.node].count("Scan") == 1
    assert [
        d.dim_param or d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim
    ] == [
        4,
        "batch",
        3,
    ]


def test_elements_of_different_sizes_are_not_filled_up() -> None:
    def written(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=2, element_shape=[None, 3], infer_shape=False)
        return array.write(0, x[:1]).write(1, x).read(tf.shape(x)[1] - 2)

    model = to_onnx(tf.function(written), (np.ones((2, 3), np.float32),))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    one = np.ones((1, 3), np.float32)
    assert np.array_equal(session.run(None, {"x": one})[0], written(one))
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
        session.run(None, {"x": np.ones((4, 3), np.float32)})


@pytest.mark.parametrize("function", [uneven_loop, uneven_apart])
def test_elements_of_different_sizes_may_be_joined(function: Any) -> None:
    x, n = np.arange(12, dtype=np.float32).reshape(4, 3), np.array(3, np.int32)
    model = to_onnx(tf.function(function), (n, x), dynamic_shapes=({}, {0: "rows"}))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    for turns, rows in ((3, 4), (4, 4), (1, 1), (0, 2)):
        feeds = dict(zip(names, (np.array(turns, np.int32), x[:rows]), strict=True))
        wanted = tf.function(function)(*map(tf.constant, feeds.values()))
        for got, want in zip(session.run(None, feeds), wanted, strict=True):
            assert np.array_equal(got, want)


def test_lists_of_lists_are_refused() -> None:
    def listed(x: Any) -> Any:
        inner = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[3])
        outer = tf.raw_ops.TensorListReserve(
            element_shape=-1, num_elements=2, element_dtype=tf.variant
        )
        outer = tf.raw_ops.TensorListSetItem(input_handle=outer, index=0, item=inner)
        return tf.raw_ops.TensorListLength(input_handle=outer), x

    with pytest.raises(UnsupportedAttributeError, match="element_dtype=variant"):
        to_onnx(tf.function(listed), (np.ones((2, 3), np.float32),))


def test_joined_texts_of_changing_length_are_refused() -> None:
    @tf.function
    def joined(x: Any) -> Any:
        found = tf.TensorArray(
            tf.string, size=0, dynamic_size=True, infer_shape=False, element_shape=[None]
        )
        for i in tf.range(tf.shape(x)[0]):
            found = found.write(i, x[:i])
        return found.concat()

    with pytest.raises(UnsupportedDtypeError, match="Pad for string"):
        to_onnx(joined, (np.array(["a", "b", "c"], object),))
