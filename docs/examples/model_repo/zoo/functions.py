"""Functions without Keras: one of TensorFlow, one of JAX."""

from __future__ import annotations

from typing import Any

import numpy as np


def cosine_similarity() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A ``tf.function`` that compares every row of one matrix with every row of another."""
    import tensorflow as tf

    @tf.function
    def similarity(queries: Any, documents: Any) -> Any:
        queries = queries / tf.norm(queries, axis=-1, keepdims=True)
        documents = documents / tf.norm(documents, axis=-1, keepdims=True)
        return tf.matmul(queries, documents, transpose_b=True)

    rng = np.random.default_rng(41)
    example = tuple(rng.normal(size=(n, 16)).astype(np.float32) for n in (3, 5))
    return similarity, example, {"dynamic_shapes": ({0: "queries"}, {0: "documents"})}


def policy() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A JAX function: a small network that chooses among four actions."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(42)
    first = rng.normal(0.0, 0.3, (10, 32)).astype(np.float32)
    second = rng.normal(0.0, 0.3, (32, 4)).astype(np.float32)

    def act(observation: Any) -> Any:
        centred = observation - jnp.mean(observation, axis=-1, keepdims=True)
        return jax.nn.softmax(jnp.tanh(centred @ first) @ second, axis=-1)

    example = rng.normal(size=(3, 10)).astype(np.float32)
    return act, (example,), {"dynamic_shapes": ({0: "batch"},)}
