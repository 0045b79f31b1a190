"""What float rounding alone does to a model, measured on the model itself.

One tolerance for deep networks is either too loose for a shallow one or wrong for a deep one.
Instead, every value that is rounded gets random relative noise of its operator's class (see
``tolerances.toml``), a few times; how far the outputs move, scaled back by the amplification, is
the standard deviation that rounding explains:

* rounded, transcendental: ``v * (1 + noise)``;
* contraction: ``v + noise * op(|A|, |B|)``, the condition-aware bound, by the same operator on
    absolute values; more for ``Resize`` in a large image, whose coordinates are rounded;
* composite (softmax, normalisations, recurrent cells): noise on every float input and on the
output;
* exact operators pass the noise of their inputs on;
* the factor of a normalisation, whether it is an operator or folded into the weights of a
convolution, gets one noise for the whole model: where the statistics of all layers are equal, as in
a fresh model, its rounding is the same everywhere and adds up instead of averaging out.

Rounding is a function of the value, so the noise is too: a sine of the value, far out, with a phase
of its own for every node and run. Equal values get equal noise, which then adds up in a mean as
their rounding does; different values get noise that is as good as random. It is computed inside the
graph, so bodies of loops get fresh noise in each iteration and the weights are never copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from yobx.verification.comparison import Allowance, ulp_allowance
from yobx.verification.dtypes import epsilon_half, is_float, spacing, widen
from yobx.verification.error_classes import ValueClass, classify, node_class, subgraphs
from yobx.verification.inner_values import Collector
from yobx.verification.runner import LoadError, RunError, Session, exposed
from yobx.verification.tolerances import Tolerances
from yobx.verification.value_types import value_dtypes

__all__ = ["Sensitivity", "noisy_model"]

_UNIT: dict[int | None, float] = {
    TensorProto.FLOAT: 2.0**-24,
    TensorProto.DOUBLE: 2.0**-53,
    TensorProto.FLOAT16: 2.0**-11,
    TensorProto.BFLOAT16: 2.0**-8,
}
_NAMES: dict[int, str] = {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64"}
_LOW = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
# A sine of amplitude a varies as much as a uniform number in +-a/_SINE.
_SINE = float(np.sqrt(2.0 / 3.0))
# Values that differ by a ten-thousandth of the largest get noise of their own.
_FREQUENCY = 5e4
_FARTHEST = 1e30
_NEVER_NOISED = frozenset(
    {"RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike"}
)


@dataclass
class _Noise:
    """Writes the noisy twin of a graph."""

    tolerances: Tolerances
    dtypes: Mapping[str, int]
    amplification: float
    provider: str
    seed: int
    counter: int = 0
    noised: int = 0
    factors: dict[int, str] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)

    def graph(self, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
        """The noisy nodes of one graph."""
        result: list[onnx.NodeProto] = []
        for node in nodes:
            result.extend(self._node(node))
        return result

    def _node(self, original: onnx.NodeProto) -> list[onnx.NodeProto]:
        node = onnx.NodeProto()
        node.CopyFrom(original)
        bodies = list(subgraphs(node))
        for body in bodies:
            noisy = self.graph(body.node)
            del body.node[:]
            body.node.extend(noisy)
            del body.value_info[:]
        label = node_class(original, self.tolerances)
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
            after += self._condition_noise(node, outputs[0])
        else:
            ulp = self.tolerances.noise.get(label, self.tolerances.noise["transcendental"])
            for name in outputs:
                after += self._relative_noise(renamed[name], name, ulp, original.op_type)
        self.noised += 1
        if _has_factor(original) and not low:
            after.append(self._common_factor(after[-1], outputs[0]))
        return [*before, node, *after]

    def _common_factor(self, last: onnx.NodeProto, output: str) -> onnx.NodeProto:
        """Scales the output by the noise that all factors of normalisations share."""
        dtype = self.dtypes[output]
        last.output[0] = self._name(output)
        factor = self.factors.setdefault(dtype, f"factor{dtype}__noise")
        return helper.make_node("Mul", [last.output[0], factor], [output])

    def common_factors(self) -> list[onnx.NodeProto]:
        """The nodes that draw the factors; they come first."""
        nodes = []
        for dtype, name in self.factors.items():
            width = self.tolerances.noise["factor"] * _UNIT[dtype] * self.amplification
            draw = helper.make_node(
                "RandomUniform",
                [],
                [name],
                dtype=dtype,
                shape=[1],
                low=1.0 - width,
                high=1.0 + width,
                seed=float(self.seed * 7919),
            )
            nodes.append(draw)
        return nodes

    def _input_noise(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Gives a composite operator its own, rounded copies of its float inputs."""
        nodes: list[onnx.NodeProto] = []
        # A rounded exponent would turn an exact square into a power of a negative base.
        last = 1 if node.op_type == "Pow" else len(node.input)
        for i, name in enumerate(list(node.input)[:last]):
            dtype = self.dtypes.get(name)
            if name and dtype in _UNIT and dtype not in _LOW:
                copy = self._name(name)
                nodes += self._relative_noise(name, copy, self.tolerances.noise["inputs"], "")
                node.input[i] = copy
        return nodes

    def _condition_noise(self, node: onnx.NodeProto, output: str) -> list[onnx.NodeProto]:
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
        unit = _UNIT[self.dtypes[output]]
        width = self.tolerances.noise["contraction"] * unit * self.amplification
        noise, error = self._name(output), self._name(output)
        reach: list[onnx.NodeProto] = []
        if node.op_type == "Resize":
            reach, condition = self._reach_of_resize(twin, condition, self.dtypes[output])
        return [
            *nodes,
            twin,
            *reach,
            *self._spread(f"{output}__rounded", noise, 0.0, width, self.dtypes[output]),
            helper.make_node("Mul", [condition, noise], [error]),
            helper.make_node("Add", [f"{output}__rounded", error], [output]),
        ]

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
        self, source: str, target: str, ulp: float, op_type: str
    ) -> list[onnx.NodeProto]:
        dtype = self.dtypes.get(source, self.dtypes.get(target, TensorProto.FLOAT))
        width = ulp * _UNIT[dtype] * self.amplification
        name = _NAMES.get(dtype, "float16")
        absolute = self.tolerances.absolute(op_type, name, self.provider) * self.amplification
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
        frequency = _FREQUENCY / self.scales.get(value.partition("__")[0], 1.0)
        numbers = (0.0, frequency, -_FARTHEST, _FARTHEST, width * _SINE, middle)
        names = [self._name(output) for _ in numbers]
        zero, factor, least, most, amplitude, offset = names
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        nodes = [
            helper.make_node(
                "Constant", [], [name], value=numpy_helper.from_array(np.array(number, kind))
            )
            for name, number in zip(names, numbers, strict=True)
        ]
        phase, turned, moved, above, bounded, wave, scaled = (self._name(output) for _ in range(7))
        seed = float(self.seed * 7919 + self.counter)
        steps = (
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
            helper.make_node(
                "RandomUniformLike", [zero], [phase], low=-np.pi, high=np.pi, seed=seed
            ),
            *(helper.make_node(op_type, inputs, [name]) for op_type, inputs, name in steps),
        ]

    def _name(self, hint: str) -> str:
        self.counter += 1
        return f"{hint}__noise{self.counter}"


def _magnitude(value: Any) -> float:
    """The largest finite magnitude, 1 where there is none."""
    if not isinstance(value, np.ndarray) or not is_float(value.dtype) or not value.size:
        return 1.0
    wide = np.abs(widen(value))
    return float(np.max(wide, initial=0.0, where=np.isfinite(wide))) or 1.0


def _has_factor(node: onnx.NodeProto) -> bool:
    folded = any(prop.key == "yobx.folded" for prop in node.metadata_props)
    return folded or node.op_type == "BatchNormalization"


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
    provider: str,
    seed: int,
    clean: Mapping[str, Any] | None = None,
) -> tuple[onnx.ModelProto, float, int]:
    """The noisy twin of a model.

    Args:
        model: The model; it is not changed.
        tolerances: The table with the noise of each class.
        provider: Execution provider, for documented exceptions.
        seed: Seed of the noise.
        clean: Values without noise, for their magnitudes.

    Returns:
        The twin, the amplification of its noise, and how many nodes are noised.
    """
    dtypes = value_dtypes(model)
    amplification = _amplification(model, dtypes)
    scales = {name: _magnitude(value) for name, value in (clean or {}).items()}
    noise = _Noise(tolerances, dtypes, amplification, provider, seed, scales=scales)
    twin = onnx.ModelProto()
    twin.CopyFrom(model)
    nodes = noise.graph(model.graph.node)
    del twin.graph.node[:]
    del twin.graph.value_info[:]
    twin.graph.node.extend([*noise.common_factors(), *nodes])
    return twin, amplification, noise.noised


@dataclass
class Sensitivity:
    """Allowances for the values of one model.

    Args:
        model: The converted model.
        tolerances: The tolerance table.
        provider: Execution provider.
        seed: Seed of the noise.

    Attributes:
        notes: What could not be measured, and why.
    """

    model: onnx.ModelProto
    tolerances: Tolerances
    provider: str = "CPUExecutionProvider"
    seed: int = 0
    notes: list[str] = field(default_factory=list)
    _classes: dict[str, ValueClass] | None = None
    _session: Session | None = None
    _all: bool = False
    _amplification: float = 1.0
    _unavailable: str = ""

    def value_class(self, name: str) -> ValueClass:
        """What the operators before a value do to it; inputs and initializers are exact."""
        if self._classes is None:
            self._classes = classify(self.model, self.tolerances)
        return self._classes.get(name, ValueClass())

    def strict(
        self, name: str, dtype: np.dtype[Any], *, exceptions: bool = True
    ) -> Allowance | None:
        """The allowance of a value behind at most one inexact operator: none is measured."""
        found = self.value_class(name)
        scale = self.tolerances.scale
        if found.depth == 0:
            return ulp_allowance(f"exact ({_words('exact')})", 0.0, zero_sign=found.zero_sign)
        if found.depth == 1 and found.label in {"rounded", "transcendental"} and is_float(dtype):
            absolute = self.tolerances.absolute(found.op_type, dtype.name, self.provider) * scale
            absolute = absolute if exceptions else 0.0
            ulp = self.tolerances.ulp[found.label] * scale
            rule = f"{ulp:g} ULP ({found.label}: {found.op_type})"
            if absolute:
                rule += f" or {absolute:.1e} absolute (documented exception)"
            return Allowance(rule, np.asarray(absolute), ulp, zero_sign=found.zero_sign)
        return None

    def chosen(self, name: str, dtype: np.dtype[Any], rule: str) -> Allowance | None:
        """The allowance by a rule of the caller; `None` when it is to be measured.

        Args:
            name: The value.
            dtype: Its dtype.
            rule: ``auto``, ``measured``, or a class whose units in the last place apply.
        """
        if rule == "auto" or not is_float(dtype):
            return self.strict(name, dtype)
        if rule == "measured":
            return None
        ulp = self.tolerances.ulp[rule] * self.tolerances.scale
        words = f"{ulp:g} ULP ({rule}, as asked)"
        return ulp_allowance(words, ulp, zero_sign=self.value_class(name).zero_sign)

    def measure(
        self, feeds: Mapping[str, NDArray[Any]], clean: Mapping[str, Any], names: Sequence[str]
    ) -> dict[str, Allowance]:
        """Measures what rounding explains.

        Args:
            feeds: Inputs of the run.
            clean: Values of the same model without noise and without optimisation.
            names: Values to measure.

        Returns:
            One allowance a name. Where nothing could be measured it is the usual tolerance of the
            dtype, and says so.
        """
        runs = self._noisy_runs(feeds, names, clean)
        return {
            name: self._allowance(name, clean[name], [r.get(name) for r in runs]) for name in names
        }

    def measure_turns(
        self,
        feeds: Mapping[str, NDArray[Any]],
        inner: Collector,
        clean: Mapping[str, Sequence[Any]],
    ) -> dict[str, list[Allowance]]:
        """Measures what rounding explains of values inside control flow.

        Args:
            feeds: Inputs of the run.
            inner: What collects them.
            clean: Value -> one array a turn, without noise.

        Returns:
            One allowance a turn for each value.
        """
        twin, self._amplification, _ = noisy_model(
            inner.model, self.tolerances, provider=self.provider, seed=self.seed
        )
        runs: list[dict[str, list[Any]]] = []
        try:
            session = Session(twin, provider=self.provider, optimise=False)
            runs = [inner.turns(session.run(feeds).values) for _ in range(self.tolerances.runs)]
        except (LoadError, RunError) as error:
            self._note(f"rounding inside control flow could not be measured: {error}")

        def noisy(name: str, turn: int) -> list[Any]:
            return [run[name][turn] if turn < len(run[name]) else None for run in runs]

        return {
            name: [self._allowance(name, a, noisy(name, turn)) for turn, a in enumerate(arrays)]
            for name, arrays in clean.items()
        }

    def _noisy_runs(
        self, feeds: Mapping[str, NDArray[Any]], names: Sequence[str], clean: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        wanted = list(dict.fromkeys(names))
        if self._session is None or not set(wanted) <= set(self._session.outputs):
            twin, self._amplification, _ = noisy_model(
                self.model,
                self.tolerances,
                provider=self.provider,
                seed=self.seed,
                clean=clean,
            )
            try:
                self._session = Session(
                    exposed(twin, wanted), provider=self.provider, optimise=False
                )
            except LoadError as error:
                self._note(f"rounding could not be measured: {error}")
                return []
        try:
            return [self._session.run(feeds, wanted).values for _ in range(self.tolerances.runs)]
        except RunError as error:
            self._note(f"rounding could not be measured: {error}")
            return []

    def _note(self, message: str) -> None:
        if message not in self.notes:
            self.notes.append(message)

    def _allowance(self, name: str, clean: Any, noisy: list[Any]) -> Allowance:
        found = self.value_class(name)
        if isinstance(clean, list) or clean is None:
            first = clean[0] if clean else np.zeros(0, np.float32)
            return self._fallback(np.asarray(first), found)
        clean = np.asarray(clean)
        usable = [np.asarray(n) for n in noisy if n is not None and np.shape(n) == clean.shape]
        if not usable or len(usable) < len(noisy):
            return self._fallback(clean, found)
        if not is_float(clean.dtype):
            flips = np.logical_or.reduce([n != clean for n in usable])
            return Allowance("exact", unstable=np.asarray(flips, np.bool_))
        return self._measured(clean, usable, found)

    def _measured(
        self, clean: NDArray[Any], noisy: list[NDArray[Any]], found: ValueClass
    ) -> Allowance:
        wide = widen(clean)
        finite = np.isfinite(wide) & np.logical_and.reduce([np.isfinite(widen(n)) for n in noisy])
        quiet = np.where(finite, wide, 0.0)
        with np.errstate(over="ignore"):
            moves = [np.abs(np.where(finite, widen(n), 0.0) - quiet) for n in noisy]
        # Scaled before it is squared: values near the end of the range would overflow.
        sigma = np.sqrt(np.mean([np.square(m / self._amplification) for m in moves], axis=0))
        moving = sigma[sigma > 0.0]
        typical = float(np.median(moving)) if moving.size else 0.0
        pooled = np.sqrt((np.square(sigma) + typical**2) / 2.0)
        unit = spacing(np.abs(quiet), clean.dtype) if clean.size else np.zeros(clean.shape)
        scale = self.tolerances.scale
        # Where noise alone turns a number into an infinity, a finite error says nothing.
        unstable = np.isfinite(wide) & ~finite
        elementwise = np.where(unstable, np.inf, scale * self.tolerances.elementwise * pooled)
        rms = 0.0
        if clean.size:
            # Half a unit: the outputs themselves are rounded to their dtype.
            rms = float(np.sqrt(np.mean(np.square(sigma)) + np.mean(np.square(unit / 2.0))))
        return Allowance(
            f"{self.tolerances.elementwise * scale:g} measured deviations ({found.label})",
            np.asarray(elementwise, np.float64),
            ulp=1.0,
            rms=scale * self.tolerances.rms * rms,
            zero_sign=found.zero_sign,
            weak_above=self.tolerances.weak,
            blind_above=self.tolerances.blind,
        )

    def _fallback(self, clean: NDArray[Any], found: ValueClass) -> Allowance:
        if not is_float(clean.dtype):
            return Allowance("exact")
        row = self.tolerances.fallback.get(clean.dtype.name)
        scale = self.tolerances.scale
        if row is None:
            unit = epsilon_half(clean.dtype)
            return ulp_allowance("1 ULP (no table entry)", max(1.0, scale), zero_sign=unit < 0)
        absolute = scale * (row.atol + row.rtol * np.abs(widen(clean)))
        rule = f"rtol {row.rtol:g}, atol {row.atol:g} (rounding could not be measured)"
        return Allowance(rule, np.asarray(absolute, np.float64), zero_sign=found.zero_sign)


def _words(label: str) -> str:
    return {"exact": "bitwise"}.get(label, label)
