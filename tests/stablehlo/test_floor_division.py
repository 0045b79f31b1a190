from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
from jax import export

from yobx.jax import to_onnx

VALUES = np.array([-7, -3, -1, 0, 1, 3, 7], np.int32)


def floor_divide(a: Any, b: Any) -> Any:
    """Like that of JAX by name and shape, and another function."""
    quotient = jax.lax.div(a, b)
    signs = jax.lax.ne(jax.lax.sign(a), jax.lax.sign(b))
    rest = jax.lax.eq(jax.lax.rem(a, b), jnp.int32(0))
    return jnp.where(signs & rest, quotient - 1, quotient)


@pytest.mark.parametrize(
    "function",
    [jnp.floor_divide, jnp.remainder, jax.jit(floor_divide)],
    ids=["floor", "remainder", "namesake"],
)
def test_integers_of_any_sign(function: Callable[..., Any]) -> None:
    scalar = jax.ShapeDtypeStruct((), jnp.int32)
    model = to_onnx(lambda a, b: function(a, b), (scalar, scalar))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [i.name for i in model.graph.input]
    for a in VALUES:
        for b in VALUES:
            feeds = dict(zip(names, (np.array(a), np.array(b)), strict=True))
            got = session.run(None, feeds)[0]
            assert got == function(a, b), (a, b)


@pytest.mark.parametrize(
    ("function", "operator", "size"),
    [(lambda m: m // 3, "Div", "m//3"), (lambda m: m % 3, "Mod", "m%3")],
    ids=["floor", "remainder"],
)
def test_sizes_are_divided_at_once(
    function: Callable[[Any], Any], operator: str, size: str
) -> None:
    spec = jax.ShapeDtypeStruct(export.symbolic_shape("m"), jnp.float32)
    model = to_onnx(lambda x: jnp.zeros(function(x.shape[0])), (spec,))
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count(operator) == 1
    assert not {"Sign", "Where", "Equal"} & set(kinds)
    assert model.graph.output[0].type.tensor_type.shape.dim[0].dim_param == size
