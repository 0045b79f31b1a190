"""Versions of the packages a result depends on, without importing any of them."""

from __future__ import annotations

import functools
import platform
from importlib import metadata

__all__ = ["versions"]

_PACKAGES = ("yobx", "onnx", "onnxruntime", "numpy", "tensorflow", "keras", "jax", "jaxlib")


@functools.cache
def _installed() -> tuple[tuple[str, str], ...]:
    found = [("python", platform.python_version()), ("machine", platform.machine())]
    for package in _PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(found)


def versions() -> dict[str, str]:
    """Package -> version, of what is installed here."""
    return dict(_installed())
