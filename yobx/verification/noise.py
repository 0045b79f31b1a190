"""The noisy twin of a model: rounding made large enough to be seen.

This walks the graph and says what gets how much noise; ``noise_waves.py`` makes it, and
``noise_of_sums.py`` knows what sums of products may be off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from yobx.verification.error_classes import node_class, operation_results, subgraphs
from yobx.verification.magnitudes import is_subnormal, is_whole, magnitude
from yobx.verification.narrow_casts import steps_before
from yobx.verification.noise_of_sums import NoiseOfSums
from yobx.verification.noise_waves import LOW, RUN_NUMBER, UNIT, Waves, before_noise
from yobx.verification.provenance import Operation, facts_of, operation_of
from yobx.verification.source_types import source_units
from yobx.verification.tolerances import Tolerances
from yobx.verification.turn_limit import end_after
from yobx.verification.value_types import value_types
from yobx.verification.weights import light

__all__ = ["noisy_model", "run_numbers"]

_NAMES: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
}
_ELEMENTWISE = frozenset({"exact", "rounded", "transcendental"})
_FOLDABLE = frozenset({"Conv", "ConvTranspose"})
_NEVER_NOISED = frozenset(
    {"RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike"}
)


@dataclass
class _Noise:
    """Writes the noisy twin of a graph."""

    tolerances: Tolerances
    waves: Waves
    sums: NoiseOfSums
    whole: frozenset[str]
    unrounded: frozenset[str]
    narrow: frozenset[str]
    source: Mapping[str, float]
    turns: int
    noised: int = 0

    def graph(self, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
        """The noisy nodes of one graph."""
        result: list[onnx.NodeProto] = []
        producers = {name: node for node in nodes for name in node.output}
        results = operation_results(nodes)
        for node in nodes:
            noisy = self._part(node, results) or self._node(node, producers)
            for name in node.output:
                noisy += self._noise_of_exceptions(noisy, name, results.get(name))
            result.extend(noisy)
        return result

    def _part(self, node: onnx.NodeProto, results: Mapping[str, Operation]) -> list[onnx.NodeProto]:
        """The node, if it is part of a function that is exact as a whole; noise is its result's."""
        operation = operation_of(node)
        dtypes = {self.waves.dtypes.get(name) for name in node.output if name}
        if (
            operation is None
            or operation.kind not in self.tolerances.one_function
            or not dtypes <= {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL}
            or any(subgraphs(node))
        ):
            return []
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        noise: list[onnx.NodeProto] = []
        for i, name in enumerate(node.output):
            dtype = self.waves.dtypes[name]
            if name in results and dtype in UNIT:
                copy.output[i] = before_noise(name)
                width = self._width("transcendental", dtype)
                noise += self.waves.relative(copy.output[i], name, width, self._unit(node, dtype))
                self.noised += 1
        return [copy, *noise]

    def _noise_of_exceptions(
        self, nodes: list[onnx.NodeProto], output: str, operation: Operation | None
    ) -> list[onnx.NodeProto]:
        """What documented exceptions of an operation of the source add to its result."""
        dtype = self.waves.dtypes.get(output)
        if dtype is None or dtype not in UNIT or (dtype in LOW and output not in self.narrow):
            return []
        told = self.tolerances.of_operation(operation, _NAMES[dtype])
        relative = max((e.rms for e in told if e.ulp), default=0.0) * np.sqrt(3.0)
        absolute = max((e.rms for e in told if not e.ulp), default=0.0) * np.sqrt(3.0)
        if not relative and not absolute:
            return []
        plain = self.waves.name(output)
        last = next(n for n in reversed(nodes) if output in n.output)
        last.output[list(last.output).index(output)] = plain
        ulp, unit = 2.0 * relative, UNIT[dtype]
        return self.waves.relative(plain, output, ulp, unit, absolute, alike=True)

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
            if node.op_type == "Loop":
                end_after(body, self.turns)
        computed = self._computed(original, producers)
        label = node_class(computed, self.tolerances)
        if computed is not original:
            label = self._label_of_steps(original, producers)
        outputs = [o for o in node.output if o and self.waves.dtypes.get(o) in UNIT]
        if bodies or label == "exact" or not outputs or node.op_type in _NEVER_NOISED:
            return [node]
        if self._adds_whole_numbers(original) or not self._unit_of_source(original):
            return [node]
        before = self._input_noise(node) if label == "composite" else []
        after: list[onnx.NodeProto] = []
        renamed = {name: before_noise(name) for name in outputs}
        for i, name in enumerate(node.output):
            node.output[i] = renamed.get(name, name)
        low = any(self.waves.dtypes[name] in LOW for name in outputs)
        if label == "contraction" and not low:
            unit = self._unit(original, self.waves.dtypes[outputs[0]])
            after += self.sums.noise(node, outputs[0], unit)
        elif label == "contraction" and computed is original and self.sums.are_narrow(node):
            after += self.sums.narrow_noise(node, outputs[0])
        else:
            for name in outputs:
                ulp = self._width(label, self.waves.dtypes[name])
                unit = self._unit(original, self.waves.dtypes[name])
                more = self._deviation(computed, self.waves.dtypes[name])
                after += self.waves.relative(renamed[name], name, ulp, unit, more)
        self.noised += 1
        if _has_factor(original) and not low:
            last = next(n for n in after if outputs[0] in n.output)
            after.append(self.waves.common_factor(last, outputs[0]))
        return [*before, node, *after]

    def _adds_whole_numbers(self, node: onnx.NodeProto) -> bool:
        """Whether nothing is rounded: what is looked up by such numbers is there for them alone."""
        known = [
            x for x in node.input if x in self.waves.scales and self.waves.dtypes.get(x) in UNIT
        ]
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
        return self.tolerances.narrow_noise.get(label, usual) if dtype in LOW else usual

    def _input_noise(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Gives a composite operator its own, rounded copies of its float inputs."""
        nodes: list[onnx.NodeProto] = []
        # A rounded exponent would turn an exact square into a power of a negative base.
        last = 1 if node.op_type == "Pow" else len(node.input)
        for i, name in enumerate(list(node.input)[:last]):
            dtype = self.waves.dtypes.get(name)
            if name and dtype in UNIT and dtype not in LOW:
                copy = self.waves.name(name)
                ulp = self.tolerances.noise["inputs"]
                nodes += self.waves.relative(name, copy, ulp, self._unit(node, dtype))
                node.input[i] = copy
        return nodes

    def _deviation(self, operator: onnx.NodeProto, dtype: int) -> float:
        """Amplitude of noise that varies as much as the error of a documented exception."""
        largest = self.waves.scales.get(next(iter(operator.input), ""))
        seen = self.tolerances.deviation(operator, _NAMES[dtype], largest)
        return seen * float(np.sqrt(3.0))

    def _unit(self, node: onnx.NodeProto, dtype: int | None) -> float:
        """The rounding of a value: that of the source where a converter computes in a wider type.

        A converter says so itself, and is believed where the value is rounded before it is seen:
        it is allowed what the same nodes in float32 would be, and no more.
        """
        if "widened" in facts_of(node) and self.unrounded.isdisjoint(node.output):
            return max(UNIT[dtype], UNIT[TensorProto.FLOAT])
        return min(UNIT[dtype], self._unit_of_source(node))

    def _unit_of_source(self, node: onnx.NodeProto) -> float:
        """The rounding of the operation of the source that a node came of, where that is known."""
        return min((self.source[n] for n in node.output if n in self.source), default=np.inf)


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
            a.name == "to" and a.i in LOW | {TensorProto.FLOAT} for a in node.attribute
        )
        if not narrow and not found.isdisjoint(node.output):
            found.update(node.input)
    return found


def _amplification(dtypes: Mapping[str, int]) -> float:
    """How much larger than rounding the noise is: it stands out, and stays linear."""
    present = set(dtypes.values())
    if present & LOW:
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
    turns: int | None = None,
    amplification: float | None = None,
) -> tuple[onnx.ModelProto, float, int]:
    """The noisy twin of a model.

    Args:
        model: The model; it is not changed.
        tolerances: The table with the noise of each class.
        seed: Seed of the noise.
        clean: Values without noise, for their magnitudes; a list of turns for one in a body.
        narrow: Results of casts which end an operation of the source in 16 bits.
        turns: Turns that a loop may take, as the table has it if ``None``.
        amplification: How much larger than rounding the noise is, by the dtypes if ``None``.

    Returns:
        The twin (a light copy), the amplification of its noise, and how many nodes are noised. It
        has an input more, see `run_numbers`.
    """
    types = value_types(model)
    dtypes = {name: found.dtype for name, found in types.items()}
    if amplification is None:
        amplification = _amplification(dtypes)
    waves = Waves(
        dtypes,
        {name: magnitude(value) for name, value in (clean or {}).items()},
        amplification,
        tolerances.noise["factor"],
        seed,
        frozenset(name for name, value in (clean or {}).items() if is_subnormal(value)),
    )
    opset = next((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), 0)
    noise = _Noise(
        tolerances,
        waves,
        NoiseOfSums(waves, tolerances, opset),
        whole=frozenset(name for name, value in (clean or {}).items() if is_whole(value)),
        unrounded=frozenset(_unrounded(model.graph)),
        narrow=narrow,
        source=source_units(model, types, UNIT),
        turns=tolerances.turns if turns is None else turns,
    )
    twin = light(model)
    nodes = noise.graph(twin.graph.node)
    del twin.graph.node[:]
    del twin.graph.value_info[:]
    factors = waves.common_factors()
    twin.graph.node.extend([*waves.phases(), *factors, *nodes])
    number = helper.make_tensor_value_info(RUN_NUMBER, TensorProto.FLOAT, [])
    twin.graph.input.append(number)
    return twin, amplification, noise.noised


def run_numbers(seed: int, runs: int) -> list[dict[str, NDArray[np.float32]]]:
    """What a noisy twin is fed beside the inputs of its model, for each of several runs."""
    rng = np.random.default_rng(seed)
    return [{RUN_NUMBER: np.array(number, np.float32)} for number in rng.uniform(1.0, 2.0, runs)]
