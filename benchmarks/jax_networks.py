"""The JAX functions that are converted, the same in every process: fixed seeds, plain functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

NAMES = ("transformer", "scan_rnn")

_WIDTH, _HEADS, _LAYERS, _STEPS = 256, 8, 4, 64


def build(name: str) -> tuple[Callable[..., Any], np.ndarray[Any, Any]]:
    """Build a network and one batch of its input.

    Args:
        name: One of ``NAMES``.

    Returns:
        The function, and a float32 array of shape `(batch, steps, width)`.
    """
    x = np.random.default_rng(1).normal(size=(2, _STEPS, _WIDTH)).astype(np.float32)
    if name == "transformer":
        return partial(_transformer, [_weights(layer) for layer in range(_LAYERS)]), x
    if name == "scan_rnn":
        return partial(_recurrent, _weights(0)), x
    raise ValueError(f"unknown network {name!r}; one of {', '.join(NAMES)}")


def _weights(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {
        "query": (_WIDTH, _WIDTH),
        "key": (_WIDTH, _WIDTH),
        "value": (_WIDTH, _WIDTH),
        "out": (_WIDTH, _WIDTH),
        "up": (_WIDTH, 4 * _WIDTH),
        "down": (4 * _WIDTH, _WIDTH),
    }
    return {
        name: jnp.asarray(rng.normal(scale=shape[0] ** -0.5, size=shape), jnp.float32)
        for name, shape in shapes.items()
    }


def _normed(x: Any) -> Any:
    return jax.nn.standardize(x, axis=-1, epsilon=1e-5)


def _transformer(layers: list[dict[str, Any]], x: Any) -> Any:
    def heads(values: Any) -> Any:
        return values.reshape(-1, _STEPS, _HEADS, _WIDTH // _HEADS).transpose(0, 2, 1, 3)

    for p in layers:
        y = _normed(x)
        query, key, value = (heads(y @ p[name]) for name in ("query", "key", "value"))
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(_WIDTH // _HEADS))
        mixed = jax.nn.softmax(scores, axis=-1) @ value
        x = x + mixed.transpose(0, 2, 1, 3).reshape(-1, _STEPS, _WIDTH) @ p["out"]
        x = x + jax.nn.gelu(_normed(x) @ p["up"]) @ p["down"]
    return x


def _recurrent(p: dict[str, Any], x: Any) -> Any:
    def step(state: Any, row: Any) -> tuple[Any, Any]:
        state = jnp.tanh(row @ p["query"] + state @ p["key"])
        return state, state

    start = jnp.zeros_like(x[:, 0])
    _, states = jax.lax.scan(step, start, x.transpose(1, 0, 2))
    return states.transpose(1, 0, 2)
