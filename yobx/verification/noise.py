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

from yobx.onnx_optim.model_io import subgraphs as all_graphs
from yobx.verification.dtypes import is_float, widen
from yobx.verification.error_classes import node_class, subgraphs
from yobx.verification.provenance import facts_of
from yobx.verification.tolerances import Tolerances
from yobx.verification.value_types import value_types
from yobx.verification.weights import light

__all__ = [
    "RUN_NUMBER",
    "largest_input",
    "narrowing_casts",
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
    unrounded: frozenset[str] = frozenset()
    narrow: frozenset[str] = frozenset()

    def graph(self, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
        """The noisy nodes of one graph."""
        result: list[onnx.NodeProto] = []
        producers = {name: node for node in nodes for name in node.output}
        for node in nodes:
            result.extend(self._node(node, producers))
        return result

    def _computed(
        self, node: onnx.NodeProto, producers: Mapping[str, onnx.NodeProto]
    ) -> onnx.NodeProto:
        """The operation that a node ends; see `narrowing_casts`."""
        if self.narrow.isdisjoint(node.output):
            return node
        return producers[node.input[0]]

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
        outputs = [o for o in node.output if o and self.dtypes.get(o) in _UNIT]
        if bodies or label == "exact" or not outputs or node.op_type in _NEVER_NOISED:
            return [node]
        before = self._input_noise(node) if label == "composite" else []
        after: list[onnx.NodeProto] = []
        renamed = {name: f"{name}__rounded" for name in outputs}
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
                after += self._relative_noise(renamed[name], name, ulp, unit, computed)
        self.noised += 1
        if _has_factor(original) and not low:
            last = next(n for n in after if outputs[0] in n.output)
            after.append(self._common_factor(last, outputs[0]))
        return [*before, node, *after]

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
                nodes += self._relative_noise(name, copy, ulp, self._unit(node, dtype), None)
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
        return [
            *nodes,
            *self._spread(f"{output}__rounded", noise, 0.0, width, self.dtypes[output]),
            helper.make_node("Mul", [condition, noise], [error]),
            helper.make_node("Add", [f"{output}__rounded", error], [output]),
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
            helper.make_node("Cast", [f"{output}__rounded"], [value], to=wide),
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
        self, source: str, target: str, ulp: float, unit: float, operator: onnx.NodeProto | None
    ) -> list[onnx.NodeProto]:
        dtype = self.dtypes.get(source, self.dtypes.get(target, TensorProto.FLOAT))
        width = ulp * unit * self.amplification
        # Of a documented exception: noise that varies as much as its error was seen to.
        deviation = 0.0
        if operator is not None:
            largest = self.scales.get(next(iter(operator.input), ""))
            deviation = self.tolerances.deviation(operator, _NAMES[dtype], largest)
        absolute = deviation * np.sqrt(3.0) * self.amplification
        noise = self._name(target)
        nodes: list[onnx.NodeProto] = []
        wide, result = source, target
        if dtype in _LOW:
            wide, result = self._name(source), self._name(target)
            nodes.append(helper.make_node("Cast", [source], [wide], to=TensorProto.FLOAT))
        kind = int(TensorProto.FLOAT) if dtype in _LOW else dtype
        nodes += self._spread(wide, noise, 1.0, width, kind)
        if absolute:
            scaled, shift = self._name(target), self._name(target)
            nodes.append(helper.make_node("Mul", [wide, noise], [scaled]))
            nodes += self._spread(wide, shift, 0.0, absolute, kind)
            nodes.append(helper.make_node("Add", [scaled, shift], [result]))
        else:
            nodes.append(helper.make_node("Mul", [wide, noise], [result]))
        if dtype in _LOW:
            nodes.append(helper.make_node("Cast", [result], [target], to=dtype))
        return nodes

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


def origin_of(node: onnx.NodeProto) -> tuple[str, ...]:
    """Name stack or layer, and operation, that a converter says a node came of."""
    facts = facts_of(node)
    found = tuple(facts.get(key, "") for key in ("layer", "op", "name"))
    return found if any(found) else ()


def _narrowed_to(node: onnx.NodeProto) -> str:
    """The 16-bit float that a node casts to, ``""`` for other nodes."""
    if node.op_type != "Cast" or node.domain not in {"", "ai.onnx"}:
        return ""
    to = next((a.i for a in node.attribute if a.name == "to"), 0)
    return _NAMES[to] if to in _LOW else ""


def narrowing_casts(model: onnx.ModelProto) -> dict[str, str]:
    """Casts that may end an operation in a 16-bit type.

    Where onnxruntime has no kernel for such a type, a converter casts the operands to float32,
    computes, and casts the result. Only the source can tell whether it computes so: elsewhere a
    cast to fewer bits is a fault.

    Args:
        model: The model.

    Returns:
        Name of the result -> ``float16`` or ``bfloat16``. At least one operand of the operation is
        cast from that type, and the others are constants.
    """
    graphs = list(all_graphs([model.graph]))
    nodes = [node for graph in graphs for node in graph.node]
    casts = {node.output[0]: node.input[0] for node in nodes if node.op_type == "Cast"}
    producers = {name: node for node in nodes for name in node.output if name}
    candidates = {o: _narrowed_to(p) for o, p in producers.items() if _narrowed_to(p)}
    if not candidates:
        return {}
    types = {name: found.dtype for name, found in value_types(model).items()}
    held = (graph.initializer for graph in graphs if isinstance(graph, onnx.GraphProto))
    constants = {tensor.name for tensors in held for tensor in tensors}
    constants.update(node.output[0] for node in nodes if node.op_type == "Constant")
    found: dict[str, str] = {}
    for name, kind in candidates.items():
        operation = producers.get(casts[name])
        inputs = operation.input if operation is not None else ()
        read = [x for x in inputs if x not in constants and types.get(x) in _UNIT]
        if read and all(_NAMES.get(types.get(casts.get(x, ""), 0)) == kind for x in read):
            found[name] = kind
    return found


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
