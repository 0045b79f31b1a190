"""Sums of integers wrap around and keep every unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lowering.running import run
from yobx.lowering.reduce import reduce
from yobx.xbuilder import GraphBuilder

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("axes", [(1,), (0, 1), ()])
@pytest.mark.parametrize("keepdims", [True, False])
def test_sum_of_integers(dtype: str, axes: tuple[int, ...], *, keepdims: bool) -> None:
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(5)
    x = rng.integers(limits.min, limits.max, (3, 40), dtype=dtype, endpoint=True)
    x[0] = limits.max
    x[1, :2] = [limits.max // 2 + 1, 1]

    def build(g: GraphBuilder, name: str) -> Any:
        return reduce(g, "Sum", name, np.array(axes, np.int64), keepdims=keepdims)

    want = x.sum(axis=axes, dtype=dtype, keepdims=keepdims) if axes else x
    (got,) = run(build, x)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == np.dtype(dtype)
