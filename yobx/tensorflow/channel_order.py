"""Inputs and outputs with their channels first, where the model has them last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yobx.errors import ArgumentError
from yobx.xbuilder import GraphBuilder

__all__ = ["channels_first_input", "channels_first_output", "check_names"]

_LOWEST_RANK = 3


def check_names(option: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    """Checks that every name of an option is one that the model has.

    Args:
        option: Name of the option.
        wanted: Its names.
        known: Names of the model's inputs or outputs.

    Raises:
        ArgumentError: If one is unknown.
    """
    for name in wanted:
        if name not in known:
            raise ArgumentError(
                f"{option} has names that the ONNX model has. Received: {name!r}, which is none "
                f"of {', '.join(map(repr, known))}.",
                argument=option,
            )


def _check_rank(option: str, name: str, rank: int | None, *, is_complex: bool) -> int:
    if is_complex or rank is None or rank < _LOWEST_RANK:
        received = "unknown rank" if rank is None else f"rank {rank}"
        received = "complex numbers" if is_complex else received
        raise ArgumentError(
            f"{option} moves the channels of a tensor with a batch, places and channels, "
            f"for example (n, h, w, c). Received: {name!r} of {received}.",
            argument=option,
            hint="Leave it out.",
        )
    return rank


def channels_first_input(
    g: GraphBuilder,
    name: str,
    kind: Any,
    shape: Sequence[int | str] | None,
    *,
    is_complex: bool = False,
) -> str:
    """Adds an input `(n, c, ...)` to the graph.

    Args:
        g: Builder.
        name: Name of the input.
        kind: Element type.
        shape: Its shape in the model, `(n, ..., c)`.
        is_complex: Whether it holds complex numbers, which is refused.

    Returns:
        The value in the model's own order.

    Raises:
        ArgumentError: If it has no channels.
    """
    known = None if shape is None else len(shape)
    rank = _check_rank("inputs_as_nchw", name, known, is_complex=is_complex)
    sizes = tuple(shape or ())
    g.make_tensor_input(name, kind, (sizes[0], sizes[-1], *sizes[1:-1]))
    return str(g.op.Transpose(name, perm=[0, *range(2, rank), 1]))


def channels_first_output(
    g: GraphBuilder, name: str, value: str, *, is_complex: bool = False
) -> str:
    """Emits a value of the model with its channels first.

    Args:
        g: Builder.
        name: Name of the output, for messages.
        value: The value `(n, ..., c)`.
        is_complex: Whether it holds complex numbers, which is refused.

    Returns:
        The value `(n, c, ...)`.

    Raises:
        ArgumentError: If it has no channels.
    """
    rank = _check_rank("outputs_as_nchw", name, g.get_rank(value), is_complex=is_complex)
    return str(g.op.Transpose(value, perm=[0, rank - 1, *range(1, rank - 1)]))
