from __future__ import annotations

import tomllib
from pathlib import Path

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
    value,
    weight,
)
from yobx.verification import check_conversion, tolerances
from yobx.verification.comparison import compare
from yobx.verification.error_classes import classify
from yobx.verification.inner_values import collector
from yobx.verification.noise import noisy_model
from yobx.verification.runner import Session, exposed
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.tolerances import load_tolerances
from yobx.verification.value_types import value_types

TABLE = load_tolerances()


def measured(target, feeds, output="y", seed=0):
    clean = Session(exposed(target), optimise=False).run(feeds).values
    sensitivity = Sensitivity(target, TABLE, seed=seed)
    return sensitivity.measure(feeds, clean, [output])[output], clean, sensitivity


def double_of(target):
    wide = copied(target)
    for tensor in wide.graph.initializer:
        array = np.frombuffer(tensor.raw_data, np.float32).reshape(tensor.dims)
        tensor.CopyFrom(helper.make_tensor(tensor.name, TensorProto.DOUBLE, array.shape, array))
    for declared in (*wide.graph.input, *wide.graph.output):
        declared.type.tensor_type.elem_type = TensorProto.DOUBLE
    return wide


@pytest.mark.parametrize(("depth", "width"), [(1, 16), (4, 64), (16, 128), (40, 64)])
def test_float32_keeps_within_what_is_measured(depth, width):
    """The truth is the same network in float64; the allowance must hold it, with room."""
    target = network(depth, width)
    exact = Session(double_of(target))
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((9, width)).astype(np.float32)
        allowance, _, _ = measured(target, {"x": x}, seed=seed)
        got = Session(target).run({"x": x}).values["y"]
        want = exact.run({"x": x.astype(np.float64)}).values["y"].astype(np.float32)
        report = compare("y", got, want, allowance)
        assert not report.failed, report
        assert report.budget_used is not None
        assert report.budget_used < 0.7


@pytest.mark.parametrize("depth", [1, 4, 16])
def test_the_allowance_is_not_loose(depth):
    """An epsilon that is off by a tenth, in one layer of many, is outside of it."""
    target = network(depth, 64)
    x = np.random.default_rng(0).standard_normal((9, 64)).astype(np.float32)
    allowance, _, _ = measured(target, {"x": x})
    bad = copied(target)
    node_of(bad, "bn0").attribute[0].f = 1.1e-3
    want = Session(target).run({"x": x}).values["y"]
    assert compare("y", Session(bad).run({"x": x}).values["y"], want, allowance).failed


def test_exact_operators_pass_no_noise():
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Transpose", ["r"], ["y"])]
    target = model(nodes, [value("x", ["B", 4])], [value("y", [4, "B"])])
    assert noisy_model(target, TABLE, seed=0)[2] == 0
    found = Sensitivity(target, TABLE).strict("y", np.dtype("f4"))
    assert found is not None
    assert found.absolute is None
    assert not found.zero_sign, "the sign of max(-0, 0) is open"


@pytest.mark.parametrize(
    ("x", "step", "rounded"),
    [
        ([1.0, 2.0, 7.0], 1.0, False),  # whole numbers have a whole sum
        ([1.5, 2.5, 7.5], 0.5, True),
        ([2.0**25, 2.0**26, 2.0**27], 8.0, True),  # which float32 may not have
    ],
)
def test_sums_of_whole_numbers_are_not_rounded(x, step, rounded):
    nodes = [helper.make_node("Add", ["x", "c"], ["s"]), helper.make_node("Sub", ["s", "x"], ["y"])]
    weights = {"c": np.array(step, np.float32)}
    target = model(nodes, [value("x", ["B"])], [value("y", ["B"])], weights)
    feeds = {"x": np.array(x, np.float32)}
    total = feeds["x"] + weights["c"]
    clean = {**feeds, "s": total, "y": total - feeds["x"]}
    allowance = Sensitivity(target, TABLE).measure(feeds, clean, ["y"])["y"]
    assert bool(np.any(allowance.absolute)) == rounded


def test_classes_follow_the_ancestors():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Add", ["a", "x"], ["b"]),
        helper.make_node("Tanh", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "x"], ["d"]),
        helper.make_node("Transpose", ["b"], ["e"]),
        helper.make_node("Unheard", ["x"], ["f"]),
    ]
    target = model(nodes, [value("x", [4, 4])], [])
    classes = classify(target, TABLE)
    assert [(classes[n].label, classes[n].depth) for n in "abcdef"] == [
        ("exact", 0),
        ("rounded", 1),
        ("transcendental", 2),
        ("contraction", 2),
        ("rounded", 1),
        ("transcendental", 1),
    ]
    assert classes["e"].op_type == "Add"
    assert classes["f"].unlisted == {"Unheard"}


def test_rounding_inside_a_loop_is_measured():
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_out"]),
            helper.make_node("MatMul", ["h", "w"], ["m"]),
            helper.make_node("Tanh", ["m"], ["h_out"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("h", None)],
        [value("go_out", [], TensorProto.BOOL), value("h_out", None)],
    )
    loop = helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)
    weights = {
        "count": np.array(20, np.int64),
        "w": (np.random.default_rng(0).standard_normal((8, 8)) / 2).astype(np.float32),
    }
    target = model([loop], [value("x", ["B", 8])], [value("y", ["B", 8])], weights)
    x = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)
    allowance, clean, sensitivity = measured(target, {"x": x})
    assert not sensitivity.notes
    assert allowance.rms is not None
    h = x.astype(np.float64)
    for _ in range(20):
        h = np.tanh(h @ weights["w"].astype(np.float64))
    report = compare("y", clean["y"], h.astype(np.float32), allowance)
    assert not report.failed
    assert report.relative_budget is not None
    assert report.relative_budget < 1e-3


def test_a_decision_that_rounding_turns_over_is_marked():
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Log", ["e"], ["l"]),
        helper.make_node("GreaterOrEqual", ["l", "x"], ["y"]),
    ]
    target = model(nodes, [value("x", ["B", 64])], [value("y", ["B", 64], TensorProto.BOOL)])
    x = np.random.default_rng(0).uniform(1, 2, (3, 64)).astype(np.float32)
    allowance, _, _ = measured(target, {"x": x})
    assert allowance.unstable is not None
    assert allowance.unstable.mean() > 0.5


def test_what_cannot_be_measured_is_said():
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Log", ["e"], ["l"]),
        helper.make_node("Greater", ["l", "x"], ["g"]),
        helper.make_node("Compress", ["l", "g"], ["y"], axis=0),
    ]
    target = model(nodes, [value("x", ["B"])], [value("y", [None])])
    x = np.random.default_rng(0).uniform(1, 2, 64).astype(np.float32)
    report = check_conversion(target, (x,), reference=target, bindings="sample")
    assert report.outputs[0].rule == ("rtol 1.3e-06, atol 1e-05 (rounding could not be measured)")


def test_noise_is_reproducible():
    target = network()
    x = np.random.default_rng(0).standard_normal((4, 16)).astype(np.float32)
    first, _, _ = measured(target, {"x": x})
    again, _, _ = measured(target, {"x": x})
    np.testing.assert_array_equal(first.absolute, again.absolute)


def test_float64_models_are_asked_for_float64():
    target = double_of(network(4, 32))
    x = np.random.default_rng(0).standard_normal((4, 32))
    allowance, clean, _ = measured(target, {"x": x})
    assert float(np.max(allowance.absolute)) < 1e-12
    nudged = clean["y"] * (1 + 1e-12)
    assert compare("y", nudged, clean["y"], allowance).failed


def test_float16_is_asked_for_float16():
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["h"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Tanh", ["f"], ["t"]),
        helper.make_node("Cast", ["t"], ["u"], to=TensorProto.FLOAT16),
        helper.make_node("Mul", ["u", "u"], ["y"]),
    ]
    target = model(nodes, [value("x", ["B", 64])], [value("y", ["B", 64], TensorProto.FLOAT16)])
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    allowance, clean, _ = measured(target, {"x": x})
    near = np.nextafter(clean["y"], np.float16(9))
    assert not compare("y", near, clean["y"], allowance).failed
    assert compare("y", clean["y"] * np.float16(1.02), clean["y"], allowance).failed


@pytest.mark.parametrize("size", [(15, 8), (7, 9), (3, 2)])
def test_coordinates_of_a_resize_are_rounded_too(size):
    """Two ways to compute the same coordinates, in float32, stay within what is measured."""
    axes = [(n, m) for n, m in zip(size, (5, 4), strict=True)]

    def build(**attributes):
        node = helper.make_node(
            "Resize", ["x", "", "", "sizes"], ["y"], mode="linear", **attributes
        )
        sizes = {"sizes": np.array([2, 3, *size], np.int64)}
        return model([node], [value("x", (2, 3, 5, 4))], [value("y", (2, 3, *size))], sizes)

    def source(x):
        image = np.asarray(x)
        for axis, (n, m) in enumerate(axes, start=2):
            scale = np.float32(m) / np.float32(n)
            place = (np.arange(n, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5)
            low = np.floor(place)
            part = (place - low).reshape([-1 if i == axis else 1 for i in range(4)])
            left = np.take(image, np.clip(low.astype(int), 0, m - 1), axis=axis)
            right = np.take(image, np.clip(low.astype(int) + 1, 0, m - 1), axis=axis)
            image = left + (right - left) * part
        return image

    x = np.random.default_rng(3).standard_normal((2, 3, 5, 4)).astype(np.float32)
    check_conversion(build(), (x,), reference=source).raise_if_failed()
    wrong = build(coordinate_transformation_mode="asymmetric")
    assert not check_conversion(wrong, (x,), reference=source).passed


def test_types_that_cannot_be_inferred_are_those_the_model_states():
    node = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    network = model([node], [value("x", ("B", 3))], [value("y", ("B", 3))])
    network.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert value_types(network)["y"].dtype == TensorProto.FLOAT


def test_equal_values_have_equal_rounding() -> None:
    """The mean of a constant image is off by what one pixel is off: nothing averages out."""
    weights = {"w": np.random.default_rng(3).standard_normal((4, 3, 3, 3)).astype(np.float32)}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["y"]),
    ]
    shape = ["B", 3, 40, 40]
    target = model(nodes, [value("x", shape)], [value("y", ["B", 4, 1, 1])], weights)
    sensitivity = Sensitivity(target, TABLE)
    images = np.random.default_rng(4).standard_normal((2, 3, 40, 40)).astype(np.float32)
    spread = []
    for x in (np.full_like(images, 0.37), images):
        session = Session(exposed(target), optimise=False)
        clean = {"x": x, **session.run({"x": x}).values}
        allowed = sensitivity.measure({"x": x}, clean, ["c", "y"])
        spread.append((allowed["y"].rms or 0.0) / (allowed["c"].rms or 1.0))
    assert spread[0] > 2 * spread[1]  # beside the rounding of the mean itself


def test_the_factor_of_a_normalisation_is_one_for_all_layers() -> None:
    """Twenty equal factors, rounded alike, are off by twenty times one, not by its root."""

    def spread(*, folded: bool) -> float:
        rng = np.random.default_rng(5)
        nodes, weights, current = [], {}, "x"
        for i in range(20):
            weights[f"w{i}"] = (rng.standard_normal((4, 4, 1, 1)) / 2).astype(np.float32)
            nodes.append(helper.make_node("Conv", [current, f"w{i}"], [f"y{i}"]))
            if folded:
                nodes[-1].metadata_props.add(key="yobx.folded", value="scale")
            current = f"y{i}"
        shape = ["B", 4, 3, 3]
        target = model(nodes, [value("x", shape)], [value(current, shape)], weights)
        x = rng.standard_normal((2, 4, 3, 3)).astype(np.float32)
        clean = {"x": x, **Session(exposed(target), optimise=False).run({"x": x}).values}
        allowed = Sensitivity(target, TABLE).measure({"x": x}, clean, [current])[current]
        return (allowed.rms or 0.0) / float(np.sqrt(np.mean(np.square(clean[current]))))

    unit = 2.0**-24 * TABLE.rms
    alone, together = spread(folded=False) / unit, spread(folded=True) / unit
    assert together > 20 * 2.0 / np.sqrt(3) * 0.5  # rounding in one direction
    assert together > 1.2 * alone


def test_a_wider_type_inside_is_allowed_what_the_source_rounds() -> None:
    """A transform of six points in float64, of which the source's is in float32."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((5, 6)).astype(np.float32)
    plain = np.fft.fft(x.astype(np.float64)).astype(np.complex64)  # rounded as float32 rounds
    off = 1 + 2.0**-23 * rng.choice([-1.0, 1.0], (5, 6, 2))
    want = np.stack([plain.real, plain.imag], axis=-1) * off

    def check(want: np.ndarray, *, told: bool, factor: float = 1.0) -> bool:
        nodes = [
            helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.DOUBLE),
            helper.make_node("Unsqueeze", ["wide", "last"], ["real"]),
            helper.make_node("DFT", ["real"], ["done"], axis=1),
            helper.make_node("Mul", ["done", "factor"], ["scaled"]),
            helper.make_node("Cast", ["scaled"], ["y"], to=TensorProto.FLOAT),
        ]
        if told:
            nodes[2].metadata_props.add(key="yobx.widened", value="float32")
        weights = {"last": np.array([-1]), "factor": np.array(factor)}
        target = model(nodes, [value("x", ["B", 6])], [value("y", ["B", 6, 2])], weights, opset=19)
        return check_conversion(
            target, (x,), reference=lambda x: want.astype(np.float32), bindings="sample"
        ).passed

    assert check(want, told=True)
    assert not check(want, told=False)
    assert not check(want, told=True, factor=1 + 1e-5)


def transform(dtype: int, *, told: bool, last: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """A dense layer between casts, in `dtype`; `told` as a converter marks what it widened."""
    rng = np.random.default_rng(4)
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    nodes = [
        helper.make_node("Cast", ["x"], ["wide"], to=dtype),
        helper.make_node("MatMul", ["wide", "w"], ["done"]),
        helper.make_node("Tanh", ["done"], ["bent"]),
        helper.make_node("MatMul", ["bent", "w"], ["twice"]),
        helper.make_node("Cast", ["twice"], ["y"], to=last),
    ]
    for node in nodes if told else []:
        node.metadata_props.add(key="yobx.widened", value="float32")
    weights = {"w": (rng.standard_normal((32, 32)) / 6).astype(kind)}
    return model(nodes, [value("x", ["B", 32])], [value("y", ["B", 32], last)], weights)


def test_what_is_told_to_be_wider_is_allowed_what_float32_is_and_no_more() -> None:
    x = np.random.default_rng(2).standard_normal((64, 32)).astype(np.float32)
    told = measured(transform(TensorProto.DOUBLE, told=True), {"x": x})[0].rms
    plain = measured(transform(TensorProto.FLOAT, told=False), {"x": x})[0].rms
    lied = measured(transform(TensorProto.FLOAT, told=True), {"x": x})[0].rms
    assert 0.5 * plain < told < 1.1 * plain
    assert lied == plain


def test_what_is_seen_in_float64_is_asked_for_float64_whatever_is_told() -> None:
    x = np.random.default_rng(2).standard_normal((64, 32)).astype(np.float32)
    double = TensorProto.DOUBLE
    told, plain = (
        measured(transform(double, told=told, last=double), {"x": x})[0].rms
        for told in (True, False)
    )
    assert told == plain < 1e-14
    # A value that is rounded later is seen if it is a result too.
    seen = transform(double, told=True)
    seen.graph.output.append(value("bent", ["B", 32], double))
    assert measured(seen, {"x": x}, "bent")[0].rms < 1e-14


def test_what_has_no_weights_has_no_folded_factor() -> None:
    target = network(3)
    x = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)
    before = measured(target, {"x": x})[0].rms
    for node in target.graph.node:
        node.metadata_props.add(key="yobx.folded", value="scale")
    assert measured(target, {"x": x})[0].rms == before


def convolutions(*, told: bool) -> onnx.ModelProto:
    rng = np.random.default_rng(5)
    nodes, weights, current = [], {}, "x"
    for i in range(16):
        weights[f"w{i}"] = (rng.standard_normal((8, 8, 1, 1)) * 0.5).astype(np.float32)
        nodes.append(helper.make_node("Conv", [current, f"w{i}"], [f"c{i}"]))
        nodes.append(helper.make_node("Relu" if i < 15 else "Identity", [f"c{i}"], [f"y{i}"]))
        if told:
            nodes[-2].metadata_props.add(key="yobx.folded", value="scale")
        current = f"y{i}"
    shape = ["B", 8, 4, 4]
    return model(nodes, [value("x", shape)], [value("y15", shape)], weights)


@pytest.mark.parametrize("layer", [0, 7, 15])
@pytest.mark.parametrize("kind", ["one weight", "every weight", "one channel"])
def test_no_mutation_hides_behind_folded_factors(layer: int, kind: str) -> None:
    """All layers say that a factor is folded; 1e-4 of one layer is a thousand times rounding."""
    right, wrong = convolutions(told=True), convolutions(told=True)
    x = np.random.default_rng(1).standard_normal((4, 8, 4, 4)).astype(np.float32)
    assert check_conversion(wrong, (x,), reference=right, bindings="sample").passed
    weights = weight(wrong, f"w{layer}")
    if kind == "one weight":
        weights.flat[9] *= np.float32(1.01)
    elif kind == "every weight":
        weights *= np.float32(1.0001)
    else:
        weights[3] *= np.float32(1.001)
    set_weight(wrong, f"w{layer}", weights)
    report = check_conversion(wrong, (x,), reference=right, bindings="sample")
    assert report.failed_phase == "values"


def test_folded_factors_are_a_bounded_part_of_an_allowance() -> None:
    x = np.random.default_rng(1).standard_normal((4, 8, 4, 4)).astype(np.float32)
    found = {told: measured(convolutions(told=told), {"x": x}, "y15") for told in (False, True)}
    peak = float(np.abs(Session(convolutions(told=True)).run({"x": x}).values["y15"]).max())
    # Sixteen factors that are all rounded in one direction, as far as they can be.
    most = 16 * TABLE.noise["factor"] * 2.0**-24 * TABLE.rms * peak
    assert found[False][0].rms <= found[True][0].rms <= found[False][0].rms + most


def test_noise_inside_control_flow_depends_on_the_size_of_values() -> None:
    """Small values of a loop get noise that differs from element to element, as large ones do."""

    def spread(scale: float) -> float:
        body = helper.make_graph(
            [
                helper.make_node("Identity", ["c"], ["d"]),
                helper.make_node("Identity", ["v"], ["m0"]),
                *(helper.make_node("Mul", [f"m{i}", "one"], [f"m{i + 1}"]) for i in range(60)),
                helper.make_node("ReduceMean", ["m60"], ["mean"], keepdims=0),
                helper.make_node("Add", ["m60", "v"], ["next"]),
            ],
            "body",
            [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("v", [])],
            [value("d", [], TensorProto.BOOL), value("next", [])],
        )
        for given in (body.input[2], body.output[1]):
            given.CopyFrom(value(given.name, [4096]))
        nodes = [
            helper.make_node("Mul", ["x", "one"], ["v0"]),
            helper.make_node("Loop", ["n", "", "v0"], ["y"], body=body),
        ]
        weights = {"one": np.array(1.0, np.float32), "n": np.array(2)}
        target = model(nodes, [value("x", [4096])], [value("y", [4096])], weights)
        x = (scale * np.random.default_rng(3).uniform(1.0, 2.0, 4096)).astype(np.float32)
        inner = collector(target)
        assert inner is not None
        turns = inner.turns(Session(inner.model, optimise=False).run({"x": x}).values)
        values = Session(exposed(target), optimise=False).run({"x": x}).values
        found = Sensitivity(target, TABLE).measure_turns(
            {"x": x}, inner, {"mean": turns["mean"]}, {"x": x, **values, **turns}
        )
        return float(found["mean"][0].rms / np.abs(turns["mean"][0]))

    # The mean of 4096 values rounds far less than one of them, whatever their unit.
    assert spread(1e-6) == pytest.approx(spread(1.0), rel=0.3)


def test_limits_have_headroom_over_what_right_conversions_need() -> None:
    path = Path(tolerances.__file__).with_name("tolerances.toml")
    seen = tomllib.loads(path.read_text(encoding="utf-8"))["model"]["seen"]
    assert len(seen) >= 10
    for name in ("elementwise", "rms"):
        worst, limit = max(row[name] for row in seen), getattr(TABLE, name)
        assert 1.4 * worst <= limit <= 5 * worst  # neither a false alarm nor a blind eye


@pytest.mark.parametrize("name", ["ab__cd", "a__noise_b"])
def test_names_of_values_do_not_matter(name: str) -> None:
    def allowed(inner: str) -> float | None:
        rng = np.random.default_rng(6)
        nodes = [
            helper.make_node("Mul", ["x", "w"], [inner]),
            helper.make_node("Exp", [inner], ["e"]),
            helper.make_node("Mul", ["e", inner], ["f"]),
            helper.make_node("ReduceMean", ["f"], ["y"]),
        ]
        weights = {"w": np.full((1,), 1e-3, np.float32)}
        target = model(nodes, [value("x", ["B", 50])], [value("y", [1, 1])], weights)
        x = rng.standard_normal((4, 50)).astype(np.float32)
        clean = {"x": x, **Session(exposed(target), optimise=False).run({"x": x}).values}
        return Sensitivity(target, TABLE).measure({"x": x}, clean, ["y"])["y"].rms

    assert allowed(name) == allowed("plain")


@pytest.mark.parametrize("opset", [18, 21, 22, 24, onnx.defs.onnx_opset_version()])
def test_rounding_is_measured_at_every_opset(opset):
    """onnxruntime has no random operators of opset 22."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Tanh", ["m"], ["y"])]
    w = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    target = model(nodes, [value("x", ["B", 8])], [value("y", ["B", 8])], {"w": w}, opset=opset)
    x = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)
    allowance, _, sensitivity = measured(target, {"x": x})
    assert not sensitivity.notes
    assert "measured deviations" in allowance.rule
    again, _, _ = measured(target, {"x": x})
    assert np.array_equal(np.asarray(allowance.absolute), np.asarray(again.absolute))
    other, _, _ = measured(target, {"x": x}, seed=1)
    assert not np.array_equal(np.asarray(allowance.absolute), np.asarray(other.absolute))


def fourier(size, **attributes):
    """A transform over axis 1 of `[2, size, parts]`, whose length is a power of two."""
    axis = onnx.numpy_helper.from_array(np.array(1, np.int64), "axis")
    parts = 1 if attributes.get("onesided") else 2
    node = helper.make_node("DFT", ["x", "", "axis"], ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "fourier",
        [value("x", ["B", size, parts])],
        [value("y", ["B", None, 2])],
        [axis],
    )
    opset = helper.make_opsetid("", 21)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


@pytest.mark.parametrize("size", [8, 64, 1024, 8192])
@pytest.mark.parametrize("kind", ["onesided", "inverse", "plain"])
def test_a_fourier_transform_is_as_exact_as_the_norm_of_what_goes_in(size, kind):
    target = fourier(size, **({} if kind == "plain" else {kind: 1}))
    parts = 1 if kind == "onesided" else 2
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(2, size, parts)).astype(np.float32)
        allowed, clean, _ = measured(target, {"x": x}, seed=seed)
        wide = x[..., 0].astype(np.float64) + (1j * x[..., 1] if parts == 2 else 0.0)
        made = {"onesided": np.fft.rfft, "inverse": np.fft.ifft, "plain": np.fft.fft}[kind](wide)
        truth = np.stack([made.real, made.imag], -1)
        assert not compare("y", clean["y"], truth.astype(np.float32), allowed).failed
        # An element that is off by a millionth of the norm of all: ten times what rounding does.
        off = truth.copy()
        scale = 1.0 / size if kind == "inverse" else 1.0
        off[0, 1, 0] += 6e-7 * np.log2(size) * np.linalg.norm(wide[0]) * scale
        assert compare("y", clean["y"], off.astype(np.float32), allowed).failed


def test_a_loop_that_noise_never_ends_is_not_waited_for() -> None:
    """Newton's root, until its square is the number itself."""
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[3] x) => (float[3] y) {
        go = Constant<value = bool {1}>()
        y = Loop(, go, x)<body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w) {
            two = Constant<value = float {2.0}>()
            q = Div(x, v)
            s = Add(v, q)
            w = Div(s, two)
            p = Mul(w, w)
            m = Sub(p, x)
            z = Abs(m)
            most = ReduceMax<keepdims = 0>(z)
            least = Constant<value = float {1e-9}>()
            d = Greater(most, least)
        }>
    }"""
    report = check_conversion(
        onnx.parser.parse_model(text),
        (np.array([4.0, 9.0, 16.0], np.float32),),
        reference=np.sqrt,
    )
    assert report.passed, report.text()
    told = "could not be measured: noise keeps a loop of the model turning, more than 10000 times"
    assert any(told in note for note in report.notes)
