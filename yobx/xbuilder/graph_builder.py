"""The graph builder: what front ends write ONNX graphs with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir

from yobx.errors import GraphError
from yobx.onnx_optim import OptimDim, OptimShape, ShapesContext, TensorType
from yobx.xbuilder.attributes import make_attribute
from yobx.xbuilder.dtypes import DTypeLike, as_array, element_type
from yobx.xbuilder.finalize import MAX_DEPTH, PROTO_LIMIT, finish, run_passes
from yobx.xbuilder.inference import Inference
from yobx.xbuilder.initializers import InitializerStore
from yobx.xbuilder.ir_bridge import GraphParts, to_ir
from yobx.xbuilder.local_functions import FunctionTable, LocalFunction
from yobx.xbuilder.names import NameRegistry
from yobx.xbuilder.node_maker import InnerGraph, NodeMaker, OutputsLike
from yobx.xbuilder.op_factory import OpFactory
from yobx.xbuilder.outputs import expose_outputs
from yobx.xbuilder.provenance import Provenance
from yobx.xbuilder.schema import Signature, check_opsets, default_opset, has_schemas, signature
from yobx.xbuilder.shapes import as_shape
from yobx.xbuilder.values import ValueTable

__all__ = ["GraphBuilder"]

Dim = int | str | None | OptimDim
Pass = Callable[[onnx_ir.Model], Any]


@dataclass
class _Shared:
    """What a builder and its subgraph builders have in common."""

    opsets: dict[str, int]
    names: NameRegistry = field(default_factory=NameRegistry)
    node_names: NameRegistry = field(default_factory=NameRegistry)
    provenance: Provenance = field(default_factory=Provenance)
    functions: FunctionTable = field(default_factory=FunctionTable)


class GraphBuilder:
    """Builds an ONNX graph node by node; a mistake fails where it is made.

    Every node is inferred as it is added, so types, ranks, shapes and known values can be asked
    for at any time. Initializers are kept by reference.

    Args:
        target_opset: Opset of the standard domain, or opsets by domain.
        name: Name of the graph.

    Examples:
        >>> g = GraphBuilder(21)
        >>> x = g.make_tensor_input("X", "float32", ("batch", 4))
        >>> y = g.op.Add(x, 1.0, outputs=["Y"])
        >>> g.make_tensor_output(y)
        'Y'
        >>> str(g.get_shape("Y")[0])
        'batch'
    """

    def __init__(
        self,
        target_opset: int | Mapping[str, int] = 21,
        *,
        name: str = "graph",
        _parent: GraphBuilder | None = None,
        _function: LocalFunction | None = None,
    ) -> None:
        by_domain = isinstance(target_opset, Mapping)
        opsets: dict[str, int] = dict(target_opset) if by_domain else {"": target_opset}  # type: ignore[arg-type, dict-item]
        if "ai.onnx" in opsets:
            opsets[""] = opsets.pop("ai.onnx")
        check_opsets(opsets)
        self.name = name
        self._parent = _parent
        self._depth: int = _parent._depth + 1 if _parent is not None else 0
        self._function = _function
        self._shared: _Shared = _parent._shared if _parent is not None else _Shared(opsets)
        self._inference: Inference = Inference(
            self._shared.opsets, _parent._inference if _parent is not None else None
        )
        self._values: ValueTable = ValueTable(
            self._shared.names,
            self._shared.provenance,
            _parent._values if _parent is not None else None,
        )
        self._initializers = InitializerStore()
        self._inputs: list[str] = []
        self._outputs: dict[str, str] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._produced: set[str] = set()
        self._closed = False
        self._maker = NodeMaker(
            values=self._values,
            names=self._shared.names,
            node_names=self._shared.node_names,
            inference=self._inference,
            make_initializer=lambda array: self.make_initializer(None, array),
            get_constant=self.get_constant,
            close_graph=self._close_inner,
        )
        self.op = OpFactory(self.make_node)

    # -- declaring --------------------------------------------------------------------------

    def make_tensor_input(
        self, name: str, dtype: DTypeLike, shape: Iterable[Dim] | OptimShape | None
    ) -> str:
        """Adds a graph input.

        Args:
            name: Name, free so far.
            dtype: Element type.
            shape: One entry per axis: an integer, a name, or ``None`` for a size without a name
                (one is made); ``None`` instead of a sequence means that the rank is unknown.

        Returns:
            The name.

        Raises:
            GraphError: If the name is taken or the type is not one of ONNX.
        """
        kind = element_type(dtype)
        value = self._values.define(name)
        self._inputs.append(value)
        self._inference.declare(value, kind, self._shape(value, shape))
        return value

    def make_initializer(self, name: str | None, value: npt.ArrayLike) -> str:
        """Adds a constant tensor.

        Args:
            name: Name, or ``None``: one is made, and an equal constant made before is used again.
            value: Array, kept by reference and not to be changed afterwards; or a number or list.

        Returns:
            The name.

        Raises:
            GraphError: If the name is taken or the dtype is not one of ONNX.
        """
        array = as_array(value)
        element_type(array.dtype)
        if self._parent is not None:
            # A subgraph may read outer values, so weights live in one place, the main graph.
            free = name is None or self._shared.names.is_free(name)
            chosen = name if free else self.unique_name(name or "")
            known = self._parent.make_initializer(chosen, array)
            if name is not None and known != name:
                self._values.scopes.bind(name, known)
            return known
        found = self._initializers.find(array) if name is None else None
        if found is not None:
            return found
        if self._function is not None:
            made: str = self.make_node(
                "Constant", [], None if name is None else [name], value=array
            )
        else:
            made = self._values.define(self.unique_name("cst") if name is None else name)
            self._inference.constant(made, array)
        self._initializers.add(made, array, shareable=name is None)
        return made

    def make_tensor_output(self, name: str, *, source: str | None = None) -> str:
        """Makes a value an output of the graph.

        Args:
            name: Name of the output.
            source: Value to expose under that name; by default the value called ``name``. An
                input, an initializer, or a value that is an output already gets an Identity.

        Returns:
            The name.

        Raises:
            GraphError: If the value does not exist or the output name is taken.
        """
        self._check_open()
        if name in self._outputs:
            raise GraphError(
                f"An output can be declared once only. Received: name={name!r}.",
                value=name,
                hint="Try another name with source=.",
            )
        value = self._values.resolve(name if source is None else source)
        exposed = self._values.expose(name, value)
        if self._parent is not None and exposed == value and value not in self._produced:
            # The body of a loop gives its own input back: that takes a node, and so a new name.
            exposed = self._values.define(self.unique_name(name))
        self._outputs[exposed] = value
        return exposed

    def declare(
        self,
        name: str,
        dtype: DTypeLike | None = None,
        shape: Iterable[Dim] | OptimShape | None = None,
    ) -> str:
        """States what the engine cannot know about a value, such as the result of a custom op.

        Args:
            name: Existing value.
            dtype: Its element type, if unknown so far.
            shape: Its shape; it must not contradict what is known.

        Returns:
            The name of the value.

        Raises:
            GraphError: If the statement contradicts what the engine knows.
        """
        value = self._values.resolve(name)
        kind = None if dtype is None else element_type(dtype)
        self._inference.refine(value, kind, None if shape is None else self._shape(value, shape))
        return value

    # -- nodes ------------------------------------------------------------------------------

    def make_node(
        self,
        op_type: str,
        inputs: Sequence[Any],
        outputs: OutputsLike = None,
        *,
        name: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> Any:
        """Adds a node and infers its outputs.

        Args:
            op_type: Operator, or the name of a local function of ``domain``.
            inputs: Value names, arrays, numbers, lists of numbers; ``None`` for an omitted one.
            outputs: Output names, their number, or ``None`` for the usual number; ``""`` omits
                an optional output.
            name: Node name; a unique one is made from it.
            domain: Operator domain; it needs an opset unless the standard defines it.
            **attributes: Attributes; also inputs that are named parameters, such as ``axes``.

        Returns:
            The output name, or a tuple of names when there are several.

        Raises:
            GraphError: If this can never be a valid node; the message says what to change.
        """
        self._check_open()
        domain = "" if domain == "ai.onnx" else domain
        callee: Signature | LocalFunction | None = self._shared.functions.get(domain, op_type)
        if isinstance(callee, LocalFunction):
            self._inference.add_function(callee.finish(self._shared.opsets))
        else:
            version = self.opset(domain)
            callee = signature(domain, op_type, version) if has_schemas(domain) else None
        written = [inputs] if isinstance(inputs, str) else inputs
        node = self._maker.make(
            op_type,
            domain,
            callee,
            inputs=written,
            outputs=outputs,
            name=name,
            attributes=attributes,
        )
        self._shared.provenance.stamp(node)
        self._nodes.append(node)
        self._produced.update(node.output)
        return tuple(node.output) if len(node.output) != 1 else node.output[0]

    # -- questions --------------------------------------------------------------------------

    def get_type(self, name: str) -> TensorType:
        """Returns the element type of a value, ``kUndefined`` when unknown."""
        return self._inference.tensor(self._values.resolve(name)).dtype

    def get_shape(self, name: str) -> OptimShape:
        """Returns the shape of a value; its rank may be unknown."""
        return self._inference.tensor(self._values.resolve(name)).shape

    def get_rank(self, name: str) -> int | None:
        """Returns the rank of a value, ``None`` when unknown."""
        return self.get_shape(name).rank()

    def get_constant(self, name: str) -> npt.NDArray[np.generic] | None:
        """Returns the value of a tensor if it is the same in every run.

        Args:
            name: Value name.

        Returns:
            The array (an initializer's own, not a copy), or ``None``.
        """
        value = self._values.resolve(name)
        builder: GraphBuilder | None = self
        while builder is not None:
            if value in builder._initializers:
                return builder._initializers[value]
            builder = builder._parent
        return self._inference.tensor(value).constant

    def get_value(self, name: str) -> list[OptimDim | None] | None:
        """Returns the elements of a small integer tensor of rank 0 or 1, symbolic ones included.

        Args:
            name: Value name.

        Returns:
            One entry per element, ``None`` for an unknown one; ``None`` if nothing is known.
        """
        return self._inference.tensor(self._values.resolve(name)).value_as_shape

    def has_name(self, name: str) -> bool:
        """Tells whether a name means a value here, alias or not."""
        return self._values.find(name) is not None

    def unique_name(self, hint: str) -> str:
        """Reserves a value name that resembles ``hint`` and that nothing else gets."""
        return self._shared.names.unique(hint)

    def opset(self, domain: str = "") -> int:
        """Returns the opset of a domain.

        Args:
            domain: Operator domain.

        Raises:
            GraphError: If no opset is declared for it.
        """
        opsets = self._shared.opsets
        if domain not in opsets:
            found = default_opset(domain, opsets[""])
            if found is None:
                raise GraphError(
                    f"The domain has no opset. Received: domain={domain!r}, declared "
                    f"{sorted(opsets)}.",
                    hint=f"Try target_opset={{'': {opsets['']}, {domain!r}: 1}}.",
                )
            opsets[domain] = found
            builder: GraphBuilder | None = self
            while builder is not None:
                builder._inference.set_opset(domain, found)
                builder = builder._parent
        return opsets[domain]

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the graph inputs."""
        return tuple(self._inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the graph outputs."""
        return tuple(self._outputs)

    @property
    def context(self) -> ShapesContext:
        """The engine's view of this graph."""
        return self._inference.context

    # -- names ------------------------------------------------------------------------------

    def alias(self, name: str, target: str) -> str:
        """Makes ``name`` mean an existing value in the innermost open scope; adds no node.

        Args:
            name: New name. Inside a scope it may hide an outer one.
            target: Existing value or alias.

        Returns:
            The name of the value itself.

        Raises:
            GraphError: If the target does not exist or the name means something else here.
        """
        return self._values.alias(name, target)

    def scope(self, prefix: str = "") -> AbstractContextManager[None]:
        """Opens a scope: aliases made inside end with it, and node names get the prefix.

        Args:
            prefix: Put before node names, with a ``/``; ``""`` adds nothing.

        Returns:
            A context manager.
        """
        return self._values.scopes.open(prefix)

    def provenance(
        self, *, op: str = "", name: str = "", layer: str = "", **more: str
    ) -> AbstractContextManager[None]:
        """Describes where the nodes made inside come from (``metadata_props`` of each).

        Args:
            op: Source operation type.
            name: Source operation name.
            layer: Layer path or call stack.
            **more: Other facts.

        Returns:
            A context manager.
        """
        return self._shared.provenance.describe(op=op, name=name, layer=layer, **more)

    def _shape(self, name: str, shape: Iterable[Dim] | OptimShape | None) -> OptimShape:
        return as_shape(name, shape, self._inference.context.fresh_symbol)

    # -- graphs inside ----------------------------------------------------------------------

    def subgraph(
        self,
        name: str,
        inputs: Iterable[tuple[str, DTypeLike, Iterable[Dim] | OptimShape | None]] = (),
    ) -> GraphBuilder:
        """Opens a builder for the body of If, Loop or Scan; it may read the values made so far.

        Args:
            name: Graph name.
            inputs: Formal inputs: name, element type, shape.

        Returns:
            A builder, to be passed as attribute value, for example ``then_branch=sub``. Use the
            names that its methods return: a name in use elsewhere is changed.

        Raises:
            GraphError: If it would be deeper inside than a file can hold.
        """
        if self._depth >= MAX_DEPTH:
            raise GraphError(
                f"An ONNX file holds graphs {MAX_DEPTH} levels deep inside each other. Received: "
                f"{name!r}, deeper inside.",
                hint="Try a loop: a recursion over an open size has no end.",
            )
        child = GraphBuilder(self._shared.opsets, name=name, _parent=self)
        for input_name, dtype, shape in inputs:
            child.make_tensor_input(input_name, dtype, shape)
        return child

    def local_function(
        self,
        domain: str,
        name: str,
        *,
        inputs: Sequence[str | tuple[str, DTypeLike, Iterable[Dim] | OptimShape | None]],
        outputs: Sequence[str],
        attributes: Sequence[str] | Mapping[str, Any] = (),
    ) -> GraphBuilder:
        """Opens a builder for a model-local function; its first call closes it.

        Args:
            domain: Domain of the function, not the standard one.
            name: Name of the function: ``g.make_node(name, ..., domain=domain)`` calls it.
            inputs: Formal inputs, names or (name, element type, shape).
            outputs: Formal outputs, values of the body.
            attributes: Attribute names, or names with defaults; the body refers to one with
                ``AttributeRef("name")``.

        Returns:
            A builder that sees nothing of this graph.

        Raises:
            GraphError: If the function exists already or the domain is the standard one.
        """
        defaults = attributes if isinstance(attributes, Mapping) else {}
        function = LocalFunction(
            domain=domain,
            name=name,
            inputs=tuple(item if isinstance(item, str) else item[0] for item in inputs),
            outputs=tuple(outputs),
            attributes=() if defaults else tuple(attributes),
            defaults=tuple(make_attribute(name, key, value) for key, value in defaults.items()),
        )
        self._shared.functions.add(function)
        self._shared.opsets.setdefault(domain, 1)
        body = GraphBuilder(self._shared.opsets, name=name, _function=function)
        body._shared.functions = self._shared.functions
        body._shared.provenance = self._shared.provenance
        body._shared.opsets = self._shared.opsets
        function.body = body
        for item in inputs:
            if isinstance(item, str):
                body.make_tensor_input(item, TensorType.kUndefined, None)
            else:
                body.make_tensor_input(*item)
        return body

    def _check_open(self) -> None:
        if self._closed:
            raise GraphError(
                f"The graph is in use and cannot change any more. Received: {self.name!r}.",
                hint="Try finishing a subgraph or function before it is used.",
            )

    def _close_inner(self, inner: InnerGraph) -> onnx.GraphProto:
        if not isinstance(inner, GraphBuilder) or inner._parent is not self:
            owner = getattr(getattr(inner, "_parent", None), "name", None)
            raise GraphError(
                "A subgraph belongs to the builder that made it. Received: "
                f"{getattr(inner, 'name', inner)!r} of {owner!r}, used in {self.name!r}.",
                hint="Try g.subgraph(...) of the builder that uses it.",
            )
        return inner.close()

    def close(self) -> onnx.GraphProto:
        """Ends a subgraph or function body; done for you when it is used.

        Returns:
            The graph, without any initializer.

        Raises:
            GraphError: If it has no outputs.
        """
        if not self._outputs:
            raise GraphError(
                f"A subgraph needs outputs. Received: {self.name!r} without any.",
                hint="Try sub.make_tensor_output(...).",
            )
        graph = onnx.GraphProto(name=self.name)
        graph.node.extend(self._nodes)
        extra = expose_outputs(self._outputs.items(), self._shared.node_names.unique)
        if not self._closed:
            self._closed = True
            for node in extra:
                self._inference.run(node)
        graph.node.extend(extra)
        graph.input.extend(self._inference.value_info(name) for name in self._inputs)
        graph.output.extend(self._inference.value_info(name) for name in self._outputs)
        return graph

    # -- results ----------------------------------------------------------------------------

    def to_ir(self) -> onnx_ir.Model:
        """Returns the graph as an ``onnx_ir`` model of its own; the weights are shared, not copied.

        Raises:
            GraphError: If the graph has no outputs, or is a subgraph.
        """
        if self._parent is not None or self._function is not None:
            raise GraphError(
                f"Only the main graph makes a model. Received: the inner graph {self.name!r}."
            )
        if not self._outputs:
            raise GraphError(
                f"A graph needs outputs. Received: {self.name!r} without any.",
                hint="Try g.make_tensor_output(...).",
            )
        return to_ir(
            GraphParts(
                name=self.name,
                opsets=self._shared.opsets,
                inputs=self._inputs,
                outputs=self._outputs,
                nodes=self._nodes,
                initializers=self._initializers,
                inference=self._inference,
                node_names=self._shared.node_names.copy(),
                functions=[f.finish(self._shared.opsets) for f in self._shared.functions],
            )
        )

    def to_onnx(
        self,
        *,
        passes: Iterable[Pass] = (),
        filename: str | Path | None = None,
        external_threshold: int = PROTO_LIMIT,
    ) -> onnx.ModelProto:
        """Finishes the model: passes, clean-up, inference of every value, the onnx checker.

        Args:
            passes: Callables on an ``onnx_ir.Model``, for example ``default_passes()``.
            filename: Where to write the model; nothing half-written is ever left there.
            external_threshold: Bytes of weights above which they go to ``<filename>.data``.

        Returns:
            The checked model. With external data its large tensors refer to the data file.

        Raises:
            GraphError: If the model is invalid, or over 2 GB without a file.
            ArgumentError: If the folder of the file does not exist.
        """
        model = run_passes(self.to_ir(), passes)
        return finish(model, filename=filename, external_threshold=external_threshold)
