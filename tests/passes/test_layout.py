import numpy as np
import onnx
import pytest

from tests.passes.networks import NETWORKS, Net
from tests.passes.support import apply, compare, kinds, parse
from yobx.passes import default_passes
from yobx.passes.layout import optimize_layout
from yobx.xbuilder import GraphBuilder

# Between the two Transposes stands the operator that the layout has to be carried across.
CARRIED = {
    "Relu": "v = Relu (u)",
    "Cast": "w = Cast <to: int = 11> (u)\n v = Cast <to: int = 1> (w)",
    "scalar": "v = Mul (u, s)",
    "vector": "v = Add (u, c4)",
    "matrix": "v = Sub (u, c54)",
    "left operand": "v = Div (c4, u)",
    "condition": "b = Greater (u, s)\n v = Where (b, u, c4)",
    "Clip": "v = Clip (u, s)",
    "PRelu": "v = PRelu (u, c4)",
    "Softmax": "v = Softmax <axis: int = -1> (u)",
    "LogSoftmax": "v = LogSoftmax <axis: int = 1> (u)",
    "Concat": "v = Concat <axis: int = -1> (u, u)",
    "Split": "w, z = Split <axis: int = 3, num_outputs: int = 2> (u)\n v = Mul (w, z)",
    "ReduceMean": "v = ReduceMean (u, i1)",
    "ReduceMax": "v = ReduceMax <keepdims: int = 1> (u)",
    "Pad": "v = Pad (u, pads)",
    "Pad with axes": "v = Pad (u, i1222, s, i12)",
    "Slice": "v = Slice (u, i1, i3, i2)",
    "Slice from the front": "v = Slice (u, i01, i13)",
    "Resize": "v = Resize <mode: string = 'nearest'> (u, , scales)",
    "Resize with axes": "v = Resize <mode: string = 'linear', axes = [2, 1]> (u, , , i13)",
    "Tile": "v = Tile (u, i1112)",
    "Expand": "v = Expand (u, i2111)",
    "CumSum": "v = CumSum (u, three)",
    "Gather": "v = Gather <axis: int = 3> (u, i10)",
    "ArgMax": "w = ArgMax <axis: int = 3> (u)\n v = Cast <to: int = 1> (w)",
}
CONSTANTS = """<float s = {1.5}, float[4] c4 = {1, 2, 3, 4},
   float[5, 4] c54 = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20},
   int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] i2 = {2}, int64[1] i3 = {3},
   int64[2] i12 = {1, 2}, int64[2] i01 = {0, 1}, int64[2] i13 = {2, 3}, int64[2] i10 = {1, 0},
   int64[4] i1222 = {1, 2, 2, 2}, int64[4] i2111 = {1, 6, 5, 4},
   int64[4] i1112 = {1, 1, 1, 2}, int64 three = {3},
   int64[8] pads = {0, 1, 2, 0, 0, 0, 1, 3}, float[4] scales = {1.0, 2.0, 3.0, 1.0}>"""


@pytest.mark.parametrize("case", CARRIED)
def test_transposes_meet_across(case: str) -> None:
    before = parse(
        f"""g (float[n, 4, 6, 5] x) => (float[a, b, c, d] y) {CONSTANTS} {{
            p = Relu (x)
            u = Transpose <perm = [0, 2, 3, 1]> (p)
            {CARRIED[case].replace("'", '"')}
            q = Transpose <perm = [0, 3, 1, 2]> (v)
            y = Neg (q)
        }}"""
    )
    assert "Transpose" not in kinds(apply(before, optimize_layout))


@pytest.mark.parametrize(
    ("tail", "shape"),
    [
        ("y = ReduceMean <keepdims: int = 0> (u, i12)", "n, 4"),
        ("y = ReduceSum <keepdims: int = 0> (u, i3)", "n, 6, 5"),
        ("w = ReduceSum (u, i12)\n y = Squeeze (w, i12)", "n, 4"),
        ("w = Shape <start: int = 1> (u)\n y = Cast <to: int = 1> (w)", "3"),
        ("w = ArgMin <axis: int = 3, keepdims: int = 0> (u)\n y = Cast <to: int = 1> (w)", "n,6,5"),
    ],
)
def test_the_layout_ends_without_a_transpose(tail: str, shape: str) -> None:
    before = parse(
        f"""g (float[n, 4, 6, 5] x) => (float[{shape}] y) {CONSTANTS} {{
            t = Transpose <perm = [0, 2, 3, 1]> (x)
            u = Relu (t)
            {tail}
        }}"""
    )
    assert "Transpose" not in kinds(apply(before, optimize_layout))


@pytest.mark.parametrize("name", NETWORKS)
def test_channels_last_networks(name: str) -> None:
    models = []
    for passes in ((), default_passes()):
        g = GraphBuilder(21)
        x = g.make_tensor_input("X", np.float32, ("N", 16, 16, 3))
        g.make_tensor_output("Y", source=NETWORKS[name][0](Net(g), x))
        models.append(g.to_onnx(passes=passes))
    compare(*models, rtol=1e-4)
    assert kinds(models[1]).get("Transpose", 0) == NETWORKS[name][1]


def test_residual_from_a_channels_last_value() -> None:
    before = parse(
        """g (float[n, 6, 5, 4] x) => (float[n, 6, 5, 4] y)
        <float[4, 4, 1, 1] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> {
            a = Transpose <perm = [0, 3, 1, 2]> (x)
            b = Conv (a, w)
            c = Transpose <perm = [0, 2, 3, 1]> (b)
            d = Add (x, c)
            e = Transpose <perm = [0, 3, 1, 2]> (d)
            f = Conv (e, w)
            h = Transpose <perm = [0, 2, 3, 1]> (f)
            y = Add (d, h)
        }"""
    )
    assert kinds(apply(before, optimize_layout, rtol=1e-4))["Transpose"] == 2


def test_a_branch_of_size_one_is_reshaped() -> None:
    before = parse(
        """g (float[n, 4, 6, 5] x, float[n, 4] gate) => (float[n, 4, 6, 5] y)
        <int64[2] axes = {1, 2}> {
            u = Transpose <perm = [0, 2, 3, 1]> (x)
            s = Unsqueeze (gate, axes)
            v = Mul (u, s)
            y = Transpose <perm = [0, 3, 1, 2]> (v)
        }"""
    )
    assert "Transpose" not in kinds(apply(before, optimize_layout))


@pytest.mark.parametrize(
    "body",
    [
        "u = Transpose <perm = [0, 2, 3, 1]> (x)\n y = MatMul (u, w)",
        "u = Transpose <perm = [0, 2, 3, 1]> (x)\n v = Relu (u)\n y = MatMul (v, w)",
        "u = Transpose <perm = [0, 2, 3, 1]> (x)\n v = Reshape (u, shape)\n y = Relu (v)",
    ],
)
def test_nothing_to_gain(body: str) -> None:
    before = parse(
        f"""g (float[n, 4, 6, 5] x) => (float[a, b, c, d] y)
        <float[4, 4] w = {{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}},
         int64[4] shape = {{-1,2,3,4}}> {{
            {body}
        }}"""
    )
    after = apply(before, optimize_layout, rtol=1e-4)
    assert [n.op_type for n in after.graph.node] == [n.op_type for n in before.graph.node]


def test_an_output_on_the_way_keeps_name_and_layout() -> None:
    before = parse(
        """g (float[n, 4, 6, 5] x) => (float[n, 6, 5, 4] mid, float[n, 4, 6, 5] y) {
            u = Transpose <perm = [0, 2, 3, 1]> (x)
            mid = Relu (u)
            v = Neg (mid)
            w = Abs (v)
            y = Transpose <perm = [0, 3, 1, 2]> (w)
        }"""
    )
    assert kinds(apply(before, optimize_layout))["Transpose"] == 1


def test_a_value_read_in_a_branch() -> None:
    before = parse(
        """g (float[n, 4, 6, 5] x, bool b) => (float[n, 4, 6, 5] y, float[n, 6, 5, 4] z) {
            u = Transpose <perm = [0, 2, 3, 1]> (x)
            v = Relu (u)
            z = If (b) <then_branch = t () => (float[n, 6, 5, 4] r) { r = Neg (v) },
                        else_branch = e () => (float[n, 6, 5, 4] r) { r = Abs (v) }>
            y = Transpose <perm = [0, 3, 1, 2]> (v)
        }"""
    )
    apply(before, optimize_layout)


def test_two_dynamic_sizes() -> None:
    before = parse(
        """g (float[n, 4, h, w] x, float[n, 1, w, 4] o) => (float[n, 4, h, w] y) {
            u = Transpose <perm = [0, 2, 3, 1]> (x)
            v = Add (u, o)
            s = Shape (v)
            z = ConstantOfShape (s)
            r = Add (z, v)
            y = Transpose <perm = [0, 3, 1, 2]> (r)
        }"""
    )
    apply(before, optimize_layout)


def test_old_opsets_are_left_alone() -> None:
    before = parse(
        """g (float[n, 4, 6, 5] x) => (float[n, 4, 6, 5] y) {
            u = Transpose <perm = [0, 2, 3, 1]> (x)
            v = Relu (u)
            y = Transpose <perm = [0, 3, 1, 2]> (v)
        }""",
        opset=11,
    )
    assert kinds(apply(before, optimize_layout))["Transpose"] == 2


def chain(length: int) -> onnx.ModelProto:
    lines = ["v0 = Transpose <perm = [0, 2, 3, 1]> (x)"]
    lines += [f"v{i + 1} = Relu (v{i})" for i in range(length)]
    lines.append(f"y = Transpose <perm = [0, 3, 1, 2]> (v{length})")
    return parse("g (float[n, 4, 6, 5] x) => (float[n, 4, 6, 5] y) {" + "\n".join(lines) + "}")


def test_long_chain() -> None:
    assert "Transpose" not in kinds(apply(chain(3000), optimize_layout))
