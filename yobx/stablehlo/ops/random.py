"""Random bits: the generators of XLA, bit for bit."""

from __future__ import annotations

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.random_bits import philox_bits, threefry_bits
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.xbuilder import GraphBuilder


@register_stablehlo_op_converter("stablehlo.rng_bit_generator")
def convert_rng_bit_generator(g: GraphBuilder, op: Op) -> tuple[str, str]:
    """The next state and random integers; the default algorithm is Philox on CPU."""
    shape, dtype = op.out_type(1).static_shape(), op.out_dtype(1)
    if shape is None or dtype.kind not in "iu" or dtype.itemsize < 4:
        raise op.unsupported(
            f"random bits of type {op.out_type(1)}", "Draw 32 or 64 bits of a fixed shape."
        )
    draw = threefry_bits if op.attr("rng_algorithm") == "THREE_FRY" else philox_bits
    state, bits = draw(g, op.x(), shape, 8 * dtype.itemsize)
    return cast(g, state, np.uint64), cast(g, bits, dtype)
