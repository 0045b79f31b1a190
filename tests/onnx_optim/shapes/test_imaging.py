"""Resize, grids and regions against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper

from yobx.errors import ShapeError
from yobx.onnx_optim import OptimDim, OptimTensor, ShapesContext, compute_shapes
from yobx.onnx_optim.shapes.imaging import scaled_size

SIZES = [{"n": 2, "h": size} for size in (1, 2, 3, 5, 7, 10, 30, 33)]
SCALES = [0.5, 2.0, 1.5, 3.0, 0.6, 1 / 3, 2 / 3, 0.8, 0.7, 2.3, 1.1, 0.1]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("opset", [10, 11, 13, 19])
def test_resize_scales(check, runtime_input, scale, opset):
    scales = np.array([1, 1, scale, 1], np.float32)
    given = [scales] if opset == 10 else [np.array([], np.float32), scales]
    check(
        "Resize",
        [runtime_input(["n", 1, "h", 3]), *given],
        opset=opset,
        sizes=SIZES,
        exact=False,
        need_runs=4,
    )
    for size in (3, 10, 30):
        check(
            "Resize",
            [runtime_input([1, 1, size, 3]), *given],
            opset=opset,
            exact=False,
            need_runs=0,
        )


def test_simple_scales_are_exact(check, runtime_input):
    scales = np.array([1, 1, 2, 0.5], np.float32)
    (found,) = check("Resize", [runtime_input(["n", 1, "h", "w"]), None, scales], need_runs=1)
    assert found.shape == ["n", 1, "2*h", "w//2"]


@pytest.mark.parametrize("scale", SCALES)
def test_scaled_size_agrees_with_every_rounding(scale):
    size = scaled_size(OptimDim("h"), scale)
    for number in range(2000):
        single = int(np.floor(np.float32(number) * np.float32(scale)))
        double = int(np.floor(float(np.float32(scale)) * number))
        for found in (size, scaled_size(OptimDim(number), scale)):
            if found is not None:
                assert found.evaluate({"h": number}) == single == double


def test_resize_sizes(check, runtime_input):
    item = runtime_input(["n", 1, "h", 5])
    (found,) = check(
        "Resize", [item, None, None, np.array([2, 1, 4, 10])], sizes=[{"n": 2, "h": 3}]
    )
    assert found.shape == [2, 1, 4, 10]
    (found,) = check("Resize", [item, None, None, np.array([4, 10])], axes=[2, 3], opset=19)
    assert found.shape == ["n", 1, 4, 10]


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("sizes", [(7, 8), (3, 2), (10, 3), (1, 1), (5, 9)])
def test_resize_keeps_the_ratio(check, runtime_input, policy, sizes):
    for height, width in ((2, 4), (5, 3), (6, 6)):
        inputs = [runtime_input([1, 1, height, width]), None, None, np.array(sizes)]
        check("Resize", inputs, opset=19, axes=[2, 3], keep_aspect_ratio_policy=policy, exact=False)


def test_upsample(check, runtime_input):
    item = runtime_input(["n", 1, "h", 3])
    check("Upsample", [item], opset=7, scales=[1.0, 1.0, 2.0, 1.5], need_runs=0)
    check("Upsample", [item, np.array([1, 1, 2, 1.5], np.float32)], opset=9)


def test_grids(check, runtime_input):
    check("GridSample", [runtime_input(["n", 3, "h", "w"]), runtime_input(["n", 4, "k", 2])])
    check("AffineGrid", [runtime_input([2, 2, 3]), np.array([2, 3, 5, 6])])
    check("AffineGrid", [runtime_input([2, 3, 4]), np.array([2, 3, 5, 6, 7])])


def test_regions(check, runtime_input):
    image, regions = runtime_input([2, 3, "h", "w"]), runtime_input(["r", 4])
    check(
        "RoiAlign",
        [image, regions, runtime_input(["r"], T.INT64, 0, 1)],
        output_height=4,
        output_width=5,
    )
    check(
        "MaxRoiPool", [image, runtime_input(["r", 5], T.FLOAT, 0, 1)], pooled_shape=[2, 3], opset=21
    )


def test_image_decoder() -> None:
    context = ShapesContext({"": 21})
    context.set("x", OptimTensor(T.UINT8, ["n"]))
    compute_shapes(context, helper.make_node("ImageDecoder", ["x"], ["y"]))
    found = context.get("y")
    assert found.dtype == T.UINT8
    assert found.shape.rank() == 3
    assert found.shape.dims()[2] == OptimDim(3)


def test_sizes_that_keep_the_ratio_have_a_bound(check, runtime_input):
    (found,) = check(
        "Resize",
        [runtime_input([1, 1, "n", "h"]), None, None, np.array([4, 9], np.int64)],
        opset=19,
        sizes=[{"n": n, "h": h} for n in (1, 3, 7, 20) for h in (1, 2, 9, 30)],
        exact=False,
        axes=[2, 3],
        mode="nearest",
        keep_aspect_ratio_policy="not_larger",
    )
    context = ShapesContext({"": 19})
    context.set("x", OptimTensor(T.FLOAT, [1, 1, "n", "h"]))
    context.set("s", OptimTensor(T.INT64, [2], value=[4, 9]))
    node = helper.make_node(
        "Resize", ["x", "", "", "s"], ["y"], axes=[2, 3], keep_aspect_ratio_policy="not_larger"
    )
    compute_shapes(context, node)
    assert [context.upper_bound(dim) for dim in context.get("y").shape] == [1, 1, 4, 9]
    assert found.shape.rank() == 4


def test_an_affine_matrix_has_rank_3():
    context = ShapesContext({"": 21})
    context.set("t", OptimTensor(T.FLOAT, []))
    context.set("s", OptimTensor(T.INT64, [4]))
    with pytest.raises(ShapeError, match="rank 3"):
        compute_shapes(context, helper.make_node("AffineGrid", ["t", "s"], ["g"]))
