"""``keras.ops.nn``: activations, convolutions, pooling, losses, attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.entries import LARGE, Entry, function, numbers, positive, whole

__all__ = ["entries"]

_A, _IMAGE = (
    np.concatenate([3 * numbers(3, 6), np.zeros((3, 2), "float32")], 1),
    numbers(2, 7, 8, 4),
)
_OPEN, _SIDES = {"free": (1,)}, {"free": (1, 2)}
_WINDOWS = {**_SIDES, "options": LARGE}


def entries() -> Iterator[Entry]:
    """Every entry about networks."""
    yield from _activations()
    yield from _convolutions()
    yield from _pooling()
    yield from _normalisations()
    yield from _losses()
    yield from _attention()


def _activations() -> Iterator[Entry]:
    from keras import ops

    for (
        name
    ) in """celu elu gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu
        log_sigmoid log_softmax relu relu6 selu silu soft_shrink softmax softplus softsign
        sparse_plus sparse_sigmoid sparsemax squareplus swish tanh_shrink""".split():
        yield function(name, getattr(ops, name), _A, free=() if name == "glu" else (1,))
    yield function("gelu", lambda x: ops.gelu(x, approximate=False), _A, label="exact")
    yield function("threshold", lambda x: ops.threshold(x, 0.5, -1.0), _A, **_OPEN)
    for name in ("softmax", "log_softmax", "sparsemax", "glu"):
        call = getattr(ops, name)
        yield function(name, lambda x, c=call: c(x, axis=1), numbers(2, 4, 3), label="axis 1")
    yield function(
        "softmax",
        lambda x: ops.softmax(x, axis=(1, 2)),
        numbers(2, 4, 3),
        label="axes",
        modes=("static",),
    )


# A window of a transposed convolution is summed in an order of its own.
_SUMS: dict[str, Any] = {"norm": 5.0, "reason": "sums have no order"}


def _convolutions() -> Iterator[Entry]:
    from keras import ops

    kernel = {
        "conv": numbers(3, 3, 4, 5),
        "depthwise_conv": numbers(3, 3, 4, 2),
        "conv_transpose": numbers(3, 3, 5, 4),
    }
    for name, weights in kernel.items():
        for padding in ("valid", "same"):
            for strides in (1, 2):
                call = _convolved(name, weights, strides=strides, padding=padding)
                extra = _SUMS if name == "conv_transpose" else {}
                yield function(
                    name, call, _IMAGE, label=f"{padding} {strides}", **_WINDOWS, **extra
                )
    yield function(
        "conv", ops.conv, _IMAGE, kernel["conv"], label="kernel as input", free=({0: "n"}, {})
    )
    yield function(
        "conv",
        ops.conv,
        numbers(2, 9, 4),
        numbers(3, 4, 5),
        label="rank 1",
        free=({0: "n", 1: "t"}, {}),
    )
    yield function(
        "separable_conv",
        ops.separable_conv,
        _IMAGE,
        kernel["depthwise_conv"],
        numbers(1, 1, 8, 3),
        free=({0: "n"}, {}, {}),
    )


def _convolved(name: str, weights: Any, **options: Any) -> Any:
    def call(x: Any) -> Any:
        from keras import ops

        return getattr(ops, name)(x, weights, **options)

    return call


def _pooling() -> Iterator[Entry]:
    from keras import ops

    for name in ("max_pool", "average_pool"):
        call = getattr(ops, name)
        for padding in ("valid", "same"):
            yield function(
                name,
                lambda x, c=call, p=padding: c(x, 3, strides=2, padding=p),
                _IMAGE,
                label=padding,
                **_WINDOWS,
            )
    for name in ("adaptive_average_pool", "adaptive_max_pool"):
        call = getattr(ops, name)
        yield function(name, lambda x, c=call: c(x, 3, data_format="channels_last"), _IMAGE)


def _normalisations() -> Iterator[Entry]:
    from keras import ops

    mean, variance = numbers(4), positive(4)
    yield function(
        "batch_normalization",
        lambda x, m, v: ops.batch_normalization(x, m, v, axis=-1),
        _IMAGE,
        mean,
        variance,
        free=({0: "n"}, {}, {}),
    )
    yield function(
        "batch_normalization",
        lambda x: ops.batch_normalization(x, mean, variance, axis=-1, offset=mean, scale=variance),
        _IMAGE,
        label="scaled",
        **_SIDES,
    )
    yield function(
        "layer_normalization",
        lambda x: ops.layer_normalization(x, gamma=variance, beta=mean),
        _IMAGE,
        **_SIDES,
    )
    yield function(
        "rms_normalization", lambda x: ops.rms_normalization(x, scale=variance), _IMAGE, **_SIDES
    )


def _losses() -> Iterator[Entry]:
    from keras import ops

    wanted, chances = np.eye(5, dtype="float32")[whole(3, high=5)], positive(3, 5)
    for logits in (False, True):
        said = {"label": f"from_logits={logits}"}
        for name in ("categorical_crossentropy", "binary_crossentropy"):
            call = getattr(ops, name)
            yield function(
                name,
                lambda t, o, c=call, f=logits: c(t, o, from_logits=f),
                wanted,
                chances,
                **said,
            )
        yield function(
            "sparse_categorical_crossentropy",
            lambda t, o, f=logits: ops.sparse_categorical_crossentropy(t, o, from_logits=f),
            whole(3, high=5),
            chances,
            **said,
        )
    yield function(
        "psnr", lambda a, b: ops.psnr(a, b, 1.0), positive(2, 4, 4, 3), positive(2, 4, 4, 3, seed=1)
    )
    lengths = np.array([3, 2], "int32"), np.array([6, 5], "int32")
    yield function(
        "ctc_loss",
        ops.ctc_loss,
        whole(2, 3, low=1, high=5),
        numbers(2, 6, 5),
        *lengths,
    )
    beams: dict[str, Any] = {
        "refused": "CTCBeamSearchDecoder",
        "reason": "a search that grows sequences has no ONNX operator",
    }
    for strategy in ("greedy", "beam_search"):
        yield function(
            "ctc_decode",
            lambda x, n, s=strategy: ops.ctc_decode(x, n, strategy=s),
            numbers(2, 6, 5),
            lengths[1],
            label=strategy,
            **(beams if strategy == "beam_search" else {}),
        )


def _attention() -> Iterator[Entry]:
    from keras import ops

    q, k, v = numbers(2, 5, 3, 4), numbers(2, 7, 3, 4), numbers(2, 7, 3, 4, seed=1)
    yield function("dot_product_attention", ops.dot_product_attention, q, k, v, **_OPEN)
    mask = numbers(2, 3, 5, 7) > -0.5
    yield function(
        "dot_product_attention",
        lambda q, k, v, m: ops.dot_product_attention(q, k, v, mask=m),
        q,
        k,
        v,
        mask,
        label="mask",
    )
    yield function(
        "dot_product_attention",
        lambda q, k, v: ops.dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        q,
        q,
        q,
        label="causal",
        **_OPEN,
    )
    bias = numbers(2, 3, 5, 7)
    yield function(
        "dot_product_attention",
        lambda q, k, v, b: ops.dot_product_attention(q, k, v, bias=b, flash_attention=False),
        q,
        k,
        v,
        bias,
        label="bias",
    )
