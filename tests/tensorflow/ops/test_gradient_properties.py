"""Random shapes and attributes: gradients inside models, of what moves, repeats or pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.tensorflow.ops.property_checks import agrees, arrays, family, open_axes, sizes

data = st.data()
Draw = st.DataObject
STEPS = st.integers(1, 3)


def slope(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the sum of squares of a function, to each of its arguments."""

    def gradients(*args: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(args)
            score = tf.reduce_sum(tf.square(function(*args)))
        return tape.gradient(score, args, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return gradients


@family
@given(data)
def test_gradient_of_pooling(d: Draw) -> None:
    kind, padding = (
        d.draw(st.sampled_from(("MAX", "AVG"))),
        d.draw(st.sampled_from(("SAME", "VALID"))),
    )
    kernel, strides = ([d.draw(STEPS), d.draw(STEPS)] for _ in "ks")
    least = 1 if padding == "SAME" else max(kernel)
    shape = (d.draw(sizes(2, 1)), d.draw(sizes(7, least)), d.draw(sizes(7, least)), 2)
    x = d.draw(arrays("float32", shape))
    if d.draw(st.booleans()):
        x = np.round(x)  # ties
    agrees(
        slope(lambda x: tf.nn.pool(x, kernel, kind, strides, padding)),
        [x],
        (d.draw(open_axes([x[..., 0]]))[0],),
        contraction=64,
    )


@family
@given(data)
def test_gradient_of_broadcasting(d: Draw) -> None:
    shape = [d.draw(sizes(4, 1)) for _ in range(d.draw(st.integers(0, 3)))]
    one, two = (
        [
            size if d.draw(st.booleans()) else 1
            for size in shape[d.draw(st.integers(0, len(shape))) :]
        ]
        for _ in "ab"
    )
    a, b = (d.draw(arrays("float32", s)) for s in (one, two))
    agrees(slope(lambda a, b: a * b + b - a), [a, b], d.draw(open_axes([a, b])), contraction=64)


@family
@given(data)
def test_gradient_of_slices_and_concatenation(d: Draw) -> None:
    shape = (d.draw(sizes(5, 1)), d.draw(sizes(6, 1)))
    x, y = (d.draw(arrays("float32", shape)) for _ in "xy")
    begin, step = d.draw(st.integers(-4, 4)), d.draw(st.sampled_from((1, 2, -1, -2)))
    axis = d.draw(st.integers(0, 1))

    def function(x: Any, y: Any) -> Any:
        both = tf.concat([x, 2.0 * y, x], axis)
        return both[:, begin::step] if axis else both[begin::step]

    assume(function(tf.constant(x), tf.constant(y)).shape.num_elements())
    agrees(slope(function), [x, y], d.draw(open_axes([x, y])), contraction=64)
