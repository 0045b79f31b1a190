"""Flax Linen: modules bound to their variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from conformance.jax_models.model import Model, numbers, tokens

__all__ = ["models"]


def models() -> Iterator[Model]:
    """Every model of this library."""
    for name, module, inputs in (
        ("mlp", MLP(), (numbers(8),)),
        ("cnn", CNN(), (numbers(16, 16, 3),)),
        ("resnet-block", ResidualBlock(), (numbers(8, 8, 6),)),
        ("lstm", nn.RNN(nn.LSTMCell(7)), (numbers(6, 5),)),
        ("transformer-encoder", Encoder(), (numbers(7, 16),)),
        ("transformer-decoder", Decoder(), (tokens(6, high=20), numbers(7, 16))),
    ):
        yield Model(f"linen/{name}", _applied(module, inputs), inputs)


def _applied(module: nn.Module, inputs: tuple[Any, ...]) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        bound: Callable[..., Any] = module.bind(module.init(jax.random.key(0), *inputs))
        return bound

    return make


class MLP(nn.Module):
    """Two layers with batch normalisation between them."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.BatchNorm(use_running_average=True)(nn.Dense(32)(x))
        return nn.Dense(4)(nn.gelu(x, approximate=False))


class CNN(nn.Module):
    """Convolutions, depthwise and transposed, with poolings."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.relu(nn.Conv(8, (3, 3), strides=2)(x))
        x = nn.swish(nn.Conv(8, (3, 3), feature_group_count=8)(x))
        x = nn.ConvTranspose(6, (2, 2), strides=(2, 2))(nn.max_pool(x, (2, 2), (2, 2)))
        return nn.softmax(nn.Dense(5)(x.mean(axis=(1, 2))))


class ResidualBlock(nn.Module):
    """Two convolutions with group normalisation around a shortcut."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        y = nn.Conv(6, (3, 3))(nn.relu(nn.GroupNorm(3)(x)))
        return x + nn.Conv(6, (3, 3))(nn.relu(nn.GroupNorm(3)(y)))


class Encoder(nn.Module):
    """A transformer block with a padding mask made from the values."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        used = x[..., 0] > -1.0
        mask = nn.make_attention_mask(used, used)
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(2)(y, mask=mask)
        return x + nn.Dense(16)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))


class Decoder(nn.Module):
    """Causal attention over tokens, then attention to an encoder's states."""

    @nn.compact
    def __call__(self, ids: jax.Array, states: jax.Array) -> jax.Array:
        x = nn.Embed(20, 16)(ids)
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(2)(y, mask=nn.make_causal_mask(ids))
        x = x + nn.MultiHeadDotProductAttention(4)(nn.LayerNorm()(x), states)
        return nn.Dense(20)(jnp.tanh(x))
