"""``to_onnx``: from a model of any kind to a checked ONNX model."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx_ir

from yobx.errors import ArgumentError, ConversionError, TraceError
from yobx.lowering.complex import to_pairs
from yobx.lowering.opsets import DEFAULT_OPSET
from yobx.tensorflow.arguments import CallArguments
from yobx.tensorflow.call_check import check_open_axes, check_parameters, prepare_call
from yobx.tensorflow.captures import captures_of
from yobx.tensorflow.channel_order import (
    channels_first_input,
    channels_first_output,
    check_names,
)
from yobx.tensorflow.conversion import Conversion
from yobx.tensorflow.dynamic_shapes import resolve_dynamic_shapes
from yobx.tensorflow.function_body import convert_operations
from yobx.tensorflow.graph_walk import PLACEHOLDERS, needed_operations
from yobx.tensorflow.layers import LayerIndex
from yobx.tensorflow.model_kinds import open_model, uses_jax, uses_tensorflow
from yobx.tensorflow.options import ConvertOptions
from yobx.tensorflow.outputs import name_outputs
from yobx.tensorflow.prescan import check_convertible
from yobx.tensorflow.source import ModelSource, name_inputs
from yobx.tensorflow.structure import describe, flatten_with_path, rebuild
from yobx.tensorflow.tensorflow_helper import lower_jax, onnx_type
from yobx.tensorflow.tracing import refuses_tensorflow_tensors, trace
from yobx.xbuilder import GraphBuilder
from yobx.xbuilder.progress import Progress

__all__ = ["to_onnx"]

Shape = tuple[int | str, ...] | None


def to_onnx(
    model: Any,
    args: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    dynamic_shapes: Any = None,
    target_opset: int | Mapping[str, int] = DEFAULT_OPSET,
    extra_converters: Mapping[str, Callable[..., Any]] | None = None,
    verbose: int = 0,
    filename: str | Path | None = None,
    signature: str | None = None,
    tag: str | Sequence[str] | None = None,
    allow_unsafe: bool = False,
    passes: Sequence[Callable[[Any], Any]] | None = None,
    inputs_as_nchw: Sequence[str] | None = None,
    outputs_as_nchw: Sequence[str] | None = None,
) -> onnx.ModelProto:
    """Converts a Keras, TensorFlow or JAX model to ONNX.

    The model is traced once, at inference (``training=False`` for Keras), and left as it was.

    Args:
        model: A Keras model or layer, a ``tf.function``, a ``ConcreteFunction``, a ``tf.Module``
            with ``__call__``, a SavedModel (folder or loaded), a ``.keras`` or ``.h5`` file, a
            frozen graph (``GraphDef`` or ``.pb`` file, see :func:`load_graph_def` for its inputs
            and outputs), a function of TensorFlow tensors, or a JAX function.
        args: Tuple of example arguments: numpy arrays, ``tf.TensorSpec``, tensors, or
            ``onnx.ValueInfoProto``, also nested in dicts, lists and tuples. ``None`` takes what
            the model itself declares (Functional and Sequential Keras models, signatures).
        kwargs: Keyword arguments of the model, for example ``{"mask": mask}``.
        input_names: One name per flattened input; by default the model's own names: Keras input
            names, dict keys, parameter names.
        dynamic_shapes: Which axes are dynamic: a tuple with one dict axis -> name per flattened
            input, a dict by input name, or nested like the arguments. ``{}`` is static. By
            default axis 0 of every input is dynamic, and inputs of the same size there share a
            name; see :mod:`yobx.tensorflow.dynamic_shapes`.
        target_opset: Opset of the standard domain, from 18, or versions by domain.
        extra_converters: Op type -> converter ``(g, sts, outputs, op[, verbose])``; they come
            before the registry.
        verbose: 1 shows progress and stage times.
        filename: Also write the model there; weights over 2 GB go to a file beside it. Nothing is
            written when the conversion fails.
        signature: Signature of a SavedModel, by default ``serving_default`` or the only one.
        tag: Tag of a SavedModel.
        allow_unsafe: Let a Keras archive run code it contains. Only for files you trust.
        passes: Graph passes on an ``onnx_ir.Model``; by default those of :mod:`yobx.passes`.
        inputs_as_nchw: Names of inputs `(n, h, w, c)` of the model that the ONNX model takes as
            `(n, c, h, w)`; with one or three axes of places in the same way. ``args`` and
            ``dynamic_shapes`` remain in the order of the model.
        outputs_as_nchw: Names of outputs that the ONNX model gives with their channels first.

    Returns:
        The model. Its ``metadata_props`` hold the structure of inputs and outputs.

    Raises:
        ArgumentError: If an argument is wrong; the message says which and what is accepted.
        TraceError: If the model raises while it is traced.
        UnsupportedOpError: If operations have no converter; all are listed.
        ConversionError: If the model has no ONNX form, for example because it writes variables.

    Examples:
        >>> import numpy as np
        >>> def double(x):
        ...     return x * 2.0
        >>> onx = to_onnx(double, (np.ones((5, 4), np.float32),))  # doctest: +SKIP
    """
    options = ConvertOptions(
        input_names=input_names,  # type: ignore[arg-type]
        dynamic_shapes=dynamic_shapes,
        target_opset=target_opset,  # type: ignore[arg-type]
        extra_converters=extra_converters,  # type: ignore[arg-type]
        verbose=verbose,
        filename=filename,  # type: ignore[arg-type]
        passes=passes,  # type: ignore[arg-type]
        inputs_as_nchw=inputs_as_nchw,  # type: ignore[arg-type]
        outputs_as_nchw=outputs_as_nchw,  # type: ignore[arg-type]
    )
    if not isinstance(model, str | Path) or Path(model).exists():
        _check_eager()  # a file that is not there is refused without loading TensorFlow
    progress = Progress(options.verbose)
    with progress.stage("opening the model"):
        source = open_model(model, signature=signature, tag=tag, allow_unsafe=allow_unsafe)
    with _collection_paused():
        with progress.stage("tracing"):
            traced = _trace(source, args, kwargs, options)
        return _convert_concrete_function(traced, options, progress)


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Keeps the cycle collector from walking over the whole model while nodes are made.

    A conversion makes many small objects and hardly any cycles; with a framework and a model in
    memory one full collection takes as long as half the conversion.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _check_eager() -> None:
    try:
        import tensorflow as tf
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise ModuleNotFoundError(
            "yobx.tensorflow needs TensorFlow. A JAX function is converted by yobx.jax.to_onnx "
            'without it; otherwise, in a clone of yobx: pip install ".[tensorflow]"',
            name="tensorflow",
        ) from error
    if not tf.executing_eagerly():
        raise ConversionError(
            "A model is converted outside of any graph, because its weights are read. Received: a "
            "call inside tf.function or tf.Graph().as_default().",
            hint="Call to_onnx from plain Python.",
        )


@dataclass(frozen=True)
class _Traced:
    """A traced model, and what is known of its inputs.

    Attributes:
        source: The model.
        call: Its arguments.
        function: The ``ConcreteFunction``.
        names: Name of each input.
        shapes: Size or name of every axis of every input.
    """

    source: ModelSource
    call: CallArguments
    function: Any
    names: tuple[str, ...]
    shapes: tuple[Shape, ...]


def _trace(
    source: ModelSource, args: Any, kwargs: Mapping[str, Any] | None, options: ConvertOptions
) -> _Traced:
    call = prepare_call(source, args, kwargs)
    names = name_inputs(source, call, options.input_names)
    shapes = resolve_dynamic_shapes(options.dynamic_shapes, call, names)
    check_open_axes(source, call, shapes, names)
    _check_ranks(shapes, names)
    try:
        function = trace(source, call, names, shapes)
    except TraceError as error:
        check_parameters(source, call, error)
        is_jax = refuses_tensorflow_tensors(error)
        if not is_jax and not uses_jax(source.model):
            raise
        try:
            function = lower_jax(source, call, names, shapes)
        except TraceError as second:
            # What TensorFlow said first tells nothing of a function that refers to JAX alone.
            of_jax = is_jax or not uses_tensorflow(source.model)
            raise (second if of_jax else error) from None
    return _Traced(source, call, function, names, shapes)


def _check_ranks(shapes: Sequence[Shape], names: Sequence[str]) -> None:
    for shape, name in zip(shapes, names, strict=True):
        if shape is None:
            raise ArgumentError(
                f"An ONNX model states the rank of its inputs. Received: {name!r} of unknown rank.",
                argument="args",
                hint="Pass an array, or tf.TensorSpec((None, None)) with one entry per axis.",
            )


def _convert_concrete_function(
    traced: _Traced, options: ConvertOptions, progress: Progress
) -> onnx.ModelProto:
    """Walks the operations of a traced function and writes the ONNX model.

    Args:
        traced: The function and its inputs.
        options: What was asked for.
        progress: Where progress is reported.

    Returns:
        The checked model.
    """
    from yobx.tensorflow.ops import register

    register()
    function = traced.function
    layers = LayerIndex(traced.source.layers)
    with progress.stage("looking for unsupported operations"):
        check_convertible(function, options.extra_converters, layers)
    g = GraphBuilder(dict(options.target_opset), name="main")
    conversion = Conversion(
        extra_converters=options.extra_converters,
        layers=layers,
        verbose=options.verbose,
        on_op=progress.advance,
    )
    operations = needed_operations(function.outputs)
    output_names, results = name_outputs(traced.source, function, traced.names)
    check_names("inputs_as_nchw", options.inputs_as_nchw, traced.names)
    check_names("outputs_as_nchw", options.outputs_as_nchw, output_names)
    for name in output_names:
        g.unique_name(name)  # so that no other value gets it
    _declare_inputs(g, traced, options.inputs_as_nchw)
    with conversion.active(), conversion.inside(function.graph, "", {}):
        taken = {*traced.names, *output_names}
        _declare_captures(g, traced, set(operations), conversion, taken)
        total = sum(op.type not in PLACEHOLDERS | {"NoOp"} for op in operations)
        with progress.stage("converting"), progress.operations(total):
            convert_operations(g, function.outputs, conversion, local=False)
    conversion.refuse_unknown()
    for name, tensor in zip(output_names, function.outputs, strict=True):
        _declare_output(g, name, tensor, channels_first=name in options.outputs_as_nchw)
    structure = {
        "yobx.inputs": describe(_input_structure(traced)),
        "yobx.outputs": describe(results),
    }
    with progress.stage("finishing and checking"):
        try:
            return g.to_onnx(
                passes=[*_passes(options), lambda model: _note(model, structure)],
                filename=options.filename,
            )
        except OSError as error:
            raise ConversionError(
                "The model is written where a file can be made. Received: "
                f"filename={str(options.filename)!r}. The system says: {error}.",
                hint="Try another folder.",
            ) from error


def _passes(options: ConvertOptions) -> Sequence[Callable[[Any], Any]]:
    if options.passes is not None:
        return options.passes
    from yobx.passes import default_passes

    return default_passes()


def _note(model: onnx_ir.Model, facts: Mapping[str, str]) -> None:
    model.metadata_props.update(facts)


def _declare_inputs(g: GraphBuilder, traced: _Traced, channels_first: Sequence[str]) -> None:
    tensors = traced.function.inputs[: len(traced.names)]
    for tensor, name, shape in zip(tensors, traced.names, traced.shapes, strict=True):
        is_complex = tensor.dtype.is_complex
        kind = onnx_type(tensor.dtype.real_dtype.name if is_complex else tensor.dtype.name)
        if kind is None:
            raise ConversionError(
                "An input is a tensor that ONNX knows. Received: "
                f"{name!r} of dtype {tensor.dtype.name}. Make it a tensor of numbers or strings."
            )
        if name in channels_first:
            inner = channels_first_input(g, name, kind, shape, is_complex=is_complex)
            g.alias(tensor.name, inner)
            continue
        # complex numbers are pairs: a last axis for the real and the imaginary part
        g.make_tensor_input(name, kind, (*shape, 2) if is_complex and shape is not None else shape)
        if tensor.name != name:
            g.alias(tensor.name, name)


def _declare_captures(
    g: GraphBuilder,
    traced: _Traced,
    needed: set[Any],
    conversion: Conversion,
    taken: Collection[str],
) -> None:
    for capture in captures_of(traced.function, needed, traced.source.variable_names):
        if capture.value is None:
            conversion.bind_resource(capture.tensor.name, capture.handle)
            continue
        if id(capture.handle) in traced.source.random_state:
            raise ConversionError(
                "An ONNX model gives the same results for the same inputs, and this one draws "
                f"random numbers at inference. Received: {capture.name!r}, the state of a "
                f"generator, in {traced.source.title}.",
                hint=(
                    "Leave the random layer out at inference, or make the random numbers an input."
                ),
            )
        name = capture.name
        if g.has_name(name) or name in taken:
            name = g.unique_name(name)
        # A variable is captured as a resource: only its value tells complex numbers.
        value = to_pairs(capture.value) if capture.value.dtype.kind == "c" else capture.value
        g.alias(capture.tensor.name, g.make_initializer(name, value))


def _declare_output(g: GraphBuilder, name: str, tensor: Any, *, channels_first: bool) -> None:
    if not g.has_name(tensor.name):
        raise ConversionError(
            "An output is a tensor that ONNX knows. Received: "
            f"{name!r} of dtype {tensor.dtype.name}. Return a tensor of numbers or strings."
        )
    if g.get_rank(tensor.name) is None and tensor.shape.rank is not None:
        g.declare(tensor.name, shape=tensor.shape.as_list())
    if g.get_rank(tensor.name) is None:
        raise ConversionError(
            "An ONNX model states the rank of its outputs. Received: "
            f"{name!r}, whose rank is known neither to TensorFlow nor from the operations before.",
            hint=(
                "Pin it with tf.ensure_shape(value, [None, ...]), or fix the axes that it depends "
                "on: the length of an index or of a shape that is an input."
            ),
        )
    source = tensor.name
    if channels_first:
        source = channels_first_output(g, name, source, is_complex=tensor.dtype.is_complex)
    g.make_tensor_output(name, source=source)


def _input_structure(traced: _Traced) -> Any:
    names = iter(traced.names)
    leaves = set(map(id, traced.call.leaves))
    tree = {"args": traced.call.args, "kwargs": traced.call.kwargs}
    flat = [next(names) if id(leaf) in leaves else None for _, leaf in flatten_with_path(tree)]
    return rebuild(tree, flat)
