"""JAX functions to ONNX, without TensorFlow."""

from __future__ import annotations

from yobx.jax.convert import to_onnx

__all__ = ["to_onnx"]
