"""Special functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import special
from yobx.lowering.casts import cast
from yobx.tensorflow.ops._op import FLOATS32
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_DIRECT = {
    "Digamma": special.digamma,
    "Erfinv": special.erfinv,
    "Lgamma": special.lgamma,
    "Ndtri": special.ndtri,
}


@register_tf_op_converter(tuple(_DIRECT), dtypes=FLOATS32)
def convert_special(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A function written as series or rational fits."""
    value = _DIRECT[op.type](g, op.inputs[0].name)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("BesselI0", "BesselI0e", "BesselI1", "BesselI1e"), dtypes=FLOATS32)
def convert_bessel(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Modified Bessel functions, plain or scaled by ``exp(-abs(x))``."""
    x = op.inputs[0].name
    value = special.i0e(g, x) if "I0" in op.type else special.i1e(g, x)
    if not op.type.endswith("e"):
        growth = g.op.Exp(g.op.Abs(cast(g, x, np.float64)))
        value = g.op.Mul(value, growth)
    return cast(g, value, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])
