"""Calls of functions with a known meaning, and composites.

Other calls are inlined. The marker functions are made by :mod:`yobx.stablehlo.markers` and are called
``yobx_<primitive>[_<parameters>]__end``; their meaning is that of the CHLO operation they wrap.
"""

from __future__ import annotations

from typing import Any

from yobx.xbuilder import GraphBuilder

from ..op import Op
from ..registry import get_stablehlo_op_converter, register_stablehlo_op_converter

#: Marker call -> the operation that has the same operands and results.
MARKERS = {
    "call.yobx_erf": "chlo.erf",
    "call.yobx_erfc": "chlo.erfc",
    "call.yobx_erf_inv": "chlo.erf_inv",
    "call.yobx_lgamma": "chlo.lgamma",
    "call.yobx_digamma": "chlo.digamma",
    "call.yobx_bessel_i1e": "chlo.bessel_i1e",
    "call.yobx_asin": "chlo.asin",
    "call.yobx_acos": "chlo.acos",
    "call.yobx_atan": "chlo.atan",
    "call.yobx_asinh": "chlo.asinh",
    "call.yobx_acosh": "chlo.acosh",
    "call.yobx_atanh": "chlo.atanh",
    "call.yobx_sinh": "chlo.sinh",
    "call.yobx_cosh": "chlo.cosh",
}


def _register_markers() -> None:
    for call, operation in MARKERS.items():

        def converted(g: GraphBuilder, op: Op, _operation: str = operation) -> Any:
            found = get_stablehlo_op_converter(_operation)
            if found is None:
                raise op.unsupported(_operation, "Give it a converter with extra_converters.")
            # symbolic sizes may precede the operand as dimension arguments
            view = Op(op.source, op.scope, op.inputs[-1:])
            return found.converter(g, view)

        register_stablehlo_op_converter(call)(converted)


_register_markers()
