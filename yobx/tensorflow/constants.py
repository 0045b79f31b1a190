"""Values that a graph computes from constants alone, computed by TensorFlow.

A table of sines or the edges of a filter bank are parts of the model. TensorFlow's own kernels give
its own numbers, where those of another library may be a unit in the last place off: behind the
difference of two neighbours that is a different model.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yobx.tensorflow.graph_walk import called_function, function_attributes

__all__ = ["computed_constants"]

_LOG = logging.getLogger("yobx.tensorflow")

#: Larger values stay computed at run time, if what they are made of is smaller.
_MOST_ELEMENTS = 1 << 16
# These only move elements: the conversion has the same numbers.
_EXACT = frozenset(
    (
        *("BroadcastTo", "Cast", "ConcatV2", "Const", "ExpandDims", "Fill", "GatherV2", "Identity"),
        *("OnesLike", "Pack", "Range", "Reshape", "Reverse", "ReverseV2", "Slice", "Split"),
        *("SplitV", "Squeeze", "StridedSlice", "Tile", "Transpose", "Unpack", "ZerosLike"),
    )
)


def computed_constants(
    operations: Sequence[Any], results: Sequence[Any], left_alone: Collection[str] = ()
) -> dict[Any, list[NDArray[Any]]]:
    """Computes the floats that operations read and that nothing but constants goes into.

    Args:
        operations: Operations of one graph in execution order.
        results: Tensors that are needed, besides those that operations read.
        left_alone: Types of operations that are not computed here.

    Returns:
        Operation -> its outputs, for the last operation of each such computation.
    """
    import tensorflow as tf

    found = _last_of_constants(operations, results, left_alone)
    try:
        return dict(zip(found, _run(found), strict=True)) if found else {}
    except tf.errors.OpError:
        return _those_that_run(found)


def _those_that_run(operations: Sequence[Any]) -> dict[Any, list[NDArray[Any]]]:
    """The operations one by one: one that fails stays in the graph, where it may never run."""
    import tensorflow as tf

    done: dict[Any, list[NDArray[Any]]] = {}
    for op in operations:
        try:
            done.update(zip([op], _run([op]), strict=True))
        except tf.errors.OpError as error:
            _LOG.info("%s is not computed before it runs: %s", op.name, error.message)
    return done


def _last_of_constants(
    operations: Sequence[Any], results: Sequence[Any], left_alone: Collection[str]
) -> list[Any]:
    constant: dict[Any, bool] = {}  # -> whether something is rounded on the way
    for op in operations:
        before = [tensor.op for tensor in op.inputs]
        if op.type == "Const" and not op.control_inputs:
            constant[op] = False
            continue
        goes_in = bool(before) and all(other in constant for other in before)
        if goes_in and op.type not in left_alone and _is_pure(op):
            constant[op] = op.type not in _EXACT or any(constant[other] for other in before)
    read = {tensor.op for op in operations if op not in constant for tensor in op.inputs}
    read.update(tensor.op for tensor in results)
    return [op for op, rounded in constant.items() if rounded and op in read and _is_kept(op)]


def _is_pure(op: Any) -> bool:
    """Whether the outputs depend on the inputs alone."""
    plain = not op.op_def.is_stateful and not op.control_inputs
    return plain and not function_attributes(op) and called_function(op) is None


def _is_kept(op: Any) -> bool:
    counts = [tensor.shape.num_elements() for tensor in op.outputs]
    small = all(count is not None and count <= _MOST_ELEMENTS for count in counts)
    return small and all(tensor.dtype.is_floating for tensor in op.outputs)


def _run(operations: Sequence[Any]) -> list[list[NDArray[Any]]]:
    """Runs operations as they are: no rewriting, which would round at other places."""
    import tensorflow as tf

    config = tf.compat.v1.ConfigProto(device_count={"GPU": 0}, allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1  # L0: none
    with tf.compat.v1.Session(graph=operations[0].graph, config=config) as session:
        values = session.run([list(op.outputs) for op in operations])
    return [[np.asarray(value) for value in outputs] for outputs in values]
