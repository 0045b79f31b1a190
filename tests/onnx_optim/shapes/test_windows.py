"""Convolutions and pools against onnxruntime: padding, strides, dilations, ceiling."""

import itertools

import numpy as np
import pytest
from onnx import TensorProto as T

from yobx.errors import ShapeError

SIZES = [{"n": 2, "h": size} for size in range(13)]
WINDOWS = [
    {},
    {"strides": [2]},
    {"strides": [3], "pads": [1, 2]},
    {"pads": [1, 0], "dilations": [2]},
    {"strides": [2], "auto_pad": "SAME_UPPER"},
    {"strides": [3], "auto_pad": "SAME_LOWER"},
    {"strides": [2], "auto_pad": "VALID"},
]


def weight(*dims):
    return np.ones(dims, np.float32)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
def test_conv(check, runtime_input, window, kernel):
    check(
        "Conv",
        [runtime_input(["n", 4, "h"]), weight(6, 4, kernel)],
        sizes=SIZES,
        need_runs=6,
        **window,
    )


def test_conv_forms(check, runtime_input):
    (found,) = check(
        "Conv", [runtime_input(["n", 4, "h", "w"]), weight(6, 2, 3, 3)], group=2, pads=[1, 1, 1, 1]
    )
    assert found.shape == ["n", 6, "h", "w"]
    (found,) = check("Conv", [runtime_input(["n", "c", 9]), runtime_input([6, "c", 3])])
    assert found.shape == ["n", 6, 7]
    with pytest.raises(ShapeError):
        check("Conv", [runtime_input(["n", 3, 9]), weight(6, 4, 3)])


@pytest.mark.parametrize("window", [*WINDOWS, {"strides": [2], "output_padding": [1]}])
@pytest.mark.parametrize("kernel", [1, 2, 3])
def test_conv_transpose(check, runtime_input, window, kernel):
    doubtful = "SAME" in window.get("auto_pad", "") and kernel < window["strides"][0]
    inputs = [runtime_input(["n", 4, "h"]), weight(4, 3, kernel)]
    check("ConvTranspose", inputs, sizes=SIZES, need_runs=1, exact=not doubtful, **window)


def test_conv_transpose_output_shape(check, runtime_input):
    (found,) = check(
        "ConvTranspose",
        [runtime_input(["n", 4, 5, 5]), weight(4, 3, 3, 3)],
        group=2,
        strides=[2, 2],
        output_shape=[10, 11],
    )
    assert found.shape == ["n", 6, 10, 11]


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    ("window", "kernel", "ceil_mode"),
    [
        case
        for case in itertools.product(WINDOWS, (2, 3, 4, 6), (0, 1))
        if max(case[0].get("pads", [0])) < case[1]  # onnxruntime refuses more padding than that
    ],
)
def test_pools(check, runtime_input, op_type, window, kernel, ceil_mode):
    check(
        op_type,
        [runtime_input(["n", 4, "h"])],
        kernel_shape=[kernel],
        ceil_mode=ceil_mode,
        sizes=SIZES,
        need_runs=4,
        **window,
    )


@pytest.mark.parametrize("size", range(4, 12))
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_pools_of_known_size(check, runtime_input, size, stride):
    check(
        "MaxPool",
        [runtime_input([1, 1, size])],
        n_outputs=2,
        kernel_shape=[3],
        strides=[stride],
        pads=[1, 1],
        ceil_mode=1,
    )
    check(
        "MaxPool",
        [runtime_input([1, 1, size])],
        opset=8,
        n_outputs=2,
        kernel_shape=[2],
        strides=[stride],
    )


def test_integer_convolutions(check, runtime_input):
    item, kernel = runtime_input(["n", 3, "h"], T.UINT8), np.ones((4, 3, 3), np.uint8)
    check("ConvInteger", [item, kernel], pads=[1, 1])
    scale, zero = np.array(1, np.float32), np.array(0, np.uint8)
    check("QLinearConv", [item, scale, zero, kernel, scale, zero, scale, zero], pads=[1, 1])


def test_deform_conv(check, runtime_input):
    inputs = [runtime_input(["n", 1, 5, 5]), weight(2, 1, 2, 2), runtime_input(["n", 8, 4, 4])]
    check("DeformConv", inputs)


def test_max_unpool(check, runtime_input):
    item = [runtime_input(["n", 1, 2, 3]), runtime_input(["n", 1, 2, 3], T.INT64)]
    check("MaxUnpool", item, kernel_shape=[2, 2], strides=[2, 2], sizes=[{"n": 1}])
    check(
        "MaxUnpool",
        [*item, np.array([1, 1, 5, 7])],
        kernel_shape=[2, 2],
        strides=[2, 2],
        sizes=[{"n": 1}],
    )


def test_col2im(check, runtime_input):
    check("Col2Im", [runtime_input(["n", 8, 20]), np.array([5, 6]), np.array([2, 2])])


def test_pool_forms_stay_readable(check, runtime_input):
    image = runtime_input(["n", 3, "h", "h + 2"])
    sizes = [{"n": n, "h": h} for n in (0, 2) for h in range(5)]
    (found,) = check(
        "MaxPool", [image], kernel_shape=[2, 2], strides=[2, 2], sizes=sizes, need_runs=9
    )
    assert found.shape == ["n", 3, "max(h//2, min(h, 1))", "h//2 + 1"]
    even = runtime_input(["n", 3, "2*h", "4*h"])
    (found,) = check(
        "AveragePool", [even], kernel_shape=[2, 2], strides=[2, 2], sizes=sizes, need_runs=9
    )
    assert found.shape == ["n", 3, "h", "2*h"]
    (found,) = check("MaxPool", [image], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    assert found.shape == ["n", 3, "(h+1)//2", "(h+1)//2 + 1"]
