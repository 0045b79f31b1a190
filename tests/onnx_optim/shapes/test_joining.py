"""Concat, Split, Expand and Tile against onnxruntime."""

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnxruntime.capi import onnxruntime_pybind11_state as state

from yobx.errors import ShapeError
from yobx.onnx_optim import OptimDim, OptimTensor, ShapesContext, compute_shapes

REFUSED = (state.Fail, state.InvalidArgument, state.RuntimeException)
EVERY = [dict(zip("nm", pair, strict=True)) for pair in itertools.product((0, 1, 3, 4), repeat=2)]


def ints(*values):
    return np.array(values, np.int64)


def test_concat(check, runtime_input):
    (found,) = check(
        "Concat", [runtime_input(["n", 3]), runtime_input(["m", 3]), runtime_input([2, 3])], axis=0
    )
    assert found.shape == ["n+m+2", 3]
    (found,) = check(
        "Concat",
        [runtime_input(["n+1", 3]), runtime_input(["m+1", 2])],
        axis=-1,
        sizes=[{"n": 4, "m": 4}],
    )
    assert found.shape.dims()[1] == OptimDim(5)
    (found,) = check("Concat", [runtime_input(["n"]), runtime_input([4])], axis=0)
    assert found.shape == ["n+4"]
    with pytest.raises(ShapeError):
        check("Concat", [runtime_input([2, 3]), runtime_input([2, 4])], axis=0)


@pytest.mark.parametrize("axis", [0, 1])
def test_concat_of_inputs_without_elements(check, runtime_input, axis):
    """onnxruntime does not compare the sizes of an input without elements."""
    inputs = [runtime_input(["n", "m"]), runtime_input(["m", "n"])]
    check("Concat", inputs, axis=axis, sizes=EVERY, exact=False, need_runs=6)
    check(
        "Concat",
        [runtime_input(["n", 2]), inputs[0]],
        axis=axis,
        sizes=EVERY,
        exact=False,
        need_runs=3,
    )
    check(
        "Concat",
        [runtime_input([0, 2]), inputs[0]],
        axis=axis,
        sizes=EVERY,
        exact=False,
        need_runs=3,
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concat_chooses_the_sizes_of_inputs_that_have_elements(check, runtime_input, axis):
    """Stated exactly, as those of a cache that is empty at first."""
    cache, step = ["n", "m", 3], ["k", 2, "n"]
    (found,) = check(
        "Concat",
        [runtime_input(cache), runtime_input(step)],
        axis=axis,
        sizes=[dict(zip("nmk", s, strict=True)) for s in itertools.product((0, 1, 2, 3), repeat=3)],
        need_runs=20,
    )
    assert all((dim.bounds()[0] or 0) >= 0 for dim in found.shape)


def test_concat_of_sizes_that_alone_may_be_0_is_their_greatest(check, runtime_input):
    sizes = [{"n": n, "m": m} for n in range(4) for m in range(4)]
    (found,) = check(
        "Concat", [runtime_input(["n", 4]), runtime_input(["m", 4])], axis=1, sizes=sizes
    )
    assert found.shape == [OptimDim.max("n", "m"), 8]


def test_concat_of_three_inputs_that_may_be_empty(check, runtime_input):
    sizes = [dict(zip("nmk", s, strict=True)) for s in itertools.product((0, 1, 2), repeat=3)]
    inputs = [runtime_input(["n", 2]), runtime_input(["m", "k"]), runtime_input(["k", "n"])]
    check("Concat", inputs, axis=0, sizes=sizes, need_runs=6)


@pytest.mark.parametrize("order", ["u, x", "x, u"])
@pytest.mark.parametrize(("height", "stated"), [("h", None), ("2*h", "2*h"), ("4*h", "4*h")])
def test_concat_of_an_image_and_what_a_pool_made_of_it(order, height, stated):
    """A pool takes no empty image: sizes stay readable where a U-Net joins what it has skipped."""
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
        g (float[b, 3, "{height}", 6] x) => (float[] y, float[] z)
        <float[4] scales = {{1, 1, 2, 2}}> {{
            p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
            u = Resize <mode = "nearest"> (p, , scales)
            y = Concat <axis = 1> ({order})
            z = Add (u, x)
        }}""".replace('"' + height + '"', "h")
    model = onnx.parser.parse_model(text)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = height
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    context = ShapesContext()
    compute_shapes(context, model)
    joined = context.get("y").shape
    if stated is not None:
        assert joined == ["b", 6, stated, 6]
    elif order.startswith("x"):
        assert joined == ["b", 6, "h", 6]
    else:
        assert joined == ["b", 6, "2*max(h//2, min(h, 1))", 6]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    runs = 0
    for batch, size in itertools.product((0, 1, 2), range(6)):
        sizes = {"b": batch, "h": size}
        shape = (batch, 3, OptimDim(height).evaluate(sizes), 6)
        try:
            results = session.run(None, {"x": np.zeros(shape, np.float32)})
        except REFUSED:  # an odd height, or an image without rows
            continue
        runs += 1
        for name, result in zip("yz", results, strict=True):
            dims = [dim.evaluate(sizes) for dim in context.get(name).shape]
            assert dims == list(result.shape), (sizes, name)
    assert runs >= 4


def test_concat_with_an_input_of_unknown_rank():
    """The other input decides the sizes unless this one certainly has elements."""
    text = "g (float[{}, 3] x, float w) => (y) {{ y = Concat <axis = 0> (x, w) }}"
    sizes = {}
    for first in ("n", "2"):
        model = onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["" : 20]>' + text.format(first)
        )
        model.graph.input[1].type.tensor_type.ClearField("shape")
        context = ShapesContext()
        compute_shapes(context, model)
        sizes[first] = list(context.get("y").shape)
    assert sizes["n"][1].is_symbol()
    assert sizes["2"][1] == 3


def test_concat_of_constants_without_elements(check):
    # onnxruntime refuses it where it sees the sizes, and runs it where it does not.
    pair = [np.ones((0, 2), np.int64), np.ones((2, 3), np.int64)]
    (found,) = check("Concat", pair, axis=0, need_runs=0)
    assert found.shape == [2, 3]


def test_concat_of_constants(check):
    (found,) = check("Concat", [np.array([[1, 2]]), np.array([[3, 4]])], axis=1)
    assert found.constant.tolist() == [[1, 2, 3, 4]]


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_split_equal(check, runtime_input, opset):
    extra = {"num_outputs": 2} if opset >= 18 else {}
    found = check("Split", [runtime_input([6, "n"])], n_outputs=2, opset=opset, **extra)
    assert found[0].shape == [3, "n"]
    check("Split", [runtime_input(["2*n", 3])], n_outputs=2, opset=opset, **extra)


@pytest.mark.parametrize("size", range(9))
def test_split_with_a_rest(check, runtime_input, size):
    check(
        "Split",
        [runtime_input(["n"])],
        n_outputs=3,
        num_outputs=3,
        sizes=[{"n": size}],
        need_runs=0,
    )
    if size not in (0, 1, 2, 4):
        check("Split", [runtime_input([size])], n_outputs=3, num_outputs=3)


def test_split_sizes(check, runtime_input):
    found = check("Split", [runtime_input(["n", 7]), ints(3, 0, 4)], n_outputs=3, axis=1)
    assert found[1].shape == ["n", 0]
    check("Split", [runtime_input(["n", 7])], n_outputs=2, opset=11, axis=1, split=[3, 4])
    found = check("Split", [np.arange(5), ints(2, 3)], n_outputs=2)
    assert found[1].constant.tolist() == [2, 3, 4]
    with pytest.raises(ShapeError):
        check("Split", [runtime_input([4]), ints(3, 3)], n_outputs=2)


@pytest.mark.parametrize(
    ("dims", "target"),
    [
        (["n", 1], ints(1, 4)),
        (["n"], ints(4)),
        (["n", "m"], ints(1, 1)),
        ([1], ints(0)),
        ([], ints(2, 3)),
    ],
)
def test_expand(check, runtime_input, dims, target):
    check("Expand", [runtime_input(dims), target], sizes=EVERY)


def test_expand_with_unknown_target(check, runtime_input):
    (found,) = check(
        "Expand", [runtime_input([1, 3]), runtime_input([2], T.INT64, 1, 2)], exact=False
    )
    assert found.shape.dims()[1] == OptimDim(3)
    assert found.shape.dims()[0].is_symbol()


def test_expand_constant(check):
    (found,) = check("Expand", [np.array([[7], [8]]), ints(2, 2)])
    assert found.constant.tolist() == [[7, 7], [8, 8]]


def test_tile(check, runtime_input):
    (found,) = check("Tile", [runtime_input(["n", 3]), ints(2, 0)], sizes=EVERY)
    assert found.shape == ["2*n", 0]
    check("Tile", [runtime_input(["n", 3]), runtime_input([2], T.INT64, 0, 3)], exact=False)
    (found,) = check("Tile", [ints(1, 2), ints(2)])
    assert found.constant.tolist() == [1, 2, 1, 2]


def test_split_takes_an_empty_list_of_sizes_for_none(check, runtime_input):
    inputs = [runtime_input([6, "n"]), runtime_input([0], T.INT64)]
    found = check("Split", inputs, n_outputs=2, opset=13, axis=0)
    assert [item.shape for item in found] == [[3, "n"], [3, "n"]]


def one_node(op_type, inputs, n_outputs=1, **attributes):
    context = ShapesContext({"": 21})
    for index, item in enumerate(inputs):
        context.set(f"i{index}", item)
    names = [f"i{index}" for index in range(len(inputs))]
    outputs = [f"o{index}" for index in range(n_outputs)]
    compute_shapes(context, onnx.helper.make_node(op_type, names, outputs, **attributes))
    return context.get("o0")


def test_huge_numbers_take_no_memory():
    with pytest.raises(ShapeError, match="2 outputs"):
        one_node("Split", [OptimTensor(T.FLOAT, [6])], 2, num_outputs=2**62)
    number = OptimTensor(T.INT64, [1, 1], value=[3])
    huge = OptimTensor(T.INT64, [2], value=[2**32, 2**32])
    assert one_node("Tile", [number, huge]).shape == [2**32, 2**32]
    assert one_node("Expand", [number, huge]).shape == [2**32, 2**32]
