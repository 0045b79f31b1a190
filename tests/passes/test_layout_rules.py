import onnx_ir as ir
import pytest

from tests.passes.support import parse
from yobx.passes.layout_rules import keeps_order, plan_flip

PERM = (0, 3, 1, 2)


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ((2, 1, 1, 5), True),
        (("n", 1, 1, "c"), True),
        ((1, 4, 1, 1), True),
        ((2, 3, 1, 5), False),
        (("n", "h", 1, 5), False),
        ((2, 3, 4, 1), True),
    ],
)
def test_keeps_order(dims: tuple[int | str, ...], expected: bool) -> None:
    assert keeps_order(dims, PERM) == expected


@pytest.mark.parametrize(
    "node",
    [
        "y = MatMul (x, m)",
        "y = LayerNormalization (x, v)",
        "y = Conv (x, w)",
        "y = ReduceMean <keepdims: int = 0> (x, one)",
        "y = ReduceMean (x, axes)",
        "y = Slice (x, axes, axes)",
        "y = Pad (x, pads)",
        "y = Squeeze (x)",
        "y = Gather <axis: int = 2> (x, index)",
        "y = Reshape (x, axes)",
        "y = ArgMax <axis: int = 1, keepdims: int = 0> (x)",
    ],
)
def test_operators_that_stay(node: str) -> None:
    model = ir.from_proto(
        parse(
            f"""g (float[n, 6, 5, 4] x, float[4, 6, 1, 1] w, float[4, 4] m, int64[k] axes,
            int64[p] pads, int64[2, 2] index, float[4] v) => (float[a] y)
            <int64[1] one = {{1}}> {{ {node} }}"""
        )
    )
    assert plan_flip(model.graph[0], PERM) is None


def test_another_rank_stays() -> None:
    model = ir.from_proto(parse("g (float[n, 6, 5] x) => (float[n, 6, 5] y) { y = Relu (x) }"))
    assert plan_flip(model.graph[0], PERM) is None
    assert plan_flip(model.graph[0], (0, 2, 1)) is not None
