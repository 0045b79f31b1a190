"""Documented exceptions of the tolerance table, measured again from first principles.

Both sides of an operator are compared with float64, over every value of a 16-bit type, over a grid,
or with products that are exact. An exception is proven where the class of the operator refuses the
difference, that side is off which it names, and nothing much larger than what is seen is allowed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import onnx
import pytest
import tensorflow as tf
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from scipy import special

from yobx.errors import ArgumentError
from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion, preparation
from yobx.verification.comparison import compare
from yobx.verification.dtypes import spacing, ulp_distance
from yobx.verification.environment import versions
from yobx.verification.narrow_casts import narrowing_casts
from yobx.verification.runner import Session
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.tolerances import Tolerances, load_tolerances

Array = NDArray[Any]
TABLE = load_tolerances()
EVERY: list[dict[str, Any]] = tomllib.loads(
    files("yobx.verification").joinpath("tolerances.toml").read_text(encoding="utf-8")
)["exception"]
#: Those of operations of the source are in test_operation_exceptions.py.
ROWS = [row for row in EVERY if "op" in row]
#: No number of the table is more than a tenth above what is measured.
ROOM = 1.1


@dataclass
class Sides:
    """An operator on both sides, and the truth.

    Attributes:
        model: The ONNX operator.
        feeds: Its inputs.
        runtime: Its results in onnxruntime.
        source: Those of TensorFlow.
        exact: Those of float64.
    """

    model: onnx.ModelProto
    feeds: dict[str, Array]
    runtime: dict[str, Array]
    source: dict[str, Array]
    exact: dict[str, Array]

    def refused(self, got: Mapping[str, Array], want: Mapping[str, Array], table: Any) -> bool:
        """Whether a comparison by a table finds a difference."""
        casts = frozenset(narrowing_casts(self.model))
        sensitivity = Sensitivity(self.model, table, narrow=casts)
        reports = []
        for name, array in got.items():
            allowance = sensitivity.strict(name, array.dtype, self.feeds)
            if allowance is None:
                clean = {**self.feeds, **self.runtime}
                allowance = sensitivity.measure(self.feeds, clean, [name])[name]
            reports.append(compare(name, array, want[name].astype(array.dtype), allowance))
        return any(report.failed for report in reports)

    def beyond(self, units: float) -> tuple[float, float, float]:
        """The greatest difference, the greatest ULP and the rms of what is further apart."""
        found = []
        for name, got in self.runtime.items():
            want = self.source[name]
            ulp = ulp_distance(got, want)
            error = np.abs(got.astype(np.float64) - want.astype(np.float64))
            far = ulp > units
            if far.any():
                rms = float(np.sqrt(np.mean(np.square(error[far]))))
                found.append((float(error[far].max()), float(ulp[far].max()), rms))
        assert found, "the class of the operator allows every difference"
        return max(f[0] for f in found), max(f[1] for f in found), max(f[2] for f in found)


# ---- one number to one number -------------------------------------------------------------------

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, small) / (1.0 + small)


def _elu(x: Array) -> Array:
    return np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))


def _selu(x: Array) -> Array:
    return _SELU_SCALE * np.where(x > 0.0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0.0)))


def _gelu(x: Array) -> Array:
    return 0.5 * x * special.erfc(-x / np.sqrt(2.0))


def _gelu_of_tanh(x: Array) -> Array:
    """The formula with ``tanh``, without its cancellation."""
    return x * _sigmoid(2.0 * np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))


UNARY: dict[str, tuple[Callable[..., Any], Callable[[Array], Array]]] = {
    "Sigmoid": (tf.sigmoid, _sigmoid),
    "Elu": (tf.nn.elu, _elu),
    "Selu": (tf.nn.selu, _selu),
    "Softplus": (tf.math.softplus, lambda x: np.logaddexp(0.0, x)),
    "Sin": (tf.sin, np.sin),
    "Cos": (tf.cos, np.cos),
    "Reciprocal": (tf.math.reciprocal, lambda x: 1.0 / x),
}
#: Where TensorFlow has the kernel of onnxruntime, JAX shows which side is off.
AGAINST_JAX: dict[tuple[str, str], tuple[Callable[..., Any], Callable[[Array], Array]]] = {
    ("Sin", "float32"): (jnp.sin, np.sin),
    ("Tanh", "float64"): (jnp.tanh, np.tanh),
    ("Exp", "float64"): (jnp.exp, np.exp),
    ("Sinh", "float32"): (jnp.sinh, np.sinh),
    ("Cosh", "float32"): (jnp.cosh, np.cosh),
    ("Gelu", "float32"): (lambda x: jax.nn.gelu(x, approximate=False), _gelu),
}
#: Ends of the grids, where they are not those of float32 in `_values`.
REACH = {
    ("Sin", "float64"): 32.0,
    ("Cos", "float64"): 32.0,
    ("Sigmoid", "float64"): 38.0,
    ("Exp", "float64"): 80.0,
    ("Tanh", "float64"): 20.0,
    ("Sin", "float32"): 1000.0,
    ("Sinh", "float32"): 88.0,
    ("Cosh", "float32"): 88.0,
    ("Gelu", "float32"): 8.0,
}


def _wide(x: Array) -> Array:
    """As a type that is longer by eleven bits at least, in which the truth is computed."""
    if x.dtype != np.float64:
        return x.astype(np.float64)
    assert np.finfo(np.longdouble).eps < 2.0**-62, "no longer type than float64 here"
    return x.astype(np.longdouble)


def _values(dtype: np.dtype[Any], exact: Callable[[Array], Array], reach: float = 18.0) -> Array:
    """Every value of a type of 16 bits, a grid of others; results are normal numbers of the type.

    Smaller results of bfloat16 than those of float16 are left out: ``exp(x) - 1`` in float32, which
    onnxruntime computes, is as far off there as the source is for larger ones.
    """
    if dtype.itemsize > 2:
        x = np.linspace(-reach, reach, 2_000_001)
        if dtype == np.float32:  # every number where the logistic of onnxruntime is worst
            x = np.concatenate([x, -np.arange(2**20) * 2.0**-20 - 15.0])
        zeros = np.arange(-reach, reach) // 1.0 * (np.pi / 2.0)
        zeros = zeros[np.abs(zeros) < reach]  # of a sine and a cosine
        near = [zeros + shift for shift in (-1e-5, -1e-9, 0.0, 1e-9, 1e-5)]
        x = np.unique(np.concatenate([x, *near]).astype(dtype))
    else:
        with np.errstate(invalid="ignore"):
            x = np.arange(2**16, dtype=np.uint16).view(dtype)
            x = x[np.isfinite(x.astype(np.float64))]
    info = ml_dtypes.finfo(dtype)
    with np.errstate(divide="ignore", over="ignore"):
        size = np.abs(exact(_wide(x)))
    least = max(float(info.smallest_normal), 2.0**-14 if exact in {_elu, _selu} else 0.0)
    return x[(size >= least) & (size <= float(info.max))]


def _below_other_rows(row: dict[str, Any], x: Array) -> Array:
    """The inputs for which no row of larger ones stands."""
    own = row.get("inputs_from", 0.0)
    same = (r for r in ROWS if (r["op"], r["dtype"]) == (row["op"], row["dtype"]))
    limits = [r["inputs_from"] for r in same if r.get("inputs_from", 0.0) > own]
    return x[np.abs(x) < min(limits, default=np.inf)]


def against_jax(row: dict[str, Any]) -> Sides:
    op, dtype, attributes = row["op"], row["dtype"], row.get("attributes", {})
    function, exact = AGAINST_JAX[op, dtype]
    if attributes == {"approximate": "tanh"}:
        function, exact = jax.nn.gelu, _gelu_of_tanh
    x = _below_other_rows(row, _values(np.dtype(dtype), exact, REACH[op, dtype]))
    x = x[x < 0.0] if op == "Gelu" else x  # where it cancels
    model = _one_operator(op, x.dtype, attributes)
    with jax.enable_x64(dtype == "float64"):
        source = {"y": np.asarray(function(jnp.asarray(x)))}
    truth = exact(_wide(x)).astype(x.dtype)
    return Sides(model, {"x": x}, Session(model).run({"x": x}).values, source, {"y": truth})


def _one_operator(op: str, dtype: np.dtype[Any], attributes: Mapping[str, Any]) -> onnx.ModelProto:
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    given, result = (helper.make_tensor_value_info(n, kind, ["B"]) for n in "xy")
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], **attributes)], "one", [given], [result]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def unary(row: dict[str, Any]) -> Sides:
    op, dtype = row["op"], row["dtype"]
    function, exact = UNARY[op]
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = _below_other_rows(row, _values(kind, exact, REACH.get((op, dtype), 18.0)))
    model = to_onnx(tf.function(lambda v: function(v)), (x,))
    assert {node.op_type for node in model.graph.node} - {"Cast"} == {op}
    given, result = model.graph.input[0].name, model.graph.output[0].name
    runtime = Session(model).run({given: x}).values
    source = {result: function(x).numpy()}
    return Sides(model, {given: x}, runtime, source, {result: exact(_wide(x)).astype(kind)})


# ---- steps of a recurrent operator ---------------------------------------------------------------

UNITS, STEPS, ROWS_OF_A_STEP = 2, 8, 5_000
#: Gates of the operator, and the one that makes results small, with its range.
GATES = {"LSTM": (4, 0, (-20.0, -9.0)), "GRU": (3, 0, (9.0, 20.0)), "RNN": (1, 0, (-0.02, 0.02))}


def _recurrent_model(op: str, gates: int) -> onnx.ModelProto:
    """Steps whose products are exact: every gate is one element of the input."""
    width = gates * UNITS
    weights = {
        "w": np.eye(width, dtype=np.float32)[None],
        "r": np.zeros((1, width, UNITS), np.float32),
        "b": np.zeros((1, 2 * width), np.float32),
    }
    outputs = ["", "h", "c"] if op == "LSTM" else ["", "h"]
    node = helper.make_node(op, ["x", "w", "r", "b"], outputs, hidden_size=UNITS)
    graph = helper.make_graph(
        [node],
        "step",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", width])],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs if o],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _steps(op: str, x: Any, sigmoid: Any, tanh: Any) -> dict[str, Any]:
    """What ONNX says of some steps, in the arithmetic of the arguments; states are zero before."""

    def one_minus(z: Any) -> Any:
        return sigmoid(-z) if x.dtype == np.float64 else 1.0 - sigmoid(z)

    h = c = np.zeros((1, ROWS_OF_A_STEP, UNITS), x.dtype)
    for t in range(STEPS):
        gate = [x[t : t + 1, :, i * UNITS : (i + 1) * UNITS] for i in range(GATES[op][0])]
        if op == "RNN":
            h = tanh(gate[0])
        elif op == "GRU":
            h = one_minus(gate[0]) * tanh(gate[2]) + sigmoid(gate[0]) * h
        else:
            c = sigmoid(gate[2]) * c + sigmoid(gate[0]) * tanh(gate[3])
            h = sigmoid(gate[1]) * tanh(c)
    return {"h": h, "c": c} if op == "LSTM" else {"h": h}


def recurrent(op: str) -> Sides:
    gates, small, (low, high) = GATES[op]
    rng = np.random.default_rng(0)
    shape = (STEPS, ROWS_OF_A_STEP)
    x = rng.standard_normal((*shape, gates * UNITS)).astype(np.float32)
    x[..., small * UNITS : (small + 1) * UNITS] = rng.uniform(low, high, (*shape, UNITS))
    model = _recurrent_model(op, gates)
    source = {name: a.numpy() for name, a in _steps(op, x, tf.sigmoid, tf.tanh).items()}
    exact = _steps(op, x.astype(np.float64), _sigmoid, np.tanh)
    runtime = Session(model).run({"x": x}).values
    return Sides(model, {"x": x}, runtime, source, exact)


def sides_of(row: dict[str, Any]) -> Sides:
    op = row["op"]
    if (op, row["dtype"]) in AGAINST_JAX:
        return against_jax(row)
    return unary(row) if op in UNARY else recurrent(op)


# ---- the proof ----------------------------------------------------------------------------------


def _only(row: dict[str, Any]) -> Tolerances:
    """The table with the exception of one row alone."""
    assert len(TABLE.exceptions) == len(EVERY)
    return replace(TABLE, exceptions=(TABLE.exceptions[EVERY.index(row)],))


def _id(row: dict[str, Any]) -> str:
    parts = [row["op"], row["dtype"], *row.get("attributes", {}).values()]
    return "-".join([*parts, *([f"from {row['inputs_from']}"] if "inputs_from" in row else [])])


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_an_exception_is_proven(row: dict[str, Any]) -> None:
    op, dtype = row["op"], row["dtype"]
    sides = sides_of(row)
    none = replace(TABLE, exceptions=())
    assert sides.refused(sides.runtime, sides.source, none), "the class allows it: not needed"
    assert not sides.refused(sides.runtime, sides.source, _only(row)), "it is not enough"
    off = {
        side: sides.refused(results, sides.exact, none)
        for side, results in (("runtime", sides.runtime), ("source", sides.source))
    }
    assert off == {side: row["side"] in {side, "both"} for side in off}

    label = TABLE.class_of("", op)
    greatest, ulp, rms = sides.beyond(none.units(label, dtype))
    seen = ulp if "ulp" in row else greatest
    assert seen <= row["measured"] <= ROOM * seen
    limit = row.get("ulp", row.get("absolute", row["measured"]))
    assert row["measured"] <= limit <= ROOM * seen
    if "rms" in row:
        # Of a recurrent operator the states decide which errors of its gates show.
        even = greatest / np.sqrt(3.0) if op in GATES else 0.0
        assert rms <= row["rms"] <= ROOM * max(rms, even)


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_a_fault_a_few_times_as_large_is_told(row: dict[str, Any]) -> None:
    """Of every element; and of one alone, where the direct result is allowed a fixed amount."""
    sides = sides_of(row)
    table = _only(row)
    units = TABLE.units(TABLE.class_of("", row["op"]), row["dtype"])
    rng = np.random.default_rng(1)
    for everywhere in (True, False) if {"absolute", "ulp"} & row.keys() else (True,):
        wrong = {}
        for name, array in sides.runtime.items():
            wide = array.astype(np.longdouble)
            fault = 4.0 * row["measured"] * rng.choice([-1.0, 1.0], array.shape)
            if "ulp" in row:
                fault = fault * spacing(wide, array.dtype)
            off = wide + fault
            if not everywhere:
                # Where it is not what the class of the operator allows anyway.
                fine = np.abs(fault) > 2.0 * units * spacing(wide, array.dtype)
                chosen = np.zeros(array.shape, np.bool_)
                chosen.flat[rng.choice(np.flatnonzero(fine))] = True
                off = np.where(chosen, off, wide)
            with np.errstate(over="ignore"):
                wrong[name] = off.astype(array.dtype)
        assert sides.refused(wrong, sides.source, table)


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_an_exception_was_measured_with_these_versions(row: dict[str, Any]) -> None:
    here = versions()
    for package, measured in row["versions"].items():
        assert here[package] == measured, (
            f"{row['op']} in {row['dtype']} was measured with {package} {measured}: run "
            "test_an_exception_is_proven with the version that is installed, and renew or remove it"
        )


def test_exceptions_of_a_source_are_told_of_that_source() -> None:
    for row in ROWS:
        assert ("source" in row) == (row["side"] == "source")
        assert set(row["versions"]) == {"onnxruntime", row.get("source", "onnxruntime")}


# ---- where they apply ---------------------------------------------------------------------------


def test_an_exception_applies_to_its_source_and_provider() -> None:
    def sides(provider: str, framework: str) -> set[str]:
        return {e.side for e in TABLE.applying(provider, framework).exceptions}

    assert sides("CPUExecutionProvider", "keras") == {"runtime", "source", "both"}
    assert sides("CPUExecutionProvider", "tensorflow") == {"runtime", "source", "both"}
    assert sides("CPUExecutionProvider", "jax") == {"runtime", "both", "source"}
    of_jax = TABLE.applying("CPUExecutionProvider", "jax").exceptions
    assert {e.source for e in of_jax} == {"", "jax"}
    assert sides("CPUExecutionProvider", "onnx") == {"runtime", "both"}
    assert sides("CUDAExecutionProvider", "keras") == set()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("function", [jax.nn.elu, jax.nn.selu, jax.nn.softplus])
def test_jax_needs_no_exception(function: Callable[..., Any], dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = _values(kind, _selu)
    report = check_conversion(lambda v: function(v), (x,))
    assert report.passed, report


@pytest.mark.parametrize(
    ("kind", "steps", "allowed"),
    [
        (TensorProto.BFLOAT16, ["Elu"], True),
        (TensorProto.BFLOAT16, ["Elu", "Transpose"], True),
        (TensorProto.FLOAT, ["Elu", "to bfloat16"], False),
        (TensorProto.FLOAT, ["Elu", "narrow"], True),
        (TensorProto.FLOAT, ["Elu", "narrow", "Transpose"], True),
        (TensorProto.FLOAT, ["Elu", "Transpose", "narrow"], False),
    ],
)
def test_only_the_type_that_the_operator_computes_in(
    kind: int, steps: list[str], allowed: bool
) -> None:
    nodes = []
    for i, step in enumerate(steps):
        names = [f"v{i}"], [f"v{i + 1}"]
        if step in {"narrow", "to bfloat16"}:
            nodes.append(helper.make_node("Cast", *names, to=TensorProto.BFLOAT16))
        else:
            nodes.append(helper.make_node(step, *names))
    last = f"v{len(steps)}"
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("v0", kind, [3, "B"])],
        [helper.make_tensor_value_info(last, TensorProto.BFLOAT16, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    narrow = frozenset(f"v{i + 1}" for i, step in enumerate(steps) if step == "narrow")
    sensitivity = Sensitivity(model, TABLE, narrow=narrow)
    found = sensitivity.strict(last, np.dtype(ml_dtypes.bfloat16))
    assert found is not None
    assert bool(np.any(found.absolute)) == allowed


@pytest.mark.parametrize(
    ("attributes", "rms"),
    [({}, 3.2e-8), ({"approximate": "none"}, 3.2e-8), ({"approximate": "tanh"}, 2.5e-7)],
)
def test_an_exception_of_certain_attributes(attributes: dict[str, str], rms: float) -> None:
    node = helper.make_node("Gelu", ["x"], ["y"], **attributes)
    assert TABLE.deviation(node, "float32", None) == rms
    assert TABLE.deviation(node, "float16", None) == 0.0


@pytest.mark.parametrize(
    ("op", "largest", "units", "absolute"),
    [
        ("Sin", 1.99, 3.0, 0.0),
        ("Sin", 2.0, 3.0, 6.7e-16),
        ("Sin", None, 3.0, 6.7e-16),
        ("Cos", 0.99, 2.0, 0.0),
        ("Cos", 1.0, 2.0, 6.7e-16),
        ("Exp", None, 2.0, 0.0),
    ],
)
def test_an_exception_of_large_inputs(
    op: str, largest: float | None, units: float, absolute: float
) -> None:
    model = _one_operator(op, np.dtype(np.float64), {})
    values = {} if largest is None else {"x": np.array([0.1, -largest, np.inf])}
    found = Sensitivity(model, TABLE).strict("y", np.dtype(np.float64), values)
    assert found is not None
    assert (found.ulp, found.absolute) == (units, absolute)


@pytest.mark.parametrize(("largest", "told"), [(1.5, True), (2.5, False)])
def test_a_fault_that_only_the_row_of_large_inputs_would_allow(largest: float, told: bool) -> None:
    """5e-16 off at 0.25, where onnxruntime is off by 1e-16 at most."""
    with jax.enable_x64(True):
        x = np.array([0.25, 0.5, largest])
        model = _one_operator("Sin", x.dtype, {})
        exact = {"y": np.sin(x)}
        off = {"y": exact["y"] + np.array([5e-16, 0.0, 0.0])}
        sides = Sides(model, {"x": x}, off, exact, exact)
        assert sides.refused(off, exact, TABLE) == told


def test_hyperbolic_sines_of_usual_inputs_are_allowed_less() -> None:
    near, far = (np.array([0.5, x], np.float32) for x in (31.0, 40.0))
    node = helper.make_node("Sinh", ["x"], ["y"])
    for x, units in ((near, 9.0), (far, 24.0)):
        assert TABLE.units("transcendental", "float32", node, float(x.max())) == units
        report = check_conversion(lambda v: jnp.sinh(v), (x,))
        assert report.passed, report.text()


def test_an_operator_of_another_domain_has_no_exception() -> None:
    node = helper.make_node("Sigmoid", ["x"], ["y"], domain="local")
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["B"]) for n in "xy")
    model = helper.make_model(helper.make_graph([node], "net", [x], [y]))
    found = Sensitivity(model, TABLE).strict("y", np.dtype(np.float32))
    assert found is not None
    assert not np.any(found.absolute)


def test_a_version_that_was_not_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(-1.0, 1.0, 8, dtype=np.float32)
    before = check_conversion(tf.function(lambda v: tf.sigmoid(v)), (x,))
    assert not any("was measured with" in note for note in before.notes)
    other = {**versions(), "onnxruntime": "1.99.0"}
    monkeypatch.setattr(preparation, "versions", lambda: other)
    after = check_conversion(tf.function(lambda v: tf.sigmoid(v)), (x,))
    text = "the documented exception of Sigmoid in float32 was measured with onnxruntime 1.32.0"
    assert f"{text}; here is 1.99.0" in after.notes
    without = check_conversion(tf.function(lambda v: tf.atan(v)), (x,))
    assert not any("was measured with" in note for note in without.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"side": "nobody"}, "side is runtime, source or both"),
        ({"side": "source"}, "the name of a source goes with side = source"),
        ({"attributes.slope": "steep"}, "it has no attribute slope"),
        ({"source": "tensorflow"}, "the name of a source goes with side = source"),
        ({"operation": "Elu"}, "the name of a source goes with side = source or an operation"),
        ({"operation": "Elu", "source": "tensorflow"}, "is told without an operator of ONNX"),
    ],
)
def test_a_wrong_exception_is_refused(change: dict[str, str], message: str, tmp_path: Path) -> None:
    text = files("yobx.verification").joinpath("tolerances.toml").read_text(encoding="utf-8")
    head, row, rest = text.partition('op = "RNN"')
    block, blank, rest = rest.partition("\n\n")
    for key, value in change.items():
        block = re.sub(rf"\n{key} = .*", "", block) + f'\n{key} = "{value}"'
    path = tmp_path / "tolerances.toml"
    path.write_text(head + row + block + blank + rest, encoding="utf-8")
    with pytest.raises(ArgumentError, match=message):
        load_tolerances(path)
