import numpy as np
import onnx
import onnx.reference
import pytest
from onnx_ir import from_proto, to_proto

from tests.passes.support import apply, kinds, parse
from yobx.passes.constants import fold_constants
from yobx.passes.dead_code import remove_dead_code
from yobx.xbuilder import GraphBuilder


def fold(before: onnx.ModelProto) -> onnx.ModelProto:
    return apply(before, fold_constants, remove_dead_code)


def test_batch_norm_arithmetic_is_rounded_once() -> None:
    before = parse(
        """g (float[n, 3] x) => (float[n, 3] y)
        <float[3] gamma = {0.1, 0.7, 1.3}, float[3] variance = {0.01, 3.7, 11.3},
         float eps = {0.001}> {
            a = Add (variance, eps)
            b = Sqrt (a)
            c = Reciprocal (b)
            d = Mul (c, gamma)
            y = Mul (x, d)
        }"""
    )
    after = fold(before)
    assert kinds(after) == {"Mul": 1}
    (factor,) = (onnx.numpy_helper.to_array(t) for t in after.graph.initializer)
    gamma, variance = (
        np.array(values, dtype=np.float32).astype(np.float64)
        for values in ([0.1, 0.7, 1.3], [0.01, 3.7, 11.3])
    )
    exact = gamma / np.sqrt(variance + np.float64(np.float32(0.001)))
    np.testing.assert_array_equal(factor, exact.astype(np.float32))


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("a = Div (i, j)", "int64"),
        ("a = Sub (u, v)", "uint8"),
        ("b = Concat <axis: int = 0> (i, j)\n a = Gather (b, k)", "int64"),
        ("b = Unsqueeze (i, k)\n a = Squeeze (b)", "int64"),
        ("b = Cast <to: int = 7> (f)\n a = Add (b, i)", "int64"),
        ("b = Reshape (m, shape)\n c = Transpose (b)\n a = Mul (c, c)", "float"),
        ("b = Expand (f, shape)\n a = Exp (b)", "float"),
        ("b = Max (f, g, f)\n a = Min (b, f)", "float"),
    ],
)
def test_arithmetic(body: str, dtype: str) -> None:
    before = parse(
        f"""g ({dtype}[n] x) => ({dtype}[p, q] y)
        <int64[2] i = {{7, -7}}, int64[2] j = {{2, 2}}, int64[1] k = {{0}},
         uint8[2] u = {{1, 2}}, uint8[2] v = {{2, 1}}, float[2] f = {{1.7, -2.5}},
         float[2] g = {{0.5, 3.0}}, float[6] m = {{1, 2, 3, 4, 5, 6}},
         int64[2] shape = {{3, 2}}> {{
            {body}
            z = Shape (a)
            w = Expand (x, z)
            y = Concat <axis: int = 0> (w, a)
        }}"""
    )
    model = from_proto(before)
    fold_constants(model)
    remove_dead_code(model)
    left = kinds(to_proto(model))
    assert set(left) <= {"Shape", "Expand", "Concat"}
    probe = onnx.ModelProto()
    probe.CopyFrom(before)
    del probe.graph.output[:]
    probe.graph.output.append(onnx.ValueInfoProto(name="a"))
    (concat,) = (n for n in to_proto(model).graph.node if n.op_type == "Concat")
    folded = {t.name: t for t in to_proto(model).graph.initializer}[concat.input[1]]
    expected = onnx.reference.ReferenceEvaluator(probe).run(
        None, {"x": np.zeros(1, dtype=onnx.helper.tensor_dtype_to_np_dtype(folded.data_type))}
    )[0]
    np.testing.assert_allclose(onnx.numpy_helper.to_array(folded), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "a = Div (i, zero)",
        "a = Cast <to: int = 6> (huge)\n",
        "a = Expand (i, size)",
        "a = Gather (i, far)",
        "a = RandomUniform <shape = [2]> ()",
    ],
)
def test_what_is_left_to_the_run(body: str) -> None:
    proto = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 21]>
        g (float[2] x) => (float[2] y)
        <int64[2] i = {{1, 2}}, int64[2] zero = {{0, 0}}, float[2] huge = {{1e30, 1.0}},
         int64[3] size = {{1000, 1000, 2}}, int64[1] far = {{9}}> {{
            {body}
            b = Cast <to: int = 1> (a)
            y = Add (x, b)
        }}"""
    )
    model = from_proto(proto)
    fold_constants(model)
    remove_dead_code(model)
    assert len(to_proto(model).graph.node) == 3


def test_shape_arithmetic_that_the_engine_knows() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("X", np.float32, ("n", 3, 4))
    rows = g.op.Slice(g.op.Shape("X"), [1], [3])
    size = g.op.ReduceProd(rows, keepdims=1)
    g.make_tensor_output("Y", source=g.op.Reshape("X", g.op.Concat([-1], size, axis=0)))
    model = g.to_onnx(passes=[fold_constants])
    assert kinds(model) == {"Reshape": 1}
    assert [
        list(t.int64_data) or onnx.numpy_helper.to_array(t).tolist()
        for t in model.graph.initializer
    ] == [[-1, 12]]


def test_an_output_stays_a_node() -> None:
    before = parse(
        """g (float[2] x) => (float[2] y, float[2] z) <float[2] a = {1, 2}> {
            z = Mul (a, a)
            y = Add (x, z)
        }"""
    )
    assert kinds(fold(before)) == {"Mul": 1, "Add": 1}


def test_constant_nodes_become_initializers() -> None:
    before = parse(
        """g (float[n, 2] x) => (float[n, 2] y, float[2] z) {
            a = Constant <value = float[2] {1, 2}> ()
            b = Constant <value_float = 3.0> ()
            c = Constant <value_ints = [1, -1]> ()
            z = Constant <value = float[2] {5, 6}> ()
            d = Add (x, a)
            e = Mul (d, b)
            f = Unsqueeze (e, c)
            g = Squeeze (f, c)
            y = Add (g, z)
        }"""
    )
    after = fold(before)
    assert kinds(after) == {"Add": 2, "Mul": 1, "Unsqueeze": 1, "Squeeze": 1, "Constant": 1}


def test_large_quantised_weights_stay_as_narrow_as_they_are() -> None:
    def converted(rows: int) -> onnx.ModelProto:
        g = GraphBuilder(21)
        g.make_tensor_input("X", np.int32, ("n", rows))
        weights = np.arange(rows * 300, dtype=np.int64).reshape(rows, 300).astype(np.int8)
        wide = g.op.Cast(g.make_initializer("weights", weights), to=onnx.TensorProto.INT32)
        g.make_tensor_output("Y", source=g.op.MatMul("X", wide))
        return g.to_onnx(passes=[fold_constants])

    large, small = converted(300), converted(3)
    assert kinds(large) == {"Cast": 1, "MatMul": 1}
    assert [t.data_type for t in large.graph.initializer] == [onnx.TensorProto.INT8]
    assert kinds(small) == {"MatMul": 1}
