"""Conversions of values that do not fit have one result."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lowering.running import run
from yobx.lowering.casts import cast, convert
from yobx.xbuilder import GraphBuilder

ODD = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, -3e9, 3e9, 2.7, -2.7, 255.5, 0])


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_to_uint32(source: str) -> None:
    want = [0, 0, 0, 0, 0, -3 * 10**9 % 2**32, 3 * 10**9, 2, 2**32 - 2, 255, 0]
    for length in (len(ODD), 3):  # Vectorised and plain code must agree.
        (got,) = run(lambda g, x: convert(g, x, np.uint32), ODD.astype(source)[:length])
        assert got.tolist() == want[:length]


def test_to_uint64() -> None:
    x = np.array([1.5, 2.0**63, 2.0**63 + 2.0**40, 1.8e19, -1.0, np.nan], np.float64)
    (got,) = run(lambda g, x: convert(g, x, np.uint64), x)
    want = [1, 2**63, 2**63 + 2**40, 18 * 10**18, 2**64 - 1, 2**63]
    assert got.tolist() == want


def test_no_cast_to_the_same_dtype() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("x", np.float32, [3])
    assert cast(g, "x", np.float32) == "x"
