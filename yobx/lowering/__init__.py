"""Meanings that front ends share, written once in ONNX nodes.

Each module has one subject; what it needs of a front end are names of values in a ``GraphBuilder``.

* What onnxruntime runs: ``kernels`` asks the table of kernels, ``legalise`` casts around those that
  are missing, ``casts``, ``dtypes`` and ``opsets`` answer for the rest.
* Sizes and axes: ``shapes``, ``layout``, ``blocks``, ``padding``.
* One number at a time: ``integers``, ``bits``, ``rounding``, ``transcendental``, ``trigonometric``,
  ``special``; ``complex`` and ``complex_parts`` for pairs.
* Many of them: ``reduce``, ``scan``, ``gather``, ``scatter``, ``segments``, ``lists``, ``looping``.
* Images and windows: ``conv``, ``pool``, ``resample``.
* Matrices: ``einsum``, ``linalg``, ``factorise``, ``jacobi``, ``complex_matrices``.

Begin with ``legalise`` and ``integers``; README.md beside them has all modules and the rules.
"""
