"""Keras, TensorFlow and JAX models to ONNX."""

from __future__ import annotations
