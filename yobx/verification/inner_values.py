"""Values inside the bodies of If, Loop and Scan, made observable.

A copy of the model collects them: every value gets a sequence that is passed through the control
flow around it, and each time the value is computed it is appended. So a value of a loop comes as
one array a turn, and one of a branch that was not taken as none. A body of Scan holds tensors
alone: its own values become scan outputs, and those of control flow inside it stay hidden, as do
values whose type is not known and names that stand for values of several bodies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from yobx.verification.error_classes import subgraphs
from yobx.verification.value_types import ValueType, value_types
from yobx.verification.weights import light

__all__ = ["Collector", "body_of", "collector", "inner_names", "values_in_order"]

_LEAST_OPSET = 16
# What is left out is counted as not observable: a sequence for each value, kept for every turn.
_MOST_VALUES = 500
_MOST_BYTES = 1 << 20  # of all values, in one turn
_COLLECTED = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.DOUBLE,
        TensorProto.FLOAT16,
        TensorProto.INT8,
        TensorProto.INT16,
        TensorProto.INT32,
        TensorProto.INT64,
        TensorProto.UINT8,
        TensorProto.UINT16,
        TensorProto.UINT32,
        TensorProto.UINT64,
        TensorProto.BOOL,
        TensorProto.STRING,
    }
)


@dataclass
class Collector:
    """A model that collects inner values.

    Attributes:
        model: The copy; its outputs are the sequences.
        outputs: Value -> name of its sequence.
        stacked: Values of a body of Scan, whose turns are stacked in one tensor.
        body: Value -> number of the body that it is in.
    """

    model: onnx.ModelProto
    outputs: dict[str, str] = field(default_factory=dict)
    stacked: set[str] = field(default_factory=set)
    body: dict[str, int] = field(default_factory=dict)

    def turns(self, found: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Reads what the model collected.

        Args:
            found: Its outputs by name.

        Returns:
            Value -> one array for each time that it was computed.
        """
        result = {}
        for value, output in self.outputs.items():
            arrays = [np.asarray(item) for item in found[output]]
            result[value] = [t for a in arrays for t in a] if value in self.stacked else arrays
        return result


def inner_names(model: onnx.ModelProto) -> list[str]:
    """Every value that a node in a body produces; a name may be there more than once."""
    return [name for node in model.graph.node for name in _inside(node)]


def _handed_names(model: onnx.ModelProto) -> list[str]:
    """What bodies receive: the state of a loop, the elements of a scan."""
    pending = [body for node in model.graph.node for body in subgraphs(node)]
    names = []
    while pending:
        body = pending.pop()
        names += [value.name for value in body.input]
        pending += [inner for node in body.node for inner in subgraphs(node)]
    return names


def _inside(node: onnx.NodeProto) -> list[str]:
    return [
        name
        for body in subgraphs(node)
        for inner in body.node
        for name in (*filter(None, inner.output), *_inside(inner))
    ]


def values_in_order(model: onnx.ModelProto) -> list[str]:
    """Every value that a node produces; those inside control flow before what it gives."""
    return [
        name for node in model.graph.node for name in (*_inside(node), *filter(None, node.output))
    ]


def body_of(model: onnx.ModelProto, value: str) -> onnx.GraphProto | None:
    """The body whose node produces a value, or ``None`` for one of the main graph."""
    pending = [body for node in model.graph.node for body in subgraphs(node)]
    while pending:
        body = pending.pop()
        if any(value in node.output for node in body.node):
            return body
        pending += [inner for node in body.node for inner in subgraphs(node)]
    return None


def collector(model: onnx.ModelProto) -> Collector | None:
    """Makes a model that collects inner values.

    Args:
        model: The model; it is not changed.

    Returns:
        The collector, or ``None`` when there is nothing to collect.
    """
    opset = next((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), 0)
    names = Counter([*inner_names(model), *_handed_names(model)])
    if not names or opset < _LEAST_OPSET:
        return None
    types = value_types(model)
    known = {
        name: types[name]
        for name, count in names.items()
        if count == 1 and name in types and types[name].dtype in _COLLECTED
    }
    found = Collector(light(model))
    _Threads(found, _affordable(known)).main()
    return found if found.outputs else None


def _affordable(known: Mapping[str, ValueType]) -> dict[str, int]:
    """Element types of the values to collect: the smallest first, as many as there is room for."""
    chosen: set[str] = set()
    room = _MOST_BYTES
    for name in sorted(known, key=lambda name: known[name].nbytes)[:_MOST_VALUES]:
        room -= known[name].nbytes
        if room < 0:
            break
        chosen.add(name)
    return {name: found.dtype for name, found in known.items() if name in chosen}


@dataclass
class _Threads:
    """Passes the sequences through the nodes of a model, in place."""

    found: Collector
    wanted: Mapping[str, int]
    counter: int = 0
    bodies: int = 0

    def main(self) -> None:
        """Changes the main graph."""
        graph = self.found.model.graph
        inside = [name for node in graph.node for name in self._tracked(node)]
        current = {name: f"{name}__turns" for name in inside}
        nodes = [
            helper.make_node("SequenceEmpty", [], [sequence], dtype=self.wanted[name])
            for name, sequence in current.items()
        ]
        for node in graph.node:
            nodes += self._control(node, current)
        del graph.node[:]
        graph.node.extend(nodes)
        del graph.output[:]
        del graph.value_info[:]
        graph.output.extend(self._typed(name, value) for value, name in current.items())
        self.found.outputs.update(current)

    def _tracked(self, node: onnx.NodeProto) -> list[str]:
        """Wanted values in the bodies of a node that can get out of it."""
        names: list[str] = []
        for body in subgraphs(node):
            names += [value.name for value in body.input if value.name in self.wanted]
            for inner in body.node:
                names += [name for name in inner.output if name in self.wanted]
                names += [] if node.op_type == "Scan" else self._tracked(inner)
        return names

    def _body(self, body: onnx.GraphProto, current: dict[str, str]) -> None:
        """Appends each value where it is computed; `current` follows the sequences."""
        self.bodies += 1
        nodes: list[onnx.NodeProto] = []
        own = self.bodies
        for handed in [value.name for value in body.input if value.name in current]:
            self.found.body[handed] = own
            nodes.append(self._append(handed, handed, current))
        for node in body.node:
            nodes += self._control(node, current)
            for name in node.output:
                if name in current:
                    self.found.body[name] = own
                    nodes.append(self._append(name, name, current))
        del body.node[:]
        body.node.extend(nodes)

    def _append(self, value: str, array: str, current: dict[str, str]) -> onnx.NodeProto:
        before, current[value] = current[value], self._name(value)
        return helper.make_node("SequenceInsert", [before, array], [current[value]])

    def _control(self, node: onnx.NodeProto, current: dict[str, str]) -> list[onnx.NodeProto]:
        """A node, changed if it has bodies, with what must follow it."""
        names = [name for name in self._tracked(node) if name in current]
        if not names:
            return [node]
        if node.op_type == "Scan":
            return [node, *self._scan(node, names, current)]
        if node.op_type == "If":
            self._if(node, names, current)
        elif node.op_type == "Loop":
            self._loop(node, names, current)
        return [node]

    def _if(self, node: onnx.NodeProto, names: list[str], current: dict[str, str]) -> None:
        for body in subgraphs(node):
            inside = {name: current[name] for name in names}
            self._body(body, inside)
            for name in names:
                result = inside[name]
                if result == current[name]:  # a branch returns what it makes itself
                    result = self._name(name)
                    body.node.append(helper.make_node("Identity", [current[name]], [result]))
                body.output.append(self._typed(result, name))
        for name in names:
            current[name] = self._name(name)
            node.output.append(current[name])

    def _loop(self, node: onnx.NodeProto, names: list[str], current: dict[str, str]) -> None:
        body = next(iter(subgraphs(node)))
        while len(node.input) < 2:
            node.input.append("")
        states = len(node.input) - 2
        inside = {}
        for name in names:
            inside[name] = self._name(name)
            body.input.append(self._typed(inside[name], name))
            node.input.append(current[name])
        self._body(body, inside)
        made = [self._name(name) for name in names]
        results = list(body.output)
        del body.output[:]
        body.output.extend(results[: 1 + states])
        body.output.extend(self._typed(inside[name], name) for name in names)
        body.output.extend(results[1 + states :])
        outputs = [*node.output, *[""] * (states - len(node.output))]
        del node.output[:]
        node.output.extend([*outputs[:states], *made, *outputs[states:]])
        current.update(zip(names, made, strict=True))

    def _scan(
        self, node: onnx.NodeProto, names: list[str], current: dict[str, str]
    ) -> list[onnx.NodeProto]:
        body = next(iter(subgraphs(node)))
        self.bodies += 1
        after = []
        for name in names:
            result, stacked = self._name(name), self._name(name)
            body.node.append(helper.make_node("Identity", [name], [result]))
            body.output.append(helper.make_tensor_value_info(result, self.wanted[name], None))
            node.output.append(stacked)
            after.append(self._append(name, stacked, current))
            self.found.body[name] = self.bodies
            self.found.stacked.add(name)
        for attribute in node.attribute:
            if attribute.name in {"scan_output_axes", "scan_output_directions"}:
                attribute.ints.extend([0] * len(names))
        return after

    def _typed(self, name: str, value: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_sequence_value_info(name, self.wanted[value], None)

    def _name(self, hint: str) -> str:
        self.counter += 1
        return f"{hint}__turns{self.counter}"
