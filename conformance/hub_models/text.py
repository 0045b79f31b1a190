"""Encoders, decoders and both together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

__all__ = ["models"]

_LAYERS: Mapping[str, Any] = {
    "vocabulary_size": 40,
    "num_layers": 2,
    "hidden_dim": 16,
    "intermediate_dim": 32,
}
_HEADS: Mapping[str, Any] = {**_LAYERS, "num_heads": 2}
_PLACES: Mapping[str, Any] = {**_HEADS, "max_sequence_length": 16}
_GROUPED: Mapping[str, Any] = {**_LAYERS, "num_query_heads": 4, "num_key_value_heads": 2}

_BACKBONES: Mapping[str, Mapping[str, Any]] = {
    "Albert": {**_PLACES, "embedding_dim": 8},
    "Bart": _PLACES,
    "Bert": _PLACES,
    "Bloom": _HEADS,
    "DebertaV3": {**_PLACES, "bucket_size": 8},
    "DistilBert": _PLACES,
    "ESM": _HEADS,
    "Falcon": {**_LAYERS, "num_attention_heads": 2},
    "FNet": {**_LAYERS, "max_sequence_length": 16},
    "GPT2": _PLACES,
    "GPTNeoX": _PLACES,
    "Gemma": {**_GROUPED, "head_dim": 8},
    "Gemma3": {**_GROUPED, "head_dim": 8, "image_size": 16, "vision_encoder": None},
    "GptOss": {**_GROUPED, "head_dim": 8, "num_experts": 4, "top_k": 2, "sliding_window": 4},
    "Llama": _GROUPED,
    "Llama3": _GROUPED,
    "Mistral": {**_GROUPED, "sliding_window": 4},
    "Mixtral": {**_GROUPED, "num_experts": 4, "top_k": 2},
    "OPT": _PLACES,
    "Phi3": _GROUPED,
    "Qwen": _GROUPED,
    "Qwen3": {**_GROUPED, "head_dim": 8},
    "Roberta": _PLACES,
    "RoformerV2": {**_HEADS, "head_size": 8},
    "T5": _HEADS,
    "Whisper": {
        **_HEADS,
        "num_mels": 8,
        "max_encoder_sequence_length": 12,
        "max_decoder_sequence_length": 12,
    },
    "XLNet": _HEADS,
}


def models() -> dict[str, Callable[[], Any]]:
    """What makes each model, by name."""
    found: dict[str, Callable[[], Any]] = {
        f"{name}Backbone": partial(_backbone, name) for name in _BACKBONES
    }
    found["ElectraBackbone"] = _electra
    for name, base in (("GPT2CausalLM", "GPT2"), ("GemmaCausalLM", "Gemma")):
        found[name] = partial(_task, name, base)
    found["BertTextClassifier"] = partial(_task, "BertTextClassifier", "Bert", num_classes=3)
    return found


def _backbone(name: str) -> Any:
    import keras_hub

    return getattr(keras_hub.models, f"{name}Backbone")(**_BACKBONES[name])


def _electra() -> Any:
    import keras_hub

    settings = {key: value for key, value in _PLACES.items() if key != "vocabulary_size"}
    return keras_hub.models.ElectraBackbone(vocab_size=40, embedding_dim=8, **settings)


def _task(name: str, base: str, **settings: Any) -> Any:
    import keras_hub

    return getattr(keras_hub.models, name)(backbone=_backbone(base), **settings)
