"""The noisy twin of a model: rounding made large enough to be seen.

Rounding is a function of the value, so the noise is too: a sine of the value, far out, with a phase
of its own for every node and run. Equal values get equal noise, which then adds up in a mean as
their rounding does; different values get noise that is as good as random. It is computed inside the
graph, so it reaches the bodies of loops and the weights are never copied. What differs from run to
run is one number, an input of the twin: onnxruntime has no random operators of newer opsets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from yobx.verification.dtypes import epsilon_half, is_float, widen
from yobx.verification.error_classes import node_class, operation_results, subgraphs
from yobx.verification.long_sums import reach_of_long_sum
from yobx.verification.narrow_casts import steps_before
from yobx.verification.provenance import Operation, facts_of
from yobx.verification.tolerances import Tolerances
from yobx.verification.value_types import value_types
from yobx.verification.weights import light

__all__ = [
    "RUN_NUMBER",
    "before_noise",
    "largest_input",
    "noisy_model",
    "origin_of",
    "run_numbers",
]

#: Input of a noisy twin: what its noise depends on, beside the values.
RUN_NUMBER = "run__noise"

_UNIT: dict[int | None, float] = {
    TensorProto.FLOAT: 2.0**-24,
    TensorProto.DOUBLE: 2.0**-53,
    TensorProto.FLOAT16: 2.0**-11,
    TensorProto.BFLOAT16: 2.0**-8,
}
_NAMES: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
}
_LOW = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
# A sine of amplitude a varies as much as a uniform number in +-a/_SINE.
_SINE = float(np.sqrt(2.0 / 3.0))
# Values that differ by a ten-thousandth of the largest get noise of their own.
_FREQUENCY = 5e4
_FARTHEST = 1e30
# A phase is the number of a run, between 1 and 2, times a number between these.
_TURNS = (1e3, 1e4)
# What the names of the twin's own values add to those of the model.
_ADDED = re.compile(r"__(?:rounded|noise\d+)")
# From this opset on the axis of a DFT is an input, and the last but one by default.
_DFT_WITH_AXIS_INPUT = 20
_ELEMENTWISE = frozenset({"exact", "rounded", "transcendental"})
_FOLDABLE = frozenset({"Conv", "ConvTranspose"})
_NEVER_NOISED = frozenset(
    {"RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike"}
)


@dataclass
class _Noise:
    """Writes the noisy twin of a graph."""

    tolerances: Tolerances
    dtypes: Mapping[str, int]
    amplification: float
    seed: int
    opset: int
    counter: int = 0
    noised: int = 0
    factors: dict[int, str] = field(default_factory=dict)
    numbers: dict[int, str] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    unrounded: frozenset[str] = frozenset()
    narrow: frozenset[str] = frozenset()

    def graph(self, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
        """The noisy nodes of one graph."""
        result: list[onnx.NodeProto] = []
        producers = {name: node for node in nodes for name in node.output}
        results = operation_results(nodes)
        for node in nodes:
            noisy = self._node(node, producers)
            for name in node.output:
                noisy += self._noise_of_exceptions(noisy, name, results.get(name))
            result.extend(noisy)
        return result

    def _noise_of_exceptions(
        self, nodes: list[onnx.NodeProto], output: str, operation: Operation | None
    ) -> list[onnx.NodeProto]:
        """What documented exceptions of an operation of the source add to its result."""
        dtype = self.dtypes.get(output)
        if dtype is None or dtype not in _UNIT or (dtype in _LOW and output not in self.narrow):
            return []
        told = self.tolerances.of_operation(operation, _NAMES[dtype])
        relative = max((e.rms for e in told if e.ulp), default=0.0) * np.sqrt(3.0)
        absolute = max((e.rms for e in told if not e.ulp), default=0.0) * np.sqrt(3.0)
        if not relative and not absolute:
            return []
        plain = self._name(output)
        last = next(n for n in reversed(nodes) if output in n.output)
        last.output[list(last.output).index(output)] = plain
        ulp, unit = 2.0 * relative, _UNIT[dtype]
        return self._relative_noise(plain, output, ulp, unit, absolute, alike=True)

    def _computed(
        self, node: onnx.NodeProto, producers: Mapping[str, onnx.NodeProto]
    ) -> onnx.NodeProto:
        """The operation that a node ends; see `narrow_casts.py`."""
        if self.narrow.isdisjoint(node.output):
            return node
        return producers[node.input[0]]

    def _label_of_steps(self, cast: onnx.NodeProto, producers: Mapping[str, onnx.NodeProto]) -> str:
        """Class of the operation that a cast ends, which may be one of several elementwise steps.

        Others are not known to be rounded once in the source: no noise hides what they are off.
        """
        first = node_class(producers[cast.input[0]], self.tolerances)
        steps = [node_class(n, self.tolerances) for n in steps_before(cast, producers)]
        if len(steps) < 2:
            return first
        return "transcendental" if set(steps) <= _ELEMENTWISE else "exact"

    def _node(
        self, original: onnx.NodeProto, producers: Mapping[str, onnx.NodeProto]
    ) -> list[onnx.NodeProto]:
        node = onnx.NodeProto()
        node.CopyFrom(original)
        bodies = list(subgraphs(node))
        for body in bodies:
            noisy = self.graph(body.node)
            del body.node[:]
            body.node.extend(noisy)
            del body.value_info[:]
        computed = self._computed(original, producers)
        label = node_class(computed, self.tolerances)
        if computed is not original:
            label = self._label_of_steps(original, producers)
        outputs = [o for o in node.output if o and self.dtypes.get(o) in _UNIT]
        if bodies or label == "exact" or not outputs or node.op_type in _NEVER_NOISED:
            return [node]
        if self._adds_whole_numbers(original):
            return [node]
        before = self._input_noise(node) if label == "composite" else []
        after: list[onnx.NodeProto] = []
        renamed = {name: before_noise(name) for name in outputs}
        for i, name in enumerate(node.output):
            node.output[i] = renamed.get(name, name)
        low = any(self.dtypes[name] in _LOW for name in outputs)
        if label == "contraction" and not low:
            unit = self._unit(original, self.dtypes[outputs[0]])
            after += self._condition_noise(node, outputs[0], unit)
        elif label == "contraction" and computed is original and self._adds_narrowly(node):
            after += self._narrow_condition_noise(node, outputs[0])
        else:
            for name in outputs:
                ulp = self._width(label, self.dtypes[name])
                unit = self._unit(original, self.dtypes[name])
                more = self._deviation(computed, self.dtypes[name])
                after += self._relative_noise(renamed[name], name, ulp, unit, more)
        self.noised += 1
        if _has_factor(original) and not low:
            last = next(n for n in after if outputs[0] in n.output)
            after.append(self._common_factor(last, outputs[0]))
        return [*before, node, *after]

    def _adds_whole_numbers(self, node: onnx.NodeProto) -> bool:
        """Whether nothing is rounded: what is looked up by such numbers is there for them alone."""
        known = [x for x in node.input if x in self.scales and self.dtypes.get(x) in _UNIT]
        return (
            node.op_type in {"Add", "Sub"}
            and bool(known)
            and self.whole.issuperset([*known, *node.output])
        )

    def _width(self, label: str, dtype: int) -> float:
        """Amplitude of relative noise, in halves of a unit in the last place."""
        usual = self.tolerances.noise.get(label, self.tolerances.noise["transcendental"])
        if label == "exact":
            return 0.0
        return self.tolerances.narrow_noise.get(label, usual) if dtype in _LOW else usual

    def _common_factor(self, last: onnx.NodeProto, output: str) -> onnx.NodeProto:
        """Scales the output by the noise that all factors of normalisations share."""
        dtype = self.dtypes[output]
        last.output[0] = self._name(output)
        factor = self.factors.setdefault(dtype, f"factor{dtype}__noise")
        return helper.make_node("Mul", [last.output[0], factor], [output])

    def common_factors(self) -> list[onnx.NodeProto]:
        """The nodes that make the factors; they come before all others but `phases`."""
        nodes: list[onnx.NodeProto] = []
        for dtype, name in self.factors.items():
            width = self.tolerances.noise["factor"] * _UNIT[dtype] * self.amplification
            zero = self._name(name)
            kind = helper.tensor_dtype_to_np_dtype(dtype)
            nothing = numpy_helper.from_array(np.array(0.0, kind))
            nodes.append(helper.make_node("Constant", [], [zero], value=nothing))
            nodes += self._spread(zero, name, 1.0, width, dtype)
        return nodes

    def phases(self) -> list[onnx.NodeProto]:
        """The number of a run in the dtypes that need it; these nodes come first."""
        return [
            helper.make_node("Cast", [RUN_NUMBER], [name], to=dtype)
            for dtype, name in self.numbers.items()
        ]

    def _input_noise(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Gives a composite operator its own, rounded copies of its float inputs."""
        nodes: list[onnx.NodeProto] = []
        # A rounded exponent would turn an exact square into a power of a negative base.
        last = 1 if node.op_type == "Pow" else len(node.input)
        for i, name in enumerate(list(node.input)[:last]):
            dtype = self.dtypes.get(name)
            if name and dtype in _UNIT and dtype not in _LOW:
                copy = self._name(name)
                ulp = self.tolerances.noise["inputs"]
                nodes += self._relative_noise(name, copy, ulp, self._unit(node, dtype))
                node.input[i] = copy
        return nodes

    def _condition_noise(
        self, node: onnx.NodeProto, output: str, unit: float
    ) -> list[onnx.NodeProto]:
        width = self.tolerances.noise["contraction"] * unit * self.amplification
        noise, error = self._name(output), self._name(output)
        if node.op_type == "DFT":
            nodes, condition = self._reach_of_fourier(node, self.dtypes[output])
        else:
            nodes, condition = self._reach(node, output)
            total, kind = before_noise(output), self.dtypes[output]
            most = self.tolerances.noise["sums"]
            more, condition = reach_of_long_sum(
                node, total, condition, dtype=kind, amplitude=most, name=self._name
            )
            nodes += more
        return [
            *nodes,
            *self._spread(before_noise(output), noise, 0.0, width, self.dtypes[output]),
            helper.make_node("Mul", [condition, noise], [error]),
            helper.make_node("Add", [before_noise(output), error], [output]),
        ]

    def _adds_narrowly(self, node: onnx.NodeProto) -> bool:
        """Whether the source adds up in the 16 bits it is given."""
        return facts_of(node).get("op", "") in self.tolerances.narrow_sums

    def _narrow_condition_noise(self, node: onnx.NodeProto, output: str) -> list[onnx.NodeProto]:
        """Noise of a sum whose every step is rounded to 16 bits; computed in float32."""
        dtype, wide = self.dtypes[output], int(TensorProto.FLOAT)
        width = self.tolerances.noise["contraction"] * _UNIT[dtype] * self.amplification
        nodes, condition = self._reach(node, output)
        value, size, noise, error, total = (self._name(output) for _ in range(5))
        return [
            *nodes,
            helper.make_node("Cast", [before_noise(output)], [value], to=wide),
            helper.make_node("Cast", [condition], [size], to=wide),
            *self._spread(value, noise, 0.0, width, wide),
            helper.make_node("Mul", [size, noise], [error]),
            helper.make_node("Add", [value, error], [total]),
            helper.make_node("Cast", [total], [output], to=dtype),
        ]

    def _reach(self, node: onnx.NodeProto, output: str) -> tuple[list[onnx.NodeProto], str]:
        """What bounds the error of a sum of products: the same operator on absolute values."""
        twin = onnx.NodeProto()
        twin.CopyFrom(node)
        twin.name = ""
        nodes: list[onnx.NodeProto] = []
        for i, name in enumerate(twin.input):
            if name and self.dtypes.get(name) in _UNIT:
                absolute = self._name(name)
                nodes.append(helper.make_node("Abs", [name], [absolute]))
                twin.input[i] = absolute
        condition = self._name(output)
        del twin.output[:]
        twin.output.append(condition)
        nodes.append(twin)
        if node.op_type == "Resize":
            more, condition = self._reach_of_resize(twin, condition, self.dtypes[output])
            nodes += more
        return nodes, condition

    def _reach_of_fourier(
        self, node: onnx.NodeProto, dtype: int
    ) -> tuple[list[onnx.NodeProto], str]:
        """What bounds the error of a fast Fourier transform over n elements: ``log2(n) norm(x)``.

        An element may be small, but is a sum of all of them, in log2(n) steps (Higham, Accuracy and
        Stability of Numerical Algorithms, theorem 24.2); an inverse is divided by n.
        """
        attributes = {a.name: a.i for a in node.attribute}
        nodes: list[onnx.NodeProto] = []

        def emit(op_type: str, inputs: list[str], **more: Any) -> str:
            name = self._name(node.output[0])
            nodes.append(helper.make_node(op_type, inputs, [name], **more))
            return name

        given = [*node.input, "", ""][1:3]
        if given[1]:
            axis = emit("Reshape", [given[1], emit("Constant", [], value_ints=[1])])
        else:
            last = -2 if self.opset >= _DFT_WITH_AXIS_INPUT else 1
            axis = emit("Constant", [], value_ints=[attributes.get("axis", last)])
        axes = emit("Concat", [axis, emit("Constant", [], value_ints=[-1])], axis=0)
        norm = emit("ReduceL2", [node.input[0], axes], keepdims=1)
        count = given[0] or emit("Gather", [emit("Shape", [node.input[0]]), axis])
        size = emit("Cast", [count], to=dtype)
        two = emit("Cast", [emit("Constant", [], value_int=2)], to=dtype)
        steps = emit("Div", [emit("Log", [emit("Max", [size, two])]), emit("Log", [two])])
        reach = emit("Mul", [norm, steps])
        if not attributes.get("inverse"):
            return nodes, reach
        # One side alone stands for both.
        whole = emit("Mul", [reach, two]) if attributes.get("onesided") else reach
        return nodes, emit("Div", [whole, size])

    def _reach_of_resize(
        self, node: onnx.NodeProto, condition: str, dtype: int
    ) -> tuple[list[onnx.NodeProto], str]:
        """Coordinates are rounded too, by more in a larger image: neighbours get another weight."""
        one, shape, sizes, largest, factor = (self._name(condition) for _ in range(5))
        peak, moved, total = (self._name(condition) for _ in range(3))
        axes = next((a.ints for a in node.attribute if a.name == "axes"), None)
        nodes = [helper.make_node("Constant", [], [one], value_ints=[1])]
        if axes:
            whole, places = self._name(condition), self._name(condition)
            nodes += [
                helper.make_node("Shape", node.input[:1], [whole]),
                helper.make_node("Constant", [], [places], value_ints=list(axes)),
                helper.make_node("Gather", [whole, places], [shape]),
            ]
        else:
            nodes.append(helper.make_node("Shape", node.input[:1], [shape], start=2))
        nodes += [
            helper.make_node("Concat", [one, shape], [sizes], axis=0),
            helper.make_node("ReduceMax", [sizes], [largest], keepdims=0),
            helper.make_node("Cast", [largest], [factor], to=dtype),
            helper.make_node("ReduceMax", node.input[:1], [peak], keepdims=0),
            helper.make_node("Mul", [peak, factor], [moved]),
            helper.make_node("Add", [condition, moved], [total]),
        ]
        return nodes, total

    def _relative_noise(
        self,
        source: str,
        target: str,
        ulp: float,
        unit: float,
        more: float = 0.0,
        *,
        alike: bool = False,
    ) -> list[onnx.NodeProto]:
        """Noise of so many units in proportion to a value, and `more` that is not.

        With `alike` there is as much again that is the same for all elements: the error of an
        approximation has one sign for numbers that are alike, and adds up in a sum of them.
        """
        dtype = self.dtypes.get(source, self.dtypes.get(target, TensorProto.FLOAT))
        width = ulp * unit * self.amplification
        absolute = more * self.amplification
        noise = self._name(target)
        nodes: list[onnx.NodeProto] = []
        wide, result = source, target
        if dtype in _LOW:
            wide, result = self._name(source), self._name(target)
            nodes.append(helper.make_node("Cast", [source], [wide], to=TensorProto.FLOAT))
        kind = int(TensorProto.FLOAT) if dtype in _LOW else dtype
        nodes += self._spread(wide, noise, 1.0, width, kind)
        if alike and width:
            more_nodes, noise = self._and_alike("Mul", noise, 1.0, width, kind)
            nodes += more_nodes
        if absolute:
            scaled, shift = self._name(target), self._name(target)
            nodes.append(helper.make_node("Mul", [wide, noise], [scaled]))
            nodes += self._spread(wide, shift, 0.0, absolute, kind)
            if alike:
                more_nodes, shift = self._and_alike("Add", shift, 0.0, absolute, kind)
                nodes += more_nodes
            nodes.append(helper.make_node("Add", [scaled, shift], [result]))
        else:
            nodes.append(helper.make_node("Mul", [wide, noise], [result]))
        if dtype in _LOW:
            nodes.append(helper.make_node("Cast", [result], [target], to=dtype))
        return nodes

    def _and_alike(
        self, join: str, noise: str, middle: float, width: float, dtype: int
    ) -> tuple[list[onnx.NodeProto], str]:
        """Noise, joined with as much that is one number for a whole tensor."""
        zero, number, both = (self._name(noise) for _ in range(3))
        nothing = np.array(0.0, helper.tensor_dtype_to_np_dtype(dtype))
        nodes = [
            helper.make_node("Constant", [], [zero], value=numpy_helper.from_array(nothing)),
            *self._spread(zero, number, middle, width, dtype),
            helper.make_node(join, [noise, number], [both]),
        ]
        return nodes, both

    def _deviation(self, operator: onnx.NodeProto, dtype: int) -> float:
        """Amplitude of noise that varies as much as the error of a documented exception."""
        largest = self.scales.get(next(iter(operator.input), ""))
        seen = self.tolerances.deviation(operator, _NAMES[dtype], largest)
        return seen * float(np.sqrt(3.0))

    def _spread(
        self, value: str, output: str, middle: float, width: float, dtype: int
    ) -> list[onnx.NodeProto]:
        """Noise around `middle` that depends on the value; `width` as that of a uniform one."""
        frequency = _FREQUENCY / self.scales.get(_ADDED.split(value)[0], 1.0)
        rng = np.random.default_rng([self.seed, self.counter])
        turn = rng.uniform(*_TURNS)
        numbers = (turn, frequency, -_FARTHEST, _FARTHEST, width * _SINE, middle)
        names = [self._name(output) for _ in numbers]
        turns, factor, least, most, amplitude, offset = names
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        nodes = [
            helper.make_node(
                "Constant", [], [name], value=numpy_helper.from_array(np.array(number, kind))
            )
            for name, number in zip(names, numbers, strict=True)
        ]
        phase, turned, moved, above, bounded, wave, scaled = (self._name(output) for _ in range(7))
        run = self.numbers.setdefault(dtype, f"{RUN_NUMBER}_{dtype}")
        steps = (
            ("Mul", [run, turns], phase),
            ("Mul", [value, factor], turned),
            ("Add", [turned, phase], moved),
            ("Max", [moved, least], above),  # an infinity would become NaN
            ("Min", [above, most], bounded),
            ("Sin", [bounded], wave),
            ("Mul", [wave, amplitude], scaled),
            ("Add", [scaled, offset], output),
        )
        return [
            *nodes,
            *(helper.make_node(op_type, inputs, [name]) for op_type, inputs, name in steps),
        ]

    def _unit(self, node: onnx.NodeProto, dtype: int | None) -> float:
        """The rounding of a value: that of the source where a converter computes in a wider type.

        A converter says so itself, and is believed where the value is rounded before it is seen:
        it is allowed what the same nodes in float32 would be, and no more.
        """
        if "widened" in facts_of(node) and self.unrounded.isdisjoint(node.output):
            return max(_UNIT[dtype], _UNIT[TensorProto.FLOAT])
        return _UNIT[dtype]

    def _name(self, hint: str) -> str:
        self.counter += 1
        return f"{hint}__noise{self.counter}"


def before_noise(name: str) -> str:
    """The value of a noisy twin that gets noise and the name of one of the model."""
    return f"{name}__rounded"


def origin_of(node: onnx.NodeProto) -> tuple[str, ...]:
    """Name stack or layer, and operation, that a converter says a node came of."""
    facts = facts_of(node)
    found = tuple(facts.get(key, "") for key in ("layer", "op", "name"))
    return found if any(found) else ()


def largest_input(node: onnx.NodeProto, values: Mapping[str, Any]) -> float | None:
    """The largest finite magnitude of the first input of an operator, if its value is known."""
    name = next(iter(node.input), "")
    return _magnitude(values[name]) if values.get(name) is not None else None


def _magnitude(value: Any) -> float:
    """The largest finite magnitude, 1 where there is none; of all turns for one in a body."""
    if isinstance(value, list):
        return max(map(_magnitude, value), default=1.0)
    if not isinstance(value, np.ndarray) or not is_float(value.dtype) or not value.size:
        return 1.0
    wide = np.abs(widen(value))
    return float(np.max(wide, initial=0.0, where=np.isfinite(wide))) or 1.0


def _is_whole(value: Any) -> bool:
    """Whether all are whole numbers, and small enough for a sum of two to be one of their type."""
    if isinstance(value, list):
        return all(map(_is_whole, value))
    if not isinstance(value, np.ndarray) or not is_float(value.dtype):
        return False
    wide = widen(value)
    return bool(np.all((np.rint(wide) == wide) & (np.abs(wide) * epsilon_half(value.dtype) < 1)))


def _has_factor(node: onnx.NodeProto) -> bool:
    """Whether a node applies the factor of a normalisation.

    A pass says where it folded one into weights; what has no weights is not believed.
    """
    if node.op_type == "BatchNormalization":
        return True
    return node.op_type in _FOLDABLE and "folded" in facts_of(node)


def _unrounded(graph: onnx.GraphProto) -> set[str]:
    """Values that reach a result of the graph without being rounded to float32 or less."""
    found = {value.name for value in graph.output}
    for node in reversed(graph.node):
        for body in subgraphs(node):
            found |= _unrounded(body)
        narrow = node.op_type == "Cast" and any(
            a.name == "to" and a.i in _LOW | {TensorProto.FLOAT} for a in node.attribute
        )
        if not narrow and not found.isdisjoint(node.output):
            found.update(node.input)
    return found


def _amplification(model: onnx.ModelProto, dtypes: Mapping[str, int]) -> float:
    """How much larger than rounding the noise is: it stands out, and stays linear."""
    present = set(dtypes.values())
    if present & _LOW:
        return 2.0
    if TensorProto.FLOAT in present:
        return 16.0
    return 2.0**33


def noisy_model(
    model: onnx.ModelProto,
    tolerances: Tolerances,
    *,
    seed: int,
    clean: Mapping[str, Any] | None = None,
    narrow: frozenset[str] = frozenset(),
) -> tuple[onnx.ModelProto, float, int]:
    """The noisy twin of a model.

    Args:
        model: The model; it is not changed.
        tolerances: The table with the noise of each class.
        seed: Seed of the noise.
        clean: Values without noise, for their magnitudes; a list of turns for one in a body.
        narrow: Results of casts which end an operation of the source in 16 bits.

    Returns:
        The twin (a light copy), the amplification of its noise, and how many nodes are noised. It
        has an input more, see `run_numbers`.
    """
    dtypes = {name: found.dtype for name, found in value_types(model).items()}
    amplification = _amplification(model, dtypes)
    scales = {name: _magnitude(value) for name, value in (clean or {}).items()}
    unrounded = frozenset(_unrounded(model.graph))
    noise = _Noise(
        tolerances,
        dtypes,
        amplification,
        seed,
        next((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), 0),
        scales=scales,
        whole=frozenset(name for name, value in (clean or {}).items() if _is_whole(value)),
        unrounded=unrounded,
        narrow=narrow,
    )
    twin = light(model)
    nodes = noise.graph(twin.graph.node)
    del twin.graph.node[:]
    del twin.graph.value_info[:]
    factors = noise.common_factors()
    twin.graph.node.extend([*noise.phases(), *factors, *nodes])
    number = helper.make_tensor_value_info(RUN_NUMBER, TensorProto.FLOAT, [])
    twin.graph.input.append(number)
    return twin, amplification, noise.noised


def run_numbers(seed: int, runs: int) -> list[dict[str, NDArray[np.float32]]]:
    """What a noisy twin is fed beside the inputs of its model, for each of several runs."""
    rng = np.random.default_rng(seed)
    return [{RUN_NUMBER: np.array(number, np.float32)} for number in rng.uniform(1.0, 2.0, runs)]
