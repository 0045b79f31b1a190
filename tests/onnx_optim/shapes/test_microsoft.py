"""Operators of com.microsoft against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper

from yobx.onnx_optim import OptimDim, OptimTensor, ShapesContext, TensorType, compute_shapes

SCALE, ZERO8 = np.array(0.1, np.float32), np.array(0, np.uint8)


@pytest.fixture
def ms(check):
    def run(op_type, inputs, **keywords):
        return check(op_type, inputs, domain="com.microsoft", opset=1, **keywords)

    return run


def ones(*dims):
    return np.ones(dims, np.float32)


def test_fused_activations(ms, runtime_input):
    item = runtime_input(["n", "s", 4])
    ms("BiasGelu", [item, ones(4)])
    ms("FastGelu", [item, ones(4)])
    ms("Gelu", [item])
    ms("QuickGelu", [item], alpha=1.7)
    ms(
        "BiasSoftmax",
        [runtime_input(["n", "s", 4]), runtime_input(["n", 1, 4])],
        axis=2,
        is_inner_broadcast=0,
        need_runs=0,
    )
    ms("BiasSplitGelu", [runtime_input(["n", "s", 1280 * 2]), ones(2560)], need_runs=0)
    ms("Inverse", [runtime_input(["n", 2, 2])])
    ms("Trilu", [runtime_input(["n", "s"])])


def test_products(ms, runtime_input):
    (found,) = ms("FusedMatMul", [runtime_input(["n", 3, 4]), runtime_input(["m", 4])], transB=1)
    assert found.shape == ["n", 3, "m"]
    (found,) = ms("FusedMatMul", [runtime_input([4, "n"]), runtime_input([4, "m"])], transA=1)
    assert found.shape == ["n", "m"]
    ms(
        "FusedMatMul",
        [runtime_input([3, "n", 4]), runtime_input(["n", 4, "m"])],
        transBatchA=1,
        need_runs=0,
    )
    (found,) = ms(
        "FusedGemm", [runtime_input(["n", 4]), runtime_input(["m", 4])], transB=1, activation="Relu"
    )
    assert found.shape == ["n", "m"]
    quantised = runtime_input([4, "m"], T.UINT8)
    ms("DynamicQuantizeMatMul", [runtime_input(["n", 4]), quantised, SCALE, ZERO8])
    ms(
        "MatMulIntegerToFloat",
        [runtime_input(["n", 4], T.UINT8), quantised, SCALE, SCALE, ZERO8, ZERO8],
    )
    ms("CDist", [runtime_input(["n", 4]), runtime_input(["m", 4])], metric="euclidean")
    packed, scales = np.zeros((8, 1, 16), np.uint8), ones(8)
    (found,) = ms(
        "MatMulNBits",
        [runtime_input(["n", "s", 32]), packed, scales],
        K=32,
        N=8,
        bits=4,
        block_size=32,
    )
    assert found.shape == ["n", "s", 8]
    args = [runtime_input(["n", 4], T.UINT8), SCALE, ZERO8, np.ones((4, 3), np.uint8), SCALE, ZERO8]
    (found,) = ms("QGemm", [*args, None, SCALE, ZERO8])
    assert found.dtype == TensorType.kUInt8
    (found,) = ms("QGemm", args)
    assert found.dtype == TensorType.kFloat


def test_quantised_elementwise(ms, runtime_input):
    left, right = runtime_input(["n", 3], T.UINT8), runtime_input([3], T.UINT8)
    for op_type in ("QLinearAdd", "QLinearMul"):
        ms(op_type, [left, SCALE, ZERO8, right, SCALE, ZERO8, SCALE, ZERO8])
    for op_type in ("QLinearSigmoid", "QLinearLeakyRelu"):
        ms(op_type, [left, SCALE, ZERO8, SCALE, ZERO8])
    ms("QLinearConcat", [SCALE, ZERO8, left, SCALE, ZERO8, left, SCALE, ZERO8], axis=0)
    ms(
        "QLinearWhere",
        [runtime_input(["n", 1], T.BOOL), left, SCALE, ZERO8, right, SCALE, ZERO8, SCALE, ZERO8],
    )
    ms("QLinearReduceMean", [left, SCALE, ZERO8, SCALE, ZERO8], axes=[1], keepdims=0, need_runs=0)
    ms("MulInteger", [left, ZERO8, right, ZERO8], need_runs=0)


def test_quantised_pools_and_convolutions(ms, runtime_input):
    image = runtime_input(["n", 4, "h+2", 6], T.UINT8)
    ms(
        "QLinearAveragePool",
        [image, SCALE, ZERO8, SCALE, ZERO8],
        kernel_shape=[2, 2],
        strides=[2, 2],
    )
    (found,) = ms("QLinearGlobalAveragePool", [image, SCALE, ZERO8, SCALE, ZERO8])
    assert found.shape == ["n", 4, 1, 1]
    kernel = np.ones((2, 4, 3, 3), np.uint8)
    ms("QLinearConv", [image, SCALE, ZERO8, kernel, SCALE, ZERO8, SCALE, ZERO8], need_runs=0)
    last = runtime_input(["n", "h+2", 6, 4], T.UINT8)
    (found,) = ms(
        "QLinearConv", [last, SCALE, ZERO8, kernel, SCALE, ZERO8, SCALE, ZERO8], channels_last=1
    )
    assert found.shape == ["n", "h", 4, 2]
    (found,) = ms("NhwcMaxPool", [last], kernel_shape=[3, 3])
    assert found.shape == ["n", "h", 4, 4]


def test_convolutions(ms, runtime_input):
    image, kernel = runtime_input(["n", 4, "h+2", 6]), ones(2, 4, 3, 3)
    (found,) = ms("FusedConv", [image, kernel], activation="Relu")
    assert found.shape == ["n", 2, "h", 4]
    (found,) = ms("NhwcConv", [runtime_input(["n", "h+2", 6, 4]), kernel], need_runs=0)
    assert found.shape == ["n", "h", 4, 2]


def test_normalisation(ms, runtime_input):
    item = runtime_input(["n", "s", 4])
    found = ms("SkipLayerNormalization", [item, item, ones(4), ones(4), ones(4)], n_outputs=1)
    assert found[0].shape == ["n", "s", 4]
    ms("SkipSimplifiedLayerNormalization", [item, item, ones(4)])
    ids = runtime_input(["n", "s"], T.INT32)
    found = ms(
        "EmbedLayerNormalization",
        [ids, ids, ones(9, 4), ones(9, 4), ones(3, 4), ones(4), ones(4), ids],
        n_outputs=2,
    )
    assert found[0].shape == ["n", "s", 4]


def test_skip_layer_normalization_sum(ms, runtime_input):
    item = runtime_input(["n", "s", 4])
    found = ms("SkipLayerNormalization", [item, item, ones(4)], n_outputs=4, need_runs=0)
    assert found[3].shape == ["n", "s", 4]
    assert found[1].shape == ["n", "s", 1]


def test_attention(ms, runtime_input):
    inputs = [runtime_input(["n", "s", 8]), ones(8, 24), ones(24)]
    (found,) = ms("Attention", inputs, num_heads=2)
    assert found.shape == ["n", "s", 8]
    past = runtime_input([2, "n", 2, "p", 4])
    found = ms("Attention", [*inputs, None, past], num_heads=2, n_outputs=2, unidirectional=1)
    assert found[1].shape == [2, "n", 2, "p+s", 4]
    weights, zero = np.ones((8, 24), np.uint8), np.array(0, np.uint8)
    args = [
        runtime_input(["n", "s", 8], T.UINT8),
        weights,
        ones(24),
        SCALE,
        SCALE,
        None,
        zero,
        zero,
    ]
    (found,) = ms("QAttention", args, num_heads=2)
    assert (found.dtype, found.shape) == (TensorType.kFloat, ["n", "s", 8])


def test_multi_head_attention(ms, runtime_input):
    query, key, value = (runtime_input(["n", length, 8]) for length in ("s", "k", "k"))
    (found,) = ms("MultiHeadAttention", [query, key, value], num_heads=2)
    assert found.shape == ["n", "s", 8]
    past = runtime_input(["n", 2, "p", 4])
    inputs = [query, key, value, None, None, None, past, past]
    sizes = [{"n": 2, "s": 3, "k": 3, "p": 5}, {"n": 1, "s": 1, "k": 1, "p": 1}]
    found = ms("MultiHeadAttention", inputs, num_heads=2, n_outputs=3, sizes=sizes)
    assert found[1].shape == ["n", 2, "k+p", 4]


def test_group_query_attention(ms, runtime_input):
    query, key = runtime_input(["n", 1, 8]), runtime_input(["n", 1, 4])
    past = runtime_input(["n", 1, "p", 4])
    inputs = [
        query,
        key,
        key,
        past,
        past,
        runtime_input(["n"], T.INT32, 1, 2),
        np.array(3, np.int32),
    ]
    found = ms(
        "GroupQueryAttention",
        inputs,
        num_heads=2,
        kv_num_heads=1,
        n_outputs=3,
        exact=False,
        need_runs=0,
    )
    assert found[0].shape == ["n", 1, 8]
    assert found[1].shape.dims()[3] == OptimDim(4)


def test_rotary_embedding(ms, runtime_input):
    places = runtime_input(["n", "s"], T.INT64, 0, 1)
    ms("RotaryEmbedding", [runtime_input(["n", 2, "s", 4]), places, ones(20, 2), ones(20, 2)])


def test_others(ms, runtime_input):
    ms("ExpandDims", [runtime_input(["n", 3]), np.array(1, np.int32)])
    found = ms("Unique", [runtime_input(["n"])], n_outputs=3, exact=False)
    assert found[1].shape == ["n"]
    ms("MurmurHash3", [runtime_input(["n"], T.INT32)])
    ms("Range", [np.array(0), np.array(5)])
    ms("Pad", [runtime_input(["n", 3]), np.array([1, 0, 1, 0])])
    ms("GatherND", [runtime_input([4, "n"]), runtime_input(["m", 1], T.INT64)])
    ms(
        "CropAndResize",
        [
            runtime_input(["n", 3, 5, 5]),
            runtime_input(["r", 4]),
            runtime_input(["r"], T.INT32, 0, 1),
            np.array([2, 3], np.int32),
        ],
    )
    ms(
        "Tokenizer",
        [runtime_input(["n"], T.STRING)],
        mark=0,
        pad_value="#",
        mincharnum=1,
        separators=[" "],
        exact=False,
        need_runs=0,
    )
    ms("IsAllFinite", [runtime_input(["n", 2])], need_runs=0)
    (found,) = ms(
        "TorchEmbedding", [runtime_input([9, 4]), runtime_input(["n", "s"], T.INT64)], need_runs=0
    )
    assert found.shape == ["n", "s", 4]
    (found,) = ms(
        "Rfft", [runtime_input(["n", 8])], signal_ndim=1, onesided=1, normalized=0, need_runs=0
    )
    assert found.shape == ["n", 5, 2]
    (found,) = ms(
        "GatherBlockQuantized",
        [np.zeros((6, 16), np.uint8), runtime_input(["n"], T.INT64), ones(6, 1)],
        block_size=32,
        bits=4,
        quantize_axis=1,
    )
    assert found.shape == ["n", 32]


def test_dynamic_quantize_lstm(ms, runtime_input):
    weights, recurrent = np.ones((1, 3, 20), np.uint8), np.ones((1, 5, 20), np.uint8)
    scale, zero = ones(1), np.zeros(1, np.uint8)
    inputs = [
        runtime_input(["t", "n", 3]),
        weights,
        recurrent,
        None,
        None,
        None,
        None,
        None,
        scale,
        zero,
        scale,
        zero,
    ]
    found = ms("DynamicQuantizeLSTM", inputs, n_outputs=3, hidden_size=5)
    assert found[0].shape == ["t", 1, "n", 5]


def test_transposed_convolution_with_pads_as_input(ms, runtime_input):
    item, weight = runtime_input([1, 2, "n", "m"]), ones(2, 3, 3, 3)
    (found,) = ms(
        "ConvTransposeWithDynamicPads",
        [item, weight, np.array([1, 0, 0, 1], np.int64)],
        strides=[2, 1],
    )
    assert found.shape == [1, 3, "2*n", "m+1"]
    pads = runtime_input([4], T.INT64, 0, 1)
    (found,) = ms("ConvTransposeWithDynamicPads", [item, weight, pads], exact=False)
    assert found.shape.dims()[:2] == (OptimDim(1), OptimDim(3))


def test_upsampled_blocks_of_channels(check, runtime_input):
    (found,) = check(
        "Upsample",
        [runtime_input(["n", 16, 3, "m"])],
        domain="com.microsoft.nchwc",
        opset=1,
        scales=[1, 1, 2, 3],
    )
    assert found.shape == ["n", 16, 6, "3*m"]


def test_generated_text():
    def outputs(op_type, *inputs, count=1, **attributes):
        context = ShapesContext({"com.microsoft": 1})
        for index, item in enumerate(inputs):
            context.set(f"i{index}", item)
        node = helper.make_node(
            op_type,
            [f"i{index}" for index in range(len(inputs))],
            [f"o{index}" for index in range(count)],
            domain="com.microsoft",
            **attributes,
        )
        compute_shapes(context, node)
        return [context.get(f"o{index}") for index in range(count)]

    prompt, longest = OptimTensor(T.INT32, ["b", "s"]), OptimTensor(T.INT32, [1], value=["most"])
    few, one = OptimTensor(T.INT32, [1]), OptimTensor(T.FLOAT, [1])
    (words,) = outputs("GreedySearch", prompt, longest)
    assert (words.dtype, words.shape) == (TensorType.kInt32, ["b", "most"])
    _, kept = outputs("Sampling", prompt, longest, few, one, count=2, vocab_size=50)
    assert (kept.dtype, kept.shape) == (TensorType.kFloat, ["b", 50])
    answers = OptimTensor(T.INT32, [1], value=[3])
    words, scores, steps = outputs(
        "BeamSearch", prompt, longest, few, few, answers, one, one, count=3
    )
    assert (words.shape, scores.shape, steps.rank()) == (["b", 3, "most"], ["b", 3], 4)
    item, past = OptimTensor(T.FLOAT, ["b", 1, 16]), OptimTensor(T.FLOAT, [2, "b", 4, "p", 4])
    weights, bias, mask = (OptimTensor(T.FLOAT, d) for d in ([16, 48], [48], ["b", "p"]))
    found = outputs(
        "DecoderMaskedSelfAttention", item, weights, bias, mask, past, count=2, num_heads=4
    )
    assert [t.shape for t in found] == [["b", 1, 16], [2, "b", 4, "p+1", 4]]
