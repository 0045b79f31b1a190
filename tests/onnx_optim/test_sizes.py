from __future__ import annotations

import pytest

from yobx.onnx_optim import OptimDim
from yobx.onnx_optim.sizes import (
    contradicted,
    named_size,
    size_of,
    solve,
    solved,
    symbols_of,
)


def test_symbols_and_values():
    assert symbols_of("2*n + max(a, b)") == ["a", "b", "n"]
    assert symbols_of("input[0]") == ["input[0]"]
    assert size_of("2*n + max(a, b)", {"n": 2, "a": 3, "b": 5}) == 9
    assert size_of("2*n", {}) is None
    assert size_of("n//m", {"n": 4, "m": 0}) is None


@pytest.mark.parametrize(
    ("dim", "actual", "size"),
    [
        ("n", 4, 4),
        ("3*n", 12, 4),
        ("3*n", 13, None),
        ("n - 10", 5, 15),
        ("n*n", 49, 7),
        ("n + min(n, 1)", 5, 4),
        ("n//2", 3, None),
        ("n % 7", 3, None),
        ("n % 1000", 3, None),
        ("min(n, 5)", 3, None),
        ("10 - n", 3, None),
    ],
)
def test_only_what_has_one_solution_is_solved(dim, actual, size):
    assert solved(dim, actual, {}) == (None if size is None else ("n", size))


def test_an_expression_waits_for_its_other_symbols():
    assert solved("n + m", 7, {}) is None
    assert solved("n + m", 7, {"m": 3}) == ("n", 4)
    assert solve([("n + m", 7), ("2*m", 6)]) == {"m": 3, "n": 4}
    assert solve([("2*n", 6), ("n", 5)]) == {"n": 5}, "a name by itself counts first"
    assert solve([("n + m", 7)]) == {}


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("h", "h"),
        ("h*2", "2*h"),
        ("n//2 + max(a, b)", "n//2 + max(a, b)"),
        ("3", None),
        ("2 h", None),
        ("'a b'", None),
        ("a.b", None),
        ("", None),
        (None, None),
        (4, None),
    ],
)
def test_names_of_sizes(given, size):
    found = named_size(given)
    assert found is None if size is None else OptimDim(found) == OptimDim(size)


@pytest.mark.parametrize(
    ("pairs", "wrong"),
    [
        ([("2*h", 8), ("h", 4)], None),
        ([("2*h", 8), ("h", 3)], ("2*h", 8)),
        ([("2*h", 9)], ("2*h", 9)),
        ([("h + m", 9)], None),
        ([("h//2", 3)], None),
        ([("h//5", 3)], None),
        ([("(h + 1)//64", 7)], None),
        ([("10 - h", 3)], None),
        ([("10 - h", 12)], ("10 - h", 12)),
        ([("h - 7", 12)], None),
        ([("h % 3", 4)], ("h % 3", 4)),
        ([("h + m", 9), ("m", 10)], ("h + m", 9)),
    ],
)
def test_sizes_that_cannot_be_what_they_are(pairs, wrong):
    assert contradicted(pairs) == wrong
