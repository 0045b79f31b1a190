"""Converters of StableHLO operations, one subject a module."""

from __future__ import annotations

import importlib

__all__ = ["register"]

_MODULES = (
    "bits",
    "broadcasting",
    "calls",
    "collectives",
    "comparison",
    "complex",
    "control_flow",
    "conversion",
    "convolution",
    "custom_calls",
    "dots",
    "elementwise",
    "fused",
    "gather",
    "legacy",
    "linalg",
    "linalg_complex",
    "random",
    "reduction",
    "reshaping",
    "scatter",
    "slicing",
    "sorting",
    "spectral",
    "windows",
)


def register() -> None:
    """Import every module of converters, which registers them; a second call does nothing."""
    for module in _MODULES:
        importlib.import_module(f"{__name__}.{module}")
