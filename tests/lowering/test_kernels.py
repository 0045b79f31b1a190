"""The kernel table says what this onnxruntime does."""

from __future__ import annotations

import pytest
from onnx import defs

from yobx.lowering.dtypes import DTYPES
from yobx.lowering.kernels import dtype_name, has_kernel, kernel_dtypes, kernel_table
from yobx.lowering.probe_kernels import probe_schema


def test_the_table_names_its_versions() -> None:
    document = kernel_table()
    assert set(document["versions"]) == {"onnx", "onnxruntime"}
    first, last = document["opsets"]
    assert first == 18
    assert last >= 21


@pytest.mark.parametrize("op_type", ["Add", "Conv", "ReduceSum", "Erf", "TopK", "Where", "Elu"])
@pytest.mark.parametrize("opset", [18, 21])
def test_a_row_is_what_probing_finds(op_type: str, opset: int) -> None:
    import onnxruntime

    if kernel_table()["versions"]["onnxruntime"] != onnxruntime.__version__:
        pytest.skip("the table was made with another onnxruntime")
    row = probe_schema(defs.get_schema(op_type, opset, ""), opset)
    assert row is not None
    for variable, dtypes in row.items():
        assert kernel_dtypes(op_type, opset, variable) == (frozenset(dtypes) or None)


def test_known_gaps() -> None:
    assert has_kernel("Conv", 21, DTYPES["float32"])
    assert not has_kernel("Conv", 21, DTYPES["float64"])
    assert not has_kernel("Erf", 21, DTYPES["float64"])
    assert not has_kernel("Gelu", 18, DTYPES["float32"])


def test_names_of_dtypes() -> None:
    assert dtype_name(1) == "float32"
    assert dtype_name(14) == ""
