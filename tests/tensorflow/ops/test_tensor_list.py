"""Lists whose elements differ in shape: right, or an error, never filled up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

from yobx.errors import UnsupportedAttributeError
from yobx.tensorflow import to_onnx

_X = np.arange(1, 7, dtype=np.float32)


def open_array(size: Any, shape: Any = (None,)) -> Any:
    shape = None if shape is None else tf.TensorShape(shape)
    return tf.TensorArray(
        tf.float32, size=size, element_shape=shape, infer_shape=False, clear_after_read=False
    )


def session_of(function: Callable[..., Any]) -> tuple[Any, onnxruntime.InferenceSession]:
    signature = [tf.TensorSpec([], tf.int32, "n"), tf.TensorSpec([None], tf.float32, "x")]
    traced = tf.function(function, input_signature=signature).get_concrete_function()
    model = to_onnx(traced)
    return traced, onnxruntime.InferenceSession(model.SerializeToString())


def feeds_of(session: onnxruntime.InferenceSession, n: int, x: Any) -> dict[str, Any]:
    every = {"n": np.array(n, np.int32), "x": x}
    return {value.name: every[value.name] for value in session.get_inputs()}


def under_condition(n: Any, x: Any) -> Any:
    found = open_array(n)
    for i in tf.range(n):
        if i >= 0:
            found = found.write(i, x[:i])
    return found.concat()


def read_after(n: Any, x: Any) -> Any:
    found = open_array(n, None)
    for i in tf.range(n):
        if i >= 0:
            found = found.write(i, x[:i])
    return found.read(0), found.read(n - 1)


def from_the_end(n: Any, x: Any) -> Any:
    found = open_array(n)
    for i in tf.range(n):
        found = found.write(n - 1 - i, x[:i])
    return found.concat()


def behind_a_loop(n: Any, x: Any) -> Any:
    found = open_array(n)
    for i in tf.range(n - 1):
        found = found.write(i, x[: n - n])
    found = found.write(n - 1, x[:3])
    return found.read(0), found.read(n - 1)


def two_loops(n: Any, x: Any) -> Any:
    found = open_array(2 * n)
    for i in tf.range(n):
        found = found.write(i, x[: 0 * n])
    for i in tf.range(n):
        found = found.write(n + i, x[:n])
    return found.read(n - n), found.read(n)


def pushed(n: Any, x: Any) -> Any:
    items = tf.raw_ops.EmptyTensorList(
        element_shape=-1, max_num_elements=-1, element_dtype=tf.float32
    )
    items = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=x[: n - n])
    items = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=x[:n])
    return tf.raw_ops.TensorListGetItem(
        input_handle=items, index=0, element_shape=[-1], element_dtype=tf.float32
    )


def chosen(n: Any, x: Any) -> Any:
    empty = open_array(2)
    first = [lambda: empty.write(0, x[:n]).flow, lambda: empty.write(0, x[:2]).flow]
    items = tf.switch_case(n, [*first, lambda: empty.flow])
    items = tf.raw_ops.TensorListSetItem(input_handle=items, index=1, item=x[:2])
    return tf.raw_ops.TensorListGetItem(
        input_handle=items, index=0 * n, element_shape=[-1], element_dtype=tf.float32
    )


def other_shape(n: Any, x: Any) -> Any:
    found = open_array(n, None)
    for i in tf.range(n):
        if i >= 0:
            found = found.write(i, tf.reshape(x, tf.stack([i + 1, -1])))
    return found.read(0)


_UNEVEN = [
    under_condition,
    read_after,
    from_the_end,
    behind_a_loop,
    two_loops,
    pushed,
    chosen,
    other_shape,
]


@pytest.mark.parametrize("function", _UNEVEN)
def test_an_element_of_another_size_is_an_error_also_behind_an_empty_one(function: Any) -> None:
    traced, session = session_of(function)
    failed = 0
    for n in (0, 1, 2, 3):
        try:
            wanted = [np.asarray(v) for v in tf.nest.flatten(traced(tf.constant(n), _X))]
        except tf.errors.InvalidArgumentError:
            continue
        try:
            got = session.run(None, feeds_of(session, n, _X))
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
            failed += 1
            continue
        for a, b in zip(got, wanted, strict=True):
            assert np.array_equal(a, b)
    assert failed


def empty_then_more(n: Any, x: Any) -> Any:
    found = open_array(2).write(0, x[: n - n]).write(1, x[:3])
    return found.read(0), found.read(1)


def sizes_apart(n: Any, x: Any) -> Any:
    found = open_array(2).write(0, tf.zeros([0])).write(1, x[:3])
    return found.read(0), found.read(1)


def ranks_apart(n: Any, x: Any) -> Any:
    found = open_array(2, None).write(0, x[:3]).write(1, tf.reshape(x[:4], [2, 2]))
    return found.read(0), found.read(1)


def joined_apart(n: Any, x: Any) -> Any:
    return open_array(2).write(0, tf.zeros([0])).write(1, tf.reshape(x[:4], [4])).concat()


@pytest.mark.parametrize("function", [empty_then_more, sizes_apart, ranks_apart, joined_apart])
def test_elements_read_at_known_places_may_differ(function: Any) -> None:
    traced, session = session_of(function)
    wanted = [np.asarray(v) for v in tf.nest.flatten(traced(tf.constant(3), _X))]
    for a, b in zip(session.run(None, feeds_of(session, 3, _X)), wanted, strict=True):
        assert np.array_equal(a, b)


def read_at(n: Any, x: Any) -> Any:
    return open_array(2).write(0, tf.zeros([2])).write(1, tf.reshape(x[:4], [4])).read(n)


def into_a_loop(n: Any, x: Any) -> Any:
    found = open_array(2).write(0, tf.zeros([2])).write(1, tf.reshape(x[:4], [4]))
    total = tf.constant(0)
    for i in tf.range(n):
        total += tf.size(found.read(i))
    return total


def out_of_a_branch(n: Any, x: Any) -> Any:
    found = open_array(2)
    if n > 0:
        found = found.write(0, tf.zeros([2])).write(1, tf.reshape(x[:4], [4]))
    return found.read(n)


def gathered(n: Any, x: Any) -> Any:
    found = open_array(2, None).write(0, x[0]).write(1, tf.reshape(x[:4], [4]))
    return found.gather([0])


@pytest.mark.parametrize("function", [read_at, into_a_loop, out_of_a_branch, gathered])
def test_elements_that_are_known_to_differ_are_refused(function: Any) -> None:
    with pytest.raises(UnsupportedAttributeError, match=r"elements of shapes \(2?\) and \(4\)"):
        session_of(function)


def reshaped_under_condition(n: Any, x: Any) -> Any:
    found = open_array(n, None)
    for i in tf.range(n):
        for j in tf.range(i, i + 1):
            if x[j] > 0:
                found = found.write(j, tf.reshape(x, [2, -1]))
    return found.stack()


def empty_but_even(n: Any, x: Any) -> Any:
    found = open_array(2 * n)
    for i in tf.range(n):
        found = found.write(2 * n - 1 - i, tf.boolean_mask(x, x > 100))
    for i in tf.range(n):
        if i >= 0:
            found = found.write(i, tf.boolean_mask(x, x > 100))
    return found.stack()


@pytest.mark.parametrize("function", [reshaped_under_condition, empty_but_even])
def test_elements_of_one_shape_may_be_written_anywhere(function: Any) -> None:
    traced, session = session_of(function)
    for n in (1, 2, 4):
        wanted = traced(tf.constant(n), _X).numpy()
        assert np.array_equal(session.run(None, feeds_of(session, n, _X))[0], wanted)


def test_a_list_that_gets_its_shape_before_a_loop_is_carried_by_a_scan() -> None:
    def written(x: Any) -> Any:
        found = tf.TensorArray(tf.float32, size=4)
        for i in tf.range(4):
            found = found.write(3 - i, x * tf.cast(i, tf.float32))
        return found.stack()

    model = to_onnx(tf.function(written), (np.ones((2, 3), np.float32),))
    assert "Scan" in {node.op_type for node in model.graph.node}


def test_elements_never_written_have_the_shape_that_is_asked_for() -> None:
    def stacked(x: Any) -> Any:
        items = tf.raw_ops.TensorListReserve(
            element_shape=-1, num_elements=3, element_dtype=tf.float32
        )
        return x + tf.raw_ops.TensorListStack(
            input_handle=items, element_shape=[2], element_dtype=tf.float32
        )

    x = np.ones(2, np.float32)
    model = to_onnx(tf.function(stacked), (x,))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert np.array_equal(session.run(None, {"x": x})[0], np.ones((3, 2), np.float32))
