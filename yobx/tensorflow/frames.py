"""Loops of TensorFlow 1, made of frames, are written again as ``While`` of TensorFlow 2.

A frame is entered by ``Enter`` and left by ``Exit``; in between, each loop variable passes from a
``Merge`` of its first and its next value to a ``Switch`` that the condition rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from yobx.errors import ConversionError
from yobx.tensorflow.tensor_arrays import split_input

__all__ = ["has_frames", "import_with_loops"]

_Path: TypeAlias = tuple[str, ...]
_ADVICE = "Trace the model with TensorFlow 2, which writes While."


def has_frames(graph_def: Any) -> bool:
    """Tells whether a ``GraphDef`` has loops of TensorFlow 1."""
    return any(node.op == "Enter" for node in graph_def.node)


def import_with_loops(graph_def: Any) -> None:
    """Adds a ``GraphDef`` to the current graph, its loops as ``While``, names as they are.

    Args:
        graph_def: The graph; loops inside its library of functions are not looked at.

    Raises:
        ConversionError: If a frame is no loop as ``tf.while_loop`` writes it.
    """
    _Frames(graph_def).build((), {}, list(_every(graph_def)))


def _every(graph_def: Any) -> Iterable[str]:
    return (node.name for node in graph_def.node)


@dataclass
class _Variable:
    """A loop variable: the nodes it passes, by name."""

    enter: Any
    merge: Any
    next: Any
    switch: Any | None = None
    exits: list[Any] = field(default_factory=list)


@dataclass
class _Loop:
    """A frame, read.

    Attributes:
        path: Names of the frames around it and its own.
        variables: What changes.
        fixed: ``Enter`` nodes of what does not.
        condition: Tensor that says whether the loop goes on.
    """

    path: _Path
    variables: list[_Variable]
    fixed: list[Any]
    condition: str


class _Frames:
    """A ``GraphDef`` with the frame that each node is in."""

    def __init__(self, graph_def: Any) -> None:
        self.graph_def = graph_def
        self.nodes = {node.name: node for node in graph_def.node}
        self.paths = self._find_paths()
        members: dict[_Path, list[Any]] = {}
        for node in graph_def.node:
            members.setdefault(self.paths[node.name], []).append(node)
        self.members = members
        self.loops = {path: self._read(path) for path in members if path}

    def _find_paths(self) -> dict[str, _Path]:
        """Return the frames around each node; ``Exit`` is outside already."""
        users: dict[str, list[Any]] = {}
        for node in self.graph_def.node:
            for text in node.input:
                users.setdefault(split_input(text)[0], []).append(node)
        found: dict[str, _Path] = {n.name: () for n in self.graph_def.node if not n.input}
        pending = list(found)
        while pending:
            name = pending.pop()
            for node in users.get(name, ()):
                path = found[name]
                if node.op == "Enter":
                    path = (*path, node.attr["frame_name"].s.decode())
                elif node.op == "Exit":
                    path = path[:-1]
                # What comes from outside, without Enter, is a constant: the inner frame counts.
                if len(path) > len(found.get(node.name, ())) or node.name not in found:
                    found[node.name] = path
                    pending.append(node.name)
        return {node.name: found.get(node.name, ()) for node in self.graph_def.node}

    def _read(self, path: _Path) -> _Loop:
        """Read a frame.

        Raises:
            ConversionError: If it is no loop.
        """
        members = self.members[path]
        conditions = [node for node in members if node.op == "LoopCond"]
        if len(conditions) != 1:
            self._refuse(path, f"{len(conditions)} conditions")
        variables = []
        for node in members:
            if node.op != "Merge" or len(node.input) != 2:
                continue
            pair = [self.nodes[split_input(text)[0]] for text in node.input]
            kinds = [one.op for one in pair]
            if kinds == ["NextIteration", "Enter"]:
                pair.reverse()
            elif kinds != ["Enter", "NextIteration"]:
                continue
            variables.append(_Variable(pair[0], node, pair[1]))
        by_merge = {variable.merge.name: variable for variable in variables}
        by_switch: dict[str, _Variable] = {}
        for node in members:
            if node.op == "Switch" and self._source(node.input[1]).op == "LoopCond":
                variable = by_merge.get(split_input(node.input[0])[0])
                if variable is None or variable.switch is not None:
                    self._refuse(path, f"the switch {node.name!r}, of no variable")
                variable.switch = node
                by_switch[node.name] = variable
        for node in self.graph_def.node:
            if node.op == "Exit":
                owner = by_switch.get(split_input(node.input[0])[0])
                if owner is not None:
                    owner.exits.append(node)
        taken = {variable.enter.name for variable in variables}
        fixed = [node for node in members if node.op == "Enter" and node.name not in taken]
        return _Loop(path, variables, fixed, conditions[0].input[0])

    def _source(self, text: str) -> Any:
        """Return the node that a value comes from."""
        node = self.nodes[split_input(text)[0]]
        return self._source(node.input[0]) if node.op == "Identity" else node

    def _refuse(self, path: _Path, what: str) -> NoReturn:
        raise ConversionError(
            "A frame of TensorFlow 1 is a loop as tf.while_loop writes it: one condition, and "
            f"variables that it rules. Received: the frame {path[-1]!r} with {what}. {_ADVICE}"
        )

    # -- writing ----------------------------------------------------------------------------

    def build(self, path: _Path, known: dict[str, Any], wanted: Sequence[str]) -> dict[str, Any]:
        """Write the nodes of a frame that are needed to the current graph.

        Args:
            path: The frame, ``()`` for the graph outside of all.
            known: Output of a node, ``"name:0"`` -> tensor, of what is there already.
            wanted: Names of nodes.

        Returns:
            The outputs that are there now, in the same form.
        """
        levels, needed, inner = self._levels(path, known, wanted)
        values = dict(known)
        for level in range(max([*levels.values(), 0]) + 1):
            names = [name for name in needed if levels[name] == level]
            self._add_nodes([self.nodes[name] for name in names], values, is_outermost=not path)
            for loop in inner:
                if levels["/".join(("", *loop.path))] == level:
                    self._add_loop(loop, values)
        return values

    def _levels(
        self, path: _Path, known: dict[str, Any], wanted: Sequence[str]
    ) -> tuple[dict[str, int], list[str], list[_Loop]]:
        """Return how many loops come before each node and loop, and those that are needed."""
        levels: dict[str, int] = {}
        needed: dict[str, None] = {}
        inner: dict[_Path, _Loop] = {}
        pending = [(name, False) for name in wanted if self._is_here(name, path)]
        while pending:
            name, done = pending.pop()
            loop = self._loop_before(name, path)
            key = name if loop is None else "/".join(("", *loop.path))
            if key in levels and not done:
                continue
            sources = self._sources(name, loop, path, known)
            if not done:
                levels[key] = 0
                pending.append((name, True))
                pending.extend((source, False) for source in sources if source not in levels)
                continue
            keys = [(self._loop_before(s, path), s) for s in sources]
            before = [
                levels[s] if one is None else levels["/".join(("", *one.path))] + 1
                for one, s in keys
            ]
            levels[key] = max([0, *before])
            if loop is None:
                needed[name] = None
            else:
                inner[loop.path] = loop
        return levels, list(needed), list(inner.values())

    def _is_here(self, name: str, path: _Path) -> bool:
        return self.paths[name] == path

    def _loop_before(self, name: str, path: _Path) -> _Loop | None:
        """Return the loop that a node is the result of."""
        node = self.nodes[name]
        if node.op != "Exit":
            return None
        inside = self.paths[split_input(node.input[0])[0]]
        return self.loops[inside] if inside[:-1] == path else None

    def _sources(
        self, name: str, loop: _Loop | None, path: _Path, known: dict[str, Any]
    ) -> list[str]:
        """Return the nodes of a frame that a node, or a loop, takes values from."""
        texts: list[str] = []
        if loop is None:
            texts.extend(self.nodes[name].input)
        else:
            depth = len(loop.path)
            for node in self.graph_def.node:
                if self.paths[node.name][:depth] == loop.path:
                    texts.extend(node.input)
        found = dict.fromkeys(split_input(text)[0] for text in texts)
        return [s for s in found if self._is_here(s, path) and f"{s}:0" not in known]

    def _add_nodes(self, nodes: list[Any], values: dict[str, Any], *, is_outermost: bool) -> None:
        """Import nodes whose inputs are known, or among them."""
        import tensorflow as tf

        part = type(self.graph_def)()
        part.versions.CopyFrom(self.graph_def.versions)
        part.library.CopyFrom(self.graph_def.library)
        names = {node.name for node in nodes}
        mapped: dict[str, Any] = {}
        for node in nodes:
            copied = part.node.add()
            copied.CopyFrom(node)
            copied.attr.pop("_class", None)
            del copied.input[:]
            for text in node.input:
                name, index = split_input(text)
                if name in names:
                    copied.input.append(text)
                    continue
                value = values.get(f"{name}:{max(index, 0)}")
                if index >= 0:
                    mapped[f"{name}:{index}"] = _here(value)
                    copied.input.append(f"{name}:{index}")
                elif value is not None and value.graph is tf.compat.v1.get_default_graph():
                    mapped[f"^{name}"] = value
                    copied.input.append(text)
        if not nodes:
            return
        order = [node.name for node in nodes]
        made = tf.graph_util.import_graph_def(
            part, input_map=mapped, return_elements=order, name="" if is_outermost else "turn"
        )
        for name, op in zip(order, made, strict=True):
            for i, tensor in enumerate(op.outputs):
                values[f"{name}:{i}"] = tensor

    def _add_loop(self, loop: _Loop, values: dict[str, Any]) -> None:
        """Write a loop whose inputs are known."""
        import tensorflow as tf
        from tensorflow.python.ops import while_v2

        first = [values[_full(v.enter.input[0])] for v in loop.variables]
        fixed = {f"{n.name}:0": values[_full(n.input[0])] for n in loop.fixed}
        outer = {**values, **fixed}

        def inside(state: Sequence[Any], results: list[str]) -> list[Any]:
            known = dict(outer)
            for variable, value in zip(loop.variables, state, strict=True):
                known[f"{variable.merge.name}:0"] = value
                if variable.switch is not None:
                    known[f"{variable.switch.name}:0"] = known[f"{variable.switch.name}:1"] = value
            wanted = [
                name for text in results if f"{(name := split_input(text)[0])}:0" not in known
            ]
            made = self.build(loop.path, known, wanted)
            return [_here(made[_full(text)]) for text in results]

        def condition(*state: Any) -> Any:
            return inside(state, [loop.condition])[0]

        def body(*state: Any) -> list[Any]:
            return inside(state, [variable.next.input[0] for variable in loop.variables])

        label = loop.path[-1].removesuffix("/while_context")
        invariants = _invariants(body, first)
        results = while_v2.while_loop(
            condition, body, first, shape_invariants=invariants, name=label, return_same_structure=1
        )
        for variable, result in zip(loop.variables, results, strict=True):
            for node in variable.exits:
                name = node.name if len(loop.path) == 1 else None
                values[f"{node.name}:0"] = tf.identity(result, name=name)


def _full(text: str) -> str:
    name, index = split_input(text)
    return f"{name}:{index}"


def _here(tensor: Any) -> Any:
    """Return a tensor in the current graph, where small constants stay constants."""
    import tensorflow as tf

    if tensor.graph is tf.compat.v1.get_default_graph():
        return tensor
    if tensor.op.type == "Const" and (tensor.shape.num_elements() or 0) <= 16:
        return tf.constant(tf.make_ndarray(tensor.op.get_attr("value")), tensor.dtype)
    return tf.identity(tensor)


def _invariants(body: Any, first: list[Any]) -> list[Any]:
    """Return the shapes that loop variables have in every turn."""
    import tensorflow as tf
    from tensorflow.python.framework.func_graph import FuncGraph

    shapes = [value.shape for value in first]
    while True:
        scratch = FuncGraph("turn")
        with scratch.as_default():
            state = [
                tf.compat.v1.placeholder(value.dtype, shape)
                for value, shape in zip(first, shapes, strict=True)
            ]
            after = [value.shape for value in body(*state)]
        wider = [
            one.most_specific_compatible_shape(other)
            for one, other in zip(shapes, after, strict=True)
        ]
        if [str(shape) for shape in wider] == [str(shape) for shape in shapes]:
            return shapes
        shapes = wider
