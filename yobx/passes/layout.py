"""Decides which nodes work on transposed values, so that as few Transposes as possible remain.

A network written channels-last has a Transpose before and after every convolution. Each node that
can work on either form gets one of two labels; every value whose producer and users disagree costs
one Transpose. The cheapest labelling is a minimum cut.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, constant, graphs_of, known_dims, rank_of
from yobx.passes.layout_rules import Flip, Permutation, keeps_order, plan_flip
from yobx.passes.minimum_cut import FlowNetwork

__all__ = ["optimize_layout"]

_TRANSPOSE_COST = 1_000_000
_RESHAPE_COST = 10_000
_FOLDABLE = frozenset(("Mul", "Add", "Sub", "Div", "Relu", "Clip"))
_KERNELS = frozenset(("Conv", "ConvTranspose"))
_PADDING = frozenset(("Conv", "MaxPool"))
_LOWEST_OPSET = 13


def optimize_layout(model: ir.Model) -> None:
    """Moves Transposes together until they cancel, wherever that leaves fewer of them.

    Args:
        model: Model, changed in place.
    """
    if model.opset_imports.get("", 0) < _LOWEST_OPSET:
        return  # older operators have other parameters than the rules know
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for perm in _permutations(graph):
            editor = editor or GraphEditor(model)
            _Relayout(editor, graph, perm).run()


def transpose_perm(node: ir.Node | None) -> Permutation | None:
    """Returns the permutation of a Transpose, ``None`` for another node.

    Args:
        node: Node or nothing.
    """
    if node is None or node.op_type != "Transpose" or node.domain not in ("", "ai.onnx"):
        return None
    attribute = node.attributes.get("perm")
    if attribute is not None:
        return tuple(attribute.as_ints())
    rank = rank_of(node.inputs[0])
    return None if rank is None else tuple(range(rank))[::-1]


def inverse(perm: Permutation) -> Permutation:
    """Returns the permutation that undoes another.

    Args:
        perm: Permutation.
    """
    return tuple(perm.index(axis) for axis in range(len(perm)))


def _permutations(graph: ir.Graph) -> list[Permutation]:
    """Permutations of the graph, each with its inverse; the one to channels-first comes first."""
    found = {perm for node in graph if (perm := transpose_perm(node)) is not None}
    found |= {inverse(perm) for perm in found}
    identity_free = [perm for perm in found if perm != tuple(range(len(perm)))]
    return sorted(identity_free, key=lambda p: (p[1:2] != (len(p) - 1,), p))


def _kernel_before(value: ir.Value | None) -> bool:
    """Whether a value is the result of a convolution, perhaps without its axes of size 1."""
    node = None if value is None else value.producer()
    if node is not None and node.op_type == "Squeeze" and node.inputs[0] is not None:
        node = node.inputs[0].producer()
    return node is not None and node.op_type in _KERNELS


def _is_padding(node: ir.Node) -> bool:
    """Whether a node can pad by itself, or only adds axes for convolutions that can."""
    if node.op_type == "Unsqueeze":
        return all(user.op_type == "Conv" for user, _ in node.outputs[0].uses())
    return node.op_type in _PADDING


class _Relayout:
    """One graph, one permutation."""

    def __init__(self, editor: GraphEditor, graph: ir.Graph, perm: Permutation) -> None:
        self.editor = editor
        self.graph = graph
        self.perm = perm
        self.inverse = inverse(perm)
        self.plans: dict[ir.Node, Flip] = {}
        self.numbers: dict[ir.Node, int] = {}
        self.flipped_values: set[ir.Value] = set()
        self.made: dict[ir.Value, ir.Value] = {}
        self.opaque: set[ir.Node] = set()

    def run(self) -> None:
        flipped = self._choose()
        for node in list(self.graph):
            if node in flipped:
                self._flip(node, flipped)
        for node in list(self.graph):
            output = node.outputs[0] if transpose_perm(node) is not None else None
            if output is not None and not output.uses() and not output.is_graph_output():
                self.graph.remove(node, safe=True)

    # -- choosing

    def _choose(self) -> set[ir.Node]:
        network = FlowNetwork()
        forward: set[ir.Value] = set()
        values: dict[ir.Value, None] = {}
        for node in self.graph:
            if transpose_perm(node) == self.inverse and _kernel_before(node.inputs[0]):
                forward.add(node.outputs[0])
            plan = plan_flip(node, self.perm)
            if plan is None:
                continue
            self.plans[node] = plan
            self.numbers[node] = network.add_node()
            values.update(dict.fromkeys(v for v in self._pinned(node, plan)))
            if plan.outputs:
                values.update(dict.fromkeys(node.outputs))
            # Among equally cheap answers, keep what can be folded into a convolution beside it.
            if node.op_type in _FOLDABLE and self._continues(node, plan, forward):
                network.add_edge(FlowNetwork.SOURCE, self.numbers[node], 1)
                forward.update(node.outputs)
            elif node.op_type == "Pad" and self._before_kernel(node):
                network.add_edge(FlowNetwork.SOURCE, self.numbers[node], 1)
        self._find_opaque()
        for value in values:
            members = sorted(set(self._members(value)))
            if len(members) > 1 and members != [FlowNetwork.SOURCE, FlowNetwork.SINK]:
                network.add_group(members, self._cost(value))
        chosen = network.source_side()
        return {node for node, number in self.numbers.items() if number in chosen}

    def _find_opaque(self) -> None:
        """Transposes that undo themselves, between two nodes that could both be flipped.

        Such a Transpose would disappear if just one of them was, which a cut cannot express; it
        is taken for an ordinary node.
        """
        if self.perm != self.inverse:
            return
        for node in self.graph:
            if transpose_perm(node) == self.perm and node.inputs[0] is not None:
                users = (user for user, _ in node.outputs[0].uses())
                if node.inputs[0].producer() in self.plans and any(u in self.plans for u in users):
                    self.opaque.add(node)

    def _undoes(self, node: ir.Node | None) -> bool:
        """Whether a node is a Transpose back from the flipped form."""
        return node not in self.opaque and transpose_perm(node) == self.inverse

    def _flips(self, node: ir.Node) -> bool:
        """Whether a node is a Transpose to the flipped form."""
        return node not in self.opaque and transpose_perm(node) == self.perm

    def _pinned(self, node: ir.Node, plan: Flip) -> Iterator[ir.Value]:
        for index in plan.inputs:
            value = node.inputs[index]
            if value is not None and rank_of(value) != 0 and constant(value) is None:
                yield value

    def _continues(self, node: ir.Node, plan: Flip, forward: set[ir.Value]) -> bool:
        pinned = list(self._pinned(node, plan))
        return len(pinned) == 1 and pinned[0] in forward

    def _before_kernel(self, node: ir.Node) -> bool:
        """Whether every user is a Transpose in front of an operator that pads by itself."""
        return all(
            transpose_perm(user) == self.perm
            and all(_is_padding(kernel) for kernel, _ in user.outputs[0].uses())
            for user, _ in node.outputs[0].uses()
        )

    def _members(self, value: ir.Value) -> Iterator[int]:
        producer = value.producer()
        if self._undoes(producer):
            yield FlowNetwork.SOURCE
        elif (
            producer in self.plans and producer.graph is self.graph and self.plans[producer].outputs
        ):
            yield self.numbers[producer]
        else:
            yield FlowNetwork.SINK
        if value.is_graph_output():
            yield FlowNetwork.SINK
        for user, index in value.uses():
            if user.graph is not self.graph:
                yield FlowNetwork.SINK
            elif user in self.plans and index in self.plans[user].inputs:
                yield self.numbers[user]
            elif self._flips(user):
                yield FlowNetwork.SOURCE
            elif user.op_type != "Shape":
                yield FlowNetwork.SINK

    def _cost(self, value: ir.Value) -> int:
        dims = self._padded_dims(value)
        return _RESHAPE_COST if dims and keeps_order(dims, self.perm) else _TRANSPOSE_COST

    def _padded_dims(self, value: ir.Value) -> tuple[int | str | None, ...]:
        dims = known_dims(value) or ()
        return (1,) * (len(self.perm) - len(dims)) + dims

    # -- rewriting

    def _flip(self, node: ir.Node, flipped: set[ir.Node]) -> None:
        plan = self.plans[node]
        for index in plan.inputs:
            value = node.inputs[index]
            if value is not None and rank_of(value) != 0:
                node.replace_input_with(index, self._flipped(value, node))
        for edit in plan.edits:
            edit(self.editor, node)
        if plan.outputs:
            for output in node.outputs:
                self._flip_output(node, output, flipped)

    def _flipped(self, value: ir.Value, user: ir.Node) -> ir.Value:
        if value in self.flipped_values:
            return value
        array = constant(value)
        if array is not None:
            padded = array.reshape((1,) * (len(self.perm) - array.ndim) + array.shape)
            if array.size == 1:
                return value if array.ndim == 0 else self.editor.add_constant(padded)
            return self.editor.add_constant(np.transpose(padded, self.perm), value.name or "cst")
        producer = value.producer()
        if producer is not None and self._undoes(producer):
            source = producer.inputs[0]
            if source is not None:
                return source
        if value not in self.made:
            moved = self.made[value] = self._moved(value, self.perm, user)
            for other, _ in list(value.uses()):
                # A Transpose that was there before may stand too late to be read here.
                same = other.graph is self.graph and self._flips(other)
                if same and other is not moved.producer():
                    self.editor.replace(other.outputs[0], moved)
        return self.made[value]

    def _moved(self, value: ir.Value, perm: Permutation, like: ir.Node) -> ir.Value:
        """Inserts the Transpose of a value, or the reshape that does the same."""
        dims = self._padded_dims(value)
        node: ir.Node
        if keeps_order(dims, perm):
            return self._reshaped(value, dims, perm, like)
        shape = [dims[axis] for axis in perm]
        source = value
        if rank_of(value) != len(perm):
            source = self._reshaped(value, dims, tuple(range(len(perm))), like)
        node = self.editor.make_node(
            "Transpose",
            [source],
            {"perm": list(perm)},
            like=like,
            hint=f"{value.name}/moved",
            dtype=value.dtype,
            shape=shape,
        )
        self.editor.insert_after(source, node, self.graph)
        return node.outputs[0]

    def _reshaped(
        self,
        value: ir.Value,
        dims: tuple[int | str | None, ...],
        perm: Permutation,
        like: ir.Node,
    ) -> ir.Value:
        """Squeezes the axes of size 1 away and puts them where they belong."""
        rank = rank_of(value) or 0
        offset = len(dims) - rank
        squeezed = [axis for axis in range(rank) if dims[axis + offset] == 1]
        kept = [dims[axis + offset] for axis in range(rank) if axis not in squeezed]
        current = value
        if squeezed:
            axes = self.editor.add_constant(np.array(squeezed, dtype=np.int64))
            node = self.editor.make_node(
                "Squeeze", [current, axes], like=like, dtype=value.dtype, shape=kept
            )
            self.editor.insert_after(current, node, self.graph)
            current = node.outputs[0]
        opened = [place for place, axis in enumerate(perm) if dims[axis] == 1]
        if opened:
            axes = self.editor.add_constant(np.array(opened, dtype=np.int64))
            node = self.editor.make_node(
                "Unsqueeze",
                [current, axes],
                like=like,
                hint=f"{value.name}/moved",
                dtype=value.dtype,
                shape=[dims[axis] for axis in perm],
            )
            self.editor.insert_after(current, node, self.graph)
            current = node.outputs[0]
        return current

    def _flip_output(self, node: ir.Node, output: ir.Value, flipped: set[ir.Node]) -> None:
        dims = known_dims(output)
        if dims is not None and len(dims) == len(self.perm):
            output.shape = ir.Shape([dims[axis] for axis in self.perm])
        self.flipped_values.add(output)
        back: ir.Value | None = None
        uses = list(output.uses())
        if output.is_graph_output():
            back = self._moved(output, self.inverse, node)
            self._hand_over_output(output, back)
        for user, index in uses:
            if user.graph is self.graph:
                if user in flipped and index in self.plans[user].inputs:
                    continue
                if self._flips(user):
                    # Not the same value to this pass: its own flipped form is another one.
                    user.op_type = "Identity"
                    user.attributes.clear()
                    continue
                if user.op_type == "Shape":
                    self._fix_shape(user)
                    continue
            if back is None:
                back = self._moved(output, self.inverse, node)
            user.replace_input_with(index, back)

    def _hand_over_output(self, output: ir.Value, back: ir.Value) -> None:
        name = output.name
        output.name = self.editor.unique_name(f"{name}/flipped")
        back.name = name
        for index, value in enumerate(self.graph.outputs):
            if value is output:
                self.graph.outputs[index] = back

    def _fix_shape(self, node: ir.Node) -> None:
        """The Shape of the flipped value, put back in the old order."""
        start, end = (
            attribute.as_int() if (attribute := node.attributes.get(key)) is not None else default
            for key, default in (("start", 0), ("end", len(self.perm)))
        )
        order = self.inverse[slice(start, end)]
        whole = self.editor.make_node(
            "Shape",
            [node.inputs[0]],
            like=node,
            hint=f"{node.outputs[0].name}/flipped",
            dtype=ir.DataType.INT64,
            shape=[len(self.perm)],
        )
        indices = self.editor.add_constant(np.array(order, dtype=np.int64))
        gather = self.editor.make_node(
            "Gather",
            [whole.outputs[0], indices],
            {"axis": 0},
            like=node,
            hint=f"{node.outputs[0].name}/ordered",
            dtype=ir.DataType.INT64,
            shape=[len(order)],
        )
        self.graph.insert_before(node, [whole, gather])
        if not self.editor.replace(node.outputs[0], gather.outputs[0]):
            node.op_type = "Identity"
            node.attributes.clear()
            node.replace_input_with(0, gather.outputs[0])
