"""From a function to a StableHLO module.

A function is traced and lowered once and its module is read where JAX holds it. That module still
has the special functions that ``jax.export`` expands, so one trace is enough. Where a conversion
needs such an expansion, or where only ``jax.export`` knows what to do (effects, sizes that are
known by an equation), the function is exported and the portable artifact is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.stablehlo import ir
from yobx.stablehlo.convert import joined_layer, needs_expansion
from yobx.stablehlo.markers import keep_whole, says_something
from yobx.stablehlo.reader import read_artifact, read_module

__all__ = ["Program", "lower", "read_exported", "results_of"]

#: Attribute by which JAX tells the arguments of ``main`` that are sizes.
_SIZE = "jax.global_constant"
#: What the names of operations begin with that a module may have without being exported.
_DIALECTS = ("stablehlo.", "chlo.", "func.", "sdy.sharding_constraint")
_SHARDINGS = ("sdy.sharding", "mhlo.sharding")


@dataclass(frozen=True)
class Program:
    """A function as a module.

    Attributes:
        module: The module; its ``main`` takes arrays only.
        avals: Shape and element type of every flat argument.
        kept: Positions of the arguments that ``main`` takes.
        tree: Structure of the results.
    """

    module: ir.Module
    avals: Sequence[Any]
    kept: Sequence[int]
    tree: Any

    @property
    def read(self) -> list[int]:
        """Positions of the arguments that results depend on."""
        body = self.module.main.body
        _, needed = body.live()
        pairs = zip(self.kept, body.arguments, strict=True)
        return [position for position, value in pairs if value in needed]

    @property
    def is_sharded(self) -> bool:
        """Whether the module says on which devices some values are to be."""
        attributes = [name for a in self.module.main.argument_attributes for name in a]
        operations = (o for f in self.module.functions.values() for o in f.body.walk())
        return any(name in _SHARDINGS for name in attributes) or any(
            "harding" in str(o.attributes.get("call_target_name", o.name)) for o in operations
        )


def read_exported(exported: Any) -> Program:
    """Read a ``jax.export.Exported``; one for several platforms is that for the CPU, or any."""
    module = read_artifact(exported.mlir_module_serialized)
    if len(exported.platforms) > 1:
        platforms = [str(platform).lower() for platform in exported.platforms]
        index = platforms.index("cpu") if "cpu" in platforms else 0
        _fix_first(module.main.body, np.array(index, dtype=np.int32))
    return Program(module, exported.in_avals, exported.module_kept_var_idx, exported.out_tree)


def lower(
    function: Callable[..., Any],
    specs: Sequence[Any],
    opset: int,
    *,
    extra_converters: Mapping[str, Callable[..., Any]] | None = None,
) -> Program:
    """Trace a function of arrays and lower it.

    Args:
        function: Function of as many arrays as there are ``specs``.
        specs: ``jax.ShapeDtypeStruct`` of every argument.
        opset: Opset of the standard domain that the nodes are for.
        extra_converters: Converters by operation name, used before the registered ones.

    Returns:
        The program.
    """
    import jax
    from jax import export

    traced = jax.jit(function).trace(*specs)
    if says_something(traced.jaxpr.jaxpr):
        function = keep_whole(function)
        traced = jax.jit(function).trace(*specs)
    program = _in_memory(traced.lower(lowering_platforms=("cpu",)), specs)
    if program is None or needs_expansion(program.module, opset, extra_converters=extra_converters):
        exported = export.export(jax.jit(keep_whole(function)), platforms=("cpu",))(*specs)
        return read_exported(exported)
    return program


def _in_memory(lowered: Any, specs: Sequence[Any]) -> Program | None:
    """The module where JAX holds it, or ``None`` if it has more than arrays and sizes."""
    details = getattr(lowered, "_lowering", None)
    arguments: Mapping[str, Any] = getattr(details, "compile_args", {})
    if "kept_var_idx" not in arguments or arguments.get("mut"):
        return None
    kept = sorted(arguments["kept_var_idx"])
    module = read_module(lowered.compiler_ir("stablehlo"))
    main = module.main
    sizes = [a.get(_SIZE) for a in main.argument_attributes] or [None] * len(main.body.arguments)
    count = sum(name is not None for name in sizes)
    values = (*main.body.arguments, *main.body.outputs)
    if (
        len(main.body.arguments) != count + len(kept)
        or len(main.body.outputs) != lowered.out_tree.num_leaves
        or any(value.type is None for value in values)
        or not all(
            o.name.startswith(_DIALECTS) for f in module.functions.values() for o in f.body.walk()
        )
    ):
        return None
    if not _read_sizes(main.body, sizes[:count], [specs[i].shape for i in kept]):
        return None
    return Program(module, specs, kept, lowered.out_tree)


def _read_sizes(
    body: ir.Block, names: Sequence[str | None], shapes: Sequence[Sequence[Any]]
) -> bool:
    """Replace the leading arguments, which are sizes, by sizes of the arrays behind them."""
    arguments = body.arguments[len(names) :]
    places = {
        str(dim): (argument, axis)
        for argument, shape in zip(arguments, shapes, strict=True)
        for axis, dim in enumerate(shape)
        if not isinstance(dim, int)
    }
    if not all(name in places for name in names):
        return False
    made: list[ir.Operation] = []
    for value, name in zip(body.arguments, names, strict=False):
        argument, axis = places[str(name)]
        size = ir.Operation("stablehlo.get_dimension_size", [argument], {"dimension": axis})
        result = size.add_result(ir.TensorType((), np.dtype(np.int32)))
        made.append(size)
        if value.tensor.dtype == np.int32:
            size.results[0] = value
        else:
            made.append(ir.Operation("stablehlo.convert", [result], results=[value]))
        value.owner, value.index = made[-1], 0
    body.arguments[:] = arguments
    body.operations[:0] = made
    return True


def _fix_first(body: ir.Block, value: np.ndarray[Any, Any]) -> None:
    """Give the first argument a value: it is no argument any more."""
    argument = body.arguments.pop(0)
    constant = ir.Operation("stablehlo.constant", [], {"value": value}, results=[argument])
    argument.owner, argument.index = constant, 0
    body.operations.insert(0, constant)


def results_of(module: ir.Module) -> Iterator[tuple[str, str, str]]:
    """Every result of a program, functions where they are called.

    Args:
        module: The program.

    Yields:
        The name stack of an operation, its name, and the element type of a result.
    """
    yield from _results(module, module.main.body, "")


def _results(module: ir.Module, block: ir.Block, caller: str) -> Iterator[tuple[str, str, str]]:
    for operation in block.operations:
        layer = joined_layer(caller, operation)
        callee = operation.attributes.get("callee") or operation.attributes.get("decomposition")
        function = module.functions.get(callee) if isinstance(callee, str) else None
        if function is not None:
            yield from _results(module, function.body, layer)
        for region in operation.regions:
            yield from _results(module, region, caller)
        for value in operation.results:
            if value.type is not None:
                yield layer, operation.name, value.type.dtype.name
