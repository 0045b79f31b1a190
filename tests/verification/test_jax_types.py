"""A 16-bit result is one of the source only where the program makes it in that type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from jax import export

from yobx.jax import to_onnx
from yobx.jax.program import read_exported
from yobx.verification.jax_types import narrow_results

X = np.linspace(-1, 1, 6, dtype=np.float32)


def found(function: Callable[..., Any], kind: str, x: Any = X) -> tuple[set[str], set[str]]:
    """Op types whose results are taken for 16-bit ones if all are asked for; all op types."""
    model = to_onnx(function, (x,))
    return narrow(model, function, kind, x), {node.op_type for node in model.graph.node}


def narrow(model: onnx.ModelProto, function: Callable[..., Any], kind: str, x: Any) -> set[str]:
    makers = {name: node.op_type for node in model.graph.node for name in node.output}
    module = read_exported(export.export(jax.jit(function))(x)).module
    return {makers[name] for name in narrow_results(model, module, dict.fromkeys(makers, kind))}


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_results_of_the_program_in_16_bits(kind: str) -> None:
    values, _ = found(lambda x: jnp.sin(x.astype(kind)).astype(jnp.float32), kind)
    assert "Cast" in values


def test_nothing_of_a_float32_program() -> None:
    values, all_of_them = found(lambda x: jnp.tanh(x) * 2 + x, "float16")
    assert all_of_them == {"Tanh", "Mul", "Add"}
    assert values == set()


def test_the_other_16_bit_type_is_another_one() -> None:
    values, _ = found(lambda x: jnp.sin(x.astype(jnp.float16)).astype(jnp.float32), "bfloat16")
    assert values == set()


def test_a_hidden_cast_is_no_result_of_the_program() -> None:
    def function(x: Any) -> Any:
        return jnp.tanh(x) + x

    model = to_onnx(function, (X,))
    tanh = next(node for node in model.graph.node if node.op_type == "Tanh")
    name = tanh.output[0]
    tanh.output[0] = "wide"
    places = list(model.graph.node)
    hidden = [
        onnx.helper.make_node("Cast", ["wide"], ["low"], to=onnx.TensorProto.FLOAT16),
        onnx.helper.make_node("Cast", ["low"], [name], to=onnx.TensorProto.FLOAT),
    ]
    for node in hidden:
        node.metadata_props.extend(tanh.metadata_props)
    index = places.index(tanh) + 1
    del model.graph.node[:]
    model.graph.node.extend([*places[:index], *hidden, *places[index:]])
    assert narrow(model, function, "float16", X) == set()
