"""Makes one node out of what a caller wrote: inputs, outputs, attributes, checks, inference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx

from yobx.errors import GraphError
from yobx.onnx_optim import TensorType
from yobx.xbuilder.attributes import make_attribute
from yobx.xbuilder.dtypes import as_array
from yobx.xbuilder.inference import Inference
from yobx.xbuilder.local_functions import LocalFunction
from yobx.xbuilder.names import NameRegistry
from yobx.xbuilder.schema import Signature
from yobx.xbuilder.schema_binding import (
    check_outputs,
    check_types,
    place_parameters,
    scalar_type,
)
from yobx.xbuilder.values import ValueTable

__all__ = ["InnerGraph", "NodeMaker", "OutputsLike"]

OutputsLike: TypeAlias = Sequence[str] | int | str | None
"""Output names, how many, or ``None`` for the usual number."""


class InnerGraph(Protocol):
    """A graph that is an attribute value: a subgraph builder."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of its outputs."""
        ...


class NodeMaker:
    """Turns calls into nodes of one graph.

    Args:
        values: Names of the graph.
        names: Value names taken in the model.
        node_names: Node names taken in the model.
        inference: What is known about the values.
        make_initializer: Adds an anonymous constant and returns its name.
        get_constant: Returns the contents of a value known while building.
        close_graph: Turns a subgraph builder into a graph.
    """

    def __init__(
        self,
        *,
        values: ValueTable,
        names: NameRegistry,
        node_names: NameRegistry,
        inference: Inference,
        make_initializer: Callable[[npt.NDArray[np.generic]], str],
        get_constant: Callable[[str], npt.NDArray[np.generic] | None],
        close_graph: Callable[[InnerGraph], onnx.GraphProto],
    ) -> None:
        self._values = values
        self._names = names
        self._node_names = node_names
        self._inference = inference
        self._make_initializer = make_initializer
        self._get_constant = get_constant
        self._close_graph = close_graph

    def make(
        self,
        op_type: str,
        domain: str,
        callee: Signature | LocalFunction | None,
        *,
        inputs: Sequence[Any],
        outputs: OutputsLike,
        name: str | None,
        attributes: Mapping[str, Any],
    ) -> onnx.NodeProto:
        """Makes a node, inferred and with its outputs defined, but in no list yet.

        Args:
            op_type: Operator.
            domain: Its domain.
            callee: Its schema, or the local function called, or ``None`` for a custom operator.
            inputs: Inputs as the caller wrote them.
            outputs: Outputs as the caller wrote them.
            name: Node name wanted.
            attributes: Attributes as the caller wrote them.

        Returns:
            The node.

        Raises:
            GraphError: If this can never be a valid node.
        """
        given = [None if isinstance(value, str) and not value else value for value in inputs]
        sig = callee if isinstance(callee, Signature) else None
        if sig is not None:
            given, attributes = place_parameters(sig, given, attributes, self._constant_of)
        elif isinstance(callee, LocalFunction):
            callee.check_call(len(given), attributes)
        names = self._input_names(sig, given)
        if sig is not None:
            check_types(sig, names, [self._inference.tensor(n).dtype for n in names])
        graphs = {key: value for key, value in attributes.items() if hasattr(value, "output_names")}
        closed = {key: self._close_graph(graph) for key, graph in graphs.items()}
        if op_type == "If" and sig is not None and not domain:
            _check_branches(*closed.values())
        if op_type == "Split" and sig is not None and not sig.domain:
            outputs, attributes = self._complete_split(sig, given, outputs, attributes)
        count = _output_count(op_type, callee, list(graphs.values()), outputs)
        label = self._values.scopes.prefix + (name or op_type)
        node = onnx.NodeProto(
            op_type=op_type, domain=domain, name=self._node_names.unique(label), input=names
        )
        node.attribute.extend(_attributes(op_type, sig, {**attributes, **closed}))
        if isinstance(outputs, str):
            outputs = [outputs]
        elif outputs is None or isinstance(outputs, int):
            outputs = [self._names.unique(label) for _ in range(count)]
        try:
            for one in outputs:
                node.output.append(self._values.define(one) if one else "")
            self._inference.run(node)
        except GraphError:
            self._values.forget(node.output)
            raise
        return node

    def _input_names(self, sig: Signature | None, given: Sequence[Any]) -> list[str]:
        """Turns every input into a value name; Python numbers last, their type depends."""
        names: list[str | None] = []
        for value in given:
            if value is None:
                names.append("")
            elif isinstance(value, str):
                names.append(self._values.resolve(value))
            elif isinstance(value, onnx.TensorProto) or hasattr(value, "__array__"):
                names.append(self._make_initializer(as_array(value)))
            else:
                names.append(None)
        known = [self._inference.tensor(n).dtype if n else TensorType.kUndefined for n in names]
        result: list[str] = []
        for index, (value, found) in enumerate(zip(given, names, strict=True)):
            if found is None:
                kind = scalar_type(sig, index, value, known) if sig is not None else None
                result.append(self._make_initializer(as_array(value, kind)))
            else:
                result.append(found)
        return result

    def _complete_split(
        self,
        sig: Signature,
        given: Sequence[Any],
        outputs: OutputsLike,
        attributes: Mapping[str, Any],
    ) -> tuple[OutputsLike, Mapping[str, Any]]:
        """The number of outputs follows from the sizes given, or the other way round."""
        sizes = self._constant_of(given[1]) if len(given) > 1 else attributes.get("split")
        count = attributes.get("num_outputs")
        if outputs is None:
            outputs = count if sizes is None else len(sizes)
        if sizes is None and len(given) < 2 and count is None and "num_outputs" in sig.attributes:
            wanted = 1 if isinstance(outputs, str) or outputs is None else outputs
            number = wanted if isinstance(wanted, int) else len(wanted)
            attributes = {**attributes, "num_outputs": number}
        return outputs, attributes

    def _constant_of(self, value: Any) -> npt.NDArray[np.generic] | None:
        return self._get_constant(value) if isinstance(value, str) else as_array(value)


def _check_branches(first: onnx.GraphProto, second: onnx.GraphProto) -> None:
    """Refuses branches of ``If`` whose results differ in number or element type."""
    if len(first.output) != len(second.output):
        raise GraphError(
            "The branches of If have as many outputs each. Received: "
            f"{len(first.output)} and {len(second.output)}.",
            hint="Try make_tensor_output in both.",
        )
    for one, other in zip(first.output, second.output, strict=True):
        types = [TensorType(v.type.tensor_type.elem_type) for v in (one, other)]
        if types[0] != types[1] and TensorType.kUndefined not in types:
            raise GraphError(
                "The branches of If give results of the same element type. Received: "
                f"{one.name!r} of {types[0].name} and {other.name!r} of {types[1].name}.",
                hint="Try a Cast in one branch.",
            )


def _output_count(
    op_type: str,
    callee: Signature | LocalFunction | None,
    graphs: Sequence[InnerGraph],
    outputs: OutputsLike,
) -> int:
    if isinstance(outputs, str):
        count = 1
    elif isinstance(outputs, int):
        count = outputs
    elif outputs is not None:
        count = len(outputs)
    elif isinstance(callee, LocalFunction):
        count = len(callee.outputs)
    elif graphs:
        count = len(graphs[0].output_names) - (op_type == "Loop")
    else:
        count = callee.default_outputs if callee is not None else 1
    if isinstance(callee, Signature):
        check_outputs(callee, count)
    return count


def _attributes(
    op_type: str, sig: Signature | None, attributes: Mapping[str, Any]
) -> Iterator[onnx.AttributeProto]:
    for key, value in attributes.items():
        if value is not None:
            yield make_attribute(op_type, key, value, sig.attributes[key] if sig else 0)
