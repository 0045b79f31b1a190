"""Dtype policies, quantised layers and low-rank adaptation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.entries import Entry, grid, layer, model, numbers, settle, whole

__all__ = ["entries"]

_MATRIX, _STEPS, _IMAGE = numbers(2, 8), numbers(2, 5, 8), numbers(2, 6, 7, 4)
_IDS = whole(2, 5, high=9)
# An orthogonal kernel wants a QR decomposition, which TensorFlow has not in bfloat16.
_UNITS = {"units": 3, "recurrent_initializer": "glorot_uniform"}
# One element more or less in a sum of squares moves all that is divided by it.
_SUMS: dict[str, Any] = {"norm": 4.0, "reason": "a sum rounds once for all of its row"}
_MANY_STEPS = {"Conv2DTranspose", "LSTM", "GRU", "SimpleRNN"}
_STEPWISE: dict[str, Any] = {
    "norm": 4.0,
    "reason": "TensorFlow rounds to sixteen bits after each step of a sum, onnxruntime at its end",
}


def entries() -> Iterator[Entry]:
    """Every entry about precision."""
    for policy in ("mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float64"):
        yield from _policy(policy)
    yield from _quantised()
    yield from _adapted()


def _policy(policy: str) -> Iterator[Entry]:
    for kind, data, arguments in (
        ("Dense", _MATRIX, {"units": 4, "activation": "gelu"}),
        ("EinsumDense", _STEPS, {"equation": "abc,cd->abd", "output_shape": (None, 4)}),
        ("Embedding", _IDS, {"input_dim": 9, "output_dim": 4}),
        ("Conv1D", _STEPS, {"filters": 3, "kernel_size": 3, "padding": "same"}),
        ("Conv2D", _IMAGE, {"filters": 3, "kernel_size": 3, "strides": 2}),
        ("Conv2DTranspose", _IMAGE, {"filters": 3, "kernel_size": 3, "strides": 2}),
        ("DepthwiseConv2D", _IMAGE, {"kernel_size": 3}),
        ("SeparableConv2D", _IMAGE, {"filters": 3, "kernel_size": 3}),
        ("BatchNormalization", _IMAGE, {}),
        ("LayerNormalization", _STEPS, {}),
        ("GroupNormalization", _IMAGE, {"groups": 2}),
        ("RMSNormalization", _STEPS, {}),
        ("MaxPooling2D", _IMAGE, {}),
        ("AveragePooling2D", _IMAGE, {"pool_size": 2, "padding": "same"}),
        ("GlobalAveragePooling2D", _IMAGE, {}),
        ("LSTM", _STEPS, _UNITS),
        ("GRU", _STEPS, _UNITS),
        ("SimpleRNN", _STEPS, _UNITS),
        ("UpSampling2D", _IMAGE, {"interpolation": "bilinear"}),
        ("Resizing", _IMAGE, {"height": 5, "width": 9}),
    ):
        options = _STEPWISE if kind in _MANY_STEPS and policy != "float64" else {}
        yield layer(kind, data, **arguments, dtype=policy, label="policy", options=options)
    for kind in ("UnitNormalization", "Softmax"):
        options = {} if policy == "float64" else _SUMS
        yield layer(kind, _STEPS, dtype=policy, label="policy", options=options)
    yield layer("MultiHeadAttention", _STEPS, _STEPS, num_heads=2, key_dim=3, dtype=policy)


def _quantised() -> Iterator[Entry]:
    layers: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("Dense", _MATRIX, {"units": 4, "activation": "relu"}),
        ("Dense", _STEPS, {"units": 4, "use_bias": False}),
        ("EinsumDense", _STEPS, {"equation": "abc,cde->abde", "output_shape": (None, 2, 4)}),
        ("Embedding", _IDS, {"input_dim": 9, "output_dim": 4}),
        ("ReversibleEmbedding", _IDS, {"input_dim": 9, "output_dim": 4}),
    )
    for kind, data, arguments in layers:
        for mode in ("int8", "int4", "float8"):
            if mode == "float8" and "Embedding" in kind:
                continue  # Keras quantises embeddings to integers only
            yield layer(
                kind,
                data,
                **arguments,
                label=mode,
                after=lambda made, m=mode: made.quantize(m),
            )
    for mode in ("int8", "int4", "float8"):
        yield model(
            "models.Sequential", f"quantised to {mode}", _small, _MATRIX, after=_quantise(mode)
        )
    for mode in ("int8", "int4"):
        yield layer(
            "ReversibleEmbedding",
            numbers(2, 5, 4),
            input_dim=9,
            output_dim=4,
            label=f"{mode}, reverse",
            options={"kwargs": {"reverse": True}},
            after=lambda made, m=mode: made.quantize(m),
        )


def _quantise(mode: str) -> Any:
    return lambda made: made.quantize(mode)


def _small() -> Any:
    import keras

    layers = keras.layers
    return keras.Sequential(
        [keras.Input((8,)), layers.Dense(6, activation="relu"), layers.Dense(3)]
    )


def _adapted() -> Iterator[Entry]:
    def adapt(made: Any) -> None:
        made.enable_lora(2)
        settle(made)

    def adapt_quantised(made: Any) -> None:
        made.quantize("int8")
        made.enable_lora(2)

    for kind, data, arguments in (
        ("Dense", _MATRIX, {"units": 4}),
        ("EinsumDense", _STEPS, {"equation": "abc,cd->abd", "output_shape": (None, 4)}),
        ("Embedding", _IDS, {"input_dim": 9, "output_dim": 4}),
        ("Conv1D", _STEPS, {"filters": 3, "kernel_size": 3}),
        ("Conv2D", _IMAGE, {"filters": 3, "kernel_size": 3}),
        ("Conv3D", numbers(2, 4, 5, 4, 3), {"filters": 3, "kernel_size": 2}),
    ):
        yield layer(kind, data, **arguments, label="LoRA", after=adapt)
        if not kind.startswith("Conv"):
            yield layer(kind, data, **arguments, label="int8, LoRA", after=adapt_quantised)
    for choice in grid(lora_rank=[2]):
        yield layer("Dense", _MATRIX, units=4, **choice)
        yield layer("Conv2D", _IMAGE, filters=3, kernel_size=3, **choice)
