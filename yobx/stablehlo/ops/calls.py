"""Calls of marker functions.

Other calls are inlined. The marker functions are made by :mod:`yobx.stablehlo.markers` and are
called ``yobx_<primitive>__end``, with a number behind if there are several; the meaning is that of
the CHLO operation of the same name.
"""

from __future__ import annotations

from typing import Any

from yobx.stablehlo.floor_division import FLOOR_DIVIDE, REMAINDER
from yobx.stablehlo.markers import OPERATORS, stays_whole
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import get_stablehlo_op_converter, register_stablehlo_op_converter
from yobx.stablehlo.spans import is_not_negative, is_positive
from yobx.xbuilder import GraphBuilder


def _register_markers() -> None:
    for word in OPERATORS:

        def converted(g: GraphBuilder, op: Op, _word: str = word) -> Any:
            # symbolic sizes may precede the operand as dimension arguments
            view = Op(op.source, op.scope, op.inputs[-1:])
            if not stays_whole(_word, g.get_type(view.compacts()[0]), g.opset("")):
                return _inlined(op)
            found = get_stablehlo_op_converter(f"chlo.{_word}")
            return found.converter(g, view) if found is not None else _inlined(op)

        register_stablehlo_op_converter(f"call.yobx_{word}")(converted)


@register_stablehlo_op_converter(FLOOR_DIVIDE)
def convert_floor_divide(g: GraphBuilder, op: Op) -> Any:
    """``Div`` of a size by a positive constant; other numbers as JAX wrote it."""
    view = Op(op.source, op.scope, op.inputs[-2:])
    return view.emit.Div(*view.compacts()) if _of_a_size(view) else _inlined(op)


@register_stablehlo_op_converter(REMAINDER)
def convert_remainder(g: GraphBuilder, op: Op) -> Any:
    """``Mod`` by a positive constant or a size; other numbers as JAX wrote it."""
    view = Op(op.source, op.scope, op.inputs[-2:])
    if _of_a_size(view):
        return view.emit.Mod(*view.compacts())
    return _by_a_size(view) or _inlined(op)


def _by_a_size(op: Op) -> str | None:
    """The remainder of a known number by a size, which JAX takes for 1 at least."""
    dividend, divisor = op.values(0), op.values(1)
    if dividend is None or dividend[0] is None or divisor is None or divisor[0] is None:
        return None
    low = divisor[0].bounds()[0]
    if low is None or low < 0:
        return None
    x, y = op.compacts()
    if dividend[0] == -1 and is_positive(divisor[0]):
        return str(op.emit.Add(y, x))
    if low == 0:  # of no elements onnxruntime would divide by zero
        y = op.emit.Max(y, op.scalar(1, 1))
    return str(op.emit.Mod(x, y))


def _of_a_size(op: Op) -> bool:
    dividend, divisor = op.values(0), op.static_ints(1)
    if dividend is None or dividend[0] is None or divisor is None or divisor[0] <= 0:
        return False
    return is_not_negative(dividend[0])


def _inlined(op: Op) -> Any:
    """The expansion that JAX wrote."""
    function = op.scope.converters.inlined(op.source)
    if function is None:
        raise op.unsupported("a call of an unknown function", "Export the function again.")
    results = op.scope.call(function, [(t,) for t in op.inputs])
    return tuple(parts[0] for parts in results)


_register_markers()
