"""Models that compute in 16-bit floats, for which onnxruntime has few kernels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras
import ml_dtypes
import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import TensorProto, helper

import yobx.tensorflow
from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion
from yobx.verification.check import run_check
from yobx.verification.narrow_casts import narrowing_casts
from yobx.verification.runner import Session
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.source_jax import JaxSource
from yobx.verification.source_tensorflow import TensorFlowSource
from yobx.verification.tolerances import load_tolerances
from yobx.verification.value_types import value_types

X = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)


@pytest.fixture
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy(before)


def network(activation: str) -> Any:
    keras.utils.set_random_seed(1)
    layers = keras.layers
    return keras.Sequential(
        [keras.Input((8,)), layers.Dense(16, activation=activation), layers.Dense(4)]
    )


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"], indirect=True)
@pytest.mark.parametrize(
    "activation", ["elu", "selu", "gelu", "silu", "softplus", "tanh", "mish", "sigmoid"]
)
def test_networks_of_mixed_precision(policy: str, activation: str) -> None:
    report = check_conversion(network(activation), (X,))
    assert report.passed, report


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("function", [tf.nn.elu, tf.nn.selu, tf.nn.gelu])
def test_functions_whose_source_is_less_exact(function: Callable[..., Any], dtype: Any) -> None:
    x = np.random.default_rng(0).normal(size=500).astype(dtype)
    report = check_conversion(tf.function(lambda v: function(v)), (x,))
    assert report.passed, report


def scaled(weights: float) -> Callable[..., onnx.ModelProto]:
    def convert(model: Any, args: Any, **options: Any) -> onnx.ModelProto:
        found = to_onnx(model, args, **options)
        for tensor in found.graph.initializer:
            array = onnx.numpy_helper.to_array(tensor)
            if array.ndim == 2 and array.shape == (16, 4):
                tensor.CopyFrom(
                    onnx.numpy_helper.from_array((array * weights).astype(array.dtype), tensor.name)
                )
        return found

    return convert


@pytest.mark.parametrize("policy", ["mixed_bfloat16"], indirect=True)
def test_wrong_weights_are_seen_behind_the_rounding(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yobx.tensorflow

    model = network("sigmoid")
    monkeypatch.setattr(yobx.tensorflow, "to_onnx", scaled(1.05))
    assert check_conversion(model, (X,)).failed_phase == "values"
    monkeypatch.setattr(yobx.tensorflow, "to_onnx", scaled(1.0))
    assert check_conversion(model, (X,)).passed


def hidden(dtype: int) -> Callable[..., Any]:
    """A converter of `Sigmoid` that rounds to a 16-bit type on the way."""

    def convert(g: Any, sts: Any, outputs: list[str], op: Any) -> Any:
        narrow = g.op.Cast(g.op.Sigmoid(op.inputs[0].name), to=dtype)
        return g.op.Cast(narrow, to=TensorProto.FLOAT, outputs=outputs)

    return convert


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_a_type_that_the_source_does_not_compute_in_is_a_fault(dtype: int) -> None:
    w = np.random.default_rng(3).normal(size=(8, 4)).astype(np.float32)

    @tf.function
    def function(x: Any) -> Any:
        return tf.matmul(tf.sigmoid(x), w)

    right = check_conversion(function, (X,))
    assert right.passed, right
    wrong = check_conversion(function, (X,), extra_converters={"Sigmoid": hidden(dtype)})
    assert wrong.failed_phase == "values"


def hiding(convert: Callable[..., onnx.ModelProto], dtype: int) -> Callable[..., onnx.ModelProto]:
    """A `to_onnx` that rounds the result of the first Tanh to a 16-bit type."""

    def changed(*args: Any, **options: Any) -> onnx.ModelProto:
        model = convert(*args, **options)
        nodes = list(model.graph.node)
        at = next(i for i, node in enumerate(nodes) if node.op_type == "Tanh")
        name = nodes[at].output[0]
        nodes[at].output[0] = "exact"
        narrow = helper.make_node("Cast", ["exact"], ["hidden"], to=dtype)
        wide = helper.make_node("Cast", ["hidden"], [name], to=TensorProto.FLOAT)
        del model.graph.node[:]
        model.graph.node.extend([*nodes[: at + 1], narrow, wide, *nodes[at + 1 :]])
        return model

    return changed


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_one_narrow_operation_excuses_no_other(
    framework: str, dtype: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yobx.jax
    import yobx.tensorflow

    narrow = {TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}[dtype]
    w = np.random.default_rng(3).normal(size=(8, 4)).astype(np.float32)

    def of_jax(x: Any) -> Any:
        return jnp.exp(x.astype(narrow)), jnp.exp(jnp.tanh(x) @ w)

    @tf.function
    def of_tensorflow(x: Any) -> Any:
        return tf.exp(tf.cast(x, narrow)), tf.exp(tf.matmul(tf.tanh(x), w))

    function = of_jax if framework == "jax" else of_tensorflow
    front_end = getattr(yobx, framework)
    right = check_conversion(function, (X,))
    assert right.passed, right
    monkeypatch.setattr(front_end, "to_onnx", hiding(front_end.to_onnx, dtype))
    assert check_conversion(function, (X,)).failed_phase == "values"


def test_values_that_a_source_computes_in_16_bits() -> None:
    inner = tf.function(lambda x: tf.cast(tf.sin(tf.cast(x, tf.bfloat16)), tf.float32))
    outer = tf.function(lambda x: inner(x) + 1.0)
    source = TensorFlowSource(outer)
    casts = narrowing_casts(source.convert((X,), {}))
    assert set(casts.values()) == {"bfloat16"}
    assert source.narrow_values((X,), {}, casts) == casts.keys()
    other = dict.fromkeys(casts, "float16")
    assert source.narrow_values((X,), {}, {**other, "none": "bfloat16"}) == frozenset()


def _narrow_of_jax(function: Callable[..., Any], dtype: Any) -> tuple[set[str], frozenset[str]]:
    source = JaxSource(function)
    args = (jnp.asarray(X, dtype),)
    casts = narrowing_casts(source.convert(args, {}))
    return set(casts), source.narrow_values(args, {}, casts)


def _loops(x: Any) -> Any:
    def body(carry: Any, row: Any) -> Any:
        carry = jnp.tanh(carry * row)
        return carry, carry * carry + 1

    last, rows = jax.lax.scan(body, x[0], x)
    chosen = jax.lax.cond(x[0, 0] > 0, jnp.exp, jax.nn.softmax, rows)
    turned = jax.lax.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, chosen)
    )
    return last, jax.nn.gelu(turned[1]), jax.nn.sigmoid(chosen), jax.nn.logsumexp(rows, axis=0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("function", [_loops, jnp.linalg.norm])
def test_operations_of_jax_in_16_bits(function: Callable[..., Any], dtype: str) -> None:
    casts, narrow = _narrow_of_jax(function, dtype)
    assert casts
    assert casts == narrow


def test_inverse_hyperbolic_cosine_in_bfloat16() -> None:
    """XLA rounds inside: 1.6 units from the exact value where the model is half a unit from it.

    The operation is several nodes and ends with a choice, which rounds nothing itself.
    """
    x = np.arange(0x3F80, 0x7F80, dtype=np.uint16).view(ml_dtypes.bfloat16)
    result = run_check(jnp.arccosh, (jnp.asarray(x),), dynamic_shapes={})
    result.raise_if_failed()
    exact = np.arccosh(x.astype(np.float64))
    got = next(iter(result.outputs.values())).astype(np.float64)
    unit = np.exp2(np.floor(np.log2(np.maximum(exact, 2.0**-100))) - 7)
    assert (np.abs(got - exact) <= 0.51 * unit).all()
    theirs = next(iter(result.expected.values())).astype(np.float64)
    assert (np.abs(theirs - exact) > 1.5 * unit).any()


def test_an_inverse_hyperbolic_cosine_that_is_off() -> None:
    def off(g: Any, op: Any) -> str:
        wide = g.op.Acosh(g.op.Cast(op.x(), to=TensorProto.FLOAT))
        return str(g.op.Cast(g.op.Mul(wide, np.float32(1.02)), to=TensorProto.BFLOAT16))

    x = jnp.linspace(1.5, 3.0, 50, dtype=jnp.bfloat16)
    report = check_conversion(
        jnp.arccosh, (x,), extra_converters={"chlo.acosh": off}, dynamic_shapes={}
    )
    assert report.failed_phase == "values"


def test_a_type_that_jax_uses_elsewhere_is_not_believed() -> None:
    def function(x: Any) -> Any:
        return jnp.exp(x.astype(jnp.bfloat16)), jnp.exp(jnp.tanh(x.astype(jnp.float32)))

    source = JaxSource(function)
    args = (jnp.asarray(X),)
    model = source.convert(args, {})
    casts = narrowing_casts(model)
    assert source.narrow_values(args, {}, casts) == casts.keys()
    others = {name: "bfloat16" for node in model.graph.node for name in node.output}
    exact = {n for node in model.graph.node if node.op_type == "Tanh" for n in node.output}
    exact |= {o.name for o in model.graph.output if o.type.tensor_type.elem_type == 1}
    assert len(exact) == 2
    assert not exact & source.narrow_values(args, {}, others)


def test_casts_that_end_an_operation() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21]>
        g (float16[n] x, float[n] z, bool c) => (float16[n] y, float16[n] q, float16[n] r) {
            y = If (c) <
                then_branch = t () => (float16[n] a) {
                    w = Cast<to=1>(x) s = Sin(w) a = Cast<to=10>(s) },
                else_branch = e () => (float16[n] b) { b = Neg(x) }>
            wide = Cast<to=1>(x)
            both = Add(wide, z)
            q = Cast<to=10>(both)
            r = Cast<to=10>(z)
        }"""
    )
    assert narrowing_casts(model) == {"a": "float16"}


def _stepped(step: str, last: str = "first") -> onnx.ModelProto:
    """Two steps in float32 between casts, of which converters say where they come from."""
    nodes = [
        helper.make_node("Cast", ["x"], ["w"], to=TensorProto.FLOAT),
        helper.make_node("Exp", ["w"], ["e"]),
        helper.make_node(step, ["e"], ["l"]),
        helper.make_node("Abs", ["l"], ["a"]),
        helper.make_node("Cast", ["a"], ["y"], to=TensorProto.BFLOAT16),
    ]
    for node in nodes:
        node.metadata_props.add(key="yobx.op", value="Function")
        node.metadata_props.add(key="yobx.name", value=last if node.output[0] == "y" else "first")
    given, result = (
        helper.make_tensor_value_info(name, TensorProto.BFLOAT16, ["B"]) for name in "xy"
    )
    return helper.make_model(
        helper.make_graph(nodes, "net", [given], [result]),
        opset_imports=[helper.make_opsetid("", 21)],
        ir_version=10,
    )


def test_a_cast_that_ends_several_steps_of_one_operation() -> None:
    assert narrowing_casts(_stepped("Log")) == {"y": "bfloat16"}
    assert narrowing_casts(_stepped("Log", "second")) == {}


@pytest.mark.parametrize(
    ("step", "cast", "units"), [("Log", True, 3.0), ("Log", False, 1.0), ("ReduceSum", True, 1.0)]
)
def test_several_steps_of_one_operation_are_rounded_once(
    step: str, cast: bool, units: float
) -> None:
    model = _stepped(step)
    narrow = frozenset(narrowing_casts(model)) if cast else frozenset()
    x = np.linspace(1.0, 3.0, 9).astype(ml_dtypes.bfloat16)
    sensitivity = Sensitivity(model, load_tolerances(), narrow=narrow)
    assert sensitivity.strict("y", x.dtype) is None
    clean = {"x": x, **Session(model).run({"x": x}).values}
    allowance = sensitivity.measure({"x": x}, clean, ["y"])["y"]
    assert allowance.ulp == units
    # What the steps make of rounding in float32 is next to nothing.
    assert np.asarray(allowance.absolute).max() < 0.01


def test_a_function_near_its_zero_in_bfloat16() -> None:
    """JAX has 0.0 for the logarithm of gamma(2), where float32 is 5e-7 off on both sides."""
    x = np.array([1.5, 2.0, 3.0], ml_dtypes.bfloat16)
    report = check_conversion(lambda v: jax.scipy.special.gammaln(v), (x,))
    assert report.passed, report.text()


# ---- faults of a few units in one layer ---------------------------------------------------------

#: Units in the last place (of 1.0) by which every element of one value is off, by the activation of
#: the network: what rounding alone may do to the whole of it hides fewer.
UNITS = {"relu": 3, "tanh": 6, "gelu": 6}
_16_BITS = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})


def narrow_results(model: onnx.ModelProto) -> list[str]:
    """Results of operations in 16 bits: of casts which end one, or of the operations themselves."""
    types = {name: found.dtype for name, found in value_types(model).items()}
    native = [
        node.output[0]
        for node in model.graph.node
        if node.op_type != "Cast" and types.get(node.output[0]) in _16_BITS
    ]
    return list(narrowing_casts(model)) + native


def off_by(
    convert: Callable[..., onnx.ModelProto], units: float, place: int
) -> Callable[..., onnx.ModelProto]:
    """A `to_onnx` whose model multiplies one of its 16-bit results by ``1 + units * eps``."""

    def changed(*args: Any, **options: Any) -> onnx.ModelProto:
        model = convert(*args, **options)
        nodes = list(model.graph.node)
        kind = value_types(model)
        name = narrow_results(model)[place]
        at = next(i for i, node in enumerate(nodes) if name in node.output)
        dtype = helper.tensor_dtype_to_np_dtype(kind[name].dtype)
        factor = np.float32(1.0 + units * float(ml_dtypes.finfo(dtype).eps))
        nodes[at].output[0] = "right"
        fault = [
            helper.make_node("Cast", ["right"], ["wide"], to=TensorProto.FLOAT),
            helper.make_node(
                "Constant", [], ["factor"], value=onnx.numpy_helper.from_array(factor)
            ),
            helper.make_node("Mul", ["wide", "factor"], ["wrong"]),
            helper.make_node("Cast", ["wrong"], [name], to=kind[name].dtype),
        ]
        del model.graph.node[:]
        model.graph.node.extend([*nodes[: at + 1], *fault, *nodes[at + 1 :]])
        return model

    return changed


def of_jax(activation: str) -> Callable[..., Any]:
    rng = np.random.default_rng(1)
    first, second = (jnp.asarray(rng.normal(size=s) / 3, jnp.bfloat16) for s in ((8, 16), (16, 4)))
    act = {"relu": jax.nn.relu, "tanh": jnp.tanh, "gelu": jax.nn.gelu}[activation]
    return lambda x: act(x.astype(jnp.bfloat16) @ first) @ second


@pytest.mark.parametrize("activation", list(UNITS))
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float32"], indirect=True)
def test_a_fault_of_a_few_units_in_one_layer_is_caught(
    policy: str, activation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy float32 stands for a JAX function in bfloat16."""
    import yobx.jax
    import yobx.tensorflow

    front_end = yobx.jax if policy == "float32" else yobx.tensorflow
    model = of_jax(activation) if policy == "float32" else network(activation)
    convert = front_end.to_onnx
    places = len(narrow_results(convert(model, (X,))))
    assert places >= 3
    monkeypatch.setattr(front_end, "to_onnx", off_by(convert, 0.0, 0))
    assert check_conversion(model, (X,)).passed
    missed = []
    for place, units in itertools.product(range(places), (UNITS[activation], -UNITS[activation])):
        monkeypatch.setattr(front_end, "to_onnx", off_by(convert, units, place))
        if check_conversion(model, (X,)).failed_phase != "values":
            missed.append((place, units))
    assert not missed


def test_a_scalar_of_tensorflow_in_16_bits_is_an_array() -> None:
    x = np.linspace(-1.0, 1.0, 6).astype(ml_dtypes.bfloat16)
    largest = tf.function(tf.reduce_max)
    report = check_conversion(largest, (x,))
    assert report.passed, report.text()
    assert report.outputs[0].symbolic_shape == "[]"


def _unit_rows(x: Any) -> Any:
    return tf.math.l2_normalize(x, -1)


@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_what_is_subnormal_in_float16_is_rounded_by_half_a_last_place(seed: int) -> None:
    """Squares of such numbers are, and TensorFlow rounds them, which onnxruntime leaves out."""
    rng = np.random.default_rng(seed)
    small = rng.normal(size=(4, 33)) * 10.0 ** rng.uniform(-4, -3, (4, 33))
    x = np.concatenate([small, rng.normal(size=(4, 33))]).astype(np.float16)
    function = tf.function(_unit_rows)
    report = check_conversion(function, (x,), dynamic_shapes=({},))
    assert report.passed, report.text()

    def off(g: Any, sts: Any, outputs: list[str], op: Any) -> Any:
        root = g.op.Reciprocal(g.op.Sqrt(op.inputs[0].name))
        return g.op.Mul(root, np.array(1.02, np.float16), outputs=outputs[:1])

    wrong = check_conversion(
        function, (x,), dynamic_shapes=({},), extra_converters={"Rsqrt": off}, localize=False
    )
    assert wrong.failed_phase == "values", wrong.text()


def test_noise_of_subnormal_numbers_has_a_floor() -> None:
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["y"]),
        helper.make_node("Identity", ["y"], ["z"]),
    ]
    kind = TensorProto.FLOAT16
    values = [helper.make_tensor_value_info(n, kind, [4]) for n in "xz"]
    graph = helper.make_graph(nodes, "net", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    x = np.array([0.0, 2e-3, 4e-3, 1.0], np.float16)
    clean = {"x": x, "y": x * x, "z": x * x}
    moved = Sensitivity(model, load_tolerances()).measure({"x": x}, clean, ["z"], runs=24)["z"]
    steps = np.asarray(moved.absolute) / load_tolerances().elementwise / 2.0**-24
    # Of half a last place, spread evenly; the first is 0 and has what is typical of others.
    assert (steps[1:3] > 0.2).all()
    assert (steps[1:3] < 0.6).all()
    assert steps[3] > 1000


def _products(x: Any) -> Any:
    return jnp.cumprod(x, -1)


def _scaled(*args: Any, **options: Any) -> onnx.ModelProto:
    """A conversion whose result is off by a tenth."""
    model = to_onnx(*args, **options)
    name = model.graph.output[0].name
    for node in model.graph.node:
        node.output[:] = [f"{name}_right" if o == name else o for o in node.output]
    tenth = helper.make_tensor("tenth", TensorProto.FLOAT, [], [1.1])
    model.graph.node.extend(
        [
            helper.make_node("Cast", [f"{name}_right"], ["wide"], to=TensorProto.FLOAT),
            helper.make_node("Constant", [], ["scale"], value=tenth),
            helper.make_node("Mul", ["wide", "scale"], ["more"]),
            helper.make_node("Cast", ["more"], [name], to=TensorProto.BFLOAT16),
        ]
    )
    return model


def test_jax_by_way_of_tensorflow_says_what_it_computes_in_16_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Arrays of numpy do not tell the framework: products of 33 numbers, each rounded."""
    rng = np.random.default_rng(3)
    x = (1 + np.abs(rng.standard_normal((4, 33))) * 3).astype(ml_dtypes.bfloat16)
    right = check_conversion(lambda *a: _products(*a), (x,), seed=3)
    assert right.framework == "jax"
    assert right.passed, right.text()
    monkeypatch.setattr(yobx.tensorflow, "to_onnx", _scaled)
    wrong = check_conversion(lambda *a: _products(*a), (x,), seed=3, localize=False)
    assert wrong.failed_phase == "values", wrong.text()
