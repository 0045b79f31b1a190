"""Every function of ``keras.ops``, as models use it at inference."""

from __future__ import annotations

import importlib

from conformance.entries import Entry

__all__ = ["MODULES", "entries"]

MODULES = ("elementwise", "arrays", "reductions", "networks", "sciences")


def entries() -> list[Entry]:
    """All entries, subject by subject."""
    modules = [importlib.import_module(f"{__name__}.{name}") for name in MODULES]
    return [entry for module in modules for entry in module.entries()]
