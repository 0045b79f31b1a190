"""Convolutions: padding, strides, dilation, groups, both data formats."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.entries import LARGE, Entry, grid, layer, numbers

__all__ = ["entries"]

_LINE, _IMAGE, _VOLUME = numbers(2, 11, 4), numbers(2, 9, 10, 4), numbers(2, 6, 7, 5, 4)
_OF_RANK = {1: _LINE, 2: _IMAGE, 3: _VOLUME}
_FREE = {1: (1,), 2: (1, 2), 3: (1, 2, 3)}
# Keras adds the bias along the last axis when that has as many elements as there are channels, so
# no width is one here.
_FIRST = {1: numbers(2, 4, 11), 2: numbers(2, 4, 9, 11), 3: numbers(2, 4, 6, 7, 5)}
_MANY = 12
_FREE_FIRST = {1: (2,), 2: (2, 3), 3: (2, 3, 4)}


def entries() -> Iterator[Entry]:
    """Every entry about convolutions."""
    for rank in (1, 2, 3):
        yield from _plain(rank)
        yield from _transposed(rank)
    for rank in (1, 2):
        yield from _depthwise(rank)
        yield from _separable(rank)


def _plain(rank: int) -> Iterator[Entry]:
    kind, data, free = f"Conv{rank}D", _OF_RANK[rank], {"free": _FREE[rank], "options": LARGE}
    paddings = ["valid", "same", "causal"] if rank == 1 else ["valid", "same"]
    for choice in grid(padding=paddings, strides=[1, 2, 3], kernel_size=[3, 2]):
        yield layer(kind, data, filters=3, **choice, options=free)
    for choice in grid(padding=paddings, dilation_rate=[2], groups=[1, 2], use_bias=[False]):
        yield layer(kind, data, filters=4, kernel_size=2, **choice, options=free)
    yield layer(kind, data, filters=6, kernel_size=3, groups=2, padding="same", options=free)
    yield layer(kind, data, filters=4, kernel_size=1, activation="gelu", options=free)
    first = {"free": _FREE_FIRST[rank], "options": LARGE}
    for choice in grid(padding=["valid", "same"], strides=[1, 2]):
        yield layer(
            kind,
            _FIRST[rank],
            filters=_MANY,
            kernel_size=3,
            data_format="channels_first",
            **choice,
            options=first,
        )
    if rank == 2:
        uneven = {"kernel_size": (3, 2), "padding": "same"}
        yield layer(kind, data, filters=3, **uneven, dilation_rate=(2, 1), options=free)
        yield layer(kind, data, filters=3, **uneven, strides=(1, 1), options=free)
        yield layer(kind, data, filters=3, **uneven, strides=(2, 1), options=free)


def _transposed(rank: int) -> Iterator[Entry]:
    kind, data, free = (
        f"Conv{rank}DTranspose",
        _OF_RANK[rank],
        {"free": _FREE[rank] if rank < 3 else (), "options": LARGE},
    )
    for choice in grid(padding=["valid", "same"], strides=[1, 2, 3], kernel_size=[3, 2]):
        yield layer(kind, data, filters=3, **choice, options=free)
    for choice in grid(padding=["valid", "same"], output_padding=[0, 1], use_bias=[False]):
        yield layer(kind, data, filters=3, kernel_size=3, strides=2, **choice, options=free)
    if rank < 3:
        yield layer(kind, data, filters=3, kernel_size=3, dilation_rate=2, options=free)
        for padding in ("valid", "same"):
            yield layer(
                kind,
                _FIRST[rank],
                filters=3,
                kernel_size=3,
                strides=2,
                padding=padding,
                data_format="channels_first",
                options={"free": _FREE_FIRST[rank], "options": LARGE},
            )


def _depthwise(rank: int) -> Iterator[Entry]:
    kind, data, free = (
        f"DepthwiseConv{rank}D",
        _OF_RANK[rank],
        {"free": _FREE[rank], "options": LARGE},
    )
    for choice in grid(padding=["valid", "same"], strides=[1, 2], depth_multiplier=[1, 2]):
        yield layer(kind, data, kernel_size=3, **choice, options=free)
    yield layer(kind, data, kernel_size=3, dilation_rate=2, padding="same", options=free)
    yield layer(kind, data, kernel_size=2, use_bias=False, activation="relu", options=free)
    yield layer(
        kind,
        _FIRST[rank],
        kernel_size=3,
        depth_multiplier=2,
        data_format="channels_first",
        options={"free": _FREE_FIRST[rank], "options": LARGE},
    )


def _separable(rank: int) -> Iterator[Entry]:
    kind, data, free = (
        f"SeparableConv{rank}D",
        _OF_RANK[rank],
        {"free": _FREE[rank], "options": LARGE},
    )
    for choice in grid(padding=["valid", "same"], strides=[1, 2], depth_multiplier=[1, 2]):
        yield layer(kind, data, filters=5, kernel_size=3, **choice, options=free)
    yield layer(kind, data, filters=5, kernel_size=3, dilation_rate=2, options=free)
    yield layer(kind, data, filters=5, kernel_size=2, use_bias=False, options=free)
    yield layer(
        kind,
        _FIRST[rank],
        filters=5,
        kernel_size=3,
        data_format="channels_first",
        options={"free": _FREE_FIRST[rank], "options": LARGE},
    )
