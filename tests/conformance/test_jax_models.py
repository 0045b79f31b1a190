"""The JAX models that are small enough for every run; the nightly job takes all of them."""

from __future__ import annotations

import pytest

from conformance.cells import Verdict
from conformance.jax_models import check, models

SMALL = (
    "nnx/mlp",
    "nnx/transformer-decoder-cache",
    "linen/lstm",
    "equinox/conv",
    "plain/gpt2-tiny",
)


@pytest.mark.parametrize("name", SMALL)
def test_model(name: str) -> None:
    (model,) = (one for one in models() if one.name == name)
    cell = check(model)
    assert cell.verdict is Verdict.PASS, cell.message


def test_names_are_unique() -> None:
    names = [model.name for model in models()]
    assert len(set(names)) == len(names)
