from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from yobx.verification.declared_shapes import symbolic, unfit

MODEL = onnx.parser.parse_model(
    """<ir_version: 10, opset_import: ["": 21]>
    g (float[n, 3] x) => (float[n, 3] y, float[m] z) { y = Neg (x) z = Identity (x) }"""
)


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.zeros((5, 3), np.float32), ""),
        (np.zeros((0, 3), np.float32), ""),
        (np.zeros((5, 4), np.float32), "is float32 [n, 3], and was given float32 [5, 4]"),
        (np.zeros(3, np.float32), "is float32 [n, 3], and was given float32 [3]"),
        (np.zeros((5, 3)), "is float32 [n, 3], and was given float64 [5, 3]"),
    ],
)
def test_what_does_not_fit_is_told(array: Any, told: str) -> None:
    found = unfit(MODEL, [array])
    assert found.endswith(told)
    assert bool(found) == bool(told)


@pytest.mark.parametrize(
    ("name", "shape", "text"),
    [("y", (5, 3), "[n=5, 3]"), ("z", (7,), "[m=7]"), ("z", (7, 2), "[7, 2]"), ("?", (1,), "[1]")],
)
def test_symbols_are_shown_with_their_values(name: str, shape: tuple[int, ...], text: str) -> None:
    assert symbolic(MODEL, name, np.zeros(shape)) == text
