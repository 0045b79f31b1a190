"""Converters of TensorFlow operations, one semantic subject a module."""

from __future__ import annotations

from importlib import import_module

__all__ = ["register"]

_MODULES = (
    "activations",
    "adjoints",
    "arithmetic",
    "blocks",
    "casts",
    "cells",
    "color",
    "constants",
    "control_flow",
    "conv",
    "detection",
    "distributions",
    "drawing",
    "edit_distance",
    "elementwise",
    "factorisations",
    "float_bits",
    "fractional",
    "frames",
    "gather_scatter",
    "gradients",
    "image",
    "linalg",
    "losses",
    "matmul",
    "matrix_parts",
    "normalization",
    "pad",
    "pool",
    "projective",
    "quantization",
    "quantized",
    "ragged",
    "random",
    "reduce",
    "reference_variables",
    "segment",
    "sequences",
    "sets",
    "shape_ops",
    "slicing",
    "sort",
    "sparse_parts",
    "special",
    "spectral",
    "string_format",
    "strings",
    "substrings",
    "tables",
    "tensor_list",
    "tokens",
    "xla_call_module",
)


def register() -> None:
    """Import every module of converters; importing one registers what it holds."""
    for name in _MODULES:
        import_module(f"{__name__}.{name}")
