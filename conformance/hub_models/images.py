"""Networks for images, and for images together with text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

__all__ = ["models"]

_SIZE = (32, 32, 3)
_BLOCKS: Mapping[str, Any] = {"num_layers": 2, "num_heads": 2, "intermediate_dim": 32}
_PATCHES: Mapping[str, Any] = {**_BLOCKS, "hidden_dim": 16, "patch_size": 8, "image_shape": _SIZE}
_WORDS: Mapping[str, Any] = {
    **_BLOCKS,
    "vocabulary_size": 40,
    "hidden_dim": 16,
    "embedding_dim": 16,
    "max_sequence_length": 16,
}
_RESIDUAL: Mapping[str, Any] = {
    "stackwise_num_filters": [64, 64],
    "stackwise_num_blocks": [1, 1],
    "stackwise_num_strides": [1, 2],
    "image_shape": _SIZE,
}

_BACKBONES: Mapping[str, Mapping[str, Any]] = {
    "DINOV2": {**_PATCHES, "position_embedding_shape": (32, 32)},
    "DeiT": _PATCHES,
    "DenseNet": {
        "stackwise_num_repeats": [2, 2],
        "compression_ratio": 0.5,
        "growth_rate": 4,
        "image_shape": _SIZE,
    },
    "MiT": {
        "image_shape": _SIZE,
        "max_drop_path_rate": 0.1,
        "num_layers": 4,
        "layerwise_num_heads": [1, 2, 2, 2],
        "layerwise_sr_ratios": [8, 4, 2, 1],
        "layerwise_patch_sizes": [7, 3, 3, 3],
        "layerwise_strides": [4, 2, 2, 2],
        "layerwise_depths": [1, 1, 1, 1],
        "hidden_dims": [8, 16, 16, 16],
    },
    "MobileNet": {
        "stackwise_expansion": [[16], [24]],
        "stackwise_num_blocks": [1, 1],
        "stackwise_num_filters": [[8], [16]],
        "stackwise_kernel_size": [[3], [5]],
        "stackwise_num_strides": [[2], [1]],
        "stackwise_se_ratio": [[None], [0.25]],
        "stackwise_activation": [["relu"], ["hard_swish"]],
        "stackwise_padding": [[1], [2]],
        "input_num_filters": 8,
        "output_num_filters": 16,
        "depthwise_filters": 8,
        "depthwise_stride": 2,
        "depthwise_residual": False,
        "squeeze_and_excite": None,
        "last_layer_filter": 16,
        "input_activation": "hard_swish",
        "output_activation": "hard_swish",
        "image_shape": _SIZE,
    },
    "SwinTransformer": {
        "image_shape": _SIZE,
        "patch_size": 4,
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [1, 2],
        "window_size": 4,
    },
    "VGG": {
        "stackwise_num_repeats": [1, 1],
        "stackwise_num_filters": [4, 8],
        "image_shape": _SIZE,
    },
    "ViT": {
        "image_shape": _SIZE,
        "patch_size": 8,
        "num_layers": 2,
        "num_heads": 2,
        "hidden_dim": 16,
        "mlp_dim": 32,
    },
    "Xception": {
        "stackwise_conv_filters": [[4, 4], [4, 4]],
        "stackwise_pooling": [True, False],
        "image_shape": _SIZE,
    },
}


def models() -> dict[str, Callable[[], Any]]:
    """What makes each model, by name."""
    return {f"{name}Backbone": partial(_backbone, name) for name in _BACKBONES} | {
        "ResNetBackbone/bottleneck, v2": _bottleneck,
        "ResNetBackbone/basic, vd": _deep_stem,
        "ViTDetBackbone": _vit_det,
        "SAMBackbone": _sam,
        "CLIPBackbone": _clip,
    }


def _backbone(name: str) -> Any:
    import keras_hub

    return getattr(keras_hub.models, f"{name}Backbone")(**_BACKBONES[name])


def _bottleneck() -> Any:
    import keras_hub

    return keras_hub.models.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[7],
        block_type="bottleneck_block",
        use_pre_activation=True,
        **_RESIDUAL,
    )


def _deep_stem() -> Any:
    import keras_hub

    return keras_hub.models.ResNetBackbone(
        input_conv_filters=[8, 8, 64],
        input_conv_kernel_sizes=[3, 3, 3],
        block_type="basic_block_vd",
        **_RESIDUAL,
    )


def _vit_det() -> Any:
    import keras_hub

    return keras_hub.models.ViTDetBackbone(
        hidden_size=16,
        global_attention_layer_indices=[1],
        image_shape=_SIZE,
        patch_size=8,
        num_output_channels=8,
        window_size=2,
        **_BLOCKS,
    )


def _sam() -> Any:
    import keras_hub

    prompts = keras_hub.layers.SAMPromptEncoder(
        hidden_size=8, image_embedding_size=(4, 4), input_image_size=(32, 32), mask_in_channels=8
    )
    masks = keras_hub.layers.SAMMaskDecoder(
        num_layers=2,
        hidden_size=8,
        intermediate_dim=16,
        num_heads=2,
        embedding_dim=8,
        num_multimask_outputs=3,
        iou_head_depth=2,
        iou_head_hidden_dim=8,
    )
    return keras_hub.models.SAMBackbone(
        image_encoder=_vit_det(), prompt_encoder=prompts, mask_decoder=masks
    )


def _clip() -> Any:
    import keras_hub

    return keras_hub.models.CLIPBackbone(
        vision_encoder=keras_hub.models.CLIPVisionEncoder(**_PATCHES),
        text_encoder=keras_hub.models.CLIPTextEncoder(**_WORDS),
        projection_dim=8,
    )
