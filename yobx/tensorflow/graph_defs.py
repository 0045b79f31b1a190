"""Frozen graphs of TensorFlow 1: a ``GraphDef`` with the names of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yobx.errors import ArgumentError, UnreadableModelError
from yobx.tensorflow.frames import has_frames, import_with_loops
from yobx.tensorflow.graph_walk import PLACEHOLDERS, needed_operations
from yobx.tensorflow.tensor_arrays import with_lists
from yobx.words import nearest

__all__ = [
    "GRAPH_SUFFIXES",
    "TABLES",
    "TABLE_FILLERS",
    "is_graph_def",
    "load_graph_def",
    "read_graph_def",
]

GRAPH_SUFFIXES = frozenset({".pb", ".pbtxt"})
#: Tables of a graph, and what gives them their contents before it runs.
TABLES = frozenset({"HashTableV2", "MutableHashTableV2"})
TABLE_FILLERS = frozenset(
    {"InitializeTableFromTextFileV2", "InitializeTableV2", "LookupTableImportV2"}
)
#: What no model returns although nothing uses it.
_NO_RESULTS = frozenset(
    ("Assert", "Const", "NoOp", *PLACEHOLDERS, "PlaceholderWithDefault", "SaveV2", "RestoreV2")
)


def is_graph_def(model: object) -> bool:
    """Tells whether an object is a ``GraphDef``, without importing TensorFlow."""
    return type(model).__name__ == "GraphDef" and hasattr(model, "node")


def read_graph_def(path: Path) -> Any:
    """Reads a frozen graph.

    Args:
        path: A ``.pb`` file, or a ``.pbtxt`` file.

    Returns:
        The ``GraphDef``.

    Raises:
        ArgumentError: If the file is not there.
        UnreadableModelError: If it holds something else.
    """
    import tensorflow as tf
    from google.protobuf import message, text_format

    if not path.is_file():
        raise ArgumentError(f"No such file. Received: model={str(path)!r}.", argument="model")
    graph_def = tf.compat.v1.GraphDef()
    try:
        if path.suffix == ".pbtxt":
            text_format.Parse(path.read_text(encoding="utf-8"), graph_def)
        else:
            graph_def.ParseFromString(path.read_bytes())
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise UnreadableModelError(
            f"A {path.suffix} file holds a GraphDef. Received: model={str(path)!r}, which does "
            f"not: {error}. Of a SavedModel, give the folder.",
            argument="model",
        ) from error
    if not graph_def.node:
        raise UnreadableModelError(
            f"A GraphDef has nodes. Received: model={str(path)!r}, where none can be read. Of a "
            "SavedModel, give the folder.",
            argument="model",
        )
    return graph_def


def load_graph_def(
    graph_def: Any, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
) -> Any:
    """Makes a function of a frozen graph, which ``to_onnx`` and all checks take.

    Args:
        graph_def: A ``tf.compat.v1.GraphDef``, or the path of a ``.pb`` or ``.pbtxt`` file.
        inputs: Names of the tensors that are the inputs, ``"x:0"`` or ``"x"``; these need not be
            placeholders. By default the placeholders that the outputs need.
        outputs: Names of the tensors that are the outputs; by default the results that no other
            operation uses.

    Returns:
        The ``ConcreteFunction``, with its inputs and outputs in the order given.

    Raises:
        ArgumentError: If the graph cannot be loaded, or a name is not in it.

    Examples:
        >>> function = load_graph_def("frozen.pb", ["image:0"], ["probabilities:0"])
        ... # doctest: +SKIP
    """
    import tensorflow as tf

    if isinstance(graph_def, str | Path):
        graph_def = read_graph_def(Path(graph_def))
    try:
        wrapped = tf.compat.v1.wrap_function(
            lambda: _import(_tables_first(with_lists(graph_def))), []
        )
    except (ValueError, tf.errors.OpError) as error:
        raise ArgumentError(
            f"TensorFlow loads the graph. Received: a GraphDef of {len(graph_def.node)} nodes. "
            f"TensorFlow says: {error}",
            argument="model",
        ) from error
    graph = wrapped.graph
    fetches = _outputs(graph) if outputs is None else _tensors(graph, outputs, "outputs")
    feeds = _inputs(fetches) if inputs is None else _tensors(graph, inputs, "inputs")
    try:
        return wrapped.prune(feeds, fetches)
    except ValueError as error:
        raise ArgumentError(
            "The outputs of a graph follow from its inputs. Received: inputs="
            f"{[t.name for t in feeds]}, outputs={[t.name for t in fetches]}. TensorFlow says: "
            f"{error}",
            argument="inputs",
        ) from error


def _import(graph_def: Any) -> None:
    """Adds a graph to the current one, under its names."""
    import tensorflow as tf

    if has_frames(graph_def):
        import_with_loops(graph_def)
    else:
        tf.graph_util.import_graph_def(graph_def, name="")


def _tensors(graph: Any, names: Sequence[str], argument: str) -> list[Any]:
    found = []
    for name in names:
        full = name if ":" in name else f"{name}:0"
        try:
            found.append(graph.get_tensor_by_name(full))
        except (KeyError, ValueError) as error:
            known = [tensor.name for op in graph.get_operations() for tensor in op.outputs]
            raise ArgumentError(
                f"{argument} names tensors of the graph. Received: {name!r}, which is not there; "
                f"{nearest(full, known) or 'no name is close.'}",
                argument=argument,
            ) from error
    return found


def _outputs(graph: Any) -> list[Any]:
    results = [
        tensor
        for op in graph.get_operations()
        if op.type not in _NO_RESULTS
        for tensor in op.outputs
        if not any(other.consumers() for other in op.outputs)
    ]
    if not results:
        raise ArgumentError(
            "A graph has results that no operation uses. Received: one without. Name its outputs.",
            argument="outputs",
        )
    return results


def _tables_first(graph_def: Any) -> Any:
    """The graph with its tables filled before they are read, which a session does by hand."""
    tables = {node.name for node in graph_def.node if node.op in TABLES}
    fillers: dict[str, list[str]] = {}
    for node in graph_def.node:
        if node.op in TABLE_FILLERS and node.input[0] in tables:
            fillers.setdefault(node.input[0], []).append(f"^{node.name}")
    if not fillers:
        return graph_def
    ordered = type(graph_def)()
    ordered.CopyFrom(graph_def)
    for node in ordered.node:
        if node.input and node.op not in TABLE_FILLERS:
            node.input.extend(fillers.get(node.input[0], ()))
    return ordered


def _inputs(fetches: Sequence[Any]) -> list[Any]:
    """The placeholders that tensors depend on, in the order of the graph."""
    return [op.outputs[0] for op in needed_operations(fetches) if op.type in PLACEHOLDERS]
