"""Loops and tensor arrays of TensorFlow 1, in frozen graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import tensorflow as tf
from tensorflow.python.ops import rnn as old_rnn
from tensorflow.python.ops import rnn_cell

from tests.tensorflow.helpers import agree, data, dims
from yobx.errors import ConversionError
from yobx.tensorflow import load_graph_def, to_onnx

v1 = tf.compat.v1
WHERE = pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")


def frozen(function: Callable[[], Any]) -> Any:
    """The graph that TensorFlow 1 writes, its variables constants; the result is ``y``."""
    graph = tf.Graph()
    with graph.as_default():
        was_on = v1.control_flow_v2_enabled()
        v1.disable_control_flow_v2()
        try:
            tf.identity(function(), name="y")
        finally:
            if was_on:
                v1.enable_control_flow_v2()
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            return v1.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), ["y"]
            )


def check(graph_def: Any, **feeds: Any) -> onnx.ModelProto:
    """Convert, and compare with what a session computes."""
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            wanted = session.run("y:0", {f"{name}:0": value for name, value in feeds.items()})
    model = to_onnx(load_graph_def(graph_def, list(feeds), ["y"]))
    agree(model, [wanted], *feeds.values())
    return model


def x3() -> Any:
    return v1.placeholder(tf.float32, [None, None, 3], name="x")


def loop(condition: Any, body: Any, *state: Any, **keywords: Any) -> Any:
    return v1.while_loop(condition, body, list(state), **keywords)[-1]


def counted() -> Any:
    return loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * 2.0 + 1.0), 0, x3())


def limit_is_an_input() -> Any:
    x, n = x3(), v1.placeholder(tf.int32, [], name="n")
    return loop(lambda i, a: i < n, lambda i, a: (i + 1, tf.tanh(a) * 2.0 + x), 0, x)


def nested() -> Any:
    x = x3()

    def body(i: Any, a: Any) -> Any:
        return i + 1, loop(lambda j, c: j < i, lambda j, c: (j + 1, c * 1.5 + x), 0, a)

    return loop(lambda i, a: i < 3, body, 0, x)


def condition_in_a_loop() -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, v1.cond(tf.reduce_sum(a) > 0, lambda: a - 1.0, lambda: a + tf.constant(2.0))

    return loop(lambda i, a: i < 4, body, 0, x3())


def loop_in_a_condition() -> Any:
    x = x3()
    doubled = lambda: loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * 2.0), 0, x)  # noqa: E731
    return v1.cond(tf.reduce_sum(x) > 0, doubled, lambda: x - 1.0) + 1.0


def growing() -> Any:
    x = x3()
    shapes = [tf.TensorShape([]), tf.TensorShape([None, None, 3])]
    return loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.concat([a, x], 0)),
        *(0, x),
        shape_invariants=shapes,
    )


def one_after_the_other() -> Any:
    x = x3()
    first = loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 2.0), 0, x) + 1.0
    second = loop(lambda i, c: i < 2, lambda i, c: (i + 1, c * first), 0, x)
    return second + first


def until_small() -> Any:
    x = x3()
    return v1.while_loop(lambda a: tf.reduce_max(tf.abs(a)) > 0.01, lambda a: a * 0.5, [x])


def mapped() -> Any:
    return tf.map_fn(lambda row: tf.reduce_sum(row, 0) * 2.0, x3())


def scanned() -> Any:
    return tf.scan(lambda a, row: a + tf.sin(row), x3())


def read_and_written() -> Any:
    x = x3()
    rows = tf.shape(x)[0]
    source = tf.TensorArray(tf.float32, size=rows).unstack(x)
    made = loop(
        lambda i, o: i < tf.shape(x)[0],
        lambda i, o: (i + 1, o.write(i, source.read(i) * tf.cast(i + 1, tf.float32))),
        *(0, tf.TensorArray(tf.float32, size=rows)),
    )
    return made.stack() * tf.cast(made.size(), tf.float32)


def joined() -> Any:
    x = x3()
    array = tf.TensorArray(tf.float32, size=2, dynamic_size=True, infer_shape=False)
    made = loop(lambda i, o: i < 4, lambda i, o: (i + 1, o.write(i, x + tf.cast(i, "float32"))),
                0, array)  # fmt: skip
    return made.concat()


def written_in_branches() -> Any:
    x = x3()

    def body(i: Any, o: Any) -> Any:
        return i + 1, v1.cond(i > 2, lambda: o.write(i, x[0]), lambda: o.write(i, x[1] * 2.0))

    made = loop(lambda i, o: i < 5, body, 0, tf.TensorArray(tf.float32, size=5))
    return made.gather([4, 0])


def constants_in_a_loop() -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, v1.cond(i > 1, lambda: tf.constant(1.0), lambda: tf.constant(2.0)) - a

    return loop(lambda i, a: i < 3, body, 0, 0.0) + x3()


def constants_of_two_conditions() -> Any:
    x = x3()
    many = lambda: tf.shape(x)[1] > 2  # noqa: E731
    inner = lambda: v1.cond(many(), lambda: tf.zeros([2]), lambda: tf.fill([2], 2.0))  # noqa: E731
    return v1.cond(tf.reduce_sum(x) > 0, inner, lambda: tf.ones([2]))


def filled_and_growing() -> Any:
    return tf.TensorArray(tf.float32, size=0, dynamic_size=True).unstack(x3()).stack() * 2.0


ONE = [
    *(counted, nested, condition_in_a_loop, loop_in_a_condition, growing, one_after_the_other),
    *(until_small, mapped, scanned, read_and_written, joined, written_in_branches),
    *(constants_in_a_loop, constants_of_two_conditions, filled_and_growing),
]


@pytest.mark.parametrize("function", ONE, ids=[f.__name__ for f in ONE])
@pytest.mark.parametrize("shift", [-1.0, 1.0])
def test_loops(function: Callable[[], Any], shift: float) -> None:
    check(frozen(function), x=data(2, 5, 3) + np.float32(shift))


@pytest.mark.parametrize("turns", [0, 1, 4])
def test_a_limit_that_is_an_input(turns: int) -> None:
    check(frozen(limit_is_an_input), x=data(2, 5, 3), n=np.array(turns, np.int32))


@pytest.mark.parametrize("number", [1, 3])
def test_a_number_that_only_chooses(number: int) -> None:
    def function() -> Any:
        n = v1.placeholder(tf.int32, [], name="n")
        return v1.cond(n > 2, lambda: tf.constant([1, 2]), lambda: tf.constant([3, 4]))

    check(frozen(function), n=np.array(number, np.int32))


def test_sizes_and_names_stay() -> None:
    model = check(frozen(growing), x=data(2, 5, 3))
    assert dims(model.graph.output[0]) == ["4*batch", "x_dim1", 3]
    function = load_graph_def(frozen(counted), ["x"], ["while/Exit_1", "y"])
    agree(to_onnx(function), [data(1, 2, 3) * 16 + 15] * 2, data(1, 2, 3))


def test_an_array_that_is_split() -> None:
    def function() -> Any:
        x = v1.placeholder(tf.float32, [6, 3], name="x")
        array = tf.TensorArray(tf.float32, size=3).split(x, [2, 2, 2])
        return array.read(1) + array.read(2)

    check(frozen(function), x=data(6, 3))


CELLS = {
    "lstm": lambda: rnn_cell.BasicLSTMCell(4),
    "peepholes": lambda: rnn_cell.LSTMCell(4, use_peepholes=True),
    "gru": lambda: rnn_cell.GRUCell(4),
    "basic": lambda: rnn_cell.BasicRNNCell(4),
    "stacked": lambda: rnn_cell.MultiRNNCell([rnn_cell.GRUCell(4), rnn_cell.LSTMCell(3)]),
}


@WHERE
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("lengths", [False, True])
def test_dynamic_rnn(kind: str, lengths: bool) -> None:
    def function() -> Any:
        n = v1.placeholder(tf.int32, [None], name="n") if lengths else None
        made, _ = old_rnn.dynamic_rnn(CELLS[kind](), x3(), sequence_length=n, dtype=tf.float32)
        return made

    feeds = {"n": np.array([3, 5], np.int32)} if lengths else {}
    check(frozen(function), x=data(2, 5, 3), **feeds)


@WHERE
def test_bidirectional_and_static() -> None:
    def both() -> Any:
        n = v1.placeholder(tf.int32, [None], name="n")
        pair = CELLS["lstm"](), CELLS["gru"]()
        made, _ = old_rnn.bidirectional_dynamic_rnn(*pair, x3(), n, dtype=tf.float32)
        return tf.concat(made, -1)

    def static() -> Any:
        x = v1.placeholder(tf.float32, [2, 5, 3], name="x")
        n = v1.placeholder(tf.int32, [2], name="n")
        steps = tf.unstack(x, axis=1)
        made, _ = old_rnn.static_rnn(CELLS["gru"](), steps, None, tf.float32, n)
        return tf.stack(made, 1)

    for function in (both, static):
        check(frozen(function), x=data(2, 5, 3), n=np.array([3, 5], np.int32))


def test_what_is_no_loop_is_refused() -> None:
    graph_def = frozen(counted)
    (condition,) = (node for node in graph_def.node if node.op == "LoopCond")
    condition.op = "Identity"
    condition.attr["T"].type = tf.bool.as_datatype_enum
    with pytest.raises(ConversionError, match="with 0 conditions"):
        load_graph_def(graph_def, ["x"], ["y"])


def test_arrays_that_lists_do_not_have_are_refused() -> None:
    def flow() -> Any:
        array = tf.TensorArray(tf.float32, size=1, dynamic_size=True)
        return array.write(0, x3()[0]).flow + 1.0

    def filled_twice() -> Any:
        array = tf.TensorArray(tf.float32, size=1, dynamic_size=True)
        return array.write(0, x3()[0]).unstack(x3()).stack()

    with pytest.raises(ConversionError, match="go to operations on tensor arrays only"):
        load_graph_def(frozen(flow), outputs=["y"])
    with pytest.raises(ConversionError, match="while it is empty"):
        load_graph_def(frozen(filled_twice), outputs=["y"])
