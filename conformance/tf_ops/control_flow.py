"""Branches, loops and lists: nested, with captured values, with sizes that change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case

X = Arg("float32", ("n", 3))
T = Arg("float32", ("n", "m", 3))
FLAG = Arg("bool", (), values=(True,))
OFF = Arg("bool", (), values=(False,))
COUNT = Arg("int32", (), values=(4,))
NONE = Arg("int32", (), values=(0,))
WEIGHTS = tf.constant(np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32))


def two_branches(c: Any, x: Any) -> Any:
    """Both branches give two results."""
    return tf.cond(c, lambda: (x @ WEIGHTS, tf.shape(x)[0]), lambda: (x - 1.0, tf.constant(7)))


def nested(c: Any, x: Any) -> Any:
    """A condition inside a branch that reads an outer value."""

    def inner() -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: -x)

    return tf.cond(c, inner, lambda: x)


def sizes_differ(c: Any, x: Any) -> Any:
    """The branches give different numbers of rows."""
    return tf.cond(c, lambda: x[:1], lambda: tf.concat([x, x], 0))


def switched(i: Any, x: Any) -> Any:
    """An index in range, and one past the last branch."""
    branches = [lambda: x + 1.0, lambda: x * 2.0, lambda: x[::-1]]
    return tf.switch_case(i - 3, branches), tf.switch_case(i + 9, branches)


def last_of_four(i: Any, x: Any) -> Any:
    """A default as the fourth branch."""
    branches = [lambda: x + 1.0, lambda: x * 2.0, lambda: x[::-1]]
    return tf.switch_case(i - 3, branches, default=lambda: x[:1])


def counted(n: Any, x: Any) -> Any:
    """A loop over a number known at run time."""
    return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y @ WEIGHTS * 0.5 + 1.0), [0, x])


def data_dependent(x: Any) -> Any:
    """A loop that ends by what it carries."""

    def body(i: Any, y: Any) -> Any:
        return i + 1, y * 0.5

    return tf.while_loop(lambda i, y: tf.reduce_sum(tf.abs(y)) > 1.0, body, [0, x])


def growing(n: Any, x: Any) -> Any:
    """What the loop carries grows."""
    return tf.while_loop(
        lambda i, y: i < n,
        lambda i, y: (i + 1, tf.concat([y, x[:1] * tf.cast(i, tf.float32)], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])],
    )[1]


def array_written(n: Any, x: Any) -> Any:
    """A TensorArray of known size, written in order."""
    array = tf.TensorArray(tf.float32, size=n)
    _, array = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))), [0, array]
    )
    return array.stack()


def array_that_grows(n: Any, x: Any) -> Any:
    """A TensorArray that grows, with a gap before its last element."""
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    _, array = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))), [0, array]
    )
    return array.write(n + 1, x).stack()


def array_early_exit(x: Any) -> Any:
    """A loop that ends before all elements are written."""
    array = tf.TensorArray(tf.float32, size=5, element_shape=[])
    _, array = tf.while_loop(
        lambda i, a: tf.logical_and(i < 5, i * i < 5),
        lambda i, a: (i + 1, a.write(i, tf.reduce_sum(x))),
        [0, array],
    )
    return array.stack()


def array_read(x: Any) -> Any:
    """A TensorArray made of a tensor, read in a loop."""
    array = tf.TensorArray(tf.float32, size=tf.shape(x)[0]).unstack(x)
    total = tf.while_loop(
        lambda i, s: i < tf.shape(x)[0],
        lambda i, s: (i + 1, s * 0.5 + array.read(i)),
        [0, tf.zeros_like(x[0])],
    )
    return total[1]


def array_updated(n: Any, x: Any) -> Any:
    """Elements computed from the ones before; one is written twice."""
    array = tf.TensorArray(tf.float32, size=4, element_shape=[3], clear_after_read=False)
    array = array.write(0, x[0]).write(3, x[0] * 2.0)
    _, array = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, a.read(i - 1) + 1.0)), [1, array]
    )
    return array.stack() + tf.cast(n, tf.float32)


def nested_loops(n: Any, x: Any) -> Any:
    """A loop inside a loop that writes."""

    def outer(i: Any, a: Any) -> Any:
        inner = tf.while_loop(
            lambda j, y: j < i + 1, lambda j, y: (j + 1, y + x[0, 0] * tf.cast(j, tf.float32)),
            [0, 0.0],
        )  # fmt: skip
        return i + 1, a.write(i, inner[1])

    array = tf.TensorArray(tf.float32, size=n)
    return tf.while_loop(lambda i, a: i < n, outer, [0, array])[1].stack()


def scanned(x: Any) -> Any:
    """`tf.scan` from an initial value."""
    return tf.scan(lambda a, b: a * 0.5 + b, x, initializer=tf.ones_like(x[0]))


def mapped(x: Any) -> Any:
    """`tf.map_fn` with one result."""
    return tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)


def mapped_types(x: Any) -> Any:
    """`tf.map_fn` with results of two dtypes."""
    spec = (tf.int32, tf.float32)
    return tf.map_fn(
        lambda r: (tf.argmax(r, output_type=tf.int32), r[:2]), x, fn_output_signature=spec
    )


def folded(x: Any) -> Any:
    """`tf.foldl` from the first row."""
    return tf.foldl(lambda a, b: a + b * 2.0, x)


def vectorized(x: Any) -> Any:
    """`tf.vectorized_map`."""
    return tf.vectorized_map(lambda row: tf.reduce_max(row) - row, x)


def autograph_loop(n: Any, x: Any) -> Any:
    """A Python loop over a range with a condition inside."""
    total = tf.zeros_like(x)
    for i in tf.range(1, n + 1, 2):
        if tf.reduce_sum(total) < 100.0:
            total += x * tf.cast(i, tf.float32)
        else:
            total -= 1.0
    return total


def autograph_break(x: Any) -> Any:
    """A Python loop that is left early."""
    i = tf.constant(0)
    while i < 10:
        i += 1
        if tf.cast(i, tf.float32) > tf.reduce_sum(tf.abs(x)):
            break
    return i


def only_counted(n: Any, x: Any) -> Any:
    """Loops that count, and do nothing with tensors."""
    turns, last = tf.constant(2), tf.constant(-1)
    for _ in tf.range(n):
        turns += 1
    for i in tf.range(5):
        last = i
        turns += 1
    return turns, last, x


def range_written(x: Any) -> Any:
    """A Python loop over a known range that writes."""
    array, total = tf.TensorArray(tf.float32, size=4), tf.zeros_like(x)
    for i in tf.range(4):
        total += x * tf.cast(i, tf.float32)
        array = array.write(i, total)
    return array.stack()


def range_written_backwards(x: Any) -> Any:
    """The last element is written first."""
    array = tf.TensorArray(tf.float32, size=4)
    for i in tf.range(4):
        array = array.write(3 - i, x + tf.cast(i, tf.float32))
    return array.stack()


def range_written_sometimes(n: Any, x: Any) -> Any:
    """A condition decides whether an element is appended."""
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True).write(0, x)
    for i in tf.range(n):
        if i % 2 == 0:
            array = array.write(array.size(), x * tf.cast(i, tf.float32))
    return array.stack()


def first_written_sometimes(n: Any, x: Any) -> Any:
    """The same, where no element is there before the loop."""
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(n + 2):
        if i % 2 == 0:
            array = array.write(array.size(), tf.concat([x, x], 0) * tf.cast(i, tf.float32))
    return array.stack()


def pushed(x: Any) -> Any:
    """A list that is pushed to and popped from."""
    items = tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1,
                                       element_dtype=tf.float32)  # fmt: skip
    for i in range(3):
        items = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=x[0] * float(i))
    items, last = tf.raw_ops.TensorListPopBack(
        input_handle=items, element_shape=[3], element_dtype=tf.float32
    )
    stacked = tf.raw_ops.TensorListStack(
        input_handle=items, element_shape=[3], element_dtype=tf.float32
    )
    return stacked, last, tf.raw_ops.TensorListLength(input_handle=items)


def list_parts(x: Any) -> Any:
    """A TensorArray that is scattered to, gathered from and concatenated."""
    array = tf.TensorArray(tf.float32, size=3, infer_shape=False).scatter([2, 0, 1], x[:3])
    return array.gather([0, 2]), array.concat()


def uneven_loop(n: Any, x: Any) -> Any:
    """Elements of several lengths, joined after the loop that writes them."""
    array = tf.TensorArray(tf.float32, size=n, element_shape=[None, 3], infer_shape=False)
    _, array = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, x[: i + 1] * 2.0)), [0, array]
    )
    return array.concat(), array.size()


def uneven_apart(n: Any, x: Any) -> Any:
    """Elements of several lengths, written one by one and joined."""
    array = tf.TensorArray(tf.float32, size=3, element_shape=[None, 3], infer_shape=False)
    array = array.write(2, x).write(0, x[:1]).write(1, tf.zeros([2, 3]))
    return array.concat(), array.size() + n


def row(name: str, function: Callable[..., Any], *args: Arg, **options: Any) -> Case:
    """Return a case with the allowances of this module."""
    return Case(name, function, args, **{"ulps": 16.0, "floor": 4.0, **options})


CASES = [
    row("only_counted", only_counted, COUNT, X, bindings=EMPTY, autograph=True),
    row("range_written", range_written, X, autograph=True),
    row("range_written_backwards", range_written_backwards, X, autograph=True),
    row("range_written_sometimes", range_written_sometimes, COUNT, X, autograph=True),
    row("first_written_sometimes", first_written_sometimes, COUNT, X, autograph=True),
    row("if_true", two_branches, FLAG, X, bindings=EMPTY),
    row("if_false", two_branches, OFF, X),
    row("if_nested", nested, FLAG, X),
    row("if_sizes", sizes_differ, OFF, X),
    row("case", switched, COUNT, X),
    row("case_of_four", last_of_four, COUNT, X),
    row("counted", counted, COUNT, X, bindings=EMPTY),
    row("counted_never", counted, NONE, X),
    row("data_dependent", data_dependent, X),
    row("growing", growing, COUNT, X),
    row("array_written", array_written, COUNT, X, bindings=EMPTY),
    row("array_that_grows", array_that_grows, COUNT, X, bindings=EMPTY),
    row("array_early_exit", array_early_exit, X),
    row("array_read", array_read, X),
    row("array_updated", array_updated, COUNT, X),
    row("nested_loops", nested_loops, COUNT, X),
    row("scan", scanned, X),
    row("map", mapped, X),
    row("map_types", mapped_types, X),
    row("fold", folded, X),
    row("vectorized", vectorized, X),
    row("autograph_loop", autograph_loop, COUNT, X, autograph=True),
    row("autograph_break", autograph_break, X, autograph=True),
    row("pushed", pushed, X),
    row("uneven_loop", uneven_loop, COUNT, X, bindings=EMPTY),
    row("uneven_apart", uneven_apart, COUNT, X),
    row("list_parts", list_parts, Arg("float32", (3, "m")), bindings=({"m": 5}, {"m": 2})),
]


def over_numbers(x: Any, start: Any, limit: Any, *, step: int, grows: bool = False) -> Any:
    """``tf.raw_ops.For``: its body gets the number and what is carried."""

    def body(i: Any, total: Any, turns: Any) -> Any:
        total = total * 2 + tf.cast(i, tf.float32)
        return (tf.concat([total, total], 0) if grows else total), turns + 1

    spec = tf.TensorSpec([None] if grows else x.shape, tf.float32)
    number = tf.TensorSpec([], tf.int32)
    traced = tf.function(body).get_concrete_function(number, spec, number)
    return tf.raw_ops.For(
        start=start, limit=limit, delta=step, input=[x, tf.constant(0)], body=traced
    )


def numbered(start: int, limit: int, step: int) -> Case:
    """Return a case of `tf.raw_ops.For` with bounds that are inputs."""

    def function(x: Any, low: Any, high: Any) -> Any:
        return over_numbers(x, low, high, step=step)

    return Case(
        f"for-{start}-{limit}-{step}",
        function,
        (
            Arg("float32", ("n", 2)),
            Arg("int32", (), values=(start,)),
            Arg("int32", (), values=(limit,)),
        ),
        eager=tf.function(function),
        ulps=4,
    )


FORS = [numbered(*bounds) for bounds in ((0, 3, 1), (1, 8, 3), (5, 0, -2), (2, 2, 1), (-1, 6, 7))]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*CASES, *FORS]
