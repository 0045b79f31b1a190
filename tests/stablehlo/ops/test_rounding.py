"""Sums and products in half precision are rounded after every element, as XLA rounds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import normal, run
from yobx.jax import to_onnx

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "cumsum": lambda x: lax.cumsum(x, 0),
    "cumprod": lambda x: lax.cumprod(x, 1),
    "sum": lambda x: lax.reduce(x, x.dtype.type(3), lax.add, (0,)),
    "sum of all": lambda x: lax.reduce(x, x.dtype.type(0), lax.add, (0, 1)),
    "windows": lambda x: lax.reduce_window(x, x.dtype.type(2), lax.add, (3, 2), (2, 1), "VALID"),
    "products of windows": lambda x: lax.reduce_window(
        x, x.dtype.type(1), lax.mul, (3, 3), (1, 1), "VALID"
    ),
    "product": lambda x: lax.reduce(x, x.dtype.type(1), lax.mul, (1,)),
}


#: A sum over a symbolic size is one operator: its second axis is the symbolic one, or none is.
SYMBOLIC = {"cumsum": 0, "cumprod": 0, "sum": 1, "product": 0, "windows": 0}
CASES = [(name, {}) for name in FUNCTIONS]
CASES += [(name, ({axis: "n"},)) for name, axis in SYMBOLIC.items()]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize(("name", "shapes"), CASES, ids=str)
def test_every_partial_result_is_rounded(name: str, dtype: Any, shapes: Any) -> None:
    x = normal(12, 9).astype(dtype).astype(np.float32)

    def function(v: Any) -> Any:
        return FUNCTIONS[name](v.astype(dtype)).astype(np.float32)

    (got,) = run(to_onnx(function, (x,), dynamic_shapes=shapes), (x,))
    np.testing.assert_array_equal(got, np.asarray(function(jnp.asarray(x))))


def test_long_sums_are_one_operator() -> None:
    x = normal(4000).astype(np.float16)
    model = to_onnx(lambda v: lax.reduce(v, np.float16(0), lax.add, (0,)), (x,), dynamic_shapes={})
    assert "Scan" not in {node.op_type for node in model.graph.node}
