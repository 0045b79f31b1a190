"""Runs a traced JAX function in float64 where it computes in fewer bits.

The equations are those of the trace, so nothing that Python decides by a dtype changes. What is
rounded all the same says ``wide_types.py``. Equations that do not take float64, and those that look
at bits, run in their own types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yobx.verification.boundary import Attempt
from yobx.verification.jax_equations import entered
from yobx.verification.wide_types import keeps_all, wide_name, within_range

__all__ = ["run_in_float64"]

# What they give goes by the bits of what they are given.
_BITS = frozenset({"bitcast_convert_type", "nextafter", "reduce_precision"})
# What they call is written for the types that it was given.
_FOREIGN = frozenset({"call_exported", "ffi_call", "io_callback", "pure_callback"})


@dataclass
class _Mode:
    """How results are treated; primitives that ran in types of their own."""

    rounded: bool
    in_range: bool
    kept: dict[str, None] = field(default_factory=dict)


def run_in_float64(
    closed: Any, arrays: Sequence[Any], *, rounded: bool = False, in_range: bool = False
) -> tuple[list[Any], tuple[str, ...]]:
    """Evaluates equations.

    Args:
        closed: What `jax.make_jaxpr` made of a function.
        arrays: Its inputs, one by one.
        rounded: Whether each result is rounded to its own type.
        in_range: Whether results of float16 have the range of float32.

    Returns:
        Outputs in float64 and complex128, and names of the primitives that ran in their own types
        since they take no others.
    """
    import jax

    mode = _Mode(rounded, in_range)

    def function(*given: Any) -> list[Any]:
        return _run(closed.jaxpr, closed.consts, given, mode)

    with jax.enable_x64(True):
        # Else XLA leaves out conversions to fewer bits and back.
        options = {"xla_allow_excess_precision": False}
        compiled = jax.jit(function).lower(*arrays).compile(compiler_options=options)
        return list(compiled(*arrays)), tuple(mode.kept)


def _run(jaxpr: Any, constants: Sequence[Any], arrays: Sequence[Any], mode: _Mode) -> list[Any]:
    """Evaluates equations while they are traced."""
    known: dict[Any, Any] = {}

    def read(variable: Any) -> Any:
        if hasattr(variable, "val"):
            return _result(np.asarray(variable.val, variable.aval.dtype), variable.aval, mode)
        return known[variable]

    def write(variables: Sequence[Any], values: Sequence[Any]) -> None:
        pairs = zip(variables, values, strict=True)
        known.update((variable, _result(value, variable.aval, mode)) for variable, value in pairs)

    write(jaxpr.constvars, constants)
    write(jaxpr.invars, arrays)
    for equation in jaxpr.eqns:
        inputs = [read(variable) for variable in equation.invars]
        inner = entered(equation, inputs)
        if inner is not None:
            outputs = _run(inner.jaxpr, inner.constants, inner.inputs, mode)
        elif equation.outvars:  # others print, say
            outputs = _equation(equation, inputs, mode)
        else:
            outputs = []
        write(equation.outvars, outputs)
    return [read(variable) for variable in jaxpr.outvars]


def _equation(equation: Any, inputs: list[Any], mode: _Mode) -> list[Any]:
    name, params = equation.primitive.name, equation.params
    if name == "convert_element_type":
        return [_converted(inputs[0], equation.invars[0].aval.dtype, params["new_dtype"])]
    if name not in _BITS | _FOREIGN:
        outputs: list[Any] = []
        with Attempt() as attempt:  # it takes no float64
            wide = {key: _widened_param(value, mode) for key, value in params.items()}
            outputs = _bind(equation, inputs, wide)
        if attempt.error is None and not any(_is_narrow(made.dtype) for made in outputs):
            return outputs
    pairs = zip(inputs, equation.invars, strict=True)
    own = [_rounded(value, variable.aval.dtype) for value, variable in pairs]
    outputs = _bind(equation, own, params)
    if name not in _BITS and any(_is_narrow(made.dtype) for made in outputs):
        mode.kept[name] = None
    return outputs


def _bind(equation: Any, inputs: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    bound = equation.primitive.get_bind_params(params)
    functions, rest = bound if isinstance(bound, tuple) else ((), bound)
    with equation.ctx.manager:
        made = equation.primitive.bind(*functions, *inputs, **rest)
    return list(made) if equation.primitive.multiple_results else [made]


def _converted(value: Any, source: Any, to: Any) -> Any:
    """A conversion rounds where it did."""
    import jax.numpy as jnp

    if not _plain_dtype(to):
        return value
    if keeps_all(np.dtype(source).name, np.dtype(to).name):
        return value.astype(_wide(to))
    return jnp.asarray(value).astype(to)


def _rounded(value: Any, dtype: Any) -> Any:
    if not _plain_dtype(dtype) or value.dtype == dtype:
        return value
    import jax.numpy as jnp

    return jnp.asarray(value).astype(dtype)


def _result(value: Any, aval: Any, mode: _Mode) -> Any:
    import jax.numpy as jnp

    own = getattr(aval, "dtype", None)
    if own is None or not _plain_dtype(own) or not _is_narrow(own):
        return value
    return within_range(
        jnp.asarray(value),
        (own, _wide(own)),
        rounded=mode.rounded,
        ends=np.float32 if mode.in_range and np.dtype(own) == np.float16 else own,
        cast=lambda array, dtype: array.astype(dtype),
        with_infinities=lambda array, narrow: jnp.where(
            jnp.isinf(narrow), jnp.copysign(jnp.inf, array), array
        ),
    )


def _widened_param(value: Any, mode: _Mode) -> Any:
    """A parameter with float64 in it: a dtype, the equations of a body, or several."""
    import jax
    from jax.extend import core

    if isinstance(value, core.ClosedJaxpr):

        def body(*arrays: Any) -> list[Any]:
            return _run(value.jaxpr, value.consts, arrays, mode)

        return jax.make_jaxpr(body)(*map(_wide_aval, value.in_avals))
    if isinstance(value, core.Jaxpr):
        closed = _widened_param(core.ClosedJaxpr(value, ()), mode)
        if closed.consts:
            raise TypeError("equations without constants got some")
        return closed.jaxpr
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_widened_param(part, mode) for part in value)
    if isinstance(value, (np.dtype, type)) and _is_dtype(value):
        return _wide(value)
    return value


def _wide_aval(aval: Any) -> Any:
    import jax

    if not hasattr(aval, "dtype"):
        return aval
    return jax.ShapeDtypeStruct(aval.shape, _wide(aval.dtype))


def _is_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) or issubclass(value, np.generic)


def _plain_dtype(dtype: Any) -> bool:
    """Whether a dtype is one of numpy, and not that of random keys."""
    return isinstance(dtype, (np.dtype, type))


def _is_narrow(dtype: Any) -> bool:
    return bool(_wide(dtype) != dtype)


def _wide(dtype: Any) -> Any:
    """The type that stands for a narrower one."""
    if not _plain_dtype(dtype):
        return dtype
    kind = np.dtype(dtype)
    wide = wide_name(kind.name)
    return kind if wide == kind.name else np.dtype(wide)
