"""Reshape and its relatives against onnxruntime, sizes 0 and 1 included."""

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from yobx.errors import ShapeError
from yobx.onnx_optim import OptimDim, OptimTensor, ShapesContext, compute_shapes

EVERY = [dict(zip("nm", pair, strict=True)) for pair in itertools.product((0, 1, 2, 5), repeat=2)]


def ints(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("dims", "target", "wanted"),
    [
        (["n", 4], ints(-1), ["4*n"]),
        (["n", 4], ints(0, 2, 2), ["n", 2, 2]),
        (["n", 4], ints(0, -1), ["n", 4]),
        (["n", "m", 6], ints(0, 0, 2, 3), ["n", "m", 2, 3]),
        (["n", "m", 6], ints(0, -1), ["n", "6*m"]),
        (["n", "m", 6], ints(-1, 6), ["n*m", 6]),
        (["n", "m", 6], ints(-1, 3), ["2*m*n", 3]),
        (["n", 6], ints(2, -1), [2, "3*n"]),
        ([4, 3], ints(2, 6), [2, 6]),
        ([], ints(1, 1), [1, 1]),
        (["2*n", 3], ints(2, -1, 3), [2, "n", 3]),
    ],
)
def test_reshape(check, runtime_input, dims, target, wanted):
    (found,) = check("Reshape", [runtime_input(dims), target], sizes=EVERY)
    assert found.shape == wanted


def test_reshape_allowzero(check, runtime_input):
    (found,) = check("Reshape", [runtime_input([0, 3]), ints(3, 0)], allowzero=1)
    assert found.shape == [3, 0]


def test_reshape_refuses_what_cannot_be(check, runtime_input):
    for dims, target in (([5], ints(2, -1)), ([4], ints(-1, -1)), ([4], ints(5)), ([4], ints(-2))):
        with pytest.raises(ShapeError):
            check("Reshape", [runtime_input(dims), target])


def _model(target: list[str], dims: list[str | int], allowzero: int = 0) -> onnx.ModelProto:
    """Reshape of x whose target is read from the sizes of other inputs, one per entry."""
    nodes, inputs = [], [helper.make_tensor_value_info("x", T.FLOAT, dims)]
    for index, symbol in enumerate(target):
        inputs.append(helper.make_tensor_value_info(f"v{index}", T.FLOAT, [symbol]))
        nodes.append(helper.make_node("Shape", [f"v{index}"], [f"s{index}"]))
    nodes.append(helper.make_node("Concat", [f"s{i}" for i in range(len(target))], ["t"], axis=0))
    nodes.append(helper.make_node("Reshape", ["x", "t"], ["y"], allowzero=allowzero))
    outputs = [helper.make_tensor_value_info("y", T.FLOAT, [None] * len(target))]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(
    ("dims", "target", "allowzero"),
    [
        (["n", "m"], ["n", "m"], 0),
        (["n", "m"], ["m", "n"], 0),
        (["n*m", 4], ["n", "m", "k"], 0),
        (["n*m", 4], ["n", "m", "k"], 1),
        (["n", "m", "k"], ["k", "n", "m"], 0),
        (["n", 4], ["k", "n"], 0),
        ([2, 3], ["n", "k"], 0),
        (["n", "m", 4], ["n*m", "k"], 0),
    ],
)
def test_reshape_to_symbolic_sizes_that_may_be_zero(dims, target, allowzero):
    """A symbolic entry that is 0 copies the input's size, unless `allowzero` is set."""
    import onnxruntime

    model = _model(target, dims, allowzero)
    context = ShapesContext()
    compute_shapes(context, model)
    stated = context.get("y").shape
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    runs = 0
    for values in itertools.product((0, 1, 2, 3, 4), repeat=3):
        sizes = dict(zip("nmk", values, strict=True))
        feeds = {
            item.name: np.zeros(
                [d if isinstance(d, int) else OptimDim(d).evaluate(sizes) for d in wanted],
                np.float32,
            )
            for item, wanted in zip(
                model.graph.input, [dims, *([symbol] for symbol in target)], strict=True
            )
        }
        try:
            (got,) = session.run(None, feeds)
        except onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException:
            continue
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            continue
        runs += 1
        assert [dim.evaluate(sizes) for dim in stated.dims()] == list(got.shape), (sizes, stated)
    assert runs > 3


def test_a_guarded_size_heals_when_it_meets_its_origin():
    nodes = _model(["n", "m", "k"], ["n*m", "k"])
    nodes.graph.node.append(helper.make_node("Add", ["y", "w"], ["z"]))
    nodes.graph.input.append(helper.make_tensor_value_info("w", T.FLOAT, ["n", "m", "k"]))
    context = ShapesContext()
    compute_shapes(context, nodes)
    assert context.get("y").shape.dims()[1] != OptimDim("m")
    assert context.get("z").shape == ["n", "m", "k"]


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_flatten(check, runtime_input, axis):
    check("Flatten", [runtime_input(["n", "m", 3])], axis=axis, sizes=EVERY)


def test_squeeze(check, runtime_input):
    (found,) = check("Squeeze", [runtime_input(["n", 1, 3, 1]), ints(1, -1)])
    assert found.shape == ["n", 3]
    (found,) = check("Squeeze", [runtime_input(["n", 1, 3])], opset=11, axes=[1])
    assert found.shape == ["n", 3]
    (found,) = check("Squeeze", [runtime_input([4, 1, "n+2"])], sizes=[{"n": 0}, {"n": 3}])
    assert found.shape == [4, "n+2"]
    (found,) = check("Squeeze", [runtime_input([4, "n"])], exact=False)
    assert not found.shape.has_rank()
    with pytest.raises(ShapeError):
        check("Squeeze", [runtime_input([4, 3]), ints(1)])


def test_squeeze_of_a_symbol_says_that_it_is_one(check, runtime_input):
    check(
        "Squeeze", [runtime_input(["n", "m"]), ints(1)], sizes=[{"n": 4, "m": 1}, {"n": 4, "m": 2}]
    )


def test_unsqueeze(check, runtime_input):
    (found,) = check("Unsqueeze", [runtime_input(["n", 3]), ints(0, -1)])
    assert found.shape == [1, "n", 3, 1]
    (found,) = check("Unsqueeze", [runtime_input(["n", 3])], opset=11, axes=[1])
    assert found.shape == ["n", 1, 3]
    (found,) = check(
        "Unsqueeze",
        [runtime_input(["n"]), runtime_input([2], T.INT64, 0, 1)],
        exact=False,
        need_runs=0,
    )
    assert found.shape.rank() == 3


def test_transpose(check, runtime_input):
    (found,) = check("Transpose", [runtime_input(["n", 3, "m"])])
    assert found.shape == ["m", 3, "n"]
    (found,) = check("Transpose", [runtime_input(["n", 3, "m"])], perm=[1, 0, 2])
    assert found.shape == [3, "n", "m"]
    (found,) = check("Transpose", [np.array([[1, 2], [3, 4]])])
    assert found.constant.tolist() == [[1, 3], [2, 4]]
    with pytest.raises(ShapeError):
        check("Transpose", [runtime_input(["n", 3])], perm=[0, 0])


def test_depth_and_space(check, runtime_input):
    check("DepthToSpace", [runtime_input(["n", 8, "h", "w"])], blocksize=2)
    check("SpaceToDepth", [runtime_input(["n", 3, "2*h", "2*w"])], blocksize=2)


def test_two_unknown_targets_share_no_symbol():
    context = ShapesContext({"": 21})
    for name in ("x", "y"):
        context.set(name, OptimTensor(T.FLOAT, ["n", "m"]))
        context.set(f"{name}_target", OptimTensor(T.INT64, [2]))
        node = helper.make_node("Reshape", [name, f"{name}_target"], [f"{name}_out"])
        compute_shapes(context, node)
    first, second = context.get("x_out").shape, context.get("y_out").shape
    assert first.rank() == second.rank() == 2
    assert len({*first.dims(), *second.dims()}) == 4


@pytest.mark.parametrize("known", [["n", None, 4], [None, "n", 4], ["n", 2, None]])
def test_partly_known_targets_keep_what_is_known(known):
    context = ShapesContext({"": 21})
    context.set("x", OptimTensor(T.FLOAT, ["n", "m", 8]))
    context.set("t", OptimTensor(T.INT64, [3], value=known))
    compute_shapes(context, helper.make_node("Reshape", ["x", "t"], ["y"], allowzero=1))
    for entry, dim in zip(known, context.get("y").shape.dims(), strict=True):
        if entry is not None:
            assert dim == OptimDim(entry)


def test_an_open_size_must_divide_the_elements():
    context = ShapesContext({"": 18})
    context.set("x", OptimTensor(T.FLOAT, [], constant=np.array(1, np.float32)))
    context.set("t", OptimTensor(T.INT64, [3], value=[None, 4, 4]))
    node = helper.make_node("Reshape", ["x", "t"], ["y"], allowzero=1)
    with pytest.raises(ShapeError, match="do not divide"):
        compute_shapes(context, node)


@pytest.mark.parametrize("allowzero", [0, 1])
def test_a_size_of_the_input_is_no_wildcard(allowzero):
    """`h - 2` may be negative as a number, as a size it is not."""
    text = f"""<ir_version: 10, opset_import: ["": 21]>
    g (float[n, 3, h] x, float[4, 3, 3] w) => (float[a, b, c] y) <int64[1] minus = {{-1}}> {{
        conv = Conv (x, w)
        last = Shape <start = 2> (conv)
        first = Shape <end = 1> (conv)
        target = Concat <axis = 0> (minus, last, first)
        y = Reshape <allowzero = {allowzero}> (conv, target)
    }}"""
    context = ShapesContext()
    compute_shapes(context, onnx.parser.parse_model(text))
    found = context.get("y").shape
    if allowzero:
        assert found == [4, "h - 2", "n"]
    for n, h in ((1, 3), (2, 5), (5, 9)):
        assert [dim.evaluate({"n": n, "h": h}) for dim in found.dims()] == [4, h - 2, n]
