"""Keep operations whole that JAX would expand before it serialises a module.

:func:`keep_whole` evaluates the jaxpr of a function and puts each such primitive into a ``jit`` of
its own with a telling name. The call survives ``jax.export``, ``jax2tf`` and symbolic dimensions;
:mod:`yobx.stablehlo.ops.calls` gives it its meaning back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from yobx.lowering.kernels import has_kernel
from yobx.onnx_optim import TensorType

__all__ = ["MARKED", "OPERATORS", "keep_whole", "marker_name", "says_something", "stays_whole"]

#: Primitive -> the ONNX operator that makes it worth keeping whole.
OPERATORS = {
    "erf": "Erf",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "sinh": "Sinh",
    "cosh": "Cosh",
}
#: Primitives of one operand for which ONNX has an operator, or part of one (erfc in Gelu).
MARKED = frozenset((*OPERATORS, "erfc"))
#: CHLO operations whose expansion is what XLA computes, to the last bit.
_EXPANDED = ("erfc", "next_after")
#: Primitives that tell the user about values and compute nothing.
_SPEECH = frozenset(("debug_callback", "debug_print"))
_REWRITTEN = MARKED | _SPEECH
_WITH_BODIES = frozenset(("scan", "while", "cond", "jit"))
_INLINED = {
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
}


def marker_name(primitive: str) -> str:
    """Name of the function that stands for a primitive."""
    return f"yobx_{primitive}__end"


def stays_whole(word: str, dtype: TensorType, opset: int) -> bool:
    """Whether the operator for a CHLO operation is as exact as the expansion that JAX writes.

    Args:
        word: Name of the operation, without its dialect.
        dtype: Element type of its operand.
        opset: Opset of the standard domain.

    Returns:
        ``False`` where the operator would run in less precision, or where there is none.
    """
    if word in _EXPANDED:
        return False
    operator = OPERATORS.get(word)
    is_exact = operator is None or dtype != TensorType.kDouble
    return is_exact or has_kernel(operator or "", opset, dtype)


def keep_whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its special functions arrive whole.

    Args:
        function: A JAX function; any pytrees in and out.

    Returns:
        A function with the same name, arguments and results, to be exported or lowered. It says
        nothing, where the function prints or calls back for debugging.
    """

    def kept(*args: Any, **kwargs: Any) -> Any:
        import jax

        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args, **kwargs)
        if not any(name in _REWRITTEN for name in _primitives(closed.jaxpr)):
            return function(*args, **kwargs)
        leaves = jax.tree.leaves((args, kwargs))
        results = _Evaluation().run(closed.jaxpr, closed.consts, leaves)
        return jax.tree.unflatten(jax.tree.structure(shapes), results)

    kept.__name__ = kept.__qualname__ = getattr(function, "__name__", "kept")
    return kept


def says_something(jaxpr: Any) -> bool:
    """Whether a jaxpr prints or calls back for debugging, which :func:`keep_whole` leaves out."""
    return any(name in _SPEECH for name in _primitives(jaxpr))


def _primitives(jaxpr: Any) -> Iterator[str]:
    """Names of all primitives, those of inner jaxprs too."""
    from jax.extend.core import jaxprs_in_params

    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in jaxprs_in_params(equation.params):
            yield from _primitives(inner)


class _Evaluation:
    """Runs equations on traced values; marked primitives are wrapped, inner jaxprs rewritten."""

    def __init__(self) -> None:
        self._rewritten: dict[int, tuple[Any, Any]] = {}

    def run(self, jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        from jax.extend.core import Literal

        values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, Literal) else values[atom]

        for equation in jaxpr.eqns:
            with _named(equation), equation.ctx.manager:
                results = self._bind(equation, [read(atom) for atom in equation.invars])
            values.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _bind(self, equation: Any, operands: list[Any]) -> list[Any]:
        primitive, parameters = equation.primitive, equation.params
        if primitive.name in _SPEECH:
            return []
        if primitive.name in MARKED:
            return self._marked(primitive, parameters, operands)
        if primitive.name in _INLINED:
            inner = parameters[_INLINED[primitive.name]]
            open_jaxpr = getattr(inner, "jaxpr", inner)
            return self.run(open_jaxpr, getattr(inner, "consts", ()), operands)
        if primitive.name in _WITH_BODIES:
            parameters = {k: self._rewrite(v) for k, v in parameters.items()}
            results = primitive.bind(*operands, **parameters)
        else:
            given = primitive.get_bind_params(parameters)
            functions, rest = given if isinstance(given, tuple) else ((), given)
            results = primitive.bind(*functions, *operands, **rest)
        return list(results) if primitive.multiple_results else [results]

    def _marked(self, primitive: Any, parameters: Any, operands: list[Any]) -> list[Any]:
        import jax

        def whole(*values: Any) -> Any:
            return primitive.bind(*values, **parameters)

        whole.__name__ = whole.__qualname__ = marker_name(primitive.name)
        return [jax.jit(whole)(*operands)]

    def _rewrite(self, value: Any) -> Any:
        """A parameter with its closed jaxprs rewritten; the same object gives the same object."""
        from jax.extend.core import ClosedJaxpr

        if isinstance(value, tuple) and any(isinstance(v, ClosedJaxpr) for v in value):
            return tuple(self._rewrite(v) for v in value)
        if not isinstance(value, ClosedJaxpr):
            return value
        if id(value) not in self._rewritten:
            self._rewritten[id(value)] = (self._rewrite_jaxpr(value), value)
        return self._rewritten[id(value)][0]

    def _rewrite_jaxpr(self, closed: Any) -> Any:
        import jax

        if not any(name in _REWRITTEN for name in _primitives(closed.jaxpr)):
            return closed

        def body(*arguments: Any) -> list[Any]:
            return self.run(closed.jaxpr, closed.consts, arguments)

        shapes = [
            jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type)
            for v in closed.jaxpr.invars
        ]
        return jax.make_jaxpr(body)(*shapes)


def _named(equation: Any) -> Any:
    """Context in which new equations get the name stack and the source line of an old one."""
    from jax.extend import source_info_util

    info = equation.source_info
    stack = source_info_util.current_name_stack() + info.name_stack
    return source_info_util.user_context(info.traceback, name_stack=stack)
