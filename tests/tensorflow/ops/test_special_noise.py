"""Special functions that are exact here, and some units off in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion
from yobx.verification.dtypes import ulp_distance
from yobx.verification.runner import Session

#: Function of TensorFlow, the same in float64, units that TensorFlow is off at least.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float]] = {
    "digamma": (tf.math.digamma, special.digamma, 8.0),
    "i0e": (tf.math.bessel_i0e, special.i0e, 4.0),
    "i1e": (tf.math.bessel_i1e, special.i1e, 4.0),
}


def _traced(name: str) -> Any:
    function = FUNCTIONS[name][0]
    return tf.function(lambda v: function(v), autograph=False)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_tensorflow_that_is_off(name: str) -> None:
    x = np.random.default_rng(0).uniform(0.01, 0.99, 20_000).astype(np.float32)
    model = to_onnx(_traced(name), (x,))
    (got,) = Session(model).run({model.graph.input[0].name: x}).values.values()
    truth = FUNCTIONS[name][1](x.astype(np.float64)).astype(np.float32)
    assert ulp_distance(got, truth).max() <= 1.0
    assert ulp_distance(_traced(name)(x).numpy(), truth).max() >= FUNCTIONS[name][2]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_fault_a_few_times_as_large_is_told(name: str) -> None:
    x = np.random.default_rng(0).uniform(1.5, 5.0, (40, 50)).astype(np.float32)
    right = _traced(name)
    report = check_conversion(right, (x,), dynamic_shapes={}, localize=False)
    assert report.passed, report.text()
    model = to_onnx(right, (x,), dynamic_shapes={})
    off = check_conversion(
        model,
        (x,),
        reference=lambda v: right(v).numpy() * np.float32(1.00001),
        localize=False,
    )
    assert off.failed_phase == "values"
