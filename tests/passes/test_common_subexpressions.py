import pytest
from onnx_ir import from_proto, to_proto

from tests.passes.support import apply, kinds, parse
from yobx.passes.common_subexpressions import merge_common_subexpressions


def test_equal_nodes_are_merged() -> None:
    before = parse(
        """g (float[n] x, float[n] z) => (float[n] y) {
            a = Add (x, z)
            b = Add (z, x)
            c = Elu <alpha: float = 0.5> (a)
            d = Elu <alpha: float = 0.5> (b)
            y = Mul (c, d)
        }"""
    )
    assert kinds(apply(before, merge_common_subexpressions)) == {"Add": 1, "Elu": 1, "Mul": 1}


@pytest.mark.parametrize(
    "body",
    [
        "a = Sub (x, z)\n b = Sub (z, x)",
        "a = Elu <alpha: float = 0.5> (x)\n b = Elu <alpha: float = 0.25> (x)",
        "a = Relu (x)\n b = Relu (z)",
        "a = Cast <to: int = 10> (x)\n b = Cast <to: int = 1> (x)",
    ],
)
def test_different_nodes_stay(body: str) -> None:
    before = parse(f"g (float[n] x, float[n] z) => (float[n] a, float[n] b) {{ {body} }}")
    if "to: int = 10" in body:
        before.graph.output[0].type.tensor_type.elem_type = 10
    assert len(apply(before, merge_common_subexpressions).graph.node) == 2


@pytest.mark.parametrize("op_type", ["RandomNormalLike", "RandomUniformLike", "Bernoulli"])
def test_random_nodes_stay(op_type: str) -> None:
    model = from_proto(
        parse(
            f"""g (float[n] x) => (float[n] a, float[n] b) {{
                a = {op_type} (x)
                b = {op_type} (x)
            }}"""
        )
    )
    merge_common_subexpressions(model)
    assert kinds(to_proto(model)) == {op_type: 2}


def test_two_equal_outputs_both_stay() -> None:
    before = parse(
        """g (float[n] x) => (float[n] a, float[n] b) {
            a = Relu (x)
            b = Relu (x)
        }"""
    )
    assert kinds(apply(before, merge_common_subexpressions)) == {"Relu": 2}
