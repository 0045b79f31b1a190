import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.gemm import matmul_add_to_gemm

CONSTANTS = """<float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}, float[1, 2] row = {1, 2},
    float[2, 2] square = {1, 2, 3, 4}>"""


@pytest.mark.parametrize("add", ["Add (a, b)", "Add (row, a)"])
def test_merged(add: str) -> None:
    before = parse(
        f"g (float[n, 3] x) => (float[n, 2] y) {CONSTANTS} {{ a = MatMul (x, w)\n y = {add} }}"
    )
    assert kinds(apply(before, matmul_add_to_gemm)) == {"Gemm": 1}


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("n, 4, 3", "a = MatMul (x, w)\n y = Add (a, b)"),
        ("2, 3", "a = MatMul (x, w)\n y = Add (a, square)"),
        ("n, 3", "a = MatMul (x, w)\n c = Add (a, b)\n y = Mul (a, c)"),
    ],
)
def test_kept(shape: str, body: str) -> None:
    output = "n, 4, 2" if "4" in shape else "n, 2"
    before = parse(f"g (float[{shape}] x) => (float[{output}] y) {CONSTANTS} {{ {body} }}")
    assert "Gemm" not in kinds(apply(before, matmul_add_to_gemm))
