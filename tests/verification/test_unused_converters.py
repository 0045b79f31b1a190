from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import tensorflow as tf

from yobx.verification import check_conversion
from yobx.verification.findings import Outcome

X = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)


def tanh(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
    return g.op.Tanh(op.inputs[0].name, outputs=outputs)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Tan", "; did you mean 'Tanh'?"), ("Zeta", ""), ("Relu", "")],
)
def test_a_converter_that_nothing_calls_is_a_warning(name: str, hint: str) -> None:
    function = tf.function(lambda x: tf.tanh(x) + 1.0)
    extra = {"Tanh": tanh, name: tanh}
    report = check_conversion(function, (X,), extra_converters=extra, bindings="primes")
    assert report.passed, report.text()
    assert report.phase("convert").outcome is Outcome.WARNING
    words = f"extra_converters has {name!r}, which was never called: no such operation{hint}"
    assert report.phase("convert").messages == [words]
    assert f"warning    convert: {words}" in report.text()


def test_those_that_are_called_are_none() -> None:
    def verbose(g: Any, sts: Any, outputs: Any, op: Any, verbose: int = 0) -> Any:
        assert verbose == 1  # the signature decides how a converter is called
        return tanh(g, sts, outputs, op)

    def body(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.tanh(x), lambda: x)

    report = check_conversion(
        tf.function(body), (X,), extra_converters={"Tanh": verbose}, verbose=1, bindings="primes"
    )
    assert report.passed, report.text()
    assert report.phase("convert").outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("name", "hint"), [("Tahn", "; did you mean 'Tanh'?"), ("Rlu", "; did you mean 'Relu'?")]
)
def test_one_for_an_operation_that_does_not_exist_is_refused(name: str, hint: str) -> None:
    function = tf.function(lambda x: tf.tanh(x) + 1.0)
    report = check_conversion(function, (X,), extra_converters={name: tanh}, bindings="primes")
    assert report.failed_phase == "convert"
    assert report.phase("convert").messages == [
        f"extra_converters names operations that exist. Received: {name!r}, which is no operation "
        f"of TensorFlow and not in this model{hint}"
    ]


def convert_tanh(g: Any, op: Any) -> Any:
    return g.op.Tanh(op.x(0))


@pytest.mark.parametrize("name", ["stablehlo.exponential", "rng", "custom_call.my_target"])
def test_of_jax_one_for_another_program_is_a_warning(name: str) -> None:
    extra = {name: convert_tanh}
    report = check_conversion(jax.numpy.tanh, (X,), extra_converters=extra, bindings="primes")
    assert report.passed, report.text()
    assert f"{name!r}, which was never called" in report.phase("convert").messages[0]


@pytest.mark.parametrize(
    ("name", "near"),
    [("stablehlo.tahn", "stablehlo.tanh"), ("maximun", "stablehlo.maximum"), ("chlo.erff", "")],
)
def test_of_jax_one_that_does_not_exist_is_refused(name: str, near: str) -> None:
    def function(x: Any) -> Any:
        return jax.numpy.maximum(jax.numpy.tanh(x), 0)

    extra = {name: convert_tanh}
    report = check_conversion(function, (X,), extra_converters=extra, bindings="primes")
    assert report.failed_phase == "convert"
    told = report.phase("convert").messages[0]
    assert f"Received: {name!r}, which is no operation of StableHLO and not in this program" in told
    assert near in told
