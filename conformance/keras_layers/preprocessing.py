"""Categories, strings, integers, spectrograms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.entries import LARGE, Entry, grid, layer, model, numbers, whole

__all__ = ["entries"]

_WORDS = np.array([["cat", "dog", "emu", ""], ["ox", "cat", "what?", "dog"]], dtype=object)
_TEXTS = np.array(["The cat sat, on the mat!", "A dog   and an EMU.", ""], dtype=object)
_NO_HASH = "Fingerprint64 and SipHash of strings have no ONNX operator"
_HASHED = {"refused": "StringToHashBucket", "reason": _NO_HASH}
_VOCABULARY = ["cat", "dog", "emu", "ox"]
_WEIGHTS = [0.5, 1.5, 2.0, 0.25]
_WAVES: dict[str, Any] = {
    "free": (1,),
    "options": LARGE,
    "norm": 16.0,
    "reason": "a transform rounds by the norm of the whole frame",
}
_DECIBELS = {**_WAVES, "norm": 50.0, "reason": "a logarithm of a power that may nearly cancel"}


def entries() -> Iterator[Entry]:
    """Every entry about preprocessing of what is not an image."""
    yield from _categories()
    yield from _hashes()
    yield from _lookups()
    yield from _texts()
    yield from _sounds()


def _free(mode: str) -> dict[str, Any]:
    """One-hot encodings drop a last axis of size 1, so Keras wants to know its size."""
    return {} if mode == "one_hot" else {"free": (1,)}


def _categories() -> Iterator[Entry]:
    ids = whole(3, 4, high=6)
    for mode in ("one_hot", "multi_hot", "count"):
        yield layer("CategoryEncoding", ids, num_tokens=6, output_mode=mode, options=_free(mode))
        yield layer("CategoryEncoding", ids[:, 0], num_tokens=6, output_mode=mode, label="a line")
    weights = {"kwargs": {"count_weights": numbers(3, 4)}}
    yield layer(
        "CategoryEncoding", ids, num_tokens=6, output_mode="count", label="weights", options=weights
    )
    yield layer("CategoryEncoding", ids.astype("int64"), num_tokens=6, label="int64")
    edges = [-0.5, 0.0, 1.25]
    values = np.concatenate([3 * numbers(2, 5), np.array([[-0.5, 0, 1.25, 9, -9]] * 2, "float32")])
    for choice in grid(output_mode=["int", "one_hot", "multi_hot", "count"]):
        yield layer(
            "Discretization",
            values,
            bin_boundaries=edges,
            **choice,
            options=_free(choice["output_mode"]),
        )
        yield layer(
            "Discretization", values[:, :1], bin_boundaries=edges, **choice, label="a column"
        )
    yield layer("Discretization", whole(2, 5, low=-3, high=3), bin_boundaries=edges, label="int32")
    yield model(
        "Discretization",
        "adapted",
        lambda: _adapted("Discretization", numbers(200), num_bins=4),
        values,
    )


def _adapted(kind: str, data: Any, **arguments: Any) -> Any:
    import keras

    made = getattr(keras.layers, kind)(**arguments)
    made.adapt(data)
    return made


def _hashes() -> Iterator[Entry]:
    ids = whole(3, 2, high=50)
    for mode in ("int", "one_hot", "multi_hot", "count"):
        yield layer(
            "Hashing", _WORDS, num_bins=5, output_mode=mode, label="strings", options=_HASHED
        )
    yield layer("Hashing", ids, num_bins=5, label="int32", options=_HASHED)
    yield layer("Hashing", ids.astype("int64"), num_bins=5, mask_value=0, options=_HASHED)
    yield layer("Hashing", _WORDS, num_bins=5, salt=3, label="strings", options=_HASHED)
    pair = (_WORDS[:, :1], whole(2, 1, high=9).astype("int64"))
    for mode in ("int", "one_hot"):
        yield layer(
            "HashedCrossing",
            pair,
            num_bins=5,
            output_mode=mode,
            options={"refused": "SparseCross", "reason": _NO_HASH},
        )


def _lookups() -> Iterator[Entry]:
    numbers_ = np.array([[11, 12, 99, 13], [14, 0, 11, 12]], "int64")
    for choice in grid(num_oov_indices=[0, 1], mask_token=[None, ""]):
        if choice["num_oov_indices"]:
            yield layer(
                "StringLookup", _WORDS, vocabulary=_VOCABULARY, **choice, options={"free": (1,)}
            )
        found = np.where(_WORDS == "what?", "ox", _WORDS)
        yield layer(
            "StringLookup",
            np.where(found == "", "cat", found),
            vocabulary=_VOCABULARY,
            **choice,
            label="known words",
        )
    for mode in ("one_hot", "multi_hot", "count"):
        for pad in (False, True):
            yield layer(
                "StringLookup",
                _WORDS,
                vocabulary=_VOCABULARY,
                output_mode=mode,
                max_tokens=9 if pad else None,
                pad_to_max_tokens=pad,
                options=_free(mode),
            )
        yield layer("IntegerLookup", numbers_, vocabulary=[11, 12, 13, 14], output_mode=mode)
    known: Any
    for kind, data, known in (
        ("StringLookup", _WORDS, _VOCABULARY),
        ("IntegerLookup", numbers_, [11, 12, 13, 14]),
    ):
        yield layer(kind, data, vocabulary=known, output_mode="tf_idf", idf_weights=_WEIGHTS)
        ids = whole(2, 5, high=5, dtype="int64")
        yield layer(kind, ids, vocabulary=known, invert=True)
        yield model(
            kind,
            "adapted",
            lambda k=kind, d=data: _adapted(k, d, max_tokens=8),
            data,
        )
    yield layer("StringLookup", _WORDS, vocabulary=_VOCABULARY, num_oov_indices=2, options=_HASHED)
    yield layer("IntegerLookup", numbers_, vocabulary=[11, 12, 13, 14], num_oov_indices=2)
    yield layer(
        "IntegerLookup",
        numbers_,
        vocabulary=[11, 12, 13, 14],
        num_oov_indices=3,
        oov_method="farmhash",
        options=_HASHED,
    )
    yield layer("IntegerLookup", numbers_, vocabulary=[11, 12, 13, 14], mask_token=0)
    yield layer(
        "IntegerLookup", numbers_.astype("int32"), vocabulary=[11, 12, 13, 14], label="int32"
    )
    yield model(
        "StringLookup",
        "in a model with Embedding",
        _looked_up,
        np.where(_WORDS == "", "cat", _WORDS),
        free=(1,),
    )


def _looked_up() -> Any:
    import keras

    words = keras.Input((None,), dtype="string")
    ids = keras.layers.StringLookup(vocabulary=_VOCABULARY, mask_token="")(words)
    found = keras.layers.Embedding(6, 3, mask_zero=True)(ids)
    return keras.Model(words, keras.layers.GlobalAveragePooling1D()(found))


def _texts() -> Iterator[Entry]:
    words = ["the", "cat", "dog", "a", "mat", "emu"]
    for choice in grid(
        standardize=[None, "lower", "strip_punctuation", "lower_and_strip_punctuation"],
        split=[None, "whitespace", "character"],
    ):
        known = list("acdeht ") if choice["split"] == "character" else words
        cut = {
            "refused": "UnicodeDecode",
            "reason": "ONNX has no operator that cuts text into characters",
        }
        options = cut if choice["split"] == "character" else {}
        yield layer("TextVectorization", _TEXTS, vocabulary=known, **choice, options=options)
    for choice in grid(output_mode=["int", "multi_hot", "count"], ngrams=[None, 2, (1, 3)]):
        known = [*words, "the cat", "cat sat", "the cat sat"]
        yield layer("TextVectorization", _TEXTS, vocabulary=known, **choice)
    yield layer("TextVectorization", _TEXTS, vocabulary=words, output_sequence_length=4)
    yield layer(
        "TextVectorization",
        _TEXTS,
        vocabulary=words,
        output_mode="tf_idf",
        idf_weights=[0.5, 1.0, 2.0, 3.0, 4.0, 5.0],
    )
    yield layer("TextVectorization", _TEXTS[:, None], vocabulary=words, label="a column")


def _sounds() -> Iterator[Entry]:
    wave = numbers(2, 400)
    for choice in grid(
        mode=["log", "magnitude", "psd", "real", "imag", "angle", "stft"], padding=["valid", "same"]
    ):
        yield layer("STFTSpectrogram", wave[..., None], frame_length=32, frame_step=10, **choice)
    for choice in (
        {"window": "hamming"},
        {"window": None},
        {"fft_length": 64},
        {"scaling": "spectrum"},
        {"scaling": None},
        {"periodic": True},
        {"expand_dims": True},
    ):
        yield layer("STFTSpectrogram", wave[..., None], frame_length=32, frame_step=10, **choice)
    two = numbers(2, 200, 2)
    yield layer("STFTSpectrogram", two, frame_length=32, label="two channels")
    yield layer(
        "STFTSpectrogram",
        two.transpose(0, 2, 1).copy(),
        frame_length=32,
        data_format="channels_first",
    )
    yield layer("STFTSpectrogram", wave[..., None], frame_length=32, label="open", options=_WAVES)
    sizes = {"fft_length": 64, "sequence_stride": 20, "num_mel_bins": 8, "sampling_rate": 1000}
    for choice in (
        {},
        {"power_to_db": False},
        {"top_db": 10.0},
        {"mag_exp": 1.0},
        {"sequence_length": 50},
        {"window": "hamming"},
        {"min_freq": 50.0, "max_freq": 300.0},
        {"ref_power": 2.0, "min_power": 1e-5},
    ):
        options = _DECIBELS if choice.get("power_to_db", True) else _WAVES
        yield layer("MelSpectrogram", wave, **sizes, **choice, options=options)
    yield layer("MelSpectrogram", wave[0], **sizes, label="a line")
