from __future__ import annotations

import pytest

from yobx.verification.sizes import size_of, solve, solved, symbols_of


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
