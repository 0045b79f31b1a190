"""OptimDim against brute force: what it prints, simplifies and bounds is what evaluation gives."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yobx.errors import ArgumentError, ShapeError
from yobx.onnx_optim import OptimDim
from yobx.onnx_optim.parsing import ExpressionSyntaxError, parse

NAMES = ("a", "b", "c")
GRID = [dict(zip(NAMES, p, strict=True)) for p in itertools.product((0, 1, 2, 3, 7), repeat=3)]


def expressions() -> st.SearchStrategy[str]:
    """Random Python expressions over three symbols."""
    leaves = st.sampled_from(NAMES) | st.integers(0, 6).map(str)

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, inner)
        infix = st.tuples(pair, st.sampled_from(["+", "-", "*", "//", "%"])).map(
            lambda t: f"({t[0][0]} {t[1]} {t[0][1]})"
        )
        call = st.tuples(pair, st.sampled_from(["max", "min"])).map(
            lambda t: f"{t[1]}({t[0][0]}, {t[0][1]})"
        )
        by_number = st.tuples(inner, st.sampled_from(["//", "%"]), st.integers(1, 6)).map(
            lambda t: f"({t[0]}){t[1]}{t[2]}"
        )
        ceiling = st.tuples(inner, st.integers(1, 5)).map(lambda t: f"-(-({t[0]})//{t[1]})")
        return infix | call | by_number | ceiling | inner.map(lambda e: f"(-{e})")

    return st.recursive(leaves, grow, max_leaves=8)


def python_value(text: str, values: dict[str, int]) -> int | None:
    """Value by Python itself, ``None`` where a divisor is zero."""
    try:
        return int(eval(text, {"max": max, "min": min, "__builtins__": {}}, dict(values)))
    except ZeroDivisionError:
        return None


@settings(max_examples=400, deadline=None)
@given(expressions())
def test_means_what_python_means(text: str) -> None:
    try:
        parse(text)
    except ShapeError:  # a constant divisor is 0: the text stays one opaque symbol
        assert str(OptimDim(text)) == text
        return
    dim = OptimDim(text)
    printed = str(dim)
    assert OptimDim(printed) == dim
    assert parse(printed) == dim.terms
    low, high = dim.bounds()
    for values in GRID:
        expected = python_value(text, values)
        if expected is None:
            continue
        assert dim.evaluate(values) == expected, (printed, values)
        assert python_value(printed, values) == expected, (printed, values)
        assert low is None or low <= expected, (printed, values)
        assert high is None or expected <= high, (printed, values)


@settings(max_examples=200, deadline=None)
@given(expressions(), expressions())
def test_substitution_is_evaluation_in_two_steps(outer: str, inner: str) -> None:
    dim, replacement = OptimDim(outer), OptimDim(inner)
    if not {*dim.symbols(), *replacement.symbols()} <= set(NAMES):
        return
    for values in GRID[::3]:
        value = python_value(inner, values)
        expected = None if value is None else python_value(outer, {**values, "a": value})
        if expected is None or value is None or value < 0:  # a symbol is never negative
            continue
        assert dim.substitute({"a": replacement}).evaluate(values) == expected


@settings(max_examples=200, deadline=None)
@given(expressions(), expressions(), expressions())
def test_ring_laws(x: str, y: str, z: str) -> None:
    a, b, c = OptimDim(x), OptimDim(y), OptimDim(z)
    assert a + b == b + a
    assert a * b == b * a
    assert (a + b) + c == a + (b + c)
    assert a * (b + c) == a * b + a * c
    assert a - a == 0
    assert OptimDim.max(a, b) == OptimDim.max(b, a)
    assert hash(a + b) == hash(b + a)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max(m - 1, 0) + min(m, 1)", "m"),
        ("max(m - s, 0) + min(m, s)", "m"),
        ("max(s - m, 0) + min(m, s)", "s"),
        ("2*max(m - s, 0) + 2*min(m, s) + k", "k + 2*m"),
        ("max(n - (-2%max(n, 1)), 0) + min(n, -2%max(n, 1))", "n"),
        ("max(m - 1, 0) + 2*min(m, 1)", "max(m - 1, 0) + 2*min(m, 1)"),
        ("max(m - 2, 0) + min(m, 1)", "max(m - 2, 0) + min(m, 1)"),
        ("max(m - 1, 1) + min(m, 1)", "max(m - 1, 1) + 1*min(m, 1)"),
        ("7", "7"),
    ],
)
def test_what_was_cut_is_rejoined(text: str, expected: str) -> None:
    found = OptimDim(text).rejoined()
    assert found == OptimDim(expected)
    for values in itertools.product(range(5), repeat=4):
        sizes = dict(zip("mskn", values, strict=True))
        assert found.evaluate(sizes) == OptimDim(text).evaluate(sizes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2*(h//2)", "2*(h//2)"),
        ("(2*h)//2", "h"),
        ("x//2*2", "2*(x//2)"),
        ("3*(a//2)*2", "6*(a//2)"),
        ("a*(b//c)*c", "a*c*(b//c)"),
        ("-(-a//b)", "-(-a//b)"),
        ("-(-a//2)", "(a + 1)//2"),
        ("(3*n + 1)//3", "n"),
        ("(a*k + r)//k", "a + r//k"),
        ("2*b//b", "2*b//b"),
        ("max(a, a + 1)", "a + 1"),
        ("min(n, m)*max(n, m)", "max(m, n)*min(m, n)"),
        ("max(t, min(t, 50))", "t"),
        ("min(t, max(t + k, m - 3))", "t"),
        ("max(t, min(t, 50))*min(t, 1)", "t"),
        ("max(t, min(t - k, 50))", "t"),
        ("max(t, min(t + 1, 50))", "max(t, min(t + 1, 50))"),
        ("((h + 1)//2)*min(h, 1)", "(h + 1)//2"),
        ("((h + 2)//2)*min(h, 1)", "h//2 + min(h, 1)"),
        ("(7//h)*min(h, 1)", "(7//h)*min(h, 1)"),
        ("((h + 1)//2)*min(h*w, 1)", "((h + 1)//2)*min(h*w, 1)"),
        ("a*b*min(b, 1)", "a*b"),
        ("b*min(a*b, 1)", "b*min(a*b, 1)"),
        ("min(a, 1)*min(a, 1)", "min(a, 1)"),
        ("a*min(-a, 1)", "-a*a"),
        ("min(a - 5, 1)*min(a - 5, 1)", "min(a - 5, 1)*min(a - 5, 1)"),
        ("min(6*a*b, 1)", "min(a*b, 1)"),
        ("min(2*min(a, 5), 1)", "min(a, 1)"),
        ("(n//2)//3", "n//6"),
        ("(max(n - 1, 0) + 1)//2", "n//2"),
        ("-(-max(n - 2, 0)//3)", "n//3"),
        ("min(3, n + 2)//4", "0"),
        ("max(n - 3, 0)//2", "max(n - 3, 0)//2"),
        ("(2*a)%4", "2*(a%2)"),
        ("7", "7"),
        ("b + a", "a + b"),
        ("floor(N/2)", "N//2"),
        ("ceil(N/2)", "(N + 1)//2"),
        ("floor(2.0*H)", "2*H"),
        ("CeilToInt(n, b)", "-(-n//b)"),
        ("Max(n, 1)", "max(n, 1)"),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    assert str(OptimDim(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["batch size", "2x", "?", "", "unk__3", "a/b/c:0", "1//0", "((", "n +", "名", "f(x)", "it's"],
)
def test_any_text_is_a_symbol_printed_as_it_came(text: str) -> None:
    dim = OptimDim(text)
    assert str(dim) == text
    assert dim.symbols() == {text}
    assert OptimDim(str(dim + 1)) == dim + 1
    assert (2 * dim).evaluate({text: 4}) == 8


def test_broadcast_is_right_for_zero_and_one() -> None:
    dim = OptimDim.broadcast("n", "m")
    assert str(dim) == "max(m, n)*min(m, n, 1)"
    for n, m, expected in [(1, 4, 4), (4, 1, 4), (4, 4, 4), (0, 1, 0), (1, 0, 0), (0, 0, 0)]:
        assert dim.evaluate({"n": n, "m": m}) == expected
    assert OptimDim.broadcast("n", 1) == "n"
    assert OptimDim.broadcast(5, 5) == 5


def test_kinds_and_errors() -> None:
    assert OptimDim(3).is_int()
    assert OptimDim("n").is_expr()
    assert OptimDim("n - n").is_int()
    assert repr(OptimDim("N")) == "OptimDim('N')"
    assert repr(OptimDim(3)) == "OptimDim(3)"
    assert OptimDim("N").value == "N"
    assert {OptimDim(3): 1, OptimDim("N"): 2}[OptimDim("3")] == 1
    with pytest.raises(ShapeError, match="known integer"):
        OptimDim("n").as_int()
    with pytest.raises(ShapeError, match="symbolic"):
        OptimDim(1).as_expr()
    with pytest.raises(ShapeError, match="'n' has none"):
        OptimDim("n + 1").evaluate({})
    with pytest.raises(ShapeError, match="zero"):
        OptimDim("1//n").evaluate({"n": 0})
    with pytest.raises(ArgumentError, match="float"):
        OptimDim(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["1 +", "a b", "(a", "a)", "max()", "floor(a, b)", "a//0", "a,b", "/a", "a/2", "1.5*a"]
)
def test_syntax_errors_say_where(text: str) -> None:
    with pytest.raises(ExpressionSyntaxError):
        parse(text)


@pytest.mark.parametrize("text", ["(" * 5000 + "a" + ")" * 5000, "-" * 3000 + "a", "a+" * 9000])
def test_no_expression_exhausts_the_stack(text: str) -> None:
    assert OptimDim(text).symbols() == {text}


def _nest(dim: OptimDim, times: int) -> OptimDim:
    for i in range(times):
        dim = OptimDim.max(dim // 2 + f"s{i}", f"t{i}")
    return dim


def _multiply(dim: OptimDim, times: int) -> OptimDim:
    for i in range(times):
        dim = dim * OptimDim(f"a{i} + 1")
    return dim


def test_growth_is_refused_not_endless() -> None:
    with pytest.raises(ShapeError, match="may nest"):
        _nest(OptimDim("a"), 1000)
    with pytest.raises(ShapeError, match="terms"):
        _multiply(OptimDim(1), 40)


def test_exact_division() -> None:
    assert OptimDim("4*n*m").exact_div("n") == "4*m"
    assert OptimDim("n*n + n").exact_div("n") == "n + 1"
    assert OptimDim("6*n").exact_div("2*m") == "3*n//m"
    assert OptimDim("n").ceil_div(4) == "(n + 3)//4"


def test_survives_pickling() -> None:
    dim = OptimDim("max(n, m) + 'odd name'//3")
    assert pickle.loads(pickle.dumps(dim)) == dim
