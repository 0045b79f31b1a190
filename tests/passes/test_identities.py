import pytest
from onnx_ir import from_proto, to_proto

from tests.passes.support import apply, kinds, parse
from yobx.passes.identities import remove_identities

CONSTANTS = """<int64[2] shape = {-1, 3}, int64[4] none = {0, 0, 0, 0}, int64[2] ones = {1, 1},
    int64[1] zero = {0}, int64[1] end = {9223372036854775807}, int64[1] two = {2},
    int64[4] some = {0, 0, 0, 1}>"""


@pytest.mark.parametrize(
    "node",
    [
        "b = Identity (a)",
        "b = Cast <to: int = 1> (a)",
        "b = Dropout (a)",
        "b = Pad (a, none)",
        "b = Reshape (a, shape)",
        "b = Expand (a, ones)",
        "b = Tile (a, ones)",
        "b = Concat <axis: int = 0> (a)",
        "b = Sum (a)",
        "b = Slice (a, zero, end)",
    ],
)
def test_nodes_that_do_nothing(node: str) -> None:
    before = parse(
        f"""g (float[n, 3] x) => (float[n, 3] y) {CONSTANTS} {{
            a = Relu (x)
            {node}
            y = Neg (b)
        }}"""
    )
    assert kinds(apply(before, remove_identities)) == {"Relu": 1, "Neg": 1}


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        ("b = Cast <to: int = 11> (a)", "Cast"),
        ("b, mask = Dropout (a)\n m = Not (mask)", "Dropout"),
        ("b = Pad (a, some)", "Pad"),
        ("b = Slice (a, zero, two)", "Slice"),
        ("b = Tile (a, other)", "Tile"),
        ("b = Reshape (a, other)", "Reshape"),
    ],
)
def test_nodes_that_do_something(node: str, kind: str) -> None:
    before = parse(
        f"""g (float[n, 3] x, int64[2] other) => (float[c, d] y) {CONSTANTS} {{
            a = Relu (x)
            {node}
            c = Neg (b)
            y = Cast <to: int = 1> (c)
        }}"""
    )
    model = from_proto(before)
    remove_identities(model)
    assert kind in kinds(to_proto(model))


def test_outputs_keep_their_names() -> None:
    before = parse(
        """g (float[n, 3] x) => (float[n, 3] y, float[n, 3] z, float[n, 3] w) {
            a = Relu (x)
            y = Identity (a)
            z = Identity (a)
            w = Identity (x)
        }"""
    )
    assert kinds(apply(before, remove_identities)) == {"Relu": 1, "Identity": 2}


def test_a_branch_must_produce_its_output() -> None:
    before = parse(
        """g (float[n, 3] x, bool b) => (float[n, 3] y) {
            a = Relu (x)
            y = If (b) <then_branch = t () => (float[n, 3] r) { r = Identity (a) },
                        else_branch = e () => (float[n, 3] r) { q = Neg (a) r = Identity (q) }>
        }"""
    )
    apply(before, remove_identities)
