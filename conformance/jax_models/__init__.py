"""JAX models of the usual libraries, as people write them."""

from __future__ import annotations

import importlib

from conformance.jax_models.model import Model, check

__all__ = ["MODULES", "check", "models"]

MODULES = ("flax_nnx", "flax_linen", "equinox_modules", "plain")


def models() -> list[Model]:
    """All models, library by library."""
    found = [importlib.import_module(f"{__name__}.{name}") for name in MODULES]
    return [model for module in found for model in module.models()]
