"""What only a newer opset has is refused with that opset."""

from __future__ import annotations

import numpy as np
import pytest

from yobx.errors import ConversionError, GraphError, UnsupportedOpsetError
from yobx.xbuilder import GraphBuilder


def test_an_operator() -> None:
    g = GraphBuilder(target_opset=18)
    x = g.make_tensor_input("x", np.float32, (2,))
    with pytest.raises(UnsupportedOpsetError, match="target_opset=20 or newer") as caught:
        g.op.Gelu(x)
    assert caught.value.since == 20
    assert caught.value.op_type == "Gelu"
    assert isinstance(caught.value, (GraphError, ConversionError))


def test_an_attribute() -> None:
    g = GraphBuilder(target_opset=18)
    x = g.make_tensor_input("x", np.float32, (2,))
    with pytest.raises(UnsupportedOpsetError, match="target_opset=19 or newer") as caught:
        g.op.Cast(x, to=1, saturate=0)
    assert caught.value.since == 19


def test_what_no_opset_has_is_another_error() -> None:
    g = GraphBuilder(target_opset=18)
    x = g.make_tensor_input("x", np.float32, (2,))
    for emit in (lambda: g.op.Geluu(x), lambda: g.op.Cast(x, to=1, saturation=0)):
        with pytest.raises(GraphError) as caught:
            emit()
        assert not isinstance(caught.value, UnsupportedOpsetError)
