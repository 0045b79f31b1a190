"""Localisation in JAX: the operation, its name stack, the user's line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from yobx.jax import to_onnx
from yobx.verification import run_check
from yobx.verification.jax_values import jax_values

HERE = Path(__file__)
X = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)


@jax.jit
def gate(x: Any) -> Any:
    return jnp.tanh(x) * 2.0  # the gate


@jax.custom_jvp
def wave(x: Any) -> Any:
    return jnp.sin(x)


wave.defjvp(lambda x, dx: (wave(*x), dx[0]))


def model(x: Any) -> Any:
    with jax.named_scope("encoder"):
        h = jnp.exp(x)
        h = gate(h) + x
    h = jax.vmap(lambda row: jnp.cos(row) - 1.0)(wave(h))
    return jax.lax.fori_loop(0, 3, lambda i, c: c * 0.5 + x, h)


def wrong(op_type: str) -> Any:
    def convert(g: Any, op: Any) -> Any:
        made = getattr(op.emit, op_type)(*op.compacts())
        return op.elementwise(op.emit.Mul(made, np.float32(1.01)))

    return convert


def line(text: str) -> str:
    lines = HERE.read_text(encoding="utf-8").splitlines()
    (number,) = (
        n for n, found in enumerate(lines, 1) if text in found and "stablehlo" not in found
    )
    return f"{HERE.name}:{number}"


@pytest.mark.parametrize(
    ("converter", "op_type", "stack", "text"),
    [
        ("stablehlo.tanh", "Tanh", "/encoder/jit(gate)/tanh", "# the gate"),
        ("stablehlo.exponential", "Exp", "/encoder/exp", "jnp.exp(x)"),
        ("stablehlo.sine", "Sin", "/sin", "return jnp.sin(x)"),
        ("stablehlo.cosine", "Cos", "/vmap()/cos", "jnp.cos(row)"),
    ],
)
def test_the_first_wrong_equation_is_named(
    converter: str, op_type: str, stack: str, text: str
) -> None:
    extra = {converter: wrong(op_type)}
    result = run_check(model, (X,), extra_converters=extra, bindings="primes")
    assert result.report.failed_phase == "values"
    found = result.report.localization
    assert found is not None
    assert found.source_op == converter
    assert found.layer.endswith(stack)
    assert found.user_line.endswith(line(text))
    assert found.verdict == "converter"
    assert 0 < found.reduced_nodes <= 2
    assert f"jax op {converter}" in result.report.text()


def test_values_are_those_of_jax() -> None:
    found = jax_values(model, [jnp.asarray(X)], to_onnx(model, (X,)))
    by_stack = {value.stack: value.array for value in found.values()}
    h = np.exp(X)
    np.testing.assert_allclose(by_stack["encoder/exp"], h, rtol=1e-6)
    np.testing.assert_allclose(by_stack["encoder/jit(gate)/tanh"], np.tanh(h), rtol=1e-5)
    np.testing.assert_allclose(by_stack["encoder/add"], np.tanh(h) * 2 + X, rtol=1e-5)


def test_a_stack_that_stands_for_several_values_says_nothing() -> None:
    def chain(x: Any) -> Any:
        return jax.nn.gelu(x)  # one ONNX operator for many equations

    assert jax_values(chain, [jnp.asarray(X)], to_onnx(chain, (X,))) == {}
