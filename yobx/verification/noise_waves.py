"""The noise itself: waves that depend on a value and on the run, as nodes of ONNX.

Rounding is a function of the value, so the noise is too: a sine of the value, far out, with a phase
of its own for every node and run. Equal values get equal noise, which then adds up in a mean as
their rounding does; different values get noise that is as good as random. It is computed inside the
graph, so it reaches the bodies of loops and the weights are never copied. What differs from run to
run is one number, an input of the twin: onnxruntime has no random operators of newer opsets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["LOW", "RUN_NUMBER", "UNIT", "Waves", "before_noise"]

#: Input of a noisy twin: what its noise depends on, beside the values.
RUN_NUMBER = "run__noise"
#: What the rounding of a type is at most, relative to a value.
UNIT: dict[int | None, float] = {
    TensorProto.FLOAT: 2.0**-24,
    TensorProto.DOUBLE: 2.0**-53,
    TensorProto.FLOAT16: 2.0**-11,
    TensorProto.BFLOAT16: 2.0**-8,
}
#: Types of 16 bits.
LOW = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
# The smallest normal number of float16.
_SMALLEST = 2.0**-14
# A sine of amplitude a varies as much as a uniform number in +-a/_SINE.
_SINE = float(np.sqrt(2.0 / 3.0))
# Values that differ by a ten-thousandth of the largest get noise of their own.
_FREQUENCY = 5e4
_FARTHEST = 1e30
# A phase is the number of a run, between 1 and 2, times a number between these.
_TURNS = (1e3, 1e4)
# What the names of the twin's own values add to those of the model.
_ADDED = re.compile(r"__(?:rounded|noise\d+)")


def before_noise(name: str) -> str:
    """The value of a noisy twin that gets noise and the name of one of the model."""
    return f"{name}__rounded"


@dataclass
class Waves:
    """Writes the nodes that make noise in one twin.

    Attributes:
        dtypes: ONNX type of every known value of the model.
        scales: Magnitude of every known value without noise.
        amplification: How much larger than rounding the noise is.
        factor: Amplitude of the noise that all factors of normalisations share.
        seed: Seed of the phases.
        subnormal: Values of float16 that are rounded where its last place gets no smaller.
    """

    dtypes: Mapping[str, int]
    scales: Mapping[str, float]
    amplification: float
    factor: float
    seed: int
    subnormal: frozenset[str] = frozenset()
    _counter: int = 0
    _factors: dict[int, str] = field(default_factory=dict)
    _numbers: dict[int, str] = field(default_factory=dict)

    def relative(
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

        Args:
            source: The value.
            target: Name of the value with noise.
            ulp: Amplitude in units.
            unit: Rounding of the type of the value, or of that in which it is computed.
            more: Amplitude of noise that is no proportion.
            alike: Whether the elements share some noise.
        """
        dtype = self.dtypes.get(source, self.dtypes.get(target, TensorProto.FLOAT))
        width = ulp * unit * self.amplification
        absolute = more * self.amplification
        noise = self.name(target)
        nodes: list[onnx.NodeProto] = []
        wide, result = source, target
        if dtype in LOW:
            wide, result = self.name(source), self.name(target)
            nodes.append(helper.make_node("Cast", [source], [wide], to=TensorProto.FLOAT))
        kind = int(TensorProto.FLOAT) if dtype in LOW else dtype
        if _ADDED.split(source)[0] in self.subnormal and not absolute:
            nodes += self._bounded_below(wide, result, width)
            return [*nodes, helper.make_node("Cast", [result], [target], to=dtype)]
        nodes += self.spread(wide, noise, 1.0, width, kind)
        if alike and width:
            more_nodes, noise = self._and_alike("Mul", noise, 1.0, width, kind)
            nodes += more_nodes
        if absolute:
            scaled, shift = self.name(target), self.name(target)
            nodes.append(helper.make_node("Mul", [wide, noise], [scaled]))
            nodes += self.spread(wide, shift, 0.0, absolute, kind)
            if alike:
                more_nodes, shift = self._and_alike("Add", shift, 0.0, absolute, kind)
                nodes += more_nodes
            nodes.append(helper.make_node("Add", [scaled, shift], [result]))
        else:
            nodes.append(helper.make_node("Mul", [wide, noise], [result]))
        if dtype in LOW:
            nodes.append(helper.make_node("Cast", [result], [target], to=dtype))
        return nodes

    def _bounded_below(self, wide: str, result: str, width: float) -> list[onnx.NodeProto]:
        """Noise of a value in float16, in proportion to it or to the smallest normal number.

        Below that a last place is 2^-24 always, and half of it is what rounding may do. Rounding
        changes no sign, and zero is zero.
        """
        least, nothing, noise, size, larger, error, moved, product, crossed = (
            self.name(result) for _ in range(9)
        )
        constants = ((least, _SMALLEST), (nothing, 0.0))
        return [
            *(
                helper.make_node(
                    "Constant", [], [n], value=numpy_helper.from_array(np.array(v, np.float32))
                )
                for n, v in constants
            ),
            *self.spread(wide, noise, 0.0, width, int(TensorProto.FLOAT)),
            helper.make_node("Abs", [wide], [size]),
            helper.make_node("Max", [size, least], [larger]),
            helper.make_node("Mul", [larger, noise], [error]),
            helper.make_node("Add", [wide, error], [moved]),
            helper.make_node("Mul", [wide, moved], [product]),
            helper.make_node("LessOrEqual", [product, nothing], [crossed]),
            helper.make_node("Where", [crossed, nothing, moved], [result]),
        ]

    def _and_alike(
        self, join: str, noise: str, middle: float, width: float, dtype: int
    ) -> tuple[list[onnx.NodeProto], str]:
        """Noise, joined with as much that is one number for a whole tensor."""
        zero, number, both = (self.name(noise) for _ in range(3))
        nothing = np.array(0.0, helper.tensor_dtype_to_np_dtype(dtype))
        nodes = [
            helper.make_node("Constant", [], [zero], value=numpy_helper.from_array(nothing)),
            *self.spread(zero, number, middle, width, dtype),
            helper.make_node(join, [noise, number], [both]),
        ]
        return nodes, both

    def spread(
        self, value: str, output: str, middle: float, width: float, dtype: int
    ) -> list[onnx.NodeProto]:
        """Noise around a number that depends on a value.

        Args:
            value: The value.
            output: Name of the noise.
            middle: The number.
            width: Amplitude of a uniform noise that varies as much.
            dtype: ONNX type of both.
        """
        frequency = _FREQUENCY / self.scales.get(_ADDED.split(value)[0], 1.0)
        rng = np.random.default_rng([self.seed, self._counter])
        turn = rng.uniform(*_TURNS)
        numbers = (turn, frequency, -_FARTHEST, _FARTHEST, width * _SINE, middle)
        names = [self.name(output) for _ in numbers]
        turns, factor, least, most, amplitude, offset = names
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        nodes = [
            helper.make_node(
                "Constant", [], [name], value=numpy_helper.from_array(np.array(number, kind))
            )
            for name, number in zip(names, numbers, strict=True)
        ]
        phase, turned, moved, above, bounded, wave, scaled = (self.name(output) for _ in range(7))
        run = self._numbers.setdefault(dtype, f"{RUN_NUMBER}_{dtype}")
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

    def common_factor(self, last: onnx.NodeProto, output: str) -> onnx.NodeProto:
        """Scales an output by the noise that all factors of normalisations share.

        Args:
            last: The node that makes the output, which gets another name there.
            output: Name of the output.

        Returns:
            The node that makes the output now.
        """
        dtype = self.dtypes[output]
        last.output[0] = self.name(output)
        factor = self._factors.setdefault(dtype, f"factor{dtype}__noise")
        return helper.make_node("Mul", [last.output[0], factor], [output])

    def common_factors(self) -> list[onnx.NodeProto]:
        """The nodes that make the factors; they come before all others but `phases`."""
        nodes: list[onnx.NodeProto] = []
        for dtype, name in self._factors.items():
            width = self.factor * UNIT[dtype] * self.amplification
            zero = self.name(name)
            kind = helper.tensor_dtype_to_np_dtype(dtype)
            nothing = numpy_helper.from_array(np.array(0.0, kind))
            nodes.append(helper.make_node("Constant", [], [zero], value=nothing))
            nodes += self.spread(zero, name, 1.0, width, dtype)
        return nodes

    def phases(self) -> list[onnx.NodeProto]:
        """The number of a run in the dtypes that need it; these nodes come first."""
        return [
            helper.make_node("Cast", [RUN_NUMBER], [name], to=dtype)
            for dtype, name in self._numbers.items()
        ]

    def name(self, hint: str) -> str:
        """A name that no other value of the twin has, beginning with another one."""
        self._counter += 1
        return f"{hint}__noise{self._counter}"
