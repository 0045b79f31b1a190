"""Documented exceptions of operations of TensorFlow and JAX, measured again against a longer type.

An operation is converted to a chain of operators. What converters write about its nodes says that
they are one operation, and the exception is told of its result alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import TensorProto, helper

from tests.verification.operation_sides import SUBJECTS, measured
from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion, preparation
from yobx.verification.dtypes import spacing, ulp_distance
from yobx.verification.environment import versions
from yobx.verification.error_classes import classify, operation_results
from yobx.verification.provenance import Operation, operation_of
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.tolerances import Tolerances, load_tolerances

TABLE = load_tolerances()
NONE = replace(TABLE, exceptions=())
TEXT = files("yobx.verification").joinpath("tolerances.toml").read_text(encoding="utf-8")
ROWS = [row for row in tomllib.loads(TEXT)["exception"] if "operation" in row]
#: No number of the table is more than a tenth above what is measured.
ROOM = 1.1
UNITS = TABLE.ulp["transcendental"]


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["source"], row["operation"], row["dtype"]


def _only(row: dict[str, Any], room: float = 1.0) -> Tolerances:
    """The table with the exception of one row alone, and what it allows divided."""
    (own,) = (
        e for e in TABLE.exceptions if e.operation and (e.source, e.operation, e.dtype) == _key(row)
    )
    less = replace(own, ulp=own.ulp / room, absolute=own.absolute / room)
    return replace(TABLE, exceptions=(less,))


def _id(row: dict[str, Any]) -> str:
    return "-".join(_key(row))


def test_every_row_is_measured() -> None:
    assert [*map(_key, ROWS)] == list(dict.fromkeys(map(_key, ROWS)))
    assert set(map(_key, ROWS)) == set(SUBJECTS)


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_an_exception_is_proven(row: dict[str, Any]) -> None:
    sides, bad = measured(*_key(row)), measured(*_key(row), refused=True)
    assert bad.refused(bad.runtime, bad.source, NONE), "the class allows it: not needed"
    assert not sides.refused(sides.runtime, sides.source, _only(row)), "it is not enough"
    assert sides.refused(sides.runtime, sides.source, _only(row, ROOM)), "it is too much"
    off = {
        "runtime": bad.refused(bad.runtime, bad.exact, NONE),
        "source": bad.refused(bad.source, bad.exact, NONE),
    }
    assert off == {side: row["side"] in {side, "both"} for side in off}

    ulp = ulp_distance(sides.runtime, sides.source)
    error = np.abs(sides.runtime - sides.source)
    far = ulp > UNITS
    relative = error[far] / np.abs(sides.source[far]) / np.finfo(row["dtype"]).eps
    seen, scattered = (ulp, relative) if "ulp" in row else (error, error[far])
    greatest, rms = float(seen[far].max()), float(np.sqrt(np.mean(np.square(scattered))))
    assert greatest <= row["measured"] <= ROOM * greatest
    assert row["measured"] == row.get("ulp", row.get("absolute"))
    assert rms <= row["rms"] <= ROOM * rms


@pytest.mark.parametrize("everywhere", [True, False], ids=["all", "one"])
@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_a_fault_a_few_times_as_large_is_told(row: dict[str, Any], everywhere: bool) -> None:
    sides = measured(*_key(row))
    unit = spacing(sides.runtime, sides.runtime.dtype)
    rng = np.random.default_rng(1)
    fault = 4.0 * row["measured"] * rng.choice([-1.0, 1.0], unit.shape)
    fault = fault * unit if "ulp" in row else fault
    if not everywhere:
        # Where it is not what the class allows anyway.
        chosen = rng.choice(np.flatnonzero(np.abs(fault) > 2.0 * UNITS * unit))
        fault = np.where(np.arange(fault.size) == chosen, fault, 0.0)
    assert sides.refused(sides.runtime + fault, sides.source, _only(row))


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_an_exception_was_measured_with_these_versions(row: dict[str, Any]) -> None:
    assert set(row["versions"]) == {"onnxruntime", row["source"]}
    here = versions()
    for package, version in row["versions"].items():
        assert here[package] == version, f"{_id(row)}: measure it again, and renew or remove it"


# ---- in models ----------------------------------------------------------------------------------


def _without(tmp_path: Path) -> Path:
    """The table without the exceptions of operations of the source."""
    blocks = TEXT.split("[[exception]]\n")
    *others, last = [block for block in blocks if not block.startswith("operation")]
    end = blocks[-1].partition("# ---- operators ---")[2]
    path = tmp_path / "tolerances.toml"
    path.write_text("[[exception]]\n".join([*others, last]) + "\n# " + end, encoding="utf-8")
    return path


NEAR = np.linspace(0.40, 0.4142, 40)
MODELS: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda v: jnp.arctanh(v), NEAR),
    (lambda v: jnp.flip(jnp.arctanh(v))[:, None], NEAR),
    (lambda v: jnp.arctanh(v) * 2.0 + 0.25, NEAR),
    (lambda v: jnp.exp(jax.scipy.special.erfinv(v)), np.linspace(0.63, 0.6435, 40)),
    (lambda v: jnp.cumsum(jnp.log1p(-v)), NEAR),
]


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_results_and_what_is_made_of_them(number: int, tmp_path: Path) -> None:
    function, x = MODELS[number]
    with jax.enable_x64(True):
        report = check_conversion(function, (x,))
        assert report.passed, report.text()
        assert check_conversion(function, (x,), tolerances=_without(tmp_path)).failed_phase


def test_elus_of_small_numbers_in_a_network(tmp_path: Path) -> None:
    x = -np.logspace(-9.0, -6.0, 40).reshape(4, 10)
    function = tf.function(lambda v: tf.nn.elu(v) * 3.0 - v)
    assert check_conversion(function, (x,)).passed
    report = check_conversion(function, (x,), tolerances=_without(tmp_path))
    assert report.failed_phase == "values"


def test_a_fault_behind_an_exception_is_told() -> None:
    """Of 2e-12, in 0.44: the exception explains 6e-15 of it."""

    def wrong(v: Any) -> Any:
        return jnp.arctanh(v * (1.0 + 1e-12)) * 2.0

    with jax.enable_x64(True):
        from yobx.jax import to_onnx as from_jax

        model = from_jax(lambda v: wrong(v), (NEAR,))
        report = check_conversion(model, (NEAR,), reference=lambda v: np.arctanh(v) * 2.0)
        assert report.failed_phase == "values"


def test_a_version_that_was_not_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "versions", lambda: {**versions(), "tensorflow": "9.9"})
    report = check_conversion(tf.function(lambda v: tf.nn.elu(v)), (np.linspace(-1.0, 1.0, 8),))
    text = "the documented exception of Elu in float64 was measured with tensorflow 2.21.0"
    assert f"{text}; here is 9.9" in report.notes


# ---- which values are results of one operation --------------------------------------------------


def _node(op_type: str, given: list[str], result: str, origin: str, **more: Any) -> onnx.NodeProto:
    node = helper.make_node(op_type, given, [result], **more)
    kind, _, name = origin.partition(":")
    for key, value in (("op", kind), ("name", name)):
        node.metadata_props.add(key=f"yobx.{key}", value=value)
    return node


def _elu(given: str, result: str, origin: str) -> list[onnx.NodeProto]:
    return [
        _node("Exp", [given], f"{result}_exp", origin),
        _node("Log", [f"{result}_exp"], f"{result}_log", origin),
        _node("Neg", [f"{result}_log"], result, origin),
    ]


def _allowed(nodes: list[onnx.NodeProto], value: str, kind: int = TensorProto.DOUBLE) -> bool:
    """Whether the exception of Elu is told of a value."""
    x = helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["B"])
    result = helper.make_tensor_value_info(value, kind, ["B"])
    model = helper.make_model(
        helper.make_graph(nodes, "net", [x], [result]),
        opset_imports=[helper.make_opsetid("", 21)],
        ir_version=10,
    )
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    found = Sensitivity(model, TABLE.applying("CPUExecutionProvider", "tensorflow"))
    allowance = found.strict(value, dtype)
    return allowance is not None and bool(np.any(allowance.absolute))


FIRST = _elu("x", "y", "Elu:first")


@pytest.mark.parametrize(
    ("nodes", "value", "allowed"),
    [
        (FIRST, "y", True),
        ([*FIRST, _node("Abs", ["y"], "z", "Abs:abs")], "z", True),
        (FIRST, "y_log", False),
        ([*FIRST, _node("Abs", ["y_exp"], "z", "Abs:abs")], "z", False),
        ([*FIRST, _node("Sqrt", ["y"], "z", "Sqrt:root")], "z", False),
        ([_node("Sqrt", ["x"], "r", "Sqrt:root"), *_elu("r", "y", "Elu:first")], "y", False),
        ([_node("Abs", ["x"], "r", "Abs:abs"), *_elu("r", "y", "Elu:first")], "y", True),
        ([*FIRST, *_elu("y", "z", "Elu:second")], "z", False),
        (_elu("x", "y", "Selu6:first"), "y", False),
        (_elu("x", "y", ""), "y", False),
    ],
)
def test_values_that_an_exception_is_told_of(
    nodes: list[onnx.NodeProto], value: str, allowed: bool
) -> None:
    assert _allowed(nodes, value) == allowed


def test_a_result_that_is_cast_is_no_longer_one() -> None:
    cast = _node("Cast", ["y"], "z", "Cast:cast", to=TensorProto.FLOAT)
    assert not _allowed([*FIRST, cast], "z", TensorProto.FLOAT)


def test_results_of_operations() -> None:
    nodes = [*FIRST, *_elu("y", "z", "Elu:second")]
    assert operation_results(nodes) == {
        "y": Operation("Elu", "first"),
        "z": Operation("Elu", "second"),
    }
    model = helper.make_model(helper.make_graph(nodes, "net", [], []))
    classes = classify(model, NONE)
    assert classes["y"].operation == Operation("Elu", "first")
    assert classes["z"].operation is None


def test_operations_of_jax_are_its_primitives() -> None:
    node = helper.make_node("Neg", ["x"], ["y"])
    facts = {"op": "stablehlo.add", "name": "add", "layer": "jit(f)/jit(g)/erf_inv"}
    for key, value in facts.items():
        node.metadata_props.add(key=f"yobx.{key}", value=value)
    assert operation_of(node) == Operation("erf_inv", "jit(f)/jit(g)/erf_inv")
    assert operation_of(helper.make_node("Neg", ["x"], ["y"])) is None


def _twice(seed: int, share: float = 0.0) -> Any:
    """A check of atanh of atanh, where both are off; a share of the result may be as well."""
    with jax.enable_x64(True):
        x = jnp.asarray(np.random.default_rng(seed).uniform(-0.7, 0.7, (3, 5)))

        def wrong(g: Any, op: Any) -> Any:
            return g.op.Mul(op.inputs[0].compact, np.float64(1 + share))

        return check_conversion(
            lambda v: -jnp.arctanh(jnp.arctanh(v)),
            (x,),
            seed=seed,
            localize=False,
            extra_converters={"stablehlo.negate": lambda g, op: g.op.Neg(wrong(g, op))},
        )


@pytest.mark.parametrize("seed", [1, 2])
def test_an_operation_of_an_operation_under_one_name_stack_is_another(seed: int) -> None:
    report = _twice(seed)
    assert report.passed, report.text()
    assert _twice(seed, 1e-12).failed_phase == "values"


def test_primitives_under_one_name_stack_are_told_apart() -> None:
    from yobx.jax import to_onnx as of_jax

    with jax.enable_x64(True):
        x = jnp.zeros(3)
        for function in (jnp.arctanh, jnp.log1p, jnp.sinh):
            nodes = of_jax(lambda v, f=function: f(f(f(v))), (x,)).graph.node
            met = [own.place for node in nodes if (own := operation_of(node)) is not None]
            first, *others = dict.fromkeys(met)
            assert others == [f"{first}#1", f"{first}#2"]
            assert len(operation_results(nodes)) == 3


def test_an_exception_is_told_of_its_source() -> None:
    model = to_onnx(tf.function(lambda v: tf.nn.elu(v)), (np.linspace(-1.0, 1.0, 8),))
    name = model.graph.output[0].name
    for source, allowed in (("keras", True), ("tensorflow", True), ("jax", False), ("onnx", False)):
        table = TABLE.applying("CPUExecutionProvider", source)
        found = Sensitivity(model, table).strict(name, np.dtype(np.float64))
        assert (found is not None) == allowed
