import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.pooling import mean_to_global_pool

CONSTANTS = "<int64[2] space = {-1, 2}, int64[1] width = {3}>"


@pytest.mark.parametrize(
    ("keepdims", "expected"),
    [
        (1, {"Relu": 1, "GlobalAveragePool": 1}),
        (0, {"Relu": 1, "GlobalAveragePool": 1, "Flatten": 1}),
    ],
)
def test_mean_over_all_of_space(keepdims: int, expected: dict[str, int]) -> None:
    shape = "n, 3, 1, 1" if keepdims else "n, 3"
    before = parse(
        f"""g (float[n, 3, 4, 5] x) => (float[{shape}] y) {CONSTANTS} {{
            a = Relu (x)
            y = ReduceMean <keepdims: int = {keepdims}> (a, space)
        }}"""
    )
    assert kinds(apply(before, mean_to_global_pool)) == expected


@pytest.mark.parametrize("axes", ["width", ""])
def test_other_means(axes: str) -> None:
    shape = "n, 3, 4, 1" if axes else "1, 1, 1, 1"
    before = parse(
        f"""g (float[n, 3, 4, 5] x) => (float[{shape}] y) {CONSTANTS} {{
            a = Relu (x)
            y = ReduceMean (a{", " + axes if axes else ""})
        }}"""
    )
    assert "ReduceMean" in kinds(apply(before, mean_to_global_pool))
