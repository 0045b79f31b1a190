"""Gradients of activations, fused cells, morphology, adjoint depthwise, ragged to dense."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case

NAMES = {
    "ReluGrad": "gradients features", "Relu6Grad": "gradients features",
    "LeakyReluGrad": "gradients features", "EluGrad": "gradients outputs",
    "SeluGrad": "gradients outputs", "SoftplusGrad": "gradients features",
    "SoftsignGrad": "gradients features", "SigmoidGrad": "dy y", "TanhGrad": "dy y",
    "SqrtGrad": "dy y", "RsqrtGrad": "dy y", "InvGrad": "dy y", "ReciprocalGrad": "dy y",
}  # fmt: skip


def gradient_cases() -> Iterator[Case]:
    """Yield derivatives of activations by dtype."""
    for op_type, words in NAMES.items():
        first, second = words.split()
        raw = getattr(tf.raw_ops, op_type)
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            low = -0.9 if op_type in ("EluGrad", "SeluGrad", "TanhGrad") else 0.1
            low = -3 if second == "features" else low
            yield Case(
                f"{op_type}-{dtype}",
                lambda a, b, raw=raw, first=first, second=second: raw(**{first: a, second: b}),
                (Arg(dtype, ("n", 5)), Arg(dtype, ("n", 5), low, 3)),
                ulps=8,
                floor=1.0,
                dynamic=dtype == "float32",
            )
    yield Case("BiasAddGrad", lambda x: tf.raw_ops.BiasAddGrad(out_backprop=x),
               (Arg("float32", ("n", 3, 4)),), contraction=8)  # fmt: skip


def cell_cases() -> Iterator[Case]:
    """Yield single steps of recurrent layers."""
    x, h, c = Arg("float32", ("n", 3)), Arg("float32", ("n", 2)), Arg("float32", ("n", 2))
    for peephole in (False, True):
        yield Case(
            f"lstm_cell-{peephole}",
            lambda x, h, c, w, p, b, peephole=peephole: tf.raw_ops.LSTMBlockCell(
                x=x, cs_prev=c, h_prev=h, w=w, wci=p, wcf=p * 0.5, wco=p + 1.0, b=b,
                forget_bias=0.7, cell_clip=1.5, use_peephole=peephole,
            ),
            (x, h, c, Arg("float32", (5, 8), -1, 1), Arg("float32", (2,)), Arg("float32", (8,))),
            ulps=32,
            floor=1.0,
        )  # fmt: skip
    yield Case(
        "gru_cell",
        lambda x, h, wg, wc, bg, bc: tf.raw_ops.GRUBlockCell(
            x=x, h_prev=h, w_ru=wg, w_c=wc, b_ru=bg, b_c=bc
        ),
        (x, h, Arg("float32", (5, 4), -1, 1), Arg("float32", (5, 2), -1, 1),
         Arg("float32", (4,)), Arg("float32", (2,))),
        ulps=32,
        floor=1.0,
    )  # fmt: skip


WINDOWS = [
    Case("dilation", lambda x, w: tf.raw_ops.Dilation2D(input=x, filter=w, strides=[1, 2, 1, 1],
         rates=[1, 1, 2, 1], padding="SAME"), (Arg("float32", ("n", 6, "m", 2)),
         Arg("float32", (3, 2, 2)))),
    Case("dilation_int", lambda x, w: tf.raw_ops.Dilation2D(input=x, filter=w,
         strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID"),
         (Arg("int32", ("n", 6, 5, 2)), Arg("int32", (3, 2, 2)))),
    Case("depthwise_transpose", lambda x, w: tf.raw_ops.DepthwiseConv2dNativeBackpropInput(
         input_sizes=[tf.shape(x)[0], 8, 10, 3], filter=w, out_backprop=x, strides=[1, 2, 2, 1],
         padding="SAME"), (Arg("float32", ("n", 4, 5, 6)), Arg("float32", (3, 3, 3, 2))),
         contraction=16),
    Case("ragged_to_dense", lambda v: tf.RaggedTensor.from_row_splits(v, [0, 2, 2, 5]).to_tensor(
         9.0), (Arg("float32", (5, "n")),)),
    Case("ragged_to_shape", lambda v: tf.RaggedTensor.from_value_rowids(v, [0, 0, 0, 2, 3])
         .to_tensor(shape=[3, 2]), (Arg("int32", (5,)),)),
]  # fmt: skip


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*gradient_cases(), *cell_cases(), *WINDOWS]
