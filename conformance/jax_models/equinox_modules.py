"""Equinox: modules for one example, mapped over the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax

from conformance.jax_models.model import Model, numbers

__all__ = ["models"]


def models() -> Iterator[Model]:
    """Every model of this library."""
    yield Model("equinox/mlp", _mapped(_mlp), (numbers(8),))
    yield Model("equinox/conv", _mapped(Convolutions), (numbers(3, 12, 12),))
    yield Model("equinox/attention", _mapped(Attention), (numbers(7, 16),))
    yield Model("equinox/gru", _mapped(Recurrent), (numbers(6, 5),))


def _mapped(make: Callable[[jax.Array], Any]) -> Callable[[], Callable[..., Any]]:
    return lambda: jax.vmap(make(jax.random.key(0)))


def _mlp(key: jax.Array) -> eqx.nn.MLP:
    return eqx.nn.MLP(8, 4, width_size=16, depth=2, activation=jax.nn.softplus, key=key)


class Convolutions(eqx.Module):
    """Convolution, normalisation, pooling, classifier."""

    conv: eqx.nn.Conv2d
    norm: eqx.nn.GroupNorm
    pool: eqx.nn.MaxPool2d
    last: eqx.nn.Linear

    def __init__(self, key: jax.Array) -> None:
        first, second = jax.random.split(key)
        self.conv = eqx.nn.Conv2d(3, 6, 3, stride=2, padding=1, key=first)
        self.norm = eqx.nn.GroupNorm(2, 6)
        self.pool = eqx.nn.MaxPool2d(2, 2)
        self.last = eqx.nn.Linear(6 * 9, 5, key=second)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.last(self.pool(jax.nn.relu(self.norm(self.conv(x)))).ravel())


class Attention(eqx.Module):
    """Self-attention of several heads with rotary embeddings."""

    attention: eqx.nn.MultiheadAttention
    rotary: eqx.nn.RotaryPositionalEmbedding
    norm: eqx.nn.LayerNorm

    def __init__(self, key: jax.Array) -> None:
        self.attention = eqx.nn.MultiheadAttention(2, 16, key=key)
        self.rotary = eqx.nn.RotaryPositionalEmbedding(16)
        self.norm = eqx.nn.LayerNorm(16)

    def __call__(self, x: jax.Array) -> jax.Array:
        y = self.rotary(jax.vmap(self.norm)(x))
        return x + self.attention(y, y, y)


class Recurrent(eqx.Module):
    """A recurrent cell in a scan."""

    cell: eqx.nn.GRUCell

    def __init__(self, key: jax.Array) -> None:
        self.cell = eqx.nn.GRUCell(5, 7, key=key)

    def __call__(self, x: jax.Array) -> jax.Array:
        start = jax.numpy.zeros(7)
        return jax.lax.scan(lambda state, step: (self.cell(step, state), None), start, x)[0]
