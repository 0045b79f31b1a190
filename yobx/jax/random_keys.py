"""Typed random keys, whose data an ONNX model takes: an array of uint32 with one axis more."""

from __future__ import annotations

from typing import Any

__all__ = ["as_data", "as_key", "is_key"]


def is_key(value: Any) -> bool:
    """Whether a value is an array of typed random keys, or describes one."""
    from jax import dtypes

    dtype = getattr(value, "dtype", None)
    return dtype is not None and bool(dtypes.issubdtype(dtype, dtypes.prng_key))


def as_data(key: Any) -> tuple[Any, Any]:
    """The data of keys, or their description for a description, and what generates bits of them."""
    import jax

    found: list[Any] = []

    def read(keys: Any) -> Any:
        found.append(jax.random.key_impl(keys))
        return jax.random.key_data(keys)

    data = read(key) if isinstance(key, jax.Array) else jax.eval_shape(read, key)
    return data, found[0]


def as_key(data: Any, implementation: Any) -> Any:
    """Keys of what `as_data` gave."""
    import jax

    def wrapped(array: Any) -> Any:
        return jax.random.wrap_key_data(array, impl=implementation)

    if isinstance(data, jax.ShapeDtypeStruct):
        return jax.eval_shape(wrapped, data)
    return wrapped(data)
