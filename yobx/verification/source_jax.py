"""JAX callables as originals, and plain callables whose framework shows when they run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.errors import TraceError
from yobx.verification import tree
from yobx.verification.arguments import source_arrays
from yobx.verification.boundary import Attempt
from yobx.verification.factorisations import FACTORISATIONS, Values, equally_good
from yobx.verification.jax_equations import Step, has_primitive, run_equations
from yobx.verification.jax_values import jax_values
from yobx.verification.runner import input_names
from yobx.verification.sources import (
    NamedArray,
    Origin,
    TracedSource,
    WideRun,
    display_name,
    is_tensor,
    type_modules,
)

__all__ = ["JaxSource", "PlainCallableSource", "as_jax_takes"]


def as_jax_takes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments as JAX computes with them: narrowed to 32 bits unless 64-bit types are enabled.

    Args:
        args: Arrays and constants, nested.

    Returns:
        The same structure.
    """
    from jax import dtypes

    leaves = [
        leaf.astype(dtypes.canonicalize_dtype(leaf.dtype)) if is_tensor(leaf) else leaf
        for _, leaf in tree.flatten(args)
    ]
    return tuple(tree.rebuild(args, leaves))


class JaxSource:
    """A JAX function, a module of a JAX library, or a Keras model of Keras's JAX backend.

    Args:
        model: The callable.
        name: Name for the report.
        keywords: Keyword arguments; `convert` sets them too.
    """

    framework = "jax"

    def __init__(
        self,
        model: Callable[..., Any],
        *,
        name: str = "",
        keywords: Mapping[str, Any] | None = None,
    ) -> None:
        exported: Any = model if _is_exported(model) else None
        self.model = model
        self.name = display_name(model, name or (exported.fun_name if exported else ""), "")
        self._function: Callable[..., Any] = exported.call if exported else self._call
        self._kwargs = keywords
        self._converted: onnx.ModelProto | None = None
        self._model: onnx.ModelProto | None = None
        self._admitted: Any = None
        self._lines: dict[str, str] = {}

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Converts with `yobx.jax.to_onnx`."""
        from yobx.jax import to_onnx

        self._kwargs = options.get("kwargs")
        self._model = self._converted = to_onnx(self.model, args, **options)
        self._admitted = _admission(self.model, args, options)
        return self._converted

    def converted_elsewhere(self, model: onnx.ModelProto) -> None:
        """Takes what the function was converted to by way of TensorFlow."""
        self._model = model

    def run(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray]:
        """Runs the function on JAX arrays."""
        import jax
        import jax.numpy as jnp

        from yobx.jax.random_keys import as_data, is_key

        given = dict((self._kwargs if keywords is None else keywords) or {})
        arrays, named = jax.tree.map(
            lambda leaf: jnp.asarray(leaf) if is_tensor(leaf) and not is_key(leaf) else leaf,
            (args, given),
        )
        if self._admitted is not None:
            leaves = filter(is_tensor, jax.tree.leaves((arrays, named)))
            self._admitted.call(*(as_data(a)[0] if is_key(a) else a for a in leaves))
        return self._named(self._function(*arrays, **named))

    def _named(self, result: Any) -> list[NamedArray]:
        """Leaves of a result with the names that the conversion gives them."""
        import jax

        from yobx.jax.outputs import output_names

        if self._converted is None:  # by way of TensorFlow, in whose order and with whose names
            names, leaves = tree.named(result)
        else:
            leaves, structure = jax.tree.flatten(result)
            inputs = input_names(self._converted)
            names = output_names(self.model, structure, inputs) if leaves else []
        return [(name, _as_array(leaf)) for name, leaf in zip(names, leaves, strict=True)]

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the model, one of Keras as its conversion does."""
        from yobx.jax.keras_models import is_keras_layer, keras_parts

        if not is_keras_layer(self.model):
            return self.model(*args, **kwargs)
        values, with_values = keras_parts(self.model)
        return with_values(values)(*args, **kwargs)

    def example(self, seed: int, options: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """What a `jax.export.Exported` takes; other functions declare no inputs."""
        from jax import tree as jax_tree

        exported: Any = self.model
        if not _is_exported(exported):
            return None
        specs = [_described(aval) for aval in exported.in_avals]
        args, kwargs = jax_tree.unflatten(exported.in_tree, specs)
        return None if kwargs else tuple(args)

    def intermediates(
        self, args: tuple[Any, ...], names: Sequence[str], options: Mapping[str, Any]
    ) -> dict[str, NDArray[Any]]:
        """Values of the equations that went through the same name stack as an ONNX node."""
        function, leaves = self._flat(args, options)
        if self._converted is None:
            return {}
        found = jax_values(function, leaves, self._converted)
        self._lines = {name: value.line for name, value in found.items()}
        return {name: found[name].array for name in names if name in found}

    def narrow_values(
        self, args: tuple[Any, ...], options: Mapping[str, Any], values: Mapping[str, str]
    ) -> frozenset[str]:
        """Those that are results of that dtype in the program that JAX lowers the function to."""
        import jax

        from yobx.jax.program import lower, read_exported
        from yobx.verification.jax_types import narrow_results

        if self._model is None:
            return frozenset()
        if _is_exported(self.model):
            return narrow_results(self._model, read_exported(self.model).module, values)
        function, leaves = self._flat(args, options)
        specs = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        opset = next(o.version for o in self._model.opset_import if not o.domain)
        return narrow_results(self._model, lower(function, specs, opset).module, values)

    def run_with_factors(
        self,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Mapping[str, Any],
        factor: float,
    ) -> tuple[list[Any], list[str]] | None:
        """Runs the equations; factors of the model that are as good take the place of JAX's."""
        import jax

        function, leaves = self._flat(args, options)
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*leaves)
        if not has_primitive(traced.jaxpr, FACTORISATIONS, inside=True):
            return None
        found, done = Values(values), []

        def watch(step: Step) -> list[Any]:
            primitive = step.equation.primitive.name
            made = equally_good(
                primitive,
                step.equation.params,
                step.inputs,
                step.outputs,
                values=found.at(step.turn),
                factor=factor,
            )
            if made is None:
                return step.outputs
            done.append(primitive)
            return [jax.numpy.asarray(array) for array in made]

        outputs = run_equations(traced, leaves, watch, inside=FACTORISATIONS)
        result = jax.tree.unflatten(jax.tree.structure(shapes), outputs)
        return ([array for _, array in self._named(result)], done) if done else None

    def run_in_float64(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> WideRun | None:
        """Runs the traced equations."""
        import jax
        from jax.extend import core

        from yobx.verification.jax_wide import run_in_float64

        function, leaves = self._flat(args, options)
        traced = jax.make_jaxpr(function)(*leaves)
        rounded, kept = run_in_float64(traced, leaves, rounded=True)

        def compiled() -> list[Any]:
            return list(map(_as_array, jax.jit(core.jaxpr_as_fun(traced))(*leaves)))

        def step_by_step() -> list[Any]:
            return list(map(_as_array, run_equations(traced, leaves, lambda step: step.outputs)))

        def wide(*, in_range: bool = False) -> list[Any]:
            return run_in_float64(traced, leaves, in_range=in_range)[0]

        own, in_range = (compiled, step_by_step), partial(wide, in_range=True)
        return WideRun(own, wide, kept, lambda: rounded, in_range)

    def _flat(
        self, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The function of all arrays of the arguments, and these."""
        import jax
        import jax.numpy as jnp

        given = dict(options.get("kwargs") or self._kwargs or {})
        flat, structure = jax.tree.flatten((args, given))
        leaves = [jnp.asarray(leaf) for leaf in flat if is_tensor(leaf)]

        def function(*arrays: Any) -> Any:
            supply = iter(arrays)
            filled = [next(supply) if is_tensor(leaf) else leaf for leaf in flat]
            positional, named = jax.tree.unflatten(structure, filled)
            return self._function(*positional, **named)

        return function, leaves

    def user_line(self, origin: Origin, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
        """The user's line of a value; known once `intermediates` has run."""
        return self._lines.get(origin.value, "")


def _admission(model: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """A function that JAX refuses to call with sizes that break what it may assume of them.

    The model itself runs with such sizes too, and would be compared where nothing is promised.
    ``None`` where nothing is assumed, or by an exported function, which refuses by itself.
    """
    import jax
    from jax import export

    from yobx.jax.arguments import (
        abstract_arrays,
        name_leaves,
        read_call,
        resolve_shapes,
        scope_constraints,
        symbolic_scopes,
    )

    if _is_exported(model):
        return None
    call = read_call(args, options.get("kwargs"))
    constraints = tuple(options.get("constraints") or ())
    if not constraints and not any(map(scope_constraints, symbolic_scopes(call))):
        return None
    names = name_leaves(model, list(call.leaves.values()), options.get("input_names"))
    shapes = resolve_shapes(options.get("dynamic_shapes"), call, names)
    return export.export(jax.jit(lambda *_: 0))(*abstract_arrays(call, shapes, constraints))


def _is_exported(model: Any) -> bool:
    from jax import export

    return isinstance(model, export.Exported)


def _described(aval: Any) -> onnx.ValueInfoProto:
    """An abstract array of JAX as a description, with names for its symbolic sizes."""
    sizes = [dim if isinstance(dim, int) else str(dim) for dim in aval.shape]
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(aval.dtype))
    return onnx.helper.make_tensor_value_info("", kind, sizes)


class PlainCallableSource:
    """A function of which only a run tells whether it is one of TensorFlow or of JAX.

    Args:
        model: The callable.
        name: Name for the report.
    """

    def __init__(self, model: Callable[..., Any], *, name: str = "") -> None:
        from yobx.verification.source_tensorflow import TensorFlowSource

        self._chosen: JaxSource | TensorFlowSource = TensorFlowSource(model, name=name)
        self.model = model
        self.name = self._chosen.name
        self.framework = self._chosen.framework

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Converts with `yobx.tensorflow.to_onnx`, which tells the frameworks apart by tracing."""
        try:
            model = self._chosen.convert(args, options)
        except TraceError as error:
            if isinstance(error.__cause__, AttributeError) and "jax" in sys.modules:
                raise TraceError(
                    error.said,
                    hint=f"{error.hint} It was taken for a function of TensorFlow, since neither "
                    "what it refers to nor its arguments are of JAX: one of JAX is given arrays of "
                    "JAX (jax.numpy.asarray) or jax.ShapeDtypeStruct.",
                ) from error.__cause__
            raise
        args, keywords = source_arrays((args, dict(options.get("kwargs") or {})), 0)
        self._recognise(args, keywords)
        if isinstance(self._chosen, JaxSource):
            self._chosen.converted_elsewhere(model)
        return model

    def _recognise(self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None) -> None:
        """A TensorFlow function accepts numpy arrays, and so does one of JAX: the result tells."""
        if isinstance(self._chosen, JaxSource):
            return
        result: Any = None
        with Attempt():  # the run proper reports what fails
            result = self.model(*args, **dict(keywords or {}))
        leaves = [leaf for _, leaf in tree.flatten(result)]
        if any(type_modules(leaf) & {"jax", "jaxlib"} for leaf in leaves):
            self._chosen = JaxSource(self.model, name=self.name, keywords=keywords)
            self.framework = "jax"

    def run(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray]:
        """Runs the function in its framework."""
        return self._chosen.run(args, keywords)

    def example(self, seed: int, options: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Plain functions declare no inputs."""
        return None

    def intermediates(
        self, args: tuple[Any, ...], names: Sequence[str], options: Mapping[str, Any]
    ) -> dict[str, NDArray[Any]]:
        """Values by name, where the framework has them."""
        return self._chosen.intermediates(args, names, options)

    def run_graph(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> list[NDArray[Any]] | None:
        """Outputs of the function in a graph of TensorFlow; ``None`` for one of JAX."""
        if isinstance(self._chosen, JaxSource):
            return None
        return self._chosen.run_graph(args, options, sizes)

    def frozen_at(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> str:
        """Where sizes became numbers in a graph of TensorFlow; ``""`` for a function of JAX."""
        if isinstance(self._chosen, JaxSource):
            return ""
        return self._chosen.frozen_at(args, options, sizes)

    def run_with_factors(
        self,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Mapping[str, Any],
        factor: float,
    ) -> tuple[list[Any], list[str]] | None:
        """Outputs with factors of the converted model, from the framework of the function."""
        return self._chosen.run_with_factors(args, options, values, factor)

    def narrow_values(
        self, args: tuple[Any, ...], options: Mapping[str, Any], values: Mapping[str, str]
    ) -> frozenset[str]:
        """Values that the function computes in 16 bits."""
        return self._chosen.narrow_values(args, options, values)

    def run_in_float64(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> WideRun | None:
        """Outputs in float64, from the framework of the function."""
        return self._chosen.run_in_float64(args, options)

    def user_line(self, origin: Origin, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
        """The user's line, where the framework knows it."""
        chosen = self._chosen
        return chosen.user_line(origin, args, options) if isinstance(chosen, TracedSource) else ""


def _as_array(leaf: Any) -> NDArray[Any]:
    """A leaf of a result; a Python number has the dtype that it gets in a trace."""
    import jax.numpy as jnp

    from yobx.jax.random_keys import as_data, is_key

    if is_key(leaf):
        return np.asarray(as_data(leaf)[0])
    return np.asarray(leaf if is_tensor(leaf) else jnp.asarray(leaf))
