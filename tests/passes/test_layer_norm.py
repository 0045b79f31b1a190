import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.layer_norm import merge_layer_norm

CONSTANTS = """<int64[1] last = {-1}, int64[1] middle = {1}, int64[2] two = {2, 1},
    float[6] gamma = {1, 2, 3, 4, 5, 6}, float[1, 1, 6] beta = {1, 0, 1, 0, 1, 0},
    float eps = {0.001}, float square = {2}, float[4, 1] rows = {1, 2, 3, 4}>"""
MOMENTS = """m = ReduceMean (x, {axes})
    d = Sub (x, m)
    q = Mul (d, d)
    v = ReduceMean (q, {axes})
    e = Add (v, eps)
    s = Sqrt (e)"""


def merge(body: str, axes: str = "last") -> dict[str, int]:
    before = parse(
        f"""g (float[n, 4, 6] x) => (float[n, 4, 6] y) {CONSTANTS} {{
            {MOMENTS.replace("{axes}", axes)}
            {body}
        }}"""
    )
    return kinds(apply(before, merge_layer_norm, remove_dead_code, rtol=1e-4))


@pytest.mark.parametrize(
    "body",
    [
        "y = Div (d, s)",
        "z = Div (d, s)\n w = Mul (z, gamma)\n y = Add (beta, w)",
        "r = Reciprocal (s)\n z = Mul (r, d)\n w = Mul (gamma, z)\n y = Add (w, beta)",
        "r = Reciprocal (s)\n i = Mul (r, gamma)\n z = Mul (d, i)\n y = Add (z, beta)",
        """r = Reciprocal (s)\n i = Mul (r, gamma)\n z = Mul (x, i)\n k = Mul (m, i)
           o = Sub (beta, k)\n y = Add (z, o)""",
        """r = Reciprocal (s)\n i = Mul (r, gamma)\n z = Mul (x, i)\n g = Neg (m)
           k = Mul (g, i)\n o = Add (k, beta)\n y = Add (z, o)""",
        """r = Reciprocal (s)\n z = Mul (x, r)\n k = Mul (m, r)
           o = Sub (beta, k)\n y = Add (z, o)""",
    ],
)
def test_spellings(body: str) -> None:
    assert merge(body) == {"LayerNormalization": 1}


def test_float64_is_kept() -> None:
    """An epsilon of float32 is another one."""
    before = parse(
        f"""g (double[n, 4, 6] x) => (double[n, 4, 6] y) <int64[1] last = {{-1}},
            double eps = {{0.001}}> {{ {MOMENTS.replace("{axes}", "last")} y = Div (d, s) }}"""
    )
    assert "LayerNormalization" not in kinds(apply(before, merge_layer_norm, remove_dead_code))


def test_two_axes() -> None:
    assert merge("z = Div (d, s)\n w = Mul (z, rows)\n y = Add (w, beta)", "two") == {
        "LayerNormalization": 1
    }


def test_the_scale_of_other_axes_is_left() -> None:
    assert merge("z = Div (d, s)\n y = Mul (z, rows)") == {"LayerNormalization": 1, "Mul": 1}


@pytest.mark.parametrize(
    ("body", "axes"),
    [
        ("y = Div (d, s)", "middle"),
        ("y = Div (x, s)", "last"),
        ("y = Div (s, d)", "last"),
        ("r = Reciprocal (s)\n z = Mul (x, r)\n y = Add (z, beta)", "last"),
    ],
)
def test_something_else(body: str, axes: str) -> None:
    assert "LayerNormalization" not in merge(body, axes)
