"""From what the builder holds to an ``onnx_ir.Model`` whose weights are the caller's arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir

from yobx.onnx_optim import TensorType
from yobx.xbuilder.dtypes import element_type
from yobx.xbuilder.inference import Inference
from yobx.xbuilder.liveness import live_nodes
from yobx.xbuilder.names import NameRegistry
from yobx.xbuilder.outputs import expose_outputs

__all__ = ["GraphParts", "lowest_ir_version", "to_ir"]


@dataclass(frozen=True)
class GraphParts:
    """Everything that makes a model.

    Attributes:
        name: Graph name.
        opsets: Opset by domain.
        inputs: Graph input names.
        outputs: Output name -> value exposed under it.
        nodes: Nodes in topological order.
        initializers: Arrays by name.
        inference: What is known about each value.
        functions: Finished local functions.
        node_names: Node names taken.
    """

    name: str
    opsets: Mapping[str, int]
    inputs: Sequence[str]
    outputs: Mapping[str, str]
    nodes: Sequence[onnx.NodeProto]
    initializers: Mapping[str, npt.NDArray[np.generic]]
    inference: Inference
    functions: Sequence[onnx.FunctionProto]
    node_names: NameRegistry


def lowest_ir_version(opsets: Mapping[str, int]) -> int:
    """Returns the lowest IR version that may carry these opsets.

    Args:
        opsets: Opset by domain.

    Returns:
        The IR version; local functions and node metadata need at least 8.
    """
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    found = onnx.helper.find_min_ir_version_for(imports, ignore_unknown=True)
    return max(8, found)


def ir_tensor(name: str, array: npt.NDArray[np.generic]) -> onnx_ir.TensorProtocol:
    """Wraps an array as a tensor without copying it.

    Args:
        name: Tensor name.
        array: Values; strings as ``object`` or unicode array.

    Returns:
        The tensor.
    """
    if element_type(array.dtype) == TensorType.kString:
        data = [item if isinstance(item, bytes) else str(item).encode() for item in array.flat]
        return onnx_ir.StringTensor(data, shape=onnx_ir.Shape(array.shape), name=name)
    return onnx_ir.Tensor(array, name=name)


def to_ir(parts: GraphParts) -> onnx_ir.Model:
    """Makes the model.

    Args:
        parts: What the builder holds.

    Returns:
        A model of its own, without what its outputs do not need; only the weights are shared with
        the builder. An output of a node that the engine knows completely carries its contents as
        ``const_value``.
    """
    nodes, needed = live_nodes(parts.nodes, parts.outputs.values())
    initializers = {name: array for name, array in parts.initializers.items() if name in needed}
    graph = onnx.GraphProto(name=parts.name)
    graph.node.extend(nodes)
    graph.input.extend(parts.inference.value_info(name) for name in parts.inputs)
    produced = [name for node in nodes for name in node.output if name]
    graph.value_info.extend(_known(parts.inference, produced))
    for name, array in initializers.items():
        # Only a placeholder: the values are attached below, by reference.
        graph.initializer.add(name=name, dims=array.shape, data_type=int(element_type(array.dtype)))
    renamed, exposed = _plan_outputs(parts, produced)
    graph.node.extend(expose_outputs(exposed, parts.node_names.unique))
    graph.output.extend(
        parts.inference.value_info(source, called=renamed.get(name, name))
        for name, source in parts.outputs.items()
    )
    model = onnx.ModelProto(
        ir_version=lowest_ir_version(parts.opsets), producer_name="yobx", graph=graph
    )
    model.opset_import.extend(
        onnx.helper.make_opsetid(domain, version) for domain, version in parts.opsets.items()
    )
    model.functions.extend(parts.functions)
    result = onnx_ir.from_proto(model)
    for name, array in initializers.items():
        result.graph.initializers[name].const_value = ir_tensor(name, array)
    for node in result.graph:
        for value in node.outputs:
            known = parts.inference.tensor(value.name or "").constant
            if known is not None:
                value.const_value = ir_tensor(value.name or "", known)
    final_names = {source: name for name, source in renamed.items()}
    for value in result.graph.outputs:
        value.name = final_names.get(value.name or "", value.name)
    return result


def _known(inference: Inference, names: Iterable[str]) -> list[onnx.ValueInfoProto]:
    infos = (inference.value_info(name) for name in names)
    return [info for info in infos if info.HasField("type")]


def _plan_outputs(
    parts: GraphParts, produced: Sequence[str]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Decides which values are renamed to their output name and which need an Identity."""
    here = frozenset(produced)
    own_name = frozenset(name for name, source in parts.outputs.items() if name == source)
    taken: set[str] = set()
    renamed: dict[str, str] = {}
    exposed: list[tuple[str, str]] = []
    for name, source in parts.outputs.items():
        if source in here and (name == source or source not in (taken | own_name)):
            taken.add(source)
            if name != source:
                renamed[name] = source
        else:
            exposed.append((name, source))
    return renamed, exposed
