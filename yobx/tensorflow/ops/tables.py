"""Static hash tables: their contents are read while converting and become a ``LabelEncoder``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
from yobx.tensorflow.conversion import current_conversion
from yobx.tensorflow.graph_defs import TABLE_FILLERS, TABLES
from yobx.tensorflow.ops._loop import constant_of
from yobx.tensorflow.ops._op import out_dtype, unsupported
from yobx.tensorflow.ops._shared import shared
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ML = "ai.onnx.ml"
_KINDS = {"object": "strings", "int64": "int64s", "float32": "floats"}
_DEFAULTS = {"object": "default_string", "int64": "default_int64", "float32": "default_float"}


def _contents(op: Any, keys: str = "Tin", values: str = "Tout") -> tuple[Any, Any]:
    """Return the keys and values of the table of an op."""
    import tensorflow as tf

    handle = current_conversion().resource(op.inputs[0].name)
    if handle is None:
        unsupported(
            op,
            "the table must exist while converting",
            f"table={op.inputs[0].name}",
            "Use tf.lookup.StaticHashTable and keep it as an attribute of the model.",
        )
    exported = tf.raw_ops.LookupTableExportV2(
        table_handle=handle, Tkeys=op.get_attr(keys), Tvalues=op.get_attr(values)
    )
    return _as_text(exported[0].numpy()), _as_text(exported[1].numpy())


@register_tf_op_converter(tuple(sorted(TABLES)))
def convert_table(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A table of a graph of TensorFlow 1, with what its initializer or a SavedModel put there."""
    import tensorflow as tf

    kinds = {name: op.get_attr(name) for name in ("key_dtype", "value_dtype")}
    fillers = [c for c in op.outputs[0].consumers() if c.type in TABLE_FILLERS]
    held = None if fillers else _loaded(op, kinds)
    if held is not None:
        table = tf.raw_ops.AnonymousHashTable(**kinds)
        tf.raw_ops.LookupTableImportV2(table_handle=table, keys=held[0], values=held[1])
        current_conversion().bind_resource(op.outputs[0].name, table)
        return outputs[0]
    if len(fillers) != 1:
        unsupported(
            op,
            "a table of a graph has one operation that fills it",
            f"{op.name!r} with {[c.name for c in fillers]}",
            "Keep the table's initializer in the graph: name it among the nodes to keep when the "
            "graph is frozen.",
        )
    try:
        table = tf.raw_ops.AnonymousHashTable(**kinds)
        _fill(op, table, fillers[0])
    except tf.errors.OpError as error:
        unsupported(
            op,
            "TensorFlow has what fills a table while converting",
            f"{fillers[0].name!r}; TensorFlow says: {error.message}",
        )
    current_conversion().bind_resource(op.outputs[0].name, table)
    return outputs[0]


def _loaded(op: Any, kinds: dict[str, Any]) -> Any:
    """Return keys and values of a table that loading a SavedModel filled, else ``None``."""
    import tensorflow as tf

    keys, values = kinds["key_dtype"], kinds["value_dtype"]

    def read(table: Any) -> Any:
        return tf.raw_ops.LookupTableExportV2(table_handle=table, Tkeys=keys, Tvalues=values)

    held = shared(op, read)
    return held if held is not None and len(held[0]) else None


def _fill(op: Any, table: Any, filler: Any) -> None:
    """Run the initializer of a table on another table."""
    import tensorflow as tf

    values = [constant_of(tensor) for tensor in filler.inputs[1:]]
    if any(value is None for value in values):
        unsupported(
            op,
            "the contents of a table are constants of the graph",
            f"{[t.name for t in filler.inputs[1:]]}",
            "Freeze the graph first.",
        )
    if filler.type == "InitializeTableFromTextFileV2":
        names = ("key_index", "value_index", "vocab_size", "delimiter", "offset")
        attributes = {name: filler.get_attr(name) for name in names}
        tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=table, filename=values[0], **attributes
        )
        return
    tf.raw_ops.LookupTableImportV2(table_handle=table, keys=values[0], values=values[1])


def _as_text(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind != "O":
        return array
    texts = [v.decode() if isinstance(v, bytes) else str(v) for v in array.ravel()]
    return np.array(texts, object).reshape(array.shape)


def _encoder_dtype(array: npt.NDArray[Any]) -> np.dtype[Any]:
    """Return the dtype in which the encoder holds keys or values."""
    if array.dtype.kind == "O" or array.dtype == np.float32:
        return array.dtype
    return np.dtype(np.int64) if array.dtype.kind in "iub" else np.dtype(np.float32)


def _encode(
    g: GraphBuilder, x: str, keys: npt.NDArray[Any], values: npt.NDArray[Any], default: Any
) -> str:
    """Emit a ``LabelEncoder``; keys and values are strings, int64 or float32."""
    attributes = {
        f"keys_{_KINDS[str(keys.dtype)]}": keys.ravel().tolist(),
        f"values_{_KINDS[str(values.dtype)]}": values.ravel().tolist(),
        _DEFAULTS[str(values.dtype)]: default,
    }
    return str(g.op.LabelEncoder(x, domain=_ML, **attributes))


@register_tf_op_converter("LookupTableFindV2")
def convert_find(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The value of each key: its position is found, then the value is picked."""
    keys, values = _contents(op)
    x, default = op.inputs[1].name, op.inputs[2].name
    if not keys.size:
        shape = g.op.Shape(x)
        return str(legal(g).Expand(default, shape, outputs=outputs[:1], name=op.name))
    held = _encoder_dtype(keys)
    if held.kind != "O":
        x = cast(g, x, held)
    known = g.get_constant(default)
    kind = _encoder_dtype(values)
    direct = kind == values.dtype or values.dtype.kind in "iub"
    if known is not None and direct and np.size(known) == 1:
        fallback = np.ravel(_as_text(np.asarray(known)))[0]
        fallback = str(fallback) if kind.kind == "O" else kind.type(fallback).item()
        found = _encode(g, x, keys.astype(held), values.astype(kind), fallback)
        return cast(g, found, out_dtype(op), outputs=outputs[:1])
    positions = np.arange(keys.size, dtype=np.int64)
    place = _encode(g, x, keys.astype(held), positions, -1)
    missing = g.op.Less(place, np.array(0, np.int64))
    picked = g.op.Gather(values, g.op.Max(place, np.array(0, np.int64)), axis=0)
    return str(legal(g).Where(missing, default, picked, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("LookupTableSizeV2")
def convert_size(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Number of entries."""
    import tensorflow as tf

    handle = current_conversion().resource(op.inputs[0].name)
    if handle is None:
        unsupported(op, "the table must exist while converting", f"table={op.inputs[0].name}")
    size = int(tf.raw_ops.LookupTableSizeV2(table_handle=handle))
    return g.make_initializer(outputs[0], np.array(size, np.int64))


@register_tf_op_converter("LookupTableExportV2")
def convert_export(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """All keys and values."""
    for name, value in zip(outputs, _contents(op, "Tkeys", "Tvalues"), strict=True):
        g.make_initializer(name, value)
    return outputs[0]
