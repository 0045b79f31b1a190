import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.tensordot import unflatten_matmul

CONSTANTS = """<int64[2] flat = {-1, 6}, int64[4] back = {-1, 4, 5, 2}, int64[2] other = {-1, 4},
    int64[3] pairs = {-1, 2, 2}, float[6, 2] w = {1,2,3,4,5,6,7,8,9,10,11,12}>"""


def test_dense_layer_on_a_feature_map() -> None:
    before = parse(
        f"""g (float[n, 4, 5, 6] x) => (float[n, 4, 5, 2] y) {CONSTANTS} {{
            a = Reshape (x, flat)
            b = MatMul (a, w)
            c = Reshape (b, back)
            y = Relu (c)
        }}"""
    )
    assert kinds(apply(before, unflatten_matmul, remove_dead_code)) == {"MatMul": 1, "Relu": 1}


@pytest.mark.parametrize("target", ["other", "pairs"])
def test_another_shape_afterwards(target: str) -> None:
    before = parse(
        f"""g (float[n, 4, 5, 6] x) => (float[b] y) {CONSTANTS} {{
            a = Reshape (x, flat)
            b = MatMul (a, w)
            y = Reshape (b, {target})
        }}"""
    )
    assert kinds(apply(before, unflatten_matmul))["Reshape"] == 2
