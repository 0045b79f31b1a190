"""Dense layers, embeddings, activations, shapes, merging and what does nothing at inference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.entries import Entry, grid, layer, model, numbers, positive, whole

__all__ = ["entries"]

_MATRIX, _STEPS, _IMAGE = numbers(2, 6), numbers(2, 5, 6), numbers(2, 6, 8, 3)
_TIME = {"free": (1,)}
_FIXED_SIDES = {
    "refused_dynamic": "OperatorNotAllowedInGraphError",
    "reason": "Keras compares the sides while it traces, and wants to know them",
}
# With known sides up to a hundred products are summed, in two steps or in one.
_WIDE_FILTERS = {**_FIXED_SIDES, "norm": 8.0}

#: Every activation by name; ``threshold`` wants arguments and is an entry of ``keras.ops``.
ACTIVATIONS = """celu elu exponential gelu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh
leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax
softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink
glu""".split()


def entries() -> Iterator[Entry]:
    """Every entry about the layers that most models have."""
    yield from _dense()
    yield from _activations()
    yield from _shapes()
    yield from _padding()
    yield from _merging()
    yield from _idle()


def _dense() -> Iterator[Entry]:
    for data in (_MATRIX, _STEPS, numbers(2, 3, 5, 6)):
        yield layer("Dense", data, units=4, label=f"rank {data.ndim}", options=_TIME)
    yield layer("Dense", _MATRIX, units=4, use_bias=False, activation="tanh")
    yield layer("Dense", _MATRIX.astype("float64"), units=4, dtype="float64")
    for equation, shape in (
        ("abc,cd->abd", (None, 64)),
        ("abc,cde->abde", (None, 8, 64)),
        ("...x,xy->...y", 64),
        ("ab,bc->ac", 64),
        ("abc,bcd->abd", (5, 7)),
    ):
        data = _MATRIX if equation.startswith("ab,") else _STEPS
        free = {} if equation == "abc,bcd->abd" else _TIME
        yield layer("EinsumDense", data, equation=equation, output_shape=shape, options=free)
    for axes in ("d", "e", "de"):
        yield layer(
            "EinsumDense",
            _STEPS,
            equation="abc,cde->abde",
            output_shape=(None, 3, 4),
            bias_axes=axes,
            activation="relu",
            options=_TIME,
        )
    for dtype in ("int32", "int64", "uint8", "float32"):
        ids = whole(2, 5, high=7, dtype=dtype)
        yield layer("Embedding", ids, input_dim=7, output_dim=3, label=dtype, options=_TIME)
    yield layer("Embedding", whole(2, 5, high=7), input_dim=7, output_dim=3, mask_zero=True)
    yield layer("ReversibleEmbedding", whole(2, 5, high=7), input_dim=7, output_dim=6)
    for choice in grid(tie_weights=[True, False], reverse_dtype=[None, "float32"]):
        yield layer(
            "ReversibleEmbedding",
            _STEPS,
            input_dim=7,
            output_dim=6,
            **choice,
            label="reverse",
            options={"kwargs": {"reverse": True}, **_TIME},
        )


def _activations() -> Iterator[Entry]:
    for name in ACTIVATIONS:
        yield layer("Activation", _STEPS, activation=name, options=_TIME)
        yield model("activations." + name, "in Dense", _dense_with(name), _MATRIX)
    yield layer("ELU", _MATRIX, alpha=0.7)
    for choice in grid(negative_slope=[0.0, 0.2], max_value=[None, 0.8], threshold=[0.0, 0.3]):
        yield layer("ReLU", _STEPS, **choice)
    yield layer("LeakyReLU", _STEPS, negative_slope=0.15)
    yield layer("PReLU", _STEPS)
    yield layer("PReLU", _IMAGE, shared_axes=[1, 2], options={"free": (1, 2)})
    for axis in (-1, 1, (1, 2)):
        yield layer("Softmax", _STEPS, axis=axis, options=_TIME)
    mask = np.ones((2, 5, 6), bool)
    mask[:, 3:] = False
    yield layer("Softmax", _STEPS, label="masked", options={"kwargs": {"mask": mask}})


def _dense_with(name: str) -> Callable[[], Any]:
    def build() -> Any:
        import keras

        return keras.layers.Dense(4, activation=getattr(keras.activations, name))

    return build


def _shapes() -> Iterator[Entry]:
    yield layer("Flatten", _IMAGE)
    yield layer("Flatten", _IMAGE, data_format="channels_first")
    yield layer("Flatten", numbers(3), label="a line")
    for shape in ((10, 3), (-1,), (3, -1), (5, 2, 3)):
        yield layer("Reshape", _STEPS, target_shape=shape)
    yield layer("Reshape", _STEPS, target_shape=(-1, 3, 2), label="open", options=_TIME)
    yield layer("Permute", _IMAGE, dims=(3, 1, 2), options={"free": (1, 2)})
    yield layer("RepeatVector", _MATRIX, n=3, options=_TIME)
    yield layer("Identity", _STEPS, options=_TIME)
    yield layer("Lambda", _STEPS, function=lambda x: x * 2 + 1, options=_TIME)
    yield layer("Masking", np.round(_STEPS), mask_value=0.0, options=_TIME)
    yield layer("Masking", np.zeros((2, 5, 6), "float32"), mask_value=0.0, label="all masked")


def _padding() -> Iterator[Entry]:
    volume = numbers(2, 5, 6, 7, 3)
    amount: Any
    size: Any
    free: dict[str, Any]
    for padding in (2, (1, 3)):
        yield layer("ZeroPadding1D", _STEPS, padding=padding, options=_TIME)
        yield layer("Cropping1D", _STEPS, cropping=1, label=str(padding), options=_TIME)
    yield layer("Cropping1D", _STEPS, cropping=(0, 2), options=_TIME)
    for form in ("channels_last", "channels_first"):
        free = {"free": (1, 2) if form == "channels_last" else (2, 3)}
        for amount in (1, (2, 1), ((1, 0), (0, 2))):
            yield layer("ZeroPadding2D", _IMAGE, padding=amount, data_format=form, options=free)
        for amount in (1, ((1, 0), (0, 2)), ((0, 0), (1, 1))):
            yield layer("Cropping2D", _IMAGE, cropping=amount, data_format=form, options=free)
        for amount in (1, ((1, 0), (0, 2), (1, 1))):
            free = {"free": (1, 2, 3) if form == "channels_last" else (2, 3, 4)}
            yield layer("ZeroPadding3D", volume, padding=amount, data_format=form, options=free)
            yield layer("Cropping3D", volume, cropping=amount, data_format=form, options=free)
    for size in (2, 3):
        yield layer("UpSampling1D", _STEPS, size=size, options=_TIME)
    for form in ("channels_last", "channels_first"):
        free = {"free": (1, 2) if form == "channels_last" else (2, 3)}
        for method in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
            fixed = {"nearest": {}, "bilinear": _FIXED_SIDES}.get(method, _WIDE_FILTERS)
            for size in (2, (3, 2)):
                yield layer(
                    "UpSampling2D",
                    _IMAGE,
                    size=size,
                    interpolation=method,
                    data_format=form,
                    options={**free, **fixed},
                )
        free = {"free": (1,) if form == "channels_last" else (2,)}
        yield layer("UpSampling3D", volume, size=2, data_format=form, options=free)
        yield layer("UpSampling3D", volume, size=(1, 2, 3), data_format=form, options=free)


def _merging() -> Iterator[Entry]:
    pair = [_STEPS, numbers(2, 5, 6, seed=1)]
    wide = [_STEPS, numbers(2, 1, 6, seed=1)]
    ragged = [_STEPS, numbers(2, 6, seed=2)]
    for kind in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"):
        yield layer(kind, pair, options=_TIME)
        yield layer(kind, wide, label="broadcast")
        yield layer(kind, ragged, label="other rank")
    for kind in ("Add", "Multiply", "Average", "Maximum", "Minimum"):
        yield layer(kind, [*pair, numbers(2, 5, 6, seed=3)], label="three", options=_TIME)
    for axis in (-1, 1, 2):
        yield layer("Concatenate", pair, axis=axis, options=_TIME)
    yield layer("Concatenate", [_STEPS, numbers(2, 3, 6)], axis=1, label="other sizes")
    for normalize in (False, True):
        yield layer("Dot", [_MATRIX, numbers(2, 6, seed=1)], axes=1, normalize=normalize)
        yield layer("Dot", pair, axes=(2, 2), normalize=normalize, options=_TIME)
        yield layer("Dot", pair, axes=1, normalize=normalize, label="rank 3", options=_TIME)
    yield layer("Dot", [_STEPS, numbers(2, 6, 4)], axes=(2, 1), options=_TIME)


def _idle() -> Iterator[Entry]:
    image = positive(2, 8, 8, 3)
    yield layer("ActivityRegularization", _STEPS, l1=0.1, options=_TIME)
    yield layer("AlphaDropout", _STEPS, rate=0.5, options=_TIME)
    yield layer("Dropout", _STEPS, rate=0.5, options=_TIME)
    yield layer("GaussianDropout", _STEPS, rate=0.5, options=_TIME)
    yield layer("GaussianNoise", _STEPS, stddev=0.5, options=_TIME)
    yield layer("SpatialDropout1D", _STEPS, rate=0.5, options=_TIME)
    yield layer("SpatialDropout2D", image, rate=0.5, options={"free": (1, 2)})
    yield layer("SpatialDropout3D", numbers(2, 3, 4, 5, 3), rate=0.5)
