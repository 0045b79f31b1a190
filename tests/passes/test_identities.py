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
    ("node", "goes"),
    [
        ("Add (a, zero)", True),
        ("Add (zero, a)", True),
        ("Sub (a, zero)", True),
        ("Mul (a, one)", True),
        ("Mul (one, a)", True),
        ("Sub (zero, a)", False),
        ("Add (a, one)", False),
        ("Mul (a, zero)", False),
        ("Add (a, wide)", False),
    ],
)
def test_neutral_elements_of_integers(node: str, goes: bool) -> None:
    before = parse(
        f"""g (int32[n] x) => (int32[m, n] y)
            <int32 zero = {{0}}, int32[1] one = {{1}}, int32[1, 1, 1] wide = {{0}}> {{
            a = Neg (x)
            b = {node}
            c = Neg (b)
            y = Reshape <allowzero: int = 0> (c, rows)
        }}""".replace("<int32 zero", "<int64[2] rows = {1, -1}, int32 zero")
    )
    assert (len(apply(before, remove_identities).graph.node) == 3) == goes


def test_neutral_elements_of_floats_are_kept() -> None:
    before = parse(
        """g (float[n] x) => (float[n] y) <float zero = {0}> {
            a = Neg (x)
            b = Add (a, zero)
            y = Neg (b)
        }"""
    )
    assert kinds(apply(before, remove_identities)) == {"Neg": 2, "Add": 1}


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


_COUNTED = """g (float[n, 3] x) => (float[n, 3] y)
    <KIND zero = {0}, KIND one = {1}, KIND two = {2}> {
        a = Relu (x)
        shape = Shape (x)
        sizes = Cast <to: int = CODE> (shape)
        size = Gather (sizes, zero)
        several = Greater (size, MORE)
        span = Range (zero, size, STEP)
        order = Where (several, span, OTHER)
        b = Gather (a, INDICES)
        y = Neg (b)
    }"""


def _counted(
    kind: str = "int64",
    more: str = "one",
    step: str = "one",
    other: str = "zero",
    indices: str = "order",
) -> str:
    code = {"int32": "6", "int64": "7"}[kind]
    named = {"KIND": kind, "CODE": code, "MORE": more, "STEP": step, "OTHER": other}
    text = _COUNTED.replace("INDICES", indices)
    for name, value in named.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize("indices", ["order", "span"])
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_all_elements_in_order(kind: str, indices: str) -> None:
    before = apply(parse(_counted(kind, indices=indices)), remove_identities)
    assert "Gather" not in {n.op_type for n in before.graph.node if n.output[0] == "b"}
    assert next(n for n in before.graph.node if n.op_type == "Neg").input[0] == "a"


def test_all_elements_by_constant_indices() -> None:
    before = parse(
        """g (float[4, 3] x) => (float[4, 3] y, float[4, 3] z, float[4, 3] w)
        <int64[4] order = {0, 1, 2, 3}, int64[3] inner = {0, 1, 2}, int64[4] other = {0, 1, 3, 2}> {
            a = Gather (x, order)
            b = Gather <axis: int = 1> (x, inner)
            c = Gather (x, other)
            y = Neg (a)
            z = Neg (b)
            w = Neg (c)
        }"""
    )
    assert kinds(apply(before, remove_identities)) == {"Gather": 1, "Neg": 3}


@pytest.mark.parametrize("changed", [{"more": "two"}, {"other": "one"}, {"step": "two"}])
def test_other_orders_are_kept(changed: dict[str, str]) -> None:
    text = _counted(**changed).replace("float[n, 3] y", "float[m, 3] y")
    model = from_proto(parse(text))
    remove_identities(model)
    assert "Gather" in {n.op_type for n in to_proto(model).graph.node if n.output[0] == "b"}


@pytest.mark.parametrize(
    "span",
    [
        "double = Add (n, n)  span = Range (zero, double, two)",
        "half = Div (n, two)  span = Range (zero, half, one)",
        "more = Add (n, one)  span = Range (one, more, one)",
    ],
    ids=["every second", "the first half", "from one on"],
)
def test_other_ranges_are_kept(span: str) -> None:
    model = parse(
        f"""g (float[n, 3] x) => (float[m, 3] y)
        <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}> {{
            a = Relu (x)
            shape = Shape (x)
            n = Gather (shape, zero)
            {span}
            b = Gather (a, span)
            y = Neg (b)
        }}"""
    )
    changed = from_proto(model)
    remove_identities(changed)
    assert kinds(to_proto(changed)) == kinds(model)


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
