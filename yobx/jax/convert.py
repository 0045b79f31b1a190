"""``to_onnx`` for JAX: from a function to a checked ONNX model, through ``jax.export``."""

from __future__ import annotations

import inspect
import logging
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from yobx.errors import ArgumentError, TraceError, UnreadableModelError
from yobx.jax.arguments import Call, abstract_arrays, name_leaves, read_call, resolve_shapes
from yobx.jax.fixed_sizes import needed_numbers
from yobx.jax.keras_models import is_keras_layer, keras_input_names
from yobx.jax.operation_names import refuse_unknown_names
from yobx.jax.outputs import output_names
from yobx.jax.parameters import Parameters, find_parameters
from yobx.jax.program import Program, lower, read_exported
from yobx.lowering.opsets import DEFAULT_OPSET
from yobx.onnx_optim.tensor_type import tensor_type, to_numpy
from yobx.places import line_that_raised
from yobx.stablehlo.convert import convert_module
from yobx.stablehlo.element_types import refuse_unknown_type
from yobx.stablehlo.registry import PARAMETERS
from yobx.user_code import UserCode
from yobx.xbuilder import GraphBuilder
from yobx.xbuilder.converters import misfit_of
from yobx.xbuilder.progress import Progress

__all__ = ["read_function", "to_onnx"]

_LOG = logging.getLogger("yobx.jax")
Pass = Callable[[Any], Any]
# JAX names the function that wraps the user's by its place.
_OUR_PLACE = re.compile(r" at \S*[\\/]yobx[\\/]jax[\\/]\w+\.py:\d+")
_SMALL = ("int2", "uint2", "int4", "uint4")


def to_onnx(
    fn: Callable[..., Any],
    args: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    dynamic_shapes: Any = None,
    constraints: Iterable[str] = (),
    target_opset: int | Mapping[str, int] = DEFAULT_OPSET,
    extra_converters: Mapping[str, Callable[..., Any]] | None = None,
    verbose: int = 0,
    filename: str | Path | None = None,
    passes: Sequence[Pass] | None = None,
) -> onnx.ModelProto:
    """Converts a JAX function to ONNX; TensorFlow is not needed.

    Args:
        fn: A function of arrays or pytrees of arrays; a Flax NNX, bound Linen or Equinox module, a
            Keras model on the JAX backend or another callable pytree, a partial function, or a
            method of one, whose arrays become initializers named by their tree paths; a
            ``jax.export.Exported``, its serialized bytes, or the path of a file that holds them.
        args: Tuple of example arguments: arrays, ``jax.ShapeDtypeStruct`` (also with symbolic
            sizes), ``onnx.ValueInfoProto``, in any pytrees. Other leaves are constants.
        kwargs: Keyword arguments.
        input_names: One name per flattened input; by default parameter names and tree paths.
        dynamic_shapes: Which axes are dynamic: a tuple with one dict axis -> name per flattened
            input, a dict by input name, or nested like the arguments. ``{}`` is static. By default
            axis 0 of every array is dynamic, and arrays of the same size there share a name.
        constraints: What JAX may assume of the names, for example ``"n >= 2"``.
        target_opset: Opset of the standard domain, or opsets by domain.
        extra_converters: StableHLO operation -> converter ``(g, op)``, before the registry.
        verbose: From 1 on, the stages are reported with their times on the error stream.
        filename: Also write the model there; large weights go to a file beside it.
        passes: Graph passes; by default those of :mod:`yobx.passes`.

    Returns:
        The model. A complex input or output of shape `s` is a real one of shape `(*s, 2)`.

    Raises:
        ArgumentError: If an argument is wrong.
        TraceError: If JAX cannot trace the function.
        UnsupportedOpError: If operations have no converter; all are listed.

    Examples:
        >>> import jax.numpy as jnp
        >>> x = np.ones((5, 4), np.float32)
        >>> model = to_onnx(lambda x: jnp.sin(x), (x,))
        >>> [node.op_type for node in model.graph.node]
        ['Sin']
    """
    progress = Progress(verbose)
    _check_converters(extra_converters)
    g = GraphBuilder(
        target_opset if isinstance(target_opset, int) else dict(target_opset), name="main"
    )
    with progress.stage("tracing"):
        traced = _trace(
            fn,
            args,
            kwargs,
            input_names,
            dynamic_shapes,
            lowering=_Lowering(tuple(constraints), g.opset(""), extra_converters),
        )
    program, names = traced.program, traced.names
    refuse_unknown_names(extra_converters or (), program.module)
    if verbose and program.is_sharded:
        progress.note("shardings are left out: an ONNX model runs on one device.")
    for aval in program.avals:
        refuse_unknown_type(np.dtype(aval.dtype), g.opset(""))
    with progress.stage("converting"):
        inputs = _declare_all(g, traced)
        kept = [inputs[i]() for i in program.kept]
        results = convert_module(g, program.module, kept, extra_converters=extra_converters)
    outputs = output_names(fn, program.tree, names)
    for name, parts in zip(outputs, results, strict=True):
        g.make_tensor_output(name, source=_copied(g, _joined(g, parts)))
    with progress.stage("finishing and checking"):
        return g.to_onnx(passes=_passes(passes), filename=filename)


def _check_converters(extra: object) -> None:
    """Refuses converters that cannot be called as ``(g, op)``, before anything is traced."""
    if extra is not None and not isinstance(extra, Mapping):
        raise ArgumentError(
            "extra_converters maps StableHLO operations to functions (g, op). Received: "
            f"extra_converters={extra!r}.",
            argument="extra_converters",
            hint="Try {'maximum': convert}.",
        )
    for name, function in (extra or {}).items():
        why = misfit_of(function, PARAMETERS)
        if why:
            raise ArgumentError(
                f"{why}, given for {name!r}.",
                argument="extra_converters",
                hint="Try def convert(g, op): ...",
            )


def _passes(passes: Sequence[Pass] | None) -> Sequence[Pass]:
    if passes is not None:
        return passes
    from yobx.passes import default_passes

    return default_passes()


@dataclass(frozen=True)
class _Lowering:
    """What a function is lowered for.

    Attributes:
        constraints: What JAX may assume of the names of sizes.
        opset: Opset of the standard domain.
        extra_converters: Converters by operation name.
    """

    constraints: tuple[str, ...]
    opset: int
    extra_converters: Mapping[str, Callable[..., Any]] | None


@dataclass(frozen=True)
class _Traced:
    """A program, whose first arguments are the parameters.

    Attributes:
        program: The function as a module.
        names: Names of the inputs.
        shapes: Shapes of the inputs.
        parameters: The weights, or ``None``.
    """

    program: Program
    names: list[str]
    shapes: list[tuple[Any, ...]]
    parameters: Parameters | None = None


def _trace(
    fn: Any,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    input_names: Sequence[str] | None,
    dynamic_shapes: Any,
    *,
    lowering: _Lowering,
) -> _Traced:
    from jax import export

    if isinstance(fn, str | Path | bytes | bytearray):
        fn = read_function(fn)
    if isinstance(fn, export.Exported):
        _refuse_sizes(fn, dynamic_shapes, lowering.constraints)
        shapes = [tuple(_size(d) for d in aval.shape) for aval in fn.in_avals]
        return _Traced(read_exported(fn), _exported_names(fn, input_names), shapes)
    if not callable(fn):
        raise ArgumentError(
            f"fn is a JAX function or a jax.export.Exported. Received: {type(fn).__name__}.",
            argument="fn",
        )
    call = read_call(args, kwargs)
    leaves = list(call.leaves.values())
    if input_names is None and is_keras_layer(fn):
        input_names = keras_input_names(fn, leaves)
    names = name_leaves(fn.call if is_keras_layer(fn) else fn, leaves, input_names)
    shapes = resolve_shapes(dynamic_shapes, call, names)
    parameters = find_parameters(fn)
    program = _lower(fn, call, names, shapes, lowering, parameters=parameters)
    if parameters is not None:
        _tell_changes(fn, parameters, program)
    return _Traced(program, names, shapes, parameters)


def _tell_changes(fn: Callable[..., Any], parameters: Parameters, program: Program) -> None:
    """Log which arrays a call both reads and replaces: its results are others every time."""
    count = len(parameters.names)
    read = {parameters.names[i] for i in program.read if i < count}
    changed = sorted(read & parameters.changed)
    if changed:
        _LOG.warning(
            "%s changes what its results depend on: %s. An ONNX model holds what the call began "
            "with, always; of a Flax module, model.eval() stops random draws.",
            type(fn).__name__,
            ", ".join(changed),
        )


def read_function(source: str | Path | bytes | bytearray) -> Any:
    """Read a serialized function.

    Args:
        source: What ``jax.export.Exported.serialize()`` returned, or the path of a file of it.

    Returns:
        The ``jax.export.Exported``.

    Raises:
        ArgumentError: If there is no such file.
        UnreadableModelError: If it is something else.
    """
    from jax import export

    title = f"{len(source)} bytes" if isinstance(source, bytes | bytearray) else repr(str(source))
    try:
        data = source if isinstance(source, bytes | bytearray) else Path(source).read_bytes()
        return export.deserialize(bytearray(data))
    except (OSError, ValueError, AssertionError, struct.error) as error:
        missing = isinstance(error, FileNotFoundError)
        raise (ArgumentError if missing else UnreadableModelError)(
            "A serialized function is what jax.export.Exported.serialize() returns, or a file of "
            f"it. Received: {title}, which raised {type(error).__name__}: {error}.",
            argument="fn",
        ) from error


def _refuse_sizes(exported: Any, dynamic_shapes: Any, constraints: Sequence[str]) -> None:
    """Refuse what would be ignored: an exported function has the sizes it was exported with."""
    sizes = [d for aval in exported.in_avals for d in aval.shape]
    is_static = all(isinstance(d, int) for d in sizes)
    if dynamic_shapes is not None and not (is_static and not dynamic_shapes):
        raise ArgumentError(
            "An exported function has the sizes it was exported with. Received: "
            f"dynamic_shapes={dynamic_shapes!r}.",
            argument="dynamic_shapes",
            hint="Leave it out, or export the function with jax.export.symbolic_shape.",
        )
    if constraints:
        raise ArgumentError(
            "An exported function has the constraints it was exported with. Received: "
            f"constraints={list(constraints)!r}.",
            argument="constraints",
            hint="Leave them out.",
        )


def _size(dim: Any) -> int | str:
    return dim if isinstance(dim, int) else str(dim)


def _exported_names(exported: Any, given: Sequence[str] | None) -> list[str]:
    import jax

    if given is not None:
        return list(given)
    args, kwargs = jax.tree.unflatten(exported.in_tree, list(range(len(exported.in_avals))))
    call = read_call(
        tuple(jax.tree.map(lambda i: _Placeholder(exported.in_avals[i]), args)),
        jax.tree.map(lambda i: _Placeholder(exported.in_avals[i]), kwargs),
    )
    return name_leaves(lambda: None, list(call.leaves.values()), None)


class _Placeholder:
    """Shape and element type of an argument."""

    def __init__(self, aval: Any) -> None:
        self.shape, self.dtype = aval.shape, aval.dtype


def _lower(
    fn: Callable[..., Any],
    call: Call,
    names: Sequence[str],
    shapes: Sequence[tuple[int | str, ...]],
    lowering: _Lowering,
    *,
    parameters: Parameters | None,
) -> Program:
    """Trace and lower the function on its parameters and symbolic arguments."""
    import jax

    weights = () if parameters is None else parameters.arrays

    def flat(*arrays: Any) -> Any:
        args, kwargs = call.fill(arrays[len(weights) :])
        if parameters is None:
            return fn(*args, **kwargs)
        return parameters.call(arrays[: len(weights)], *args, **kwargs)

    title = getattr(fn, "__name__", type(fn).__name__)
    flat.__name__ = flat.__qualname__ = title  # which begins JAX's name stack
    symbols = sorted({d for shape in shapes for d in shape if isinstance(d, str)})
    fixed = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in weights]

    def told(error: Exception) -> TraceError:
        if isinstance(error, TypeError):
            _refuse_arity(fn, call, error)
        sizes = (
            f" The sizes {', '.join(symbols)} are symbolic: if the function needs them as numbers, "
            "pass dynamic_shapes with {} for that input."
            if symbols
            else ""
        )
        line = line_that_raised(error)
        arrays = [(leaf.shape, leaf.dtype) for leaf in call.leaves.values()]
        words = _OUR_PLACE.sub("", " ".join(str(error).split()))[:600].removesuffix(".")
        return TraceError(
            f"A function must run while JAX traces it. Received: {title!r} on "
            f"{dict(zip(names, shapes, strict=True))}, which raised {type(error).__name__}: "
            f"{words}.{f' At {line}.' if line else ''}{sizes}",
            **needed_numbers(partial(jax.eval_shape, flat, *fixed), arrays, shapes, error),
        )

    with UserCode(told):
        specs = abstract_arrays(call, shapes, lowering.constraints)
        return lower(
            flat,
            (*fixed, *specs),
            lowering.opset,
            extra_converters=lowering.extra_converters,
        )


def _refuse_arity(fn: Callable[..., Any], call: Call, error: TypeError) -> None:
    """Tell a call that does not fit the parameters from an error inside the function."""
    args, kwargs = call.fill([None] * len(call.leaves))
    try:
        signature = inspect.signature(fn)
    except ValueError:  # of C code that does not say what it takes
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as mismatch:
        raise ArgumentError(
            "The arguments fit the parameters of the function. Received: "
            f"{len(args)} by position and the keywords {sorted(kwargs)} for "
            f"{getattr(fn, '__name__', type(fn).__name__)!r}, which takes {signature}: {mismatch}.",
            argument="args",
            hint="Try args with one entry per parameter, and kwargs for those that have a name "
            "only.",
        ) from error


def _declare_all(g: GraphBuilder, traced: _Traced) -> list[Callable[[], tuple[str, ...]]]:
    """Declares the inputs; parameters are made when they are asked for, since some are not read."""
    parameters = traced.parameters
    count = 0 if parameters is None else len(parameters.arrays)
    avals = traced.program.avals
    made: list[Callable[[], tuple[str, ...]]] = []
    if parameters is not None:
        for name, array, aval in zip(
            parameters.names, parameters.arrays, avals[:count], strict=True
        ):
            made.append(partial(_initializer, g, name, array, np.dtype(aval.dtype)))
    for name, aval, shape in zip(traced.names, avals[count:], traced.shapes, strict=True):
        parts = _declare(g, name, np.dtype(aval.dtype), shape)
        made.append(partial(_same, parts))
    return made


def _same(parts: tuple[str, ...]) -> tuple[str, ...]:
    return parts


def _initializer(g: GraphBuilder, name: str, array: Any, dtype: np.dtype[Any]) -> tuple[str, ...]:
    value = np.asarray(array, dtype=dtype)
    parts = (value,) if dtype.kind != "c" else (value.real.copy(), value.imag.copy())
    names = (name,) if dtype.kind != "c" else (f"{name}.real", f"{name}.imag")
    return tuple(
        g.make_initializer(g.unique_name(n) if g.has_name(n) else n, p)
        for n, p in zip(names, parts, strict=True)
    )


def _declare(
    g: GraphBuilder, name: str, dtype: np.dtype[Any], shape: tuple[Any, ...]
) -> tuple[str, ...]:
    """One graph input; a complex one is real with a last axis for the two parts."""
    if dtype.kind != "c":
        return (g.make_tensor_input(name, tensor_type(dtype), shape),)
    part = np.dtype(f"f{dtype.itemsize // 2}")
    g.make_tensor_input(name, tensor_type(part), (*shape, 2))
    return tuple(str(g.op.Gather(name, np.array(k), axis=len(shape))) for k in (0, 1))


def _copied(g: GraphBuilder, source: str) -> str:
    """A result that is an input: of less than a byte an element, onnxruntime has casts alone."""
    kind = to_numpy(g.get_type(source))
    if kind.itemsize > 1 or kind.name not in _SMALL or source not in g.input_names:
        return source
    wide = g.op.Cast(source, to=tensor_type(np.dtype(np.int8)))
    return str(g.op.Cast(wide, to=g.get_type(source)))


def _joined(g: GraphBuilder, parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    last = np.array([g.get_rank(parts[0]) or 0])
    return str(g.op.Concat(*(g.op.Unsqueeze(p, last) for p in parts), axis=-1))
