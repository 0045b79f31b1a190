"""Sums of numbers of one sign are rounded more than others, and no others are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import helper, numpy_helper

from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion
from yobx.verification.error_classes import node_class
from yobx.verification.runner import Session, exposed
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.tolerances import load_tolerances

TABLE = load_tolerances()
UNIT = 2.0**-24
RNG = np.random.default_rng(11)


def positive(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.uniform(0.0, 1.0, shape).astype(np.float32)


IMAGES, KERNELS = positive(2, 24, 24, 3), positive(11, 11, 3, 1)
WIDE, WEIGHTS = positive(2, 12, 12, 64), positive(3, 3, 64, 16)
GROUPS = np.repeat([0, 1], 50)
RIGHT = {
    "depthwise": (lambda x: tf.nn.depthwise_conv2d(x, KERNELS, [1] * 4, "VALID"), IMAGES),
    "convolution": (lambda x: tf.nn.conv2d(x, WEIGHTS, 1, "VALID") + 3.0, WIDE),
    "transposed": (
        lambda x: tf.nn.conv2d_transpose(x, WEIGHTS, [2, 24, 24, 64], 2),
        WIDE[..., :16],
    ),
    "product": (lambda x: x @ positive_weights(), positive(8, 4096)),
    "mean": (lambda x: tf.reduce_mean(x, 1), positive(100, 6400)),
    "sum": (lambda x: tf.reduce_sum(x, 0), positive(4096, 48)),
    "groups": (lambda x: tf.math.segment_sum(x, GROUPS), positive(100, 640)),
    "pooling": (lambda x: tf.nn.avg_pool2d(x, 9, 1, "VALID"), IMAGES),
}


def positive_weights() -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).uniform(0.0, 1.0, (4096, 8)).astype(np.float32)


@pytest.mark.parametrize("name", RIGHT)
def test_right_sums_of_one_sign_agree(name: str) -> None:
    function, x = RIGHT[name]
    for seed in range(3):
        traced = tf.function(function, autograph=False)
        report = check_conversion(traced, (x,), dynamic_shapes={}, seed=seed, localize=False)
        assert report.passed, report.text()
        assert not any(output.notes for output in report.outputs), "by the noise alone"


@pytest.mark.parametrize("name", ["depthwise", "convolution", "mean", "pooling"])
def test_a_small_fault_of_a_sum_is_refused(name: str) -> None:
    function, x = RIGHT[name]
    right = tf.function(function, autograph=False)
    wrong = tf.function(lambda v: function(v) * np.float32(1.0 + 2e-5), autograph=False)
    model = to_onnx(wrong, (x,), dynamic_shapes={})

    def reference(v: Any) -> Any:
        return right(v).numpy()

    report = check_conversion(model, (x,), reference=reference, localize=False)
    assert report.failed_phase == "values"


def test_partial_sums_are_rounded_as_the_table_says() -> None:
    """One after the other; the table has the amplitude of uniform noise."""
    said = TABLE.noise["sums"] / np.sqrt(3.0)
    for terms in (64, 1024, 16384):
        x = positive(terms, 256)
        seen = np.add.accumulate(x, axis=0)[-1].astype(np.float64)
        exact = x.astype(np.float64).sum(0)
        spread = np.sqrt(np.mean((seen / exact - 1.0) ** 2)) / (UNIT * np.sqrt(terms))
        assert 0.7 * said < spread < 1.15 * said, terms
    conv = tf.nn.conv2d(WIDE, WEIGHTS, 1, "VALID").numpy()
    exact = tf.nn.conv2d(WIDE.astype(float), WEIGHTS.astype(float), 1, "VALID").numpy()
    spread = np.sqrt(np.mean((conv / exact - 1.0) ** 2)) / (UNIT * np.sqrt(3 * 3 * 64))
    assert 0.7 * said < spread < 1.15 * said


def allowed(
    node: onnx.NodeProto, x: np.ndarray[Any, Any], *, sums: bool, **weights: np.ndarray[Any, Any]
) -> float:
    """The root mean square allowed of a graph of one node."""
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opset = helper.make_opsetid("", 21)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    table = TABLE if sums else replace(TABLE, noise={**TABLE.noise, "sums": 0.0})
    clean = {"x": x, **Session(exposed(model), optimise=False).run({"x": x}).values}
    found = Sensitivity(model, table).measure({"x": x}, clean, ["y"])["y"].rms
    assert found is not None
    return found


CONV = helper.make_node("Conv", ["x", "w", "b"], ["y"])
PLAIN = helper.make_node("Conv", ["x", "w"], ["y"])
EINSUM = helper.make_node("Einsum", ["x", "w"], ["y"], equation="bnij,ijk->bnk")
GEMM = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transA=1, beta=2.0)


@pytest.mark.parametrize(
    ("node", "x", "weights"),
    [
        (helper.make_node("MatMul", ["x", "w"], ["y"]), (32, 400), {"w": (400, 16)}),
        (PLAIN, (2, 64, 9, 9), {"w": (16, 64, 3, 3)}),
        (EINSUM, (2, 9, 30, 20), {"w": (30, 20, 4)}),
        (helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0), (500, 3), {}),
        (helper.make_node("GlobalAveragePool", ["x"], ["y"]), (4, 8, 30, 30), {}),
    ],
)
def test_sums_of_both_signs_are_allowed_what_they_were(
    node: onnx.NodeProto, x: tuple[int, ...], weights: dict[str, tuple[int, ...]]
) -> None:
    data = RNG.standard_normal(x).astype(np.float32)
    arrays = {k: RNG.standard_normal(v).astype(np.float32) for k, v in weights.items()}
    before = allowed(node, data, sums=False, **arrays)
    assert allowed(node, data, sums=True, **arrays) == pytest.approx(before, rel=0.1)
    ones = {k: np.abs(v) for k, v in arrays.items()}
    before = allowed(node, np.abs(data), sums=False, **ones)
    assert allowed(node, np.abs(data), sums=True, **ones) > 2.0 * before


@pytest.mark.parametrize(
    ("node", "x", "w", "b"),
    [
        (CONV, (2, 64, 9, 9), (16, 64, 3, 3), (16,)),
        (GEMM, (400, 32), (400, 16), (16,)),
    ],
)
def test_a_bias_is_no_term(
    node: onnx.NodeProto, x: tuple[int, ...], w: tuple[int, ...], b: tuple[int, ...]
) -> None:
    data, weights = positive(*x), {"w": positive(*w), "b": np.full(b, 1e6, np.float32)}
    before = allowed(node, data, sums=False, **weights)
    assert allowed(node, data, sums=True, **weights) == pytest.approx(before, rel=0.1)


def test_classes_of_scatters() -> None:
    def scatter(**attributes: str) -> str:
        node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=0, **attributes)
        return node_class(node, TABLE)

    assert scatter() == scatter(reduction="none") == scatter(reduction="max") == "exact"
    assert scatter(reduction="add") == "contraction"
    assert scatter(reduction="mul") == "composite"
