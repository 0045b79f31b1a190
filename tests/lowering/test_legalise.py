"""Casts around operators keep the values, whatever the dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lowering.running import run
from yobx.errors import UnsupportedDtypeError
from yobx.lowering.legalise import legal, widened
from yobx.xbuilder import GraphBuilder

BIG = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("op_type", ["Max", "Min", "Add", "Mul", "Sub"])
def test_integers_of_every_width(op_type: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, 3, 7, limits.max // 2], dtype)
    functions = {"Max": np.maximum, "Min": np.minimum, "Add": np.add, "Mul": np.multiply}
    with np.errstate(over="ignore"):
        want = functions.get(op_type, np.subtract)(x, x[::-1])

    def build(g: GraphBuilder, a: str, b: str) -> Any:
        return getattr(legal(g), op_type)(a, b)

    (got,) = run(build, x, np.ascontiguousarray(x[::-1]))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_large_unsigned_numbers_keep_their_order() -> None:
    def build(g: GraphBuilder, x: str) -> Any:
        values, _ = legal(g).TopK(x, np.array([5], np.int64), outputs=2)
        return values, legal(g).ReduceMax(x, keepdims=0), legal(g).Less(x, x)

    values, largest, less = run(build, BIG)
    np.testing.assert_array_equal(values, BIG[::-1])
    assert largest == BIG.max()
    assert not less.any()


def test_outputs_get_their_names() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("x", np.int16, [3])
    made = legal(g).TopK("x", np.array([2], np.int64), outputs=["values", "places"])
    assert tuple(made) == ("values", "places")
    assert g.get_type("values") == g.get_type("x")


def test_a_dtype_without_a_wider_one_is_refused() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("x", np.float64, [3])
    with pytest.raises(UnsupportedDtypeError, match="no Erf for float64 at opset 21") as caught:
        legal(g).Erf("x")
    assert "float32" in caught.value.supported


def test_a_dtype_of_a_newer_opset_is_refused_with_that_opset() -> None:
    g = GraphBuilder(18)
    g.make_tensor_input("x", np.dtype(object), [3])
    with pytest.raises(UnsupportedDtypeError, match="Try target_opset=19 or newer"):
        legal(g).Equal("x", "x")


def test_a_kernel_that_exists_gets_no_cast() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("x", np.float32, [3])
    legal(g).Erf("x", outputs=["y"])
    g.make_tensor_output("y")
    assert [n.op_type for n in g.to_onnx().graph.node] == ["Erf"]


def test_widened() -> None:
    assert widened("Max", 21, "T", "int16") == "int32"
    assert widened("Max", 21, "T", "float32") == "float32"
    assert widened("Conv", 21, "T", "float64") is None
