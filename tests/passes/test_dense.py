import numpy as np
import onnx
import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.dense import fold_into_dense

CONSTANTS = """<float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}, float[1, 2] c = {3, -4},
    float s = {0.5}, float[4, 1] rows = {1, 2, 3, 4}>"""


def fold(body: str, shape: str = "n, 4, 3") -> onnx.ModelProto:
    output = shape.removesuffix("3") + "2"
    before = parse(f"g (float[{shape}] x) => (float[{output}] y) {CONSTANTS} {{ {body} }}")
    return apply(before, fold_into_dense)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = MatMul (x, w)\n d = Add (a, b)\n y = Mul (d, c)", {"MatMul": 1, "Add": 1}),
        ("a = MatMul (x, w)\n y = Mul (s, a)", {"MatMul": 1}),
        ("a = MatMul (x, w)\n d = Sub (b, a)\n y = Div (d, c)", {"MatMul": 1, "Add": 1}),
        ("a = MatMul (x, w)\n d = Sub (a, b)\n y = Add (d, c)", {"MatMul": 1, "Add": 1}),
        (
            "a = MatMul (x, w)\n d = Mul (a, c)\n e = Add (d, b)\n y = Relu (e)",
            {"MatMul": 1, "Add": 1, "Relu": 1},
        ),
    ],
)
@pytest.mark.parametrize("shape", ["n, 4, 3", "n, 3"])
def test_folded(body: str, expected: dict[str, int], shape: str) -> None:
    assert kinds(fold(body, shape)) == expected


@pytest.mark.parametrize(
    "body",
    [
        "a = MatMul (x, w)\n y = Add (a, b)",
        "a = MatMul (x, w)\n y = Mul (a, rows)",
        "a = MatMul (x, w)\n y = Div (b, a)",
        "a = MatMul (x, w)\n d = Mul (a, c)\n y = Add (d, a)",
    ],
)
def test_kept(body: str) -> None:
    after = fold(body)
    assert [n.op_type for n in after.graph.node] == [
        line.split("=")[1].split()[0] for line in body.splitlines()
    ]


def test_a_shared_weight_is_not_changed() -> None:
    after = fold("a = MatMul (x, w)\n d = Mul (a, c)\n e = MatMul (x, w)\n y = Add (d, e)")
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in after.graph.initializer}
    np.testing.assert_array_equal(weights["w"].reshape(-1), [1, 2, 3, 4, 5, 6])
    assert kinds(after) == {"MatMul": 2, "Add": 1}


def test_weights_of_sixteen_bits_take_no_factor() -> None:
    """They would be rounded once more, each of them."""
    before = parse("""g (float16[n, 3] x) => (float16[n, 2] y)
        <float16[3, 2] w = {15360, 16384, 15360, 16384, 15360, 16384},
        float16[2] b = {15360, 16384}, float16 s = {16896}>
        { a = MatMul (x, w)
          d = Add (a, b)
          e = Sub (d, b)
          y = Mul (e, s) }""")
    after = apply(before, fold_into_dense)
    assert kinds(after)["Mul"] == 1


def test_a_product_that_was_scaled_is_that_of_the_last_operation() -> None:
    before = parse(
        f"g (float[n, 3] x) => (float[n, 2] y) {CONSTANTS} {{ a = MatMul (x, w)\n y = Mul (a, s) }}"
    )
    for node in before.graph.node:
        node.metadata_props.add(key="yobx.name", value=node.op_type)
    (product,) = apply(before, fold_into_dense).graph.node
    assert [p.value for p in product.metadata_props if p.key == "yobx.name"] == ["Mul"]
