"""JAX functions to ONNX, without TensorFlow.

``convert.py`` has ``to_onnx`` and its order of steps: ``arguments.py`` gives leaves of a call
their names and symbolic shapes, ``parameters.py`` and ``keras_models.py`` find the weights,
``program.py`` lowers the function to a StableHLO module, which `yobx.stablehlo` converts, and
``outputs.py`` names the results. ``random_keys.py`` takes typed keys apart, ``operation_names.py``
refuses names that no converter can be for, and ``fixed_sizes.py`` says what to write where a size
has to be a number.
"""

from __future__ import annotations

from yobx.jax.convert import to_onnx

__all__ = ["to_onnx"]
