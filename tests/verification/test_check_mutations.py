"""Negative controls: every mutation of a right conversion is caught in its phase, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.verification.models import (
    copied,
    model,
    network,
    node_of,
    set_weight,
    unary,
    value,
    weight,
)
from yobx.verification import check_conversion

RNG = np.random.default_rng(11)
X = RNG.standard_normal((4, 16)).astype(np.float32)


def changed_weight(name: str, change: Callable[[Any], Any]) -> onnx.ModelProto:
    bad = network()
    set_weight(bad, name, np.ascontiguousarray(change(weight(bad, name))))
    return bad


def changed_attribute(node: str, attribute: str, new: float) -> onnx.ModelProto:
    bad = network()
    found = next(a for a in node_of(bad, node).attribute if a.name == attribute)
    found.CopyFrom(helper.make_attribute(attribute, new))
    return bad


def changed_operator(node: str, op_type: str, **attributes: Any) -> onnx.ModelProto:
    bad = network()
    target = node_of(bad, node)
    target.op_type = op_type
    del target.attribute[:]
    target.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
    return bad


def rewired(node: str, position: int, source: str) -> onnx.ModelProto:
    bad = network()
    node_of(bad, node).input[position] = source
    return bad


def without_node(node: str) -> onnx.ModelProto:
    bad = network()
    gone = node_of(bad, node)
    source, target = gone.input[0], gone.output[0]
    bad.graph.node.remove(gone)
    for other in bad.graph.node:
        for i, name in enumerate(other.input):
            other.input[i] = source if name == target else name
    return bad


def one_element(array: Any) -> Any:
    array[3, 5] *= 1.001
    return array


VALUE_MUTATIONS: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "transposed weights": (lambda: changed_weight("w1", np.transpose), "%d1"),
    "one weight off by a thousandth": (lambda: changed_weight("w0", one_element), "%d0"),
    "flipped weights": (lambda: changed_weight("w0", lambda w: w[::-1]), "%d0"),
    "bfloat16 weights": (
        lambda: changed_weight(
            "w0", lambda w: (w.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        ),
        "%d0",
    ),
    "epsilon 1e-3 -> 1e-5": (lambda: changed_attribute("bn1", "epsilon", 1e-5), "%n1"),
    "epsilon 1e-3 -> 1.1e-3": (lambda: changed_attribute("bn2", "epsilon", 1.1e-3), "%n2"),
    "bias left out": (lambda: changed_weight("bias1", np.zeros_like), "%n1"),
    "mean of another layer": (lambda: rewired("bn1", 3, "mean0"), "%n1"),
    "scale of another layer": (lambda: rewired("bn2", 1, "scale1"), "%n2"),
    "variance taken as deviation": (lambda: changed_weight("var1", np.square), "%n1"),
    "rectifier left out": (lambda: without_node("relu1"), "%d2"),
    "other activation": (lambda: changed_operator("relu0", "Elu"), "%r0"),
    "leaky rectifier": (lambda: changed_operator("relu0", "LeakyRelu", alpha=0.01), "%r0"),
    "absolute instead of rectified": (lambda: changed_operator("relu2", "Abs"), "%r2"),
    "log-softmax": (lambda: changed_operator("probabilities", "LogSoftmax"), "%y"),
    "softmax over the batch": (lambda: changed_operator("probabilities", "Softmax", axis=0), "%y"),
    "hard sigmoid": (lambda: changed_operator("relu1", "HardSigmoid"), "%r1"),
    "skipped layer": (lambda: rewired("dense2", 0, "r0"), "%d2"),
}


@pytest.mark.parametrize("name", VALUE_MUTATIONS)
def test_a_wrong_network_is_caught_and_localised(name: str) -> None:
    make, first = VALUE_MUTATIONS[name]
    report = check_conversion(make(), (X,), reference=network())
    assert report.failed_phase == "values"
    text = report.text()
    assert "VALUES differ" in text
    assert "y WRONG" in text
    found = report.localization
    assert found is not None
    assert f"%{found.value}" == first
    assert found.verdict == "converter"
    assert "the converted graph is another function" in text
    assert found.reduced_nodes == 1


def test_the_right_network_passes() -> None:
    for seed in range(5):
        report = check_conversion(network(), (X,), reference=network(), seed=seed)
        assert report.passed, report.text()


# ---- structure ---------------------------------------------------------------------------------


def identity(dtype: int, out: int | None = None, dims: Any = ("B", 4)) -> onnx.ModelProto:
    cast = helper.make_node("Cast", ["x"], ["y"], to=out or dtype)
    return model([cast], [value("x", dims, dtype)], [value("y", dims, out or dtype)])


def run_on(
    bad: onnx.ModelProto, reference: Callable[..., Any], *arrays: Any, **options: Any
) -> Any:
    return check_conversion(bad, arrays, reference=reference, **options)


def test_a_dropped_output_is_missing() -> None:
    report = run_on(identity(1), lambda x: (x, x + 1.0), X[:, :4])
    assert report.failed_phase == "structure"
    assert "has 1 output (y), the source 2" in report.text()


def test_an_extra_output_is_unknown() -> None:
    bad = identity(1)
    bad.graph.node.append(helper.make_node("Neg", ["x"], ["z"]))
    bad.graph.output.append(value("z", ["B", 4]))
    report = run_on(bad, lambda x: (x,), X[:, :4])
    assert report.failed_phase == "structure"
    assert "unknown to the source" in report.text()


def test_swapped_outputs_are_caught_by_name_or_value() -> None:
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Abs", ["x"], ["b"])]
    swapped = model(nodes, [value("x", ["B", 4])], [value("b", ["B", 4]), value("a", ["B", 4])])
    report = run_on(swapped, lambda x: {"a": -x, "b": np.abs(x)}, X[:, :4])
    assert report.failed_phase == "structure"
    assert "output 0 is called 'b', in the source 'a'" in report.text()


@pytest.mark.parametrize(
    ("source", "target", "named"),
    [
        (TensorProto.FLOAT, TensorProto.DOUBLE, "float64, the source gives float32"),
        (TensorProto.FLOAT, TensorProto.FLOAT16, "float16, the source gives float32"),
        (TensorProto.INT64, TensorProto.INT32, "int32, the source gives int64"),
        (TensorProto.INT32, TensorProto.UINT32, "uint32, the source gives int32"),
        (TensorProto.BOOL, TensorProto.INT64, "int64, the source gives bool"),
    ],
)
def test_dtype_drift_is_a_failure(source: int, target: int, named: str) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(source)
    x = np.ones((2, 4), dtype)
    report = run_on(identity(source, target), lambda x: x, x)
    assert report.failed_phase == "structure"
    assert named in report.text()


# ---- shapes --------------------------------------------------------------------------------------


def test_swapped_symbols_name_the_dimension() -> None:
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])
    bad = model([node], [value("x", ["B", 4])], [value("y", ["B", 4])])
    report = run_on(bad, np.transpose, X[:, :4])
    assert report.failed_phase in {"shapes", "shape-match"}
    text = report.text()
    assert "dim 0" in text or "contradict" in text.lower()
    assert report.phase("shape-match").outcome == "failed"
    assert any(
        "dim 0 is B = 5 but runs as 4" in message
        for message in report.phase("shape-match").messages
    )


def test_two_symbols_of_one_size_cannot_hide_a_swap() -> None:
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])
    bad = model([node], [value("x", ["B", "S"])], [value("y", ["B", "S"])])
    report = run_on(bad, np.transpose, np.ones((3, 3), np.float32))
    assert "shape-match" in {p.name for p in report.phases if p.outcome == "failed"}


def test_a_symbol_declared_twice_is_refuted() -> None:
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
    bad = model([node], [value("x", ["B", 4])], [value("y", ["B", 4])])
    report = run_on(bad, lambda x: np.concatenate([x, x]), X[:, :4])
    assert report.phase("shape-match").outcome == "failed"
    assert "dim 0 is B = 5 but runs as 10" in " ".join(report.phase("shape-match").messages)


def test_a_frozen_batch_is_caught() -> None:
    weights = {"shape": np.array([4, 2, 8], np.int64)}
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    bad = model([node], [value("x", ["B", 16])], [value("y", ["B", 2, 8])], weights)
    report = run_on(bad, lambda x: x.reshape(-1, 2, 8), X)
    assert report.failed_phase in {"shapes", "run"}
    assert not report.passed


def test_wrong_rank() -> None:
    node = helper.make_node("Unsqueeze", ["x", "axes"], ["y"])
    axes = {"axes": np.array([0], np.int64)}
    bad = model([node], [value("x", ["B", 4])], [value("y", [1, "B", 4])], axes)
    report = run_on(bad, lambda x: x, X[:, :4])
    assert report.failed_phase == "shape-match"
    assert "rank 3 [1, 5, 4], the source gives rank 2 [5, 4]" in report.text()


def test_a_squeeze_that_shows_at_size_one_only() -> None:
    node = helper.make_node("Squeeze", ["x"], ["y"])
    bad = model([node], [value("x", ["B", 4])], [value("y", None)])  # type: ignore[arg-type]
    report = run_on(bad, lambda x: x, X[:, :4])
    assert not report.passed
    assert any(o.category == "rank" and o.binding == "B=1" for o in report.outputs)
    assert not any(o.failed and o.binding == "B=5" for o in report.outputs)


def test_a_wrong_intermediate_declaration_is_caught() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="dense"),
        helper.make_node("ReduceSum", ["h"], ["y"], keepdims=0),
    ]
    weights = {"w": np.ones((4, 6), np.float32)}
    bad = model(nodes, [value("x", ["B", 4])], [value("y", [])], weights)
    bad.graph.value_info.append(value("h", [6, "B"]))
    report = run_on(bad, lambda x: np.sum(x @ weights["w"], dtype=np.float32), X[:, :4])
    assert '%h (MatMul #0 "dense")' in " ".join(report.phase("shape-match").messages)


# ---- exact values --------------------------------------------------------------------------------


def test_an_integer_off_by_one_beyond_the_reach_of_float64() -> None:
    bad = model(
        [helper.make_node("Add", ["x", "one"], ["y"])],
        [value("x", ["B"], TensorProto.INT64)],
        [value("y", ["B"], TensorProto.INT64)],
        {"one": np.array([1], np.int64)},
    )
    report = run_on(bad, lambda x: x, np.array([2**62, 2**53], np.int64))
    assert report.failed_phase == "values"
    text = report.text()
    assert f"got {2**62 + 1}  want {2**62}" in text
    assert report.outputs[0].max_abs == 1.0


def test_unsigned_statistics_do_not_wrap_around() -> None:
    bad = identity(TensorProto.UINT8)
    report = run_on(bad, lambda x: (x + np.uint8(4)).astype(np.uint8), np.zeros((2, 4), np.uint8))
    assert report.outputs[0].max_abs == 4.0


def test_the_sign_of_zero() -> None:
    bad = unary("Identity")
    report = run_on(bad, lambda x: np.where(x == 0, np.float32(-0.0), x), np.zeros((2, 4), "f4"))
    assert report.failed_phase == "values"
    assert report.outputs[0].category == "zero sign"
    assert "got 0.0  want -0.0" in report.text()


def test_a_nan_in_another_place() -> None:
    x = X[:, :4].copy()
    x[1, 2] = np.nan

    def reference(a: Any) -> Any:
        return np.roll(np.sqrt(np.abs(a)), 1, axis=1)

    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Sqrt", ["a"], ["y"])]
    bad = model(nodes, [value("x", ["B", 4])], [value("y", ["B", 4])])
    report = run_on(bad, reference, x)
    assert report.failed_phase == "values"
    assert report.outputs[0].category == "nan"


def test_matching_nan_and_infinities_pass() -> None:
    x = np.array([[np.nan, np.inf, -np.inf, 1.0]], np.float32)
    report = run_on(unary("Abs"), np.abs, x)
    assert report.passed, report.text()


def test_an_infinity_of_the_other_sign() -> None:
    x = np.array([[np.inf, 1.0, 2.0, 3.0]], np.float32)
    report = run_on(unary("Identity"), lambda a: np.where(np.isinf(a), -a, a), x)
    assert report.outputs[0].category == "inf"
    assert report.failed_phase == "values"


def test_a_wrong_string() -> None:
    bad = model(
        [helper.make_node("Identity", ["x"], ["y"])],
        [value("x", ["B"], TensorProto.STRING)],
        [value("y", ["B"], TensorProto.STRING)],
    )
    x = np.array(["red", "Green"], dtype=object)
    report = run_on(bad, lambda a: np.array([v.lower() for v in a], dtype=object), x)
    assert report.failed_phase == "values"
    assert "got 'Green'  want 'green'" in report.text()


def test_a_flipped_bool() -> None:
    bad = model(
        [helper.make_node("Not", ["x"], ["y"])],
        [value("x", ["B"], TensorProto.BOOL)],
        [value("y", ["B"], TensorProto.BOOL)],
    )
    report = run_on(bad, lambda a: a, np.array([True, False]))
    assert report.failed_phase == "values"


# ---- float values --------------------------------------------------------------------------------


def test_one_wrong_element_in_a_million() -> None:
    x = RNG.standard_normal((1, 1_000_000)).astype(np.float32)

    def reference(a: Any) -> Any:
        result = np.tanh(a)
        result[0, 777_777] *= np.float32(1.0001)
        return result

    report = run_on(unary("Tanh", (1, 1_000_000)), reference, x)
    assert report.failed_phase == "values"
    output = report.outputs[0]
    assert (output.wrong, output.first_index) == (1, (0, 777_777))


def test_two_last_places_are_too_many_for_an_addition() -> None:
    bad = model(
        [helper.make_node("Add", ["x", "x"], ["y"])], [value("x", ["B", 4])], [value("y", ["B", 4])]
    )

    def reference(a: Any) -> Any:
        return ((a + a).view(np.int32) + 2).view(np.float32)

    report = run_on(bad, reference, np.abs(X[:, :4]))
    assert report.failed_phase == "values"
    assert "1 ULP (rounded: Add)" in report.text()


def test_a_long_contraction_passes_and_one_perturbed_weight_fails() -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4096, 32)).astype(np.float32)
    x = rng.standard_normal((3, 4096)).astype(np.float32)

    def dense(weights: Any) -> onnx.ModelProto:
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        return model([node], [value("x", ["B", 4096])], [value("y", ["B", 32])], {"w": weights})

    def reference(a: Any) -> Any:
        return (a.astype(np.float64) @ w.astype(np.float64)).astype(np.float32)

    assert run_on(dense(w), reference, x).passed
    off = w.copy()
    largest = np.unravel_index(np.argmax(np.abs(off)), off.shape)
    off[largest] *= 1.001
    report = run_on(dense(off), reference, x)
    assert report.failed_phase == "values"


def test_a_shift_that_no_element_shows_is_systematic() -> None:
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Sin", ["e"], ["y"])]
    bad = model(nodes, [value("x", ["B", 4096])], [value("y", ["B", 4096])])
    x = np.random.default_rng(1).uniform(-1, 0, (4, 4096)).astype(np.float32)

    def shifted(by: float) -> Any:
        def reference(a: Any) -> Any:
            return (np.sin(np.exp(a.astype(np.float64))) + by).astype(np.float32)

        return run_on(bad, reference, x, bindings="sample")

    right = shifted(0.0)
    assert right.passed, right.text()
    report = shifted(1.1 * right.outputs[0].allowed_rms)
    assert report.failed_phase == "values"
    assert report.outputs[0].wrong < 0.05 * report.outputs[0].elements
    assert "systematic" in report.text()


def test_an_output_that_rounding_alone_decides_is_not_accepted() -> None:
    """Cancellation to nothing: float32 cannot tell, so the check must not claim agreement."""
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Log", ["e"], ["l"]),
        helper.make_node("Sub", ["l", "x"], ["y"]),
    ]
    bad = model(nodes, [value("x", ["B", 64])], [value("y", ["B", 64])])
    x = np.random.default_rng(2).uniform(1, 5, (4, 64)).astype(np.float32)
    report = run_on(bad, np.zeros_like, x)
    assert not report.passed
    assert "VALUES agree, which proves nothing" in report.text()
    assert "1/1 undecided:  y UNDECIDED" in report.text()
    assert "not decidable in float32" in report.text()
    assert report.localization is None


def test_the_clamped_sigmoid_is_blamed_on_the_run_time() -> None:
    nodes = [helper.make_node("Sigmoid", ["x"], ["s"]), helper.make_node("Log", ["s"], ["y"])]
    bad = model(nodes, [value("x", ["B"])], [value("y", ["B"])])
    x = np.linspace(-30, 5, 64, dtype=np.float32)

    def reference(a: Any) -> Any:
        wide = a.astype(np.float64)
        return (-np.log1p(np.exp(-wide))).astype(np.float32)

    report = run_on(bad, reference, x)
    assert report.failed_phase == "values"
    assert "inf" in {o.category for o in report.outputs}
    assert report.localization is not None
    assert report.localization.op_type == "Sigmoid"
    assert report.localization.verdict == "runtime"


# ---- earlier phases ------------------------------------------------------------------------------


def test_a_model_the_checker_refuses() -> None:
    bad = unary("Relu")
    bad.graph.node[0].input.append("nowhere")
    report = run_on(bad, lambda a: a, X[:, :4])
    assert report.failed_phase == "check"


def test_an_operator_without_a_kernel_fails_to_load() -> None:
    shape, double = ["B", 1, 4, 4], TensorProto.DOUBLE
    bad = model(
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        [value("x", shape, double)],
        [value("y", shape, double)],
        {"w": np.ones((1, 1, 1, 1))},
    )
    report = run_on(bad, lambda a: a, np.ones((2, 1, 4, 4)))
    assert report.failed_phase == "load"
    assert "cannot load" in report.text()


def test_a_node_that_fails_while_running() -> None:
    bad = model(
        [helper.make_node("Gather", ["table", "x"], ["y"])],
        [value("x", ["B"], TensorProto.INT64)],
        [value("y", ["B"])],
        {"table": np.zeros(3, np.float32)},
    )
    report = run_on(bad, lambda a: np.zeros(a.shape, np.float32), np.array([0, 9], np.int64))
    assert report.failed_phase == "run"


def test_a_source_that_raises_at_run_time() -> None:
    def reference(a: Any) -> Any:
        raise RuntimeError("no such luck")

    report = run_on(unary("Relu"), reference, X[:, :4])
    assert report.failed_phase == "run"
    assert "no such luck" in report.text()


def test_what_was_not_made_is_said() -> None:
    bad = unary("Relu")
    bad.graph.node[0].input.append("nowhere")
    text = run_on(bad, lambda a: a, X[:, :4]).text()
    assert "not made" in text
    assert "values" in text


def test_the_same_seed_gives_the_same_text() -> None:
    bad = changed_attribute("bn1", "epsilon", 1e-5)
    texts = {run_on(bad, _reference, X, seed=3).text() for _ in range(2)}
    assert len(texts) == 1


def _reference(x: Any) -> Any:
    from yobx.verification.runner import Session

    return Session(network()).run({"x": x}).values["y"]


def test_the_input_is_not_changed() -> None:
    good = network()
    before = copied(good).SerializeToString(deterministic=True)
    check_conversion(good, (X,), reference=network())
    assert good.SerializeToString(deterministic=True) == before


def test_a_source_that_works_in_place_changes_nothing_for_the_other_side() -> None:
    def doubles_first(x: Any) -> Any:
        x *= 2
        return -x

    assert run_on(unary("Neg"), doubles_first, X[:, :4]).failed_phase == "values"


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (np.zeros((0, 4), np.float32), "every output is empty"),
        (np.full((2, 4), np.nan, np.float32), "no element is finite"),
    ],
    ids=["empty", "nan"],
)
def test_agreement_that_proves_little_is_said(x: Any, said: str) -> None:
    report = run_on(unary("Neg", x.shape), np.negative, x)
    assert report.passed
    assert report.text().count(said) == 1


def test_a_source_that_draws_random_numbers_is_told_from_a_wrong_conversion() -> None:
    def noisy(x: Any) -> Any:
        return -x + RNG.standard_normal(x.shape).astype(np.float32)

    words = "the source gives another result each time it is called"
    report = run_on(unary("Neg"), noisy, X[:, :4])
    assert not report.passed
    assert words in report.text()
    assert "VALUES cannot be compared" in report.text()
    assert "RANDOM" in report.text()
    assert report.localization is None, "there is no fault to find"
    assert words not in run_on(unary("Neg"), np.abs, X[:, :4]).text()
