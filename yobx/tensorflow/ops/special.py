"""Special functions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from yobx.lowering import special
from yobx.lowering import special_series as series
from yobx.lowering.casts import cast
from yobx.tensorflow.ops._op import FLOATS, FLOATS32
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_DIRECT = {
    "Digamma": special.digamma,
    "Erfinv": special.erfinv,
    "Lgamma": special.lgamma,
    "Ndtri": special.ndtri,
}


def _told(g: GraphBuilder, op: Any) -> AbstractContextManager[None]:
    """Note on the nodes made inside, in float64, that TensorFlow computes the same in float32."""
    single = op.inputs[0].dtype.as_numpy_dtype == np.float32
    return g.provenance(widened="float32" if single else "")


@register_tf_op_converter(("Digamma", "Lgamma"), dtypes=FLOATS)
@register_tf_op_converter(("Erfinv", "Ndtri"), dtypes=FLOATS32)
def convert_special(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A function written as series or rational fits."""
    with _told(g, op) if op.type == "Digamma" else nullcontext():
        value = _DIRECT[op.type](g, op.inputs[0].name)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("BesselI0", "BesselI0e", "BesselI1", "BesselI1e"), dtypes=FLOATS)
def convert_bessel(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Modified Bessel functions, plain or scaled by ``exp(-abs(x))``."""
    x = op.inputs[0].name
    with _told(g, op):
        value = special.i0e(g, x) if "I0" in op.type else special.i1e(g, x)
    if not op.type.endswith("e"):
        growth = g.op.Exp(g.op.Abs(cast(g, x, np.float64)))
        value = g.op.Mul(value, growth)
    return cast(g, value, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])


_SERIES: dict[str, Callable[..., str]] = {
    "BesselJ0": partial(series.bessel_j, order=0),
    "BesselJ1": partial(series.bessel_j, order=1),
    "BesselK0e": partial(series.bessel_ke, order=0),
    "BesselK1e": partial(series.bessel_ke, order=1),
    "Betainc": series.betainc,
    "Dawsn": series.dawson,
    "Expint": series.expint,
    "FresnelCos": partial(series.fresnel, cosine=True),
    "FresnelSin": partial(series.fresnel, cosine=False),
    "Igamma": partial(series.igamma, upper=False),
    "Igammac": partial(series.igamma, upper=True),
    "Polygamma": series.polygamma,
    "Spence": series.spence,
    "Zeta": series.zeta,
}


@register_tf_op_converter(tuple(_SERIES), dtypes=FLOATS)
def convert_series(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A function computed in float64, whatever the dtype."""
    value = _SERIES[op.type](g, *(i.name for i in op.inputs))
    return cast(g, value, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])


@register_tf_op_converter(("BesselK0", "BesselK1"), dtypes=FLOATS)
def convert_bessel_k(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Modified Bessel functions of the second kind."""
    x = op.inputs[0].name
    value = series.bessel_ke(g, x, int(op.type == "BesselK1"))
    decay = g.op.Exp(g.op.Neg(cast(g, x, np.float64)))
    endless = g.op.LessOrEqual(cast(g, x, np.float64), np.array(0.0))
    value = g.op.Where(endless, value, g.op.Mul(value, decay))
    return cast(g, value, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])
