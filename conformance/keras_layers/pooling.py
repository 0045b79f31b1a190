"""Pooling: windows, global and adaptive, in both data formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.entries import LARGE, Entry, grid, layer, numbers

__all__ = ["entries"]

_DATA = {1: numbers(2, 11, 3), 2: numbers(2, 9, 10, 3), 3: numbers(2, 6, 7, 5, 3)}
_FIRST = {1: numbers(2, 3, 11), 2: numbers(2, 3, 9, 10), 3: numbers(2, 3, 6, 7, 5)}
_FREE = {1: (1,), 2: (1, 2), 3: (1, 2, 3)}
_FREE_FIRST = {1: (2,), 2: (2, 3), 3: (2, 3, 4)}

_ONE_BY_ONE: dict[str, Any] = {
    "norm": 16.0,
    "reason": "onnxruntime adds hundreds of numbers one by one, TensorFlow by halves",
}


def entries() -> Iterator[Entry]:
    """Every entry about pooling."""
    for rank in (1, 2, 3):
        for kind in ("Max", "Average"):
            yield from _windows(kind, rank)
            yield from _everything(kind, rank)
            yield from _adaptive(kind, rank)


def _windows(kind: str, rank: int) -> Iterator[Entry]:
    subject = f"{kind}Pooling{rank}D"
    for choice in grid(pool_size=[2, 3], strides=[None, 1, 2], padding=["valid", "same"]):
        yield layer(subject, _DATA[rank], **choice, options={"free": _FREE[rank], "options": LARGE})
    for padding in ("valid", "same"):
        yield layer(
            subject,
            _FIRST[rank],
            pool_size=2,
            padding=padding,
            data_format="channels_first",
            options={"free": _FREE_FIRST[rank], "options": LARGE},
        )
    if rank == 2:
        yield layer(
            subject,
            _DATA[rank],
            pool_size=(2, 3),
            strides=(3, 1),
            options={"free": _FREE[rank], "options": LARGE},
        )


def _everything(kind: str, rank: int) -> Iterator[Entry]:
    subject = f"Global{kind}Pooling{rank}D"
    # A mean of thousands of numbers around zero would be rounding and nothing else.
    last, first = _DATA[rank] + 1, _FIRST[rank] + 1
    extra = _ONE_BY_ONE if kind == "Average" and rank > 1 else {}
    for keepdims in (False, True):
        yield layer(subject, last, keepdims=keepdims, options={"free": _FREE[rank], **extra})
        yield layer(
            subject,
            first,
            keepdims=keepdims,
            data_format="channels_first",
            options={"free": _FREE_FIRST[rank], **extra},
        )
    if kind == "Average" and rank == 1:
        mask = numbers(2, 11) > -0.5
        yield layer(subject, _DATA[1], label="masked", options={"kwargs": {"mask": mask}})


def _adaptive(kind: str, rank: int) -> Iterator[Entry]:
    subject = f"Adaptive{kind}Pooling{rank}D"
    # To one element Keras's windows are larger than the image: traced it is refused, eagerly the
    # maximum ends TensorFlow's process.
    for size in (2, 4):
        yield layer(subject, _DATA[rank], output_size=size)
    yield layer(subject, _FIRST[rank], output_size=3, data_format="channels_first")
    if rank == 2:
        yield layer(subject, _DATA[rank], output_size=(5, 2))
