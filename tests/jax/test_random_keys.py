"""Typed random keys among arguments and results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from yobx.jax.random_keys import as_data, as_key, is_key
from yobx.verification import check_conversion

X = jnp.asarray(np.random.default_rng(0).standard_normal((5, 3)), jnp.float32)


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_data_and_back(implementation: str) -> None:
    key = jax.random.key(3, impl=implementation)
    assert is_key(key)
    assert not is_key(X)
    data, how = as_data(key)
    assert (jax.random.key_data(as_key(data, how)) == data).all()
    described, how = as_data(jax.ShapeDtypeStruct((4,), key.dtype))
    assert described.shape == (4, data.shape[0])
    assert as_key(described, how).shape == (4,)


def test_keys_as_arguments() -> None:
    def noisy(inputs: dict[str, jax.Array], *, keys: tuple[jax.Array, ...]) -> jax.Array:
        return inputs["x"] + jax.random.uniform(keys[0], (3,)) * jax.random.uniform(keys[1])

    keys = (jax.random.key(0), jax.random.key(1))
    check_conversion(noisy, ({"x": X},), kwargs={"keys": keys}).raise_if_failed()


def test_a_batch_of_keys() -> None:
    keys = jax.random.split(jax.random.key(0), 5)
    function = jax.vmap(lambda key, x: x * jax.random.uniform(key))
    check_conversion(function, (keys, X)).raise_if_failed()


def test_keys_as_results() -> None:
    def step(key: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        key, own = jax.random.split(key)
        return key, x + jax.random.uniform(own, (3,))

    check_conversion(step, (jax.random.key(7), X)).raise_if_failed()
