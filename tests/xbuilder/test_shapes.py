from __future__ import annotations

import numpy as np
import pytest

from yobx.errors import GraphError
from yobx.onnx_optim import OptimShape
from yobx.xbuilder import GraphBuilder
from yobx.xbuilder.shapes import as_shape


def test_every_spelling() -> None:
    def text(shape: object) -> str:
        return str(as_shape("x", shape, lambda hint: f"new_{hint}"))  # type: ignore[arg-type]

    assert text((2, "n", None)) == "[2, n, new_x_d2]"
    assert text(iter([3])) == "[3]"
    assert text(OptimShape(["n"])) == "[n]"
    assert not as_shape("x", None, str).has_rank()


@pytest.mark.parametrize("shape", [3, "n", (2, -1), (np.int64(-1),)])
def test_wrong_shapes(shape: object) -> None:
    with pytest.raises(GraphError, match="of 'x'"):
        GraphBuilder(21).make_tensor_input("x", "float32", shape)  # type: ignore[arg-type]


@pytest.mark.parametrize("opset", ["21", 21.0, None])
def test_wrong_opsets(opset: object) -> None:
    with pytest.raises(GraphError, match="opset of the standard domain"):
        GraphBuilder(opset)  # type: ignore[arg-type]
