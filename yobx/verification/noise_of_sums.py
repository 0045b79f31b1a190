"""Noise of sums of products, in proportion to what bounds their error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from yobx.verification.long_sums import reach_of_long_sum
from yobx.verification.noise_waves import UNIT, Waves, before_noise
from yobx.verification.provenance import facts_of
from yobx.verification.tolerances import Tolerances

__all__ = ["NoiseOfSums"]

# From this opset on the axis of a DFT is an input, and the last but one by default.
_DFT_WITH_AXIS_INPUT = 20


@dataclass(frozen=True)
class NoiseOfSums:
    """Writes the noise of contractions.

    Attributes:
        waves: What makes noise.
        tolerances: The table with the noise of each class.
        opset: Version of the operators of the model.
    """

    waves: Waves
    tolerances: Tolerances
    opset: int

    def noise(self, node: onnx.NodeProto, output: str, unit: float) -> list[onnx.NodeProto]:
        """Noise in proportion to the sum of absolute products.

        Args:
            node: The operator, whose result has its name before noise already.
            output: Name of the result with noise.
            unit: Rounding of its type.
        """
        width = self._share(node) * unit * self.waves.amplification
        noise, error = self.waves.name(output), self.waves.name(output)
        if node.op_type == "DFT":
            nodes, condition = self._reach_of_fourier(node, self.waves.dtypes[output])
        else:
            nodes, condition = self._reach(node, output)
            total, kind = before_noise(output), self.waves.dtypes[output]
            most = self.tolerances.noise["sums"]
            more, condition = reach_of_long_sum(
                node, total, condition, dtype=kind, amplitude=most, name=self.waves.name
            )
            nodes += more
        return [
            *nodes,
            *self.waves.spread(before_noise(output), noise, 0.0, width, self.waves.dtypes[output]),
            helper.make_node("Mul", [condition, noise], [error]),
            helper.make_node("Add", [before_noise(output), error], [output]),
        ]

    def _share(self, node: onnx.NodeProto) -> float:
        """Amplitude in proportion to ``|A||B|``; a converter says which weights are computed."""
        share = self.tolerances.noise["contraction"]
        if "weights" not in facts_of(node):
            return share
        return float(np.hypot(share, self.tolerances.noise["weights"]))

    def are_narrow(self, node: onnx.NodeProto) -> bool:
        """Whether the source adds up in the 16 bits it is given."""
        return facts_of(node).get("op", "") in self.tolerances.narrow_sums

    def narrow_noise(self, node: onnx.NodeProto, output: str) -> list[onnx.NodeProto]:
        """Noise of a sum whose every step is rounded to 16 bits; computed in float32.

        Args:
            node: As for `noise`.
            output: As for `noise`.
        """
        dtype, wide = self.waves.dtypes[output], int(TensorProto.FLOAT)
        width = self.tolerances.noise["contraction"] * UNIT[dtype] * self.waves.amplification
        nodes, condition = self._reach(node, output)
        value, size, noise, error, total = (self.waves.name(output) for _ in range(5))
        return [
            *nodes,
            helper.make_node("Cast", [before_noise(output)], [value], to=wide),
            helper.make_node("Cast", [condition], [size], to=wide),
            *self.waves.spread(value, noise, 0.0, width, wide),
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
            if name and self.waves.dtypes.get(name) in UNIT:
                absolute = self.waves.name(name)
                nodes.append(helper.make_node("Abs", [name], [absolute]))
                twin.input[i] = absolute
        condition = self.waves.name(output)
        del twin.output[:]
        twin.output.append(condition)
        nodes.append(twin)
        if node.op_type == "Resize":
            more, condition = self._reach_of_resize(twin, condition, self.waves.dtypes[output])
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
            name = self.waves.name(node.output[0])
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
        one, shape, sizes, largest, factor = (self.waves.name(condition) for _ in range(5))
        peak, moved, total = (self.waves.name(condition) for _ in range(3))
        axes = next((a.ints for a in node.attribute if a.name == "axes"), None)
        nodes = [helper.make_node("Constant", [], [one], value_ints=[1])]
        if axes:
            whole, places = self.waves.name(condition), self.waves.name(condition)
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
