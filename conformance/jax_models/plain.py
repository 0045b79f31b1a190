"""Models of plain functions: a block of a diffusion network, a decoder of the size of GPT-2."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from conformance.jax_models.model import BATCH, Model, numbers, tokens

__all__ = ["models"]


def models() -> Iterator[Model]:
    """Every model of plain functions."""
    times = np.linspace(1, 900, BATCH, dtype=np.float32)
    yield Model("plain/unet-block", lambda: partial(unet, _unet()), (numbers(16, 16, 8), times))
    small = {"width": 32, "depth": 2, "heads": 4, "words": 50, "places": 16}
    yield Model("plain/gpt2-tiny", _gpt2(**small), (tokens(9, high=50),))
    whole = {"width": 768, "depth": 12, "heads": 12, "words": 50257, "places": 1024}
    yield Model("plain/gpt2", _gpt2(**whole), (tokens(8, high=50257),))


def _weights(seed: int, **shapes: tuple[int, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        name: jnp.asarray(
            rng.normal(scale=0.5 / math.prod(shape[:-1]) ** 0.5, size=shape), "float32"
        )
        for name, shape in shapes.items()
    }


def _unet() -> dict[str, Any]:
    return _weights(
        0,
        down=(3, 3, 8, 16),
        time=(32, 16),
        qkv=(16, 48),
        out=(16, 16),
        up=(3, 3, 32, 8),
    )


def unet(p: dict[str, Any], x: jax.Array, time: jax.Array) -> jax.Array:
    """Down, attention over the pixels, up again with a skip connection.

    Args:
        p: Weights.
        x: Image of shape `(batch, 16, 16, 8)`.
        time: Diffusion time, shape `(batch,)`.

    Returns:
        An image of the shape of ``x``.
    """
    conv = partial(
        jax.lax.conv_general_dilated, padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    angles = time[:, None] * jnp.exp(-jnp.arange(16) * (np.log(10000.0) / 16))
    embedded = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1) @ p["time"]
    low = jax.nn.silu(conv(x, p["down"], (2, 2)) + embedded[:, None, None])
    batch, height, width, depth = low.shape
    query, key, value = jnp.split(low.reshape(batch, height * width, depth) @ p["qkv"], 3, axis=-1)
    scores = jax.nn.softmax(query @ key.swapaxes(1, 2) / np.sqrt(depth), axis=-1)
    low = low + ((scores @ value) @ p["out"]).reshape(low.shape)
    high = jax.image.resize(low, (batch, 2 * height, 2 * width, depth), "nearest")
    skip = jnp.concatenate([high, jnp.tile(x, 2)], axis=-1)
    return x + conv(skip, p["up"], (1, 1))


def _gpt2(*, width: int, depth: int, heads: int, words: int, places: int) -> Callable[[], Any]:
    def make() -> Any:
        blocks = [
            _weights(
                1 + layer,
                qkv=(width, 3 * width),
                out=(width, width),
                up=(width, 4 * width),
                down=(4 * width, width),
            )
            for layer in range(depth)
        ]
        ends = _weights(0, words=(words, width), places=(places, width))
        return partial(decode, heads, {**ends, "blocks": blocks})

    return make


def decode(heads: int, p: dict[str, Any], ids: jax.Array) -> jax.Array:
    """A decoder as GPT-2 is built: pre-norm blocks, causal attention, tied embeddings.

    Args:
        heads: Attention heads.
        p: Weights.
        ids: Tokens, shape `(batch, steps)`.

    Returns:
        Logits of the next token, shape `(batch, steps, words)`.
    """
    batch, steps = ids.shape
    x = p["words"][ids] + p["places"][:steps]
    mask = jnp.tril(jnp.ones((steps, steps), bool))
    for block in p["blocks"]:
        parts = (_normed(x) @ block["qkv"]).reshape(batch, steps, 3, heads, -1)
        query, key, value = jnp.moveaxis(parts, 2, 0)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(query.shape[-1])
        chosen = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", chosen, value).reshape(x.shape)
        x = x + mixed @ block["out"]
        x = x + jax.nn.gelu(_normed(x) @ block["up"]) @ block["down"]
    return _normed(x) @ p["words"].T


def _normed(x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)
