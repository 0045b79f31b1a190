"""The list of KerasHub models; the package itself is there at night only."""

from __future__ import annotations

import numpy as np
import pytest

from conformance import hub_models


def test_the_list_names_classes_of_every_family() -> None:
    names = list(hub_models.models())
    assert {"BertBackbone", "GPT2CausalLM", "SAMBackbone", "ViTBackbone"} <= set(names)
    assert all(name.partition("/")[0].isidentifier() for name in names)


class Spec:
    def __init__(self, shape: tuple[int | None, ...], dtype: str) -> None:
        self.shape, self.dtype = shape, dtype


@pytest.mark.parametrize(
    ("name", "spec", "low", "high"),
    [
        ("token_ids", Spec((None, None), "int32"), 1, 38),
        ("padding_mask", Spec((None, None), "int32"), 0, 1),
        ("segment_ids", Spec((None, None), "int32"), 0, 1),
    ],
)
def test_inputs_follow_their_names(name: str, spec: Spec, low: int, high: int) -> None:
    value = hub_models.array_for(name, spec, np.random.default_rng(0))
    assert value.shape == (2, 6)
    assert value.dtype == np.int32
    assert value.min() >= low
    assert value.max() <= high
