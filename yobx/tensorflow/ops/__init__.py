"""Built-in converters, one family of TensorFlow ops a module.

Importing a module registers its converters; :func:`register` imports them all. None of the modules
imports TensorFlow at module level.
"""

from __future__ import annotations

__all__ = ["register"]


def register() -> None:
    """Fills the registry with every built-in converter. Calling it again changes nothing."""
