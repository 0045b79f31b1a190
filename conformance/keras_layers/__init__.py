"""Every layer of ``keras.layers`` at inference, with every argument that changes the maths."""

from __future__ import annotations

import importlib

from conformance.entries import Entry

__all__ = ["MODULES", "entries"]

MODULES = (
    "basic",
    "convolution",
    "pooling",
    "normalisation",
    "recurrent",
    "attention",
    "preprocessing",
    "images",
    "precision",
    "models",
)


def entries() -> list[Entry]:
    """All entries, subject by subject."""
    modules = [importlib.import_module(f"{__name__}.{name}") for name in MODULES]
    return [entry for module in modules for entry in module.entries()]
