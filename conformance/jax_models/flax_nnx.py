"""Flax NNX: modules that hold their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from conformance.jax_models.model import Model, numbers, tokens

__all__ = ["models"]


def models() -> Iterator[Model]:
    """Every model of this library."""
    yield Model("nnx/mlp", _ready(MLP), (numbers(8),))
    yield Model("nnx/cnn", _ready(CNN), (numbers(16, 16, 3),))
    yield Model("nnx/resnet-block", _ready(ResidualBlock), (numbers(8, 8, 6),))
    yield Model(
        "nnx/transformer-encoder",
        _ready(Encoder),
        (numbers(7, 16),),
        ({0: "batch", 1: "steps"},),
    )
    yield Model(
        "nnx/transformer-decoder-cache",
        _ready(CachedDecoder),
        (numbers(1, 16), numbers(5, 2, 8, seed=1), numbers(5, 2, 8, seed=2)),
        ({0: "batch"}, {0: "batch", 1: "past"}, {0: "batch", 1: "past"}),
    )
    yield Model("nnx/lstm", _ready(Recurrent), (numbers(6, 5),))
    yield Model("nnx/gru", _ready(lambda rngs: Recurrent(rngs, nnx.GRUCell)), (numbers(6, 5),))
    yield Model("nnx/embedding", _ready(Embedded), (tokens(9, high=20),))


def _ready(make: Callable[[nnx.Rngs], nnx.Module]) -> Callable[[], nnx.Module]:
    def build() -> nnx.Module:
        module = make(nnx.Rngs(0))
        module.eval()
        return module

    return build


class MLP(nnx.Module):
    """Two layers with batch normalisation and dropout between them."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(8, 32, rngs=rngs)
        self.norm = nnx.BatchNorm(32, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(32, 4, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.last(self.drop(nnx.gelu(self.norm(self.first(x)))))


class CNN(nnx.Module):
    """Convolutions, both poolings and a classifier."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Conv(3, 8, (3, 3), rngs=rngs)
        self.second = nnx.Conv(8, 12, (3, 3), strides=2, padding="VALID", rngs=rngs)
        self.last = nnx.Linear(12 * 9, 5, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = nnx.avg_pool(nnx.relu(self.first(x)), (2, 2), strides=(2, 2))
        x = nnx.max_pool(nnx.silu(self.second(x)), (2, 2), padding="SAME")
        return nnx.log_softmax(self.last(x.reshape(x.shape[0], -1)))


class ResidualBlock(nnx.Module):
    """Two convolutions with group normalisation around a shortcut."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.convs = nnx.List([nnx.Conv(6, 6, (3, 3), rngs=rngs) for _ in range(2)])
        self.norms = nnx.List([nnx.GroupNorm(6, num_groups=3, rngs=rngs) for _ in range(2)])

    def __call__(self, x: jax.Array) -> jax.Array:
        y = self.convs[0](nnx.relu(self.norms[0](x)))
        return x + self.convs[1](nnx.relu(self.norms[1](y)))


class Encoder(nnx.Module):
    """A pre-norm transformer block."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.norms = nnx.List([nnx.LayerNorm(16, rngs=rngs) for _ in range(2)])
        self.attention = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
        self.up = nnx.Linear(16, 64, rngs=rngs)
        self.down = nnx.Linear(64, 16, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + self.attention(self.norms[0](x))
        return x + self.down(nnx.gelu(self.up(self.norms[1](x))))


class CachedDecoder(nnx.Module):
    """One step of decoding: keys and values of the past go in, one more of each comes out."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.norm = nnx.RMSNorm(16, rngs=rngs)
        self.qkv = nnx.LinearGeneral(16, (3, 2, 8), rngs=rngs)
        self.out = nnx.LinearGeneral((2, 8), 16, axis=(-2, -1), rngs=rngs)

    def __call__(self, x: jax.Array, keys: jax.Array, values: jax.Array) -> dict[str, Any]:
        query, key, value = jnp.moveaxis(self.qkv(self.norm(x)), 2, 0)
        keys = jnp.concatenate([keys, key], axis=1)
        values = jnp.concatenate([values, value], axis=1)
        y = nnx.dot_product_attention(query, keys, values)
        return {"x": x + self.out(y), "keys": keys, "values": values}


class Recurrent(nnx.Module):
    """A recurrent layer over the second axis and its last state."""

    def __init__(self, rngs: nnx.Rngs, cell: Any = nnx.OptimizedLSTMCell) -> None:
        self.layer = nnx.RNN(cell(5, 7, rngs=rngs), return_carry=True)

    def __call__(self, x: jax.Array) -> Any:
        return self.layer(x)


class Embedded(nnx.Module):
    """Token and position embeddings, with the token embedding as the last layer."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.words = nnx.Embed(20, 16, rngs=rngs)
        self.places = nnx.Embed(12, 16, rngs=rngs)

    def __call__(self, ids: jax.Array) -> jax.Array:
        places = jnp.asarray(self.places(jnp.arange(ids.shape[1])))
        return self.words.attend(self.words(ids) + places)
