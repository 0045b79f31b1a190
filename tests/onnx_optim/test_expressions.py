"""Functions on expression texts."""

from __future__ import annotations

import math

import pytest

from yobx.errors import ShapeContradictionError, ShapeError
from yobx.onnx_optim.expressions import (
    CompareResult,
    DimRange,
    compare_expressions,
    dim_ranges_from_expressions,
    evaluate_expression,
    parse_expression,
    rename_dynamic_dimensions,
    rename_expression,
    simplify_expression,
    simplify_two_expressions,
)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("n + m", "m + n", CompareResult.EQUAL),
        ("n", "n + 1", CompareResult.SMALLER),
        ("2*n + 3", "n + 2", CompareResult.GREATER),
        ("n - 2*(n//2)", 2, CompareResult.SMALLER),
        ("max(n, m) + 1", "n", CompareResult.GREATER),
        ("min(n, m)", "n + 1", CompareResult.SMALLER),
        ("n", "m", CompareResult.UNKNOWN),
        ("2*n", "n", CompareResult.UNKNOWN),
    ],
)
def test_comparison(a: str, b: str | int, expected: CompareResult) -> None:
    assert compare_expressions(a, b).result is expected


def test_an_undecided_comparison_shows_both_orders() -> None:
    found = compare_expressions("n", "2*m")
    assert found.smaller_at is not None
    assert found.greater_at is not None
    assert found.smaller_at["n"] < 2 * found.smaller_at["m"]
    assert found.greater_at["n"] > 2 * found.greater_at["m"]
    at_zero = compare_expressions("2*n", "n")
    assert at_zero.smaller_at is None
    assert at_zero.greater_at == {"n": 1}
    assert str(at_zero.difference) == "n"


def test_texts() -> None:
    assert simplify_expression("b + a - b") == "a"
    assert simplify_two_expressions("2*a + b", "b + 3") == {"a": 2, "1": -3}
    assert simplify_two_expressions("a", "a") == {}
    assert evaluate_expression("max(a, 3)//2", {"a": 9}) == 4
    assert rename_expression("a + b", {"a": "batch"}) == "b + batch"
    assert str(parse_expression("a*2")) == "2*a"
    with pytest.raises(ShapeError, match="where an operand is missing"):
        parse_expression("a +")


def test_ranges() -> None:
    found = dim_ranges_from_expressions([("v//4", 3), ("w", 5), ("u + 1", "t")])
    assert found["v"] == DimRange(12, 15)
    assert found["w"] == DimRange(5, 5)
    assert found["u"] == DimRange(0, math.inf)
    with pytest.raises(ShapeContradictionError, match=r"v in 12\.\.15"):
        dim_ranges_from_expressions([("v//4", 3), ("v", 2)])


def test_renaming_prefers_the_given_names() -> None:
    names = rename_dynamic_dimensions([("DYN0", "batch"), ("DYN1", "DYN0")], ["batch"])
    assert names == {"DYN0": "batch", "DYN1": "batch"}
    assert rename_dynamic_dimensions([("DYN0", "past + seq")], ["past", "seq"]) == {
        "DYN0": "past + seq"
    }
