"""Bounds of data-dependent sizes, carried through arithmetic."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.onnx_optim.running import check_model, dims, floats, infer, parse
from yobx.onnx_optim import OptimDim
from yobx.onnx_optim.upper_bounds import range_of

COUNTED = """
    g (float[n, m] x) => (z, y) {
      places = NonZero (x)  sizes = Shape (places)  one = Constant <value_ints = [1]> ()
      count = Gather (sizes, one)  three = Constant <value_ints = [3]> ()
      half = Div (count, three)  z = ConstantOfShape (half)
      pair = Concat <axis = 0> (count, count)  y = ConstantOfShape (pair)
    }"""


def test_a_bound_goes_through_arithmetic() -> None:
    context = check_model(parse(COUNTED), [{"x": floats(4, 5)}, {"x": floats(0, 3)}])
    (size,) = context.get("z").shape
    assert context.upper_bound(size) == "n*m//3"
    assert context.upper_bound(size, {"n": 4, "m": 5}) == 6
    assert context.upper_bound(context.get("y").shape[0] * 2 + 1) == "2*n*m + 1"
    assert context.upper_bound("n + 1") == "n + 1"


def test_a_bound_of_a_bound_is_followed() -> None:
    context = infer(
        parse("""
        g (float[n] x, bool[n] keep, bool[k] again) => (z) {
          y = Compress <axis = 0> (x, keep)  z = Compress <axis = 0> (y, again)
        }""")
    )
    assert context.upper_bound(context.get("z").shape[0]) in ("n", "min(n, k)", "k")


def test_without_a_bound_there_is_none() -> None:
    context = infer(parse("g (int64[2] s) => (y) { y = ConstantOfShape (s) }"))
    (first, _) = context.get("y").shape
    assert context.upper_bound(first) is None
    assert context.upper_bound(OptimDim.min(first, 7)) == 7
    assert context.upper_bound(first - first) == 0


def test_explain_shows_bounds() -> None:
    context = infer(parse(COUNTED))
    assert dims(context, "z") != ["n*m//3"]
    assert "at most [m*n//3]" in str(context.explain("z"))


EXPRESSIONS = [
    *("a + b", "a*b", "2*a - b", "a - b + n", "(a + 3)//2", "a//(b + 1)", "a % 3", "a % (b + 2)"),
    *("max(a, n)", "min(a, b)", "max(a - b, 0)*n", "-(-a//4)", "n*(a//2) + b", "min(a, n)*b"),
    *("(a - n)//2", "a*(n - b)", "n % (a + 1)", "max(a - n, 0) % (b + 3)", "n//(a + 1)"),
]
small = st.integers(0, 6)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(EXPRESSIONS), small, small, small, small)
def test_no_value_is_outside_its_range(text: str, n: int, m: int, a: int, b: int) -> None:
    """With ``a <= n*m`` and ``b <= m + 1``, for all values that satisfy these."""
    bounds = {"a": OptimDim("n*m"), "b": OptimDim("m + 1")}
    values = {"n": n, "m": m, "a": min(a, n * m), "b": min(b, m + 1)}
    found = range_of(OptimDim(text), lambda symbol: bounds.get(symbol, OptimDim(symbol)))
    value = OptimDim(text).evaluate(values)
    if found.low is not None:
        assert found.low.symbols() <= {"n", "m"}
        assert found.low.evaluate(values) <= value, found
    if found.high is not None:
        assert found.high.symbols() <= {"n", "m"}
        assert value <= found.high.evaluate(values), found
