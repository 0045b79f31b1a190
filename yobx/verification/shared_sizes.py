"""What is told of inputs that share a size on axis 0 because nobody named their sizes."""

from __future__ import annotations

import re
from typing import Any

import onnx

from yobx.verification import tree
from yobx.verification.options import CheckOptions
from yobx.verification.runner import input_names

__all__ = ["shared_by_default"]

_BATCH = re.compile(r"batch(_\d+)?")  # as both front ends call a size that has no name


def shared_by_default(
    framework: str, args: tuple[Any, ...], model: onnx.ModelProto, options: CheckOptions
) -> str:
    """Names inputs of a function whose first sizes are one symbol, as nothing else was asked for.

    The inputs of a Keras model have one batch by what Keras says of models.

    Args:
        framework: Whose model it is.
        args: Inputs as they were given or described.
        model: The converted model.
        options: Options of the check.

    Returns:
        The note, or ``""``.
    """
    named = any(isinstance(size, str) for _, leaf in tree.flatten(args) for size in _sizes(leaf))
    if framework not in {"tensorflow", "jax"} or options.dynamic_shapes is not None or named:
        return ""
    fed, sharing = set(input_names(model)), dict[str, list[str]]()
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name in fed and dims and _BATCH.fullmatch(dims[0].dim_param):
            sharing.setdefault(dims[0].dim_param, []).append(value.name)
    told = [f"{', '.join(names)} by {size}" for size, names in sharing.items() if len(names) > 1]
    if not told:
        return ""
    return (
        f"inputs of equal size on axis 0 share it: {'; '.join(told)}; other sizes of each are told "
        "apart by dynamic_shapes, as in ({0: 'n'}, {0: 'm'})"
    )


def _sizes(leaf: Any) -> tuple[Any, ...]:
    """Sizes of an input, symbolic ones as text; none where its rank is open."""
    shape = getattr(leaf, "shape", None)
    rank = getattr(shape, "rank", 0) if shape is not None else None
    if shape is None or rank is None:
        return ()
    return tuple(size if isinstance(size, int) or size is None else str(size) for size in shape)
