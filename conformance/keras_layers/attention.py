"""Attention: masks, causality, shared keys, windows, several axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.entries import Entry, grid, layer, model, numbers, whole

__all__ = ["entries"]

_QUERY, _VALUE, _KEY = numbers(2, 5, 6), numbers(2, 7, 6, seed=1), numbers(2, 7, 6, seed=2)
_QUERY_MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
_VALUE_MASK = np.array([[1, 1, 1, 1, 1, 0, 0], [0, 1, 1, 0, 1, 1, 1]], bool)
_FREE = {"free": (1,)}


def entries() -> Iterator[Entry]:
    """Every entry about attention."""
    yield from _of_dots()
    yield from _multi_head()
    yield from _grouped()


def _of_dots() -> Iterator[Entry]:
    for kind in ("Attention", "AdditiveAttention"):
        scales = {"use_scale": [False, True]}
        modes = {"score_mode": ["dot", "concat"]} if kind == "Attention" else {}
        for choice in grid(**scales, **modes):
            yield layer(kind, [_QUERY, _VALUE], **choice, options=_FREE)
            yield layer(kind, [_QUERY, _VALUE, _KEY], **choice, label="key", options=_FREE)
        for name, kwargs in (
            ("causal", {"use_causal_mask": True}),
            ("scores", {"return_attention_scores": True}),
            ("masks", {"mask": [_QUERY_MASK, _VALUE_MASK]}),
            ("masks, causal", {"mask": [_QUERY_MASK, _VALUE_MASK], "use_causal_mask": True}),
        ):
            options: dict[str, Any] = {"kwargs": kwargs, **_FREE}
            yield layer(kind, [_QUERY, _VALUE], label=name, options=options)
        yield layer(kind, [_QUERY, _VALUE], dropout=0.3, options=_FREE)


def _variations(steps: int, others: int, heads: int) -> Iterator[tuple[str, dict[str, Any]]]:
    allowed = np.tril(np.ones((2, steps, others), bool), 1)
    yield "plain", {}
    yield "causal", {"use_causal_mask": True}
    yield "scores", {"return_attention_scores": True}
    yield "attention mask", {"attention_mask": allowed}
    yield "attention mask of one", {"attention_mask": allowed[:1]}
    yield "attention mask of heads", {"attention_mask": np.stack(heads * [allowed], 1)}
    yield "query mask", {"query_mask": _QUERY_MASK}
    yield "value mask", {"value_mask": _VALUE_MASK}
    yield "key mask", {"key_mask": _VALUE_MASK}
    yield (
        "all masks",
        {
            "query_mask": _QUERY_MASK,
            "value_mask": _VALUE_MASK,
            "attention_mask": allowed,
            "use_causal_mask": True,
            "return_attention_scores": True,
        },
    )


def _multi_head() -> Iterator[Entry]:
    kind, sizes = "MultiHeadAttention", {"num_heads": 3, "key_dim": 4}
    for name, kwargs in _variations(5, 7, 3):
        options: dict[str, Any] = {"kwargs": kwargs}
        if "attention_mask" not in kwargs:
            options["free"] = (1,)
        yield layer(kind, _QUERY, _VALUE, **sizes, label=name, options=options)
        if name in {"plain", "causal", "value mask"}:
            yield layer(
                kind, _QUERY, _VALUE, **sizes, flash_attention=False, label=name, options=options
            )
    yield layer(kind, _QUERY, _VALUE, _KEY, **sizes, label="key", options=_FREE)
    for choice in (
        {"value_dim": 2},
        {"use_bias": False},
        {"output_shape": 5},
        {"output_shape": (2, 3)},
        {"dropout": 0.2},
        {"sliding_window": 2},
        {"use_gate": True},
    ):
        yield layer(kind, _QUERY, _VALUE, **sizes, **choice, options=_FREE)
    yield layer(kind, _QUERY, _QUERY, **sizes, sliding_window=2, label="self", options=_FREE)
    grid_ = numbers(2, 3, 4, 6)
    for axes in ((1,), (2,), (1, 2)):
        yield layer(kind, grid_, grid_, **sizes, attention_axes=axes)
    yield model(kind, "after Embedding(mask_zero=True)", _embedded, whole(2, 5, high=4), free=(1,))


def _embedded() -> Any:
    import keras

    class SelfAttention(keras.Model):  # type: ignore[misc]
        """Embeds and attends, with the mask that Keras carries along."""

        def __init__(self) -> None:
            super().__init__()
            self.embed = keras.layers.Embedding(7, 6, mask_zero=True)
            self.attend = keras.layers.MultiHeadAttention(2, 3)

        def call(self, ids: Any) -> Any:
            found = self.embed(ids)
            return self.attend(found, found, use_causal_mask=True)

    return SelfAttention()


def _grouped() -> Iterator[Entry]:
    kind = "GroupQueryAttention"
    sizes = {"head_dim": 4, "num_query_heads": 4, "num_key_value_heads": 2}
    for name, kwargs in _variations(5, 7, 4):
        options: dict[str, Any] = {"kwargs": kwargs}
        if "attention_mask" not in kwargs:
            options["free"] = (1,)
        yield layer(kind, _QUERY, _VALUE, **sizes, label=name, options=options)
        if name in {"plain", "causal"}:
            yield layer(
                kind, _QUERY, _VALUE, **sizes, flash_attention=False, label=name, options=options
            )
    for heads in (1, 4):
        choice = {**sizes, "num_key_value_heads": heads}
        yield layer(kind, _QUERY, _VALUE, **choice, options=_FREE)
    for extra in ({"use_bias": False}, {"dropout": 0.2}, {"sliding_window": 2}, {"use_gate": True}):
        yield layer(kind, _QUERY, _VALUE, **sizes, **extra, options=_FREE)
    yield layer(kind, _QUERY, _VALUE, _KEY, **sizes, label="key", options=_FREE)
