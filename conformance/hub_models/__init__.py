"""Models of KerasHub, built small with random weights: what people fine-tune and deploy."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cells import Cell

__all__ = ["MODULES", "array_for", "check", "models"]

MODULES = ("text", "images")

_BATCH, _STEPS = 2, 6


def models() -> Mapping[str, Callable[[], Any]]:
    """What makes each model, by name."""
    found: dict[str, Callable[[], Any]] = {}
    for name in MODULES:
        found |= importlib.import_module(f"{__name__}.{name}").models()
    return found


def check(name: str, make: Callable[[], Any]) -> Cell:
    """Converts a model with a symbolic batch and length, and compares it with Keras.

    Args:
        name: Name of the model.
        make: Makes it.

    Returns:
        What became of it.
    """
    import keras

    from yobx.verification import check_conversion

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keras.utils.set_random_seed(1)
        model = make()
        shapes = tuple(
            {0: "batch"} | ({1: "steps"} if spec.shape[1] is None else {})
            for spec in keras.tree.flatten(model.input)
        )
        report = check_conversion(model, (_inputs(model),), dynamic_shapes=shapes, localize=False)
    return Cell.of_report(f"keras-hub/{name}", "keras-hub", report)


def _inputs(model: Any) -> Any:
    """Arrays for the inputs of a model, by what their names say."""
    given = model.input
    if not isinstance(given, dict):
        return array_for("images", given, np.random.default_rng(0))
    return {
        name: array_for(name, spec, np.random.default_rng([0, position]))
        for position, (name, spec) in enumerate(given.items())
    }


def array_for(name: str, spec: Any, rng: np.random.Generator) -> NDArray[Any]:
    """An array for one input.

    Args:
        name: Its name, such as ``token_ids``, which says what it holds.
        spec: Its shape, `None` where symbolic, and its dtype.
        rng: Where the numbers come from.

    Returns:
        The array, with a batch of 2 and 6 steps.
    """
    shape = [_BATCH, *(size or _STEPS for size in spec.shape[1:])]
    value: NDArray[Any]
    if "padding_mask" in name:
        value = np.ones(shape)
        value[0, -2:] = 0
    elif "segment" in name or "labels" in name:
        value = rng.integers(0, 2, size=shape)
    elif "token" in name:
        value = rng.integers(1, 39, size=shape)
    else:
        value = rng.normal(size=shape)
    return value.astype(str(spec.dtype))
