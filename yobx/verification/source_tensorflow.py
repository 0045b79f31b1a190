"""Keras and TensorFlow models as originals. Imported only when such a model is verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.verification import tree
from yobx.verification.sources import (
    NamedArray,
    Origin,
    WideRun,
    display_name,
    is_tensor,
    type_modules,
)
from yobx.verification.tensorflow_values import dtype_of, graph_values

__all__ = ["TensorFlowSource"]

_OPENING = ("signature", "tag", "allow_unsafe")


class TensorFlowSource:
    """A Keras model or layer, a TensorFlow function or module, a SavedModel or a Keras archive.

    Args:
        model: The model, or its path.
        name: Name for the report.
    """

    def __init__(self, model: Any, *, name: str = "") -> None:
        self.model = model
        is_path = isinstance(model, (str, Path))
        keras_like = (
            Path(model).suffix in {".keras", ".h5"} if is_path else "keras" in type_modules(model)
        )
        self.framework = "keras" if keras_like else "tensorflow"
        self.name = name or (Path(model).stem if is_path else display_name(model, "", ""))
        self._opened: Any = None
        self._traced: tuple[Any, Any] | None = None
        self._converted: tuple[tuple[Any, ...], Any] | None = None
        self._outputs: list[str] = []

    @classmethod
    def from_path(cls, path: Path, *, name: str = "") -> TensorFlowSource:
        """A SavedModel folder or a Keras archive."""
        return cls(path, name=name)

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Converts with `yobx.tensorflow.to_onnx`."""
        from yobx.tensorflow import to_onnx

        source = self._open(options)
        self._converted = args, options.get("kwargs")
        loaded = isinstance(self.model, (str, Path))
        rest = {key: value for key, value in options.items() if not (loaded and key in _OPENING)}
        model = to_onnx(source.model, args, **rest)
        self._outputs = [value.name for value in model.graph.output]
        return model

    def _open(self, options: Mapping[str, Any]) -> Any:
        """Opens the model once; a path is loaded once for conversion, runs and intermediates."""
        if self._opened is None:
            from yobx.tensorflow.model_kinds import open_model

            chosen = {key: options[key] for key in _OPENING if key in options}
            self._opened = open_model(self.model, **chosen)
            self._kwargs = options.get("kwargs")
        return self._opened

    def run(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray]:
        """Runs the model eagerly: the traced function is what is being judged."""
        import tensorflow as tf

        source = self._open({})
        given = dict((self._kwargs if keywords is None else keywords) or {})
        tensors, kwargs = tree.map_leaves(
            lambda leaf: tf.constant(leaf) if is_tensor(leaf) else leaf, (args, given)
        )
        with source.guard():
            result = source.invoke(*tensors, **kwargs)
        names = source.output_names(result)
        paths, leaves = tree.named(result)
        if names is None or len(names) != len(leaves):
            names = paths
        values: list[NamedArray] = []
        for leaf, name in zip(leaves, names, strict=True):
            values += _dense(name, leaf)
        return values

    def run_as_written(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray]:
        """Runs the model without folding of constants, which computes `x - y + c` as `x + (c - y)`.

        Of a sum that cancels all elements are then rounded alike.
        """
        with _as_written():
            return self.run(args, keywords)

    def example(self, seed: int, options: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """What the model declares: descriptions, whose open sizes stay open in a conversion."""
        source = self._open(options)
        call = source.own_arguments
        if call is None:
            return None
        import tensorflow as tf

        filled, kwargs = call.fill(
            [tf.TensorSpec(leaf.shape, leaf.dtype, leaf.name or None) for leaf in call.leaves]
        )
        return tuple(filled) if not kwargs else (*filled, *kwargs.values())

    def intermediates(
        self, args: tuple[Any, ...], names: Sequence[str], options: Mapping[str, Any]
    ) -> dict[str, NDArray[Any]]:
        """Values of the traced graph: ONNX values carry the names of its tensors."""
        function, leaves = self._call(args, options)
        inputs = [*leaves, *function.captured_inputs]
        return graph_values(function.graph, inputs, list(dict.fromkeys(names)))

    def run_graph(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> list[NDArray[Any]]:
        """Outputs of the traced function as it is written, which a run need not give."""
        function, leaves = self._call(args, options, sizes)
        with _as_written():
            return _arrays(function(*leaves))

    def frozen_at(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> str:
        """The first operation that has another value in a trace that knows the sizes."""
        from yobx.verification.tensorflow_values import first_other

        function, leaves = self._call(args, options)
        fixed, same = self._call(args, options, sizes)
        inputs = ([*leaves, *function.captured_inputs], [*same, *fixed.captured_inputs])
        name = first_other(function.graph, fixed.graph, inputs)
        line = self.user_line(Origin("", name), args, options) if name else ""
        return f"operation {name}{f', {line}' * bool(line)}" if name else ""

    def run_with_factors(
        self,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Mapping[str, Any],
        factor: float,
    ) -> tuple[list[Any], list[str]] | None:
        """Runs the graph; factors of the model that are as good take the place of TensorFlow's."""
        from yobx.verification.tensorflow_factors import run_with_factors

        function, leaves = self._call(args, options)
        found = run_with_factors(function, leaves, values, factor)
        if found is None:
            return None
        return _flat(function, found[0]), found[1]

    def run_in_float64(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> WideRun | None:
        """Runs the traced graph operation by operation."""
        from yobx.verification.tensorflow_wide import NotRunError, run_graph

        function, leaves = self._call(args, options)
        inputs = [*leaves, *function.captured_inputs]
        try:
            rounded, kept = run_graph(function.graph, inputs, wide=True, rounded=True)
        except NotRunError:
            return None

        def step_by_step() -> list[Any]:
            return _flat(function, run_graph(function.graph, inputs, wide=False)[0])

        def optimised() -> list[Any]:
            return _arrays(function(*leaves))

        def wide(*, in_range: bool = False) -> list[Any]:
            made, _ = run_graph(function.graph, inputs, wide=True, in_range=in_range)
            return _flat(function, made)

        own, steps = (step_by_step, optimised), _flat(function, rounded)
        return WideRun(own, wide, kept, lambda: steps, partial(wide, in_range=True))

    def narrow_values(
        self, args: tuple[Any, ...], options: Mapping[str, Any], values: Mapping[str, str]
    ) -> frozenset[str]:
        """Those that are outputs, or carry the name of a tensor of the graph, of that dtype."""
        graph = self._trace(args, options)[0].graph
        outputs = (tensor.dtype.name for tensor in graph.outputs)
        # Outputs of the model have names of their own.
        kinds = dict(zip(self._outputs, outputs, strict=False))
        return frozenset(
            value
            for value, kind in values.items()
            if (kinds.get(value) or dtype_of(graph, value)) == kind
        )

    def user_line(self, origin: Origin, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
        """The user's file and line of an operation of the traced graph, or ``""``."""
        from yobx.verification.user_lines import line_of_operation

        return line_of_operation(self._trace(args, options)[0].graph, origin.operation)

    def _call(
        self,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        sizes: Mapping[str, int] | None = None,
    ) -> tuple[Any, list[Any]]:
        """The traced function, and tensors for its arguments."""
        import tensorflow as tf

        function, _ = self._trace(args, options) if not sizes else self._new(args, options, sizes)
        given = (args, dict(options.get("kwargs") or {}))
        leaves = [tf.constant(leaf) for _, leaf in tree.flatten(given) if is_tensor(leaf)]
        return function, leaves

    def _trace(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, int]:
        """Traces as the conversion does, so that names agree."""
        if self._traced is None:
            self._traced = self._new(args, options, {})
        return self._traced

    def _new(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> tuple[Any, int]:
        """A trace in which some of the dynamic sizes are numbers."""
        from yobx.tensorflow.call_check import prepare_call
        from yobx.tensorflow.dynamic_shapes import resolve_dynamic_shapes
        from yobx.tensorflow.source import name_inputs
        from yobx.tensorflow.tracing import trace

        source = self._open(options)
        converted = self._converted or (args, options.get("kwargs"))
        call = prepare_call(source, *converted)
        names = name_inputs(source, call, options.get("input_names"))
        shapes = [
            None if shape is None else tuple(sizes.get(str(size), size) for size in shape)
            for shape in resolve_dynamic_shapes(options.get("dynamic_shapes"), call, names)
        ]
        return trace(source, call, names, shapes), len(names)


@contextmanager
def _as_written() -> Iterator[None]:
    """Functions of TensorFlow are run without moving their constants."""
    import tensorflow as tf

    options = tf.config.optimizer
    folding = options.get_experimental_options().get("constant_folding", True)
    options.set_experimental_options({"constant_folding": False})
    try:
        yield
    finally:
        options.set_experimental_options({"constant_folding": folding})


def _flat(function: Any, tensors: Sequence[Any]) -> list[NDArray[Any]]:
    """Outputs one by one of what the graph of a function gives."""
    import tensorflow as tf

    shape = function.structured_outputs
    return _arrays(tf.nest.pack_sequence_as(shape, tensors, expand_composites=True))


def _arrays(outputs: Any) -> list[NDArray[Any]]:
    """Numpy arrays of a nested result, one by one."""
    return [array for _, leaf in tree.flatten(outputs) for _, array in _dense("", leaf)]


def _dense(name: str, value: Any) -> list[NamedArray]:
    """Numpy arrays of a result; a composite tensor comes as its parts."""
    import tensorflow as tf

    parts = tf.nest.flatten(value, expand_composites=True)
    # A Python number has the dtype that it gets in a graph.
    tensors = [part if is_tensor(part) else tf.convert_to_tensor(part) for part in parts]
    # A scalar of bfloat16 gives no array of itself.
    arrays = [np.asarray(t.numpy() if hasattr(t, "numpy") else t) for t in tensors]
    if len(arrays) == 1:
        return [(name, arrays[0])]
    return [("", array) for array in arrays]
