"""Meanings that front ends share, written once in ONNX nodes."""
