"""The models with stored results that the onnx package brings, most of them of old opsets."""

from __future__ import annotations

from pathlib import Path

import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper

from yobx.errors import ShapeError
from yobx.onnx_optim import ShapesContext, compute_shapes

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data"
MODELS = sorted(
    path.relative_to(FOLDER)
    for kind in ("pytorch-converted", "pytorch-operator", "simple")
    for path in (FOLDER / kind).glob("*/model.onnx")
)


def stored(folder: Path, kind: str) -> list[npt.NDArray[object]] | None:
    """The tensors of a data set, ``None`` when one of them is no tensor."""
    arrays = []
    for number in range(len(list(folder.glob(f"{kind}_*.pb")))):
        data = (folder / f"{kind}_{number}.pb").read_bytes()
        try:
            arrays.append(numpy_helper.to_array(onnx.TensorProto.FromString(data)))
        except (ValueError, TypeError, KeyError):
            return None
    return arrays


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("path", MODELS, ids=str)
def test_stored_results_refute_nothing(path: Path, symbolic: bool) -> None:
    model = onnx.load(FOLDER / path)
    folder = (FOLDER / path).parent / "test_data_set_0"
    inputs, outputs = stored(folder, "input"), stored(folder, "output")
    assert inputs is not None
    assert outputs is not None
    sizes: dict[str, int] = {}
    constants = {tensor.name for tensor in model.graph.initializer}
    values = [value for value in model.graph.input if value.name not in constants]
    for value, array in zip(values, inputs, strict=True):
        if symbolic and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
            value.type.tensor_type.shape.SetInParent()
            for size in array.shape:
                value.type.tensor_type.shape.dim.add(dim_param=f"s{size}")
                sizes[f"s{size}"] = size
    context = ShapesContext()
    compute_shapes(context, model)
    for value, array in zip(model.graph.output, outputs, strict=True):
        if not context.has(value.name) or not context.get(value.name).shape.has_rank():
            continue
        shape = context.get(value.name).shape
        assert len(shape) == array.ndim
        for dim, size in zip(shape, array.shape, strict=True):
            try:
                assert context.simplify(dim).evaluate(sizes) == size, (value.name, shape)
            except ShapeError:
                assert not dim.symbols() <= sizes.keys()
