"""One JAX model with its inputs, and its check under a symbolic batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cells import Cell

__all__ = ["Model", "check", "numbers", "tokens"]

BATCH = 3


@dataclass(frozen=True)
class Model:
    """A model and how it is called.

    Attributes:
        name: Library and architecture, for example ``nnx/mlp``.
        make: Makes the callable; its parameters come from fixed seeds.
        inputs: Arguments of the call, arrays of shape `(batch, ...)`.
        shapes: Dynamic axes of each flattened input; by default axis 0 of every one, as ``batch``.
    """

    name: str
    make: Callable[[], Callable[..., Any]]
    inputs: tuple[NDArray[Any], ...]
    shapes: tuple[Mapping[int, str], ...] = ()


def numbers(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    """Float32 numbers around zero, of shape `(batch, *shape)`."""
    rng = np.random.default_rng([seed, *shape])
    return rng.normal(size=(BATCH, *shape)).astype(np.float32)


def tokens(*shape: int, high: int, seed: int = 0) -> NDArray[np.int32]:
    """Integers from 0 up to, but without, `high`, of shape `(batch, *shape)`."""
    return np.random.default_rng([seed, *shape]).integers(high, size=(BATCH, *shape), dtype="int32")


def check(model: Model) -> Cell:
    """Converts a model with a symbolic batch and compares it with JAX at several sizes.

    Args:
        model: The model.

    Returns:
        What became of it.
    """
    from yobx.verification import check_conversion

    shapes = model.shapes or tuple({0: "batch"} for _ in model.inputs)
    report = check_conversion(model.make(), model.inputs, dynamic_shapes=shapes, localize=False)
    return Cell.of_report(f"jax-models/{model.name}", "jax-models", report)
