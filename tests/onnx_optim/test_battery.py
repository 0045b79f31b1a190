"""The battery: models as engines meet them, each against runs and against what must be known."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from tests.onnx_optim.battery import CASES, Case
from tests.onnx_optim.running import check_model, dims, floats, infer, parse
from yobx.onnx_optim import OptimDim

DTYPES = {onnx.TensorProto.INT64: np.int64, onnx.TensorProto.BOOL: np.bool_}


def feed_for(case: Case, model: onnx.ModelProto, sizes: dict[str, int]) -> dict[str, Any]:
    feed: dict[str, Any] = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        if value.name in case.feeds:
            feed[value.name] = np.array(case.feeds[value.name], DTYPES[kind.elem_type])
        else:
            shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in kind.shape.dim]
            feed[value.name] = floats(*shape)
    return feed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_no_run_refutes_it(case: Case) -> None:
    model = parse(case.text)
    check_model(model, [feed_for(case, model, sizes) for sizes in case.sizes])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_what_can_be_known_is_known(case: Case) -> None:
    model = parse(case.text)
    context = infer(model)
    symbols = {d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim}
    for name, expected in case.expected.items():
        found = dims(context, name)
        assert (found is None) == (expected is None), name
        for got, wanted in zip(found or (), expected or (), strict=True):
            if wanted == "?":
                assert not OptimDim(got).symbols() <= symbols, name
            else:
                assert OptimDim(got) == OptimDim(wanted), name


def test_the_battery_is_complete() -> None:
    assert len(CASES) >= 49
    assert len({case.name for case in CASES}) == len(CASES)
