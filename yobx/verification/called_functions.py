"""Calls of a model's own functions replaced by their bodies, so that the values inside are seen.

A value `v` of a function `f` is called ``y/f/v`` where `y` is the first output of the call; what
the call returns keeps its name. Nodes remember where they were in the model, for messages. A call
stays where the function is written for another opset that means something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import onnx
from onnx import helper

from yobx.verification.error_classes import subgraphs
from yobx.verification.provenance import facts_of

__all__ = ["inlined", "place_of"]

#: Metadata key of a node of the copy: where it is in the model, ``#3`` or ``in f #3``.
_PLACE = "yobx.place"
_MOST_DEEP = 32
_Key = tuple[str, str, str]


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replaces calls of functions by their bodies.

    Args:
        model: The model; it is not changed.

    Returns:
        The model itself where nothing is called, else a copy. Types that a function states of its
        values are stated of each copy of them; a symbol in them belongs to one call alone, and is
        left open.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    if not any(_key(node) in functions for node in _every_node(model.graph)):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    versions = {o.domain: o.version for o in model.opset_import}
    usable = {key: f for key, f in functions.items() if _same_meaning(f, versions)}
    taken = {value.name for value in model.graph.input}
    taken.update(tensor.name for tensor in model.graph.initializer)
    taken.update(name for node in _every_node(model.graph) for name in node.output)
    writer = _Writer(usable, taken)
    del copy.graph.node[:]
    for index, node in enumerate(model.graph.node):
        copy.graph.node.extend(writer.copies(node, _Scope(f"#{index}")))
    copy.graph.value_info.extend(writer.stated)
    if len(usable) == len(functions):  # those that stay may call the others
        del copy.functions[:]
    for wanted in (opset for function in usable.values() for opset in function.opset_import):
        if wanted.domain not in versions:
            versions[wanted.domain] = wanted.version
            copy.opset_import.append(wanted)
    return copy


def place_of(node: onnx.NodeProto, index: int) -> str:
    """``#3``, or ``in f #3`` for a node of a function: where it is in the model of the user.

    Args:
        node: A node of the main graph.
        index: Its index there.
    """
    told = (prop.value for prop in node.metadata_props if prop.key == _PLACE)
    return next(told, f"#{index}")


def _key(node: onnx.NodeProto) -> _Key:
    """What a node calls."""
    return node.domain, node.op_type, node.overload


def _every_node(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for body in subgraphs(node):
            yield from _every_node(body)


def _same_meaning(function: onnx.FunctionProto, versions: Mapping[str, int]) -> bool:
    """Whether the operators of a function mean the same at the opsets of the model."""
    own = {o.domain: o.version for o in function.opset_import}
    for node in _every_node(onnx.GraphProto(node=function.node)):
        here, there = own.get(node.domain), versions.get(node.domain)
        if here is None or there is None or here == there:
            continue
        try:
            since = {
                onnx.defs.get_schema(node.op_type, version, node.domain).since_version
                for version in (here, there)
            }
        except onnx.defs.SchemaError:  # a function, or an operator that nobody describes
            continue
        if len(since) > 1:
            return False
    return True


@dataclass(frozen=True)
class _Scope:
    """Where a node is copied to.

    Attributes:
        place: Where it is in the model, for messages.
        names: Value of a function -> its name in the copy; empty in the main graph.
        prefix: What makes names of the function those of this call.
        depth: Number of calls around it.
    """

    place: str
    names: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    depth: int = 0

    def of(self, name: str) -> str:
        """A name in the copy; an input that is left out stays so."""
        return self.names.get(name, name) if name else ""


@dataclass
class _Writer:
    """Copies nodes, with calls replaced by what they call."""

    functions: Mapping[_Key, onnx.FunctionProto]
    taken: set[str]
    stated: list[onnx.ValueInfoProto] = field(default_factory=list)

    def copies(self, node: onnx.NodeProto, scope: _Scope) -> Iterator[onnx.NodeProto]:
        """Copies one node, or the body of what it calls."""
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for own in (copy.input, copy.output):
            own[:] = [scope.of(name) for name in own]
        function = self.functions.get(_key(node))
        if function is not None and scope.depth < _MOST_DEEP:
            yield from self._called(function, copy, scope)
            return
        inside = replace(scope, place=f"in {node.op_type} {scope.place}")
        for body in subgraphs(copy):
            self._rewrite(body, inside)
        copy.metadata_props.add(key=_PLACE, value=scope.place)
        yield copy

    def _rewrite(self, body: onnx.GraphProto, scope: _Scope) -> None:
        """Replaces the calls in a body of control flow; in a function its names are new too."""
        if scope.prefix:  # two calls would give two values one name
            made = [name for node in body.node for name in node.output]
            made += [value.name for value in body.input]
            made += [tensor.name for tensor in body.initializer]
            fresh = {name: self._fresh(scope.prefix + name) for name in made if name}
            scope = replace(scope, names={**scope.names, **fresh})
        for value in (*body.input, *body.output, *body.value_info):
            value.name = scope.of(value.name)
        for tensor in body.initializer:
            tensor.name = scope.of(tensor.name)
        nodes = [made for node in body.node for made in self.copies(node, scope)]
        del body.node[:]
        body.node.extend(nodes)

    def _called(
        self, function: onnx.FunctionProto, call: onnx.NodeProto, scope: _Scope
    ) -> Iterator[onnx.NodeProto]:
        """The body of a function with the names and attributes of a call."""
        prefix = f"{next(filter(None, call.output), call.name)}/{function.name}/"
        names = dict(zip_longest(function.input, call.input, fillvalue=""))
        passed = []
        for formal, actual in zip(function.output, call.output, strict=False):
            if not actual:
                continue
            if formal in names:  # given on as it came, or returned twice
                passed.append((names[formal], actual))
            else:
                names[formal] = actual
        made = [name for node in function.node for name in node.output if name]
        names.update({name: self._fresh(prefix + name) for name in made if name not in names})
        self.stated += [_renamed(i, names[i.name]) for i in function.value_info if i.name in names]
        attributes = {a.name: a for a in (*function.attribute_proto, *call.attribute)}
        facts = [prop for prop in call.metadata_props if prop.key.startswith("yobx.")]
        inside = _Scope(f"in {function.name} {scope.place}", names, prefix, scope.depth + 1)
        for node in function.node:
            bound = _bound(node, attributes)
            bound.name = f"{prefix}{node.name}" if node.name else ""
            if not facts_of(bound):
                bound.metadata_props.extend(facts)
            yield from self.copies(bound, inside)
        for source, target in passed:
            yield helper.make_node("Identity", [source], [target])

    def _fresh(self, name: str) -> str:
        wanted, count = name, 1
        while wanted in self.taken:
            count += 1
            wanted = f"{name}_{count}"
        self.taken.add(wanted)
        return wanted


def _bound(node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a function whose attributes refer to those of a call no more."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            copy.attribute.append(attribute)
        elif attribute.ref_attr_name in attributes:
            copy.attribute.append(attributes[attribute.ref_attr_name])
            copy.attribute[-1].name = attribute.name
    for body in subgraphs(copy):
        nodes = [_bound(inner, attributes) for inner in body.node]
        del body.node[:]
        body.node.extend(nodes)
    return copy


def _renamed(info: onnx.ValueInfoProto, name: str) -> onnx.ValueInfoProto:
    """What is stated of a value, under another name and without the symbols of the function."""
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(info)
    copy.name = name
    for dim in copy.type.tensor_type.shape.dim:
        if dim.HasField("dim_param"):
            dim.Clear()
    return copy
