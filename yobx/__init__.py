"""Convert Keras, TensorFlow and JAX models to ONNX, and prove that the result is right."""

__version__ = "0.1.0"

__all__ = ["__version__"]
