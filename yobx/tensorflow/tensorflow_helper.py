"""Between TensorFlow and its neighbours: dtypes of ONNX, functions of JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from yobx.errors import ArgumentError, TraceError, YobxError
from yobx.onnx_optim import TensorType
from yobx.onnx_optim.tensor_type import from_numpy
from yobx.tensorflow.arguments import CallArguments, InputLeaf, normalise_arguments
from yobx.tensorflow.dynamic_shapes import resolve_dynamic_shapes
from yobx.tensorflow.source import ModelSource, name_inputs

__all__ = ["jax_to_concrete_function", "onnx_type"]

#: TensorFlow dtype name -> element type, where the names differ.
_OTHER_NAMES = {
    "bool": TensorType.kBool,
    "string": TensorType.kString,
    "float16": TensorType.kFloat16,
    "float32": TensorType.kFloat,
    "float64": TensorType.kDouble,
}


def onnx_type(dtype: str) -> TensorType | None:
    """Returns the element type of a TensorFlow dtype name, or ``None``: ONNX has no such tensor.

    Args:
        dtype: For example ``"float32"``, ``"bfloat16"``, ``"string"``, ``"resource"``.
    """
    if dtype in _OTHER_NAMES:
        return _OTHER_NAMES[dtype]
    import tensorflow as tf

    tensorflow_dtype = tf.as_dtype(dtype)
    if tensorflow_dtype in (tf.resource, tf.variant) or tensorflow_dtype.is_quantized:
        return None
    try:
        return from_numpy(tensorflow_dtype.as_numpy_dtype)
    except (TypeError, YobxError):
        return None


def jax_to_concrete_function(
    jax_fn: Callable[..., Any],
    args: Any,
    *,
    input_names: Sequence[str] | None = None,
    dynamic_shapes: Any = None,
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Lowers a JAX function to a TensorFlow ``ConcreteFunction`` with ``jax2tf``.

    The computation arrives as one ``XlaCallModule`` operation that holds StableHLO. Weights that
    ``jax_fn`` closes over become constants of it.

    Args:
        jax_fn: A function of arrays, or of nested dicts, lists and tuples of arrays.
        args: Tuple of example arguments.
        input_names: One name per flattened input; by default parameter names and dict keys.
        dynamic_shapes: As in :func:`yobx.tensorflow.to_onnx`: by default axis 0 of every input is
            dynamic. The names become symbolic dimensions of JAX, which are at least 1.
        kwargs: Keyword arguments.

    Returns:
        The ``ConcreteFunction``; its inputs are the flattened arguments.

    Raises:
        ArgumentError: If an argument does not fit.
        TraceError: If JAX cannot trace the function, for example because its result depends on the
            size of a dynamic axis in a way that JAX cannot decide.
    """
    source = ModelSource(
        title=f"JAX function {getattr(jax_fn, '__name__', type(jax_fn).__name__)!r}",
        model=jax_fn,
        invoke=jax_fn,
        signature_of=jax_fn,
    )
    call = normalise_arguments(args, kwargs)
    names = name_inputs(source, call, None if input_names is None else list(input_names))
    shapes = resolve_dynamic_shapes(dynamic_shapes, call, names)
    return lower_jax(source, call, names, shapes)


def lower_jax(
    source: ModelSource,
    call: CallArguments,
    names: Sequence[str],
    shapes: Sequence[tuple[int | str, ...] | None],
) -> Any:
    """Lowers a JAX function whose arguments are known already.

    Args:
        source: The function.
        call: Its arguments.
        names: Name of each input.
        shapes: Size or name of every axis of every input.

    Returns:
        The ``ConcreteFunction``.

    Raises:
        ArgumentError: If the rank of an input is unknown.
        TraceError: If JAX cannot trace the function.
    """
    import jax
    from jax.experimental import jax2tf

    from yobx.jax.fixed_sizes import needed_numbers
    from yobx.stablehlo.markers import keep_whole
    from yobx.tensorflow.tracing import trace

    for name, shape in zip(names, shapes, strict=True):
        if shape is None:
            raise ArgumentError(
                f"JAX needs the rank of every input. Received: an unknown rank for {name!r}.",
                argument="args",
                hint="Try a shape with a name for every dynamic size.",
            )
    polymorphic = [
        "(" + ", ".join(str(size) for size in shape or ()) + ("," if shape else "") + ")"
        for shape in shapes
    ]

    call = replace(call, leaves=tuple(map(_as_jax_takes, call.leaves)))

    def flat(*leaves: Any) -> Any:
        args, kwargs = call.fill(leaves)
        return source.invoke(*args, **kwargs)

    converted = jax2tf.convert(
        keep_whole(flat), polymorphic_shapes=polymorphic, with_gradient=False
    )
    try:
        return trace(
            replace(source, invoke=converted, autograph=False),
            flat_call(call),
            names,
            shapes,
            advice="Try calling it on the same arguments inside jax.jit",
            framework="jax",
        )
    except TraceError as error:
        named = sorted({size for shape in shapes for size in shape or () if isinstance(size, str)})
        if not named:
            raise
        arrays = [(leaf.shape or (), _numpy_dtype(leaf)) for leaf in call.leaves]
        trace_on = partial(jax.eval_shape, flat)
        raise TraceError(
            error.said,
            hint=f"{error.hint} The sizes {', '.join(map(repr, named))} are symbolic: if the "
            "function needs them as numbers, pass dynamic_shapes with {} for that input.",
            **needed_numbers(trace_on, arrays, [s or () for s in shapes], error.__cause__),
        ) from error.__cause__


def _numpy_dtype(leaf: InputLeaf) -> Any:
    import tensorflow as tf

    return np.dtype(tf.as_dtype(leaf.dtype).as_numpy_dtype)


def _as_jax_takes(leaf: InputLeaf) -> InputLeaf:
    """An input of the type that JAX computes with: 32 bits unless 64-bit types are enabled."""
    import tensorflow as tf
    from jax import dtypes

    kind = tf.as_dtype(leaf.dtype)
    if not (kind.is_floating or kind.is_integer or kind.is_complex):
        return leaf
    taken = dtypes.canonicalize_dtype(kind.as_numpy_dtype)
    return replace(leaf, dtype=tf.as_dtype(taken).name)


def flat_call(call: CallArguments) -> CallArguments:
    """Returns the same tensors as separate positional arguments."""
    return CallArguments(call.leaves, {}, call.leaves)
