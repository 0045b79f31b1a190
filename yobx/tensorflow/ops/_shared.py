"""Resources of graphs of TensorFlow 1, which all operations of one name share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["shared"]


def shared(op: Any, read: Callable[[Any], Any]) -> Any | None:
    """What a resource holds while converting.

    TensorFlow finds a variable or a table by its shared name, also what loading a SavedModel put
    there: each that it loads has names of its own.

    Args:
        op: The operation that makes the resource.
        read: Takes what the operation makes and gives tensors of what is in it.

    Returns:
        The tensors; ``None`` where nothing is in it.
    """
    import tensorflow as tf

    make = getattr(tf.raw_ops, op.type)
    attributes = {item.name: op.get_attr(item.name) for item in op.op_def.attr}
    attributes["shared_name"] = op.get_attr("shared_name") or op.name

    def read_again() -> Any:
        return read(make(**attributes))

    function = tf.function(read_again, autograph=False).get_concrete_function()
    try:
        return function()
    except (tf.errors.AbortedError, tf.errors.FailedPreconditionError):
        return None  # nobody filled it
