import numpy as np
import onnx
import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.convolutions import fold_into_convolutions
from yobx.passes.dead_code import remove_dead_code

CONSTANTS = """<float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[2] bias = {0.5, -1},
    float[1, 2, 1, 1] c = {2, -3}, float[2, 1, 1] c3 = {1, 7}, float s = {4},
    float[1, 1, 1, 5] columns = {1, 2, 3, 4, 5}, float[3, 2, 1, 1] wt = {1, 2, 3, 4, 5, 6},
    float[2] mean = {0.25, -2}, float[2] variance = {0.5, 3}, float[2] dw = {1, 2}>"""


def fold(body: str) -> onnx.ModelProto:
    before = parse(f"g (float[n, 3, 4, 5] x) => (float[n, 2, h, v] y) {CONSTANTS} {{ {body} }}")
    return apply(before, fold_into_convolutions, remove_dead_code)


@pytest.mark.parametrize(
    "body",
    [
        "a = Conv (x, w)\n b = Mul (a, c)\n y = Add (b, c3)",
        "a = Conv (x, w, bias)\n b = Add (c, a)\n d = Mul (c3, b)\n y = Sub (d, c)",
        "a = Conv (x, w)\n b = Sub (c, a)\n y = Div (b, s)",
        "a = Conv (x, w, bias)\n y = BatchNormalization (a, bias, bias, mean, variance)",
        "a = Conv (x, w)\n y = Div (a, c3)",
    ],
)
def test_arithmetic_after(body: str) -> None:
    assert kinds(fold(body)) == {"Conv": 1}


def test_arithmetic_after_a_squeeze() -> None:
    before = parse(
        """g (float[n, 3, 1, 5] x) => (float[n, 2, 5] y)
        <float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[1, 2, 1] b = {0.5, -1},
         int64[1] height = {2}, float[5] columns = {1, 2, 3, 4, 5}> {
            a = Conv (x, w)
            c = Squeeze (a, height)
            d = Add (c, b)
            y = Mul (d, columns)
        }"""
    )
    after = apply(before, fold_into_convolutions, remove_dead_code)
    assert kinds(after) == {"Conv": 1, "Squeeze": 1, "Mul": 1}


def test_transposed_convolution() -> None:
    after = fold("a = ConvTranspose (x, wt, bias)\n b = Mul (a, c)\n y = Add (b, c3)")
    assert kinds(after) == {"ConvTranspose": 1}


@pytest.mark.parametrize(("op_type", "channels"), [("Conv", 130), ("ConvTranspose", 130)])
def test_large_weights_are_scaled_as_they_are_written(op_type: str, channels: int) -> None:
    sizes = (channels, 3) if op_type == "Conv" else (3, channels)
    before = parse(
        f"g (float[n, 3, 6, 5] x, float[1, {channels}, 1, 1] c, "
        f"float[{sizes[0]}, {sizes[1]}, 2, 2] w) "
        f"=> (float[n, {channels}, h, v] y) {{ a = {op_type} (x, w)\n y = Mul (a, c) }}"
    )
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((2, 2, *sizes[::-1])).astype(np.float32).transpose(3, 2, 0, 1)
    scale = rng.standard_normal((1, channels, 1, 1)).astype(np.float32)
    del before.graph.input[1:]
    before.graph.initializer.append(onnx.numpy_helper.from_array(scale, "c"))
    before.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    after = apply(before, fold_into_convolutions, remove_dead_code)
    assert kinds(after) == {op_type: 1}
    folded = next(t for t in after.graph.initializer if t.name == "w/folded")
    by_channel = (channels, 1, 1, 1) if op_type == "Conv" else (1, channels, 1, 1)
    exact = weights.astype(np.float64) * scale.astype(np.float64).reshape(by_channel)
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(folded), exact.astype(np.float32))


@pytest.mark.parametrize(
    "body",
    [
        "a = Conv (x, w)\n b = Mul (a, columns)\n y = Relu (b)",
        "a = Conv (x, w)\n b = Div (c, a)\n y = Relu (b)",
        "a = Conv (x, w)\n b = Mul (a, c)\n d = Relu (a)\n y = Add (b, d)",
        "a = Conv (x, w)\n b = Mul (a, a)\n y = Relu (b)",
    ],
)
def test_what_is_not_by_channel(body: str) -> None:
    after = fold(body)
    assert len(after.graph.node) == len(body.splitlines())


def test_a_shared_weight_is_not_changed() -> None:
    after = fold("a = Conv (x, w)\n b = Mul (a, c)\n d = Conv (x, w)\n y = Add (b, d)")
    assert kinds(after) == {"Conv": 2, "Add": 1}
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in after.graph.initializer}
    np.testing.assert_array_equal(weights["w"].reshape(-1), [1, 2, 3, 4, 5, 6])


def test_an_output_in_between_stays() -> None:
    before = parse(
        f"""g (float[n, 3, 4, 5] x) => (float[n, 2, 4, 5] a, float[n, 2, 4, 5] y) {CONSTANTS} {{
            a = Conv (x, w)
            y = Mul (a, c)
        }}"""
    )
    assert kinds(apply(before, fold_into_convolutions)) == {"Conv": 1, "Mul": 1}


def pad(node: str, pads: str, value: str = "", first: str = "Relu") -> dict[str, int]:
    before = parse(
        f"""g (float[n, 3, 8, 9] x) => (float[n, c, h, v] y)
        <int64[8] pads = {{{pads}}}, float[2, 3, 3, 3] w = {{{", ".join(["0.5"] * 54)}}},
         float zero = {{0}}, float one = {{1}}> {{
            a = {first} (x)
            p = Pad (a, pads{value})
            y = {node}
        }}"""
    )
    return kinds(apply(before, fold_into_convolutions, remove_dead_code))


CONV = "Conv <strides = [2, 2], pads = [0, 1, 0, 1]> (p, w)"
POOL = "MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (p)"


def test_pads_go_into_the_convolution() -> None:
    assert "Pad" not in pad(CONV, "0, 0, 1, 2, 0, 0, 3, 1")
    assert "Pad" not in pad(CONV, "0, 0, 1, 2, 0, 0, 3, 1", ", zero")


def test_pads_go_into_a_pool_of_what_is_not_negative() -> None:
    assert "Pad" not in pad(POOL, "0, 0, 1, 1, 0, 0, 1, 1")
    assert "Pad" in pad(POOL, "0, 0, 1, 1, 0, 0, 1, 1", first="Neg")
    assert "Pad" in pad(POOL, "0, 0, 3, 1, 0, 0, 1, 1")


def test_other_pads_stay() -> None:
    assert "Pad" in pad(CONV, "0, 0, 1, 2, 0, 0, 3, 1", ", one")
    assert "Pad" in pad(CONV, "1, 0, 1, 2, 0, 0, 3, 1")
    assert "Pad" in pad(CONV, "0, 0, -1, 2, 0, 0, 3, 1")


LINES = """<float[2, 3, 1, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int64[1] one = {AXIS},
    float[1, 2, 1] bias = {0.5, -1}, int64[6] pads = {PADS}>"""


def lines(body: str, pads: str, axis: int = -2) -> dict[str, int]:
    constants = LINES.replace("AXIS", str(axis)).replace("PADS", pads)
    before = parse(f"g (float[n, 3, l] x) => (float[n, 2, h] y) {constants} {{ {body} }}")
    return kinds(apply(before, fold_into_convolutions, remove_dead_code))


ONE_LINE = "p = Pad (x, pads)\n u = Unsqueeze (p, one)\n c = Conv (u, w)\n y = Squeeze (c, one)"


@pytest.mark.parametrize("axis", [2, -2])
def test_pads_and_biases_of_convolutions_over_one_axis(axis: int) -> None:
    assert "Pad" not in lines(ONE_LINE, "0, 0, 1, 0, 0, 2", axis)
    biased = ONE_LINE.replace("y =", "d =") + "\n y = Add (d, bias)"
    assert lines(biased, "0, 0, 1, 0, 0, 0", axis) == {"Unsqueeze": 1, "Conv": 1, "Squeeze": 1}


def test_pads_over_one_axis_that_stay() -> None:
    assert "Pad" in lines(ONE_LINE, "1, 0, 1, 0, 0, 2")
    assert "Pad" in lines(ONE_LINE, "0, 0, 1, 0, 0, -1")
    shared = ONE_LINE.replace("y =", "d =") + "\n s = ReduceMax <keepdims = 1> (u)"
    assert "Pad" in lines(shared + "\n t = Squeeze (s, one)\n y = Add (d, t)", "0, 0, 1, 0, 0, 2")
