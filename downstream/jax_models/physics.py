"""Functions of JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(5)


def _energy(position: Any, velocity: Any) -> Any:
    return 0.5 * jnp.sum(velocity**2, axis=-1) + jnp.log1p(jnp.sum(position**2, axis=-1))


def energy() -> tuple[Any, tuple[np.ndarray, ...], dict[str, Any]]:
    """Energy of particles; their number is dynamic."""
    arrays = tuple(RNG.standard_normal((4, 3)).astype(np.float32) for _ in range(2))
    return _energy, arrays, {"dynamic_shapes": ({0: "N"}, {0: "N"})}


def _attention(x: Any) -> Any:
    scores = jnp.einsum("btd,bsd->bts", x, x) / np.float32(np.sqrt(x.shape[-1]))
    return jnp.einsum("bts,bsd->btd", jax.nn.softmax(scores, axis=-1), x)


def attention() -> tuple[Any, tuple[np.ndarray], dict[str, Any]]:
    """Self-attention without weights; batch and length are dynamic."""
    x = RNG.standard_normal((2, 5, 4)).astype(np.float32)
    return _attention, (x,), {"dynamic_shapes": ({0: "B", 1: "T"},)}
