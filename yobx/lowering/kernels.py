"""What onnxruntime can run: the question side of ``kernel_table.json``."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from onnx import defs

from .dtypes import DTYPES

__all__ = [
    "TABLE_PATH",
    "dtype_name",
    "has_kernel",
    "kernel_dtypes",
    "kernel_table",
    "newer_opset",
    "schema_of",
]

#: Written by :mod:`yobx.lowering.probe_kernels`.
TABLE_PATH = Path(__file__).with_name("kernel_table.json")

_NAMES = {code: name for name, code in DTYPES.items()}


def dtype_name(code: int) -> str:
    """Return the name (``"float32"``) of an ONNX element type, ``""`` for an unlisted one."""
    return _NAMES.get(int(code), "")


@lru_cache(maxsize=1)
def kernel_table() -> dict[str, Any]:
    """Return the whole document: versions it was made with, opsets, kernels."""
    document: dict[str, Any] = json.loads(TABLE_PATH.read_text(encoding="utf-8"))
    return document


@lru_cache(maxsize=4096)
def schema_of(op_type: str, opset: int) -> Any:
    """Return the schema that ``op_type`` resolves to, or ``None`` if this opset lacks it.

    Args:
        op_type: Name of an operator of the standard domain.
        opset: Opset of the model.
    """
    try:
        return defs.get_schema(op_type, opset, "")
    except defs.SchemaError:
        return None


@lru_cache(maxsize=4096)
def kernel_dtypes(op_type: str, opset: int, variable: str) -> frozenset[str] | None:
    """Return the dtypes that run for a type variable of an operator.

    Args:
        op_type: Name of an operator of the standard domain.
        opset: Opset of the model.
        variable: Type variable of the operator, as its schema names it.

    Returns:
        The names, or ``None`` when the table says nothing about this operator or variable.
    """
    rows = kernel_table()["kernels"].get(op_type, {})
    first = max((int(o) for o in rows if int(o) <= opset), default=None)
    names = None if first is None else rows[str(first)].get(variable)
    return frozenset(names) if names else None


def newer_opset(op_type: str, opset: int, variable: str, dtype: str) -> int | None:
    """Return the first opset after ``opset`` whose operator runs a dtype, if there is one.

    Args:
        op_type: Name of an operator of the standard domain.
        opset: Opset of the model.
        variable: Type variable of the operator, as its schema names it.
        dtype: Name of the dtype.
    """
    rows = kernel_table()["kernels"].get(op_type, {})
    newer = [int(o) for o in rows if int(o) > opset and dtype in rows[o].get(variable, ())]
    return min(newer, default=None)


def has_kernel(op_type: str, opset: int, dtype: int, variable: str | None = None) -> bool:
    """Tell whether onnxruntime runs ``op_type`` with ``dtype`` for its first input's type.

    Args:
        op_type: Name of an operator of the standard domain.
        opset: Opset of the model.
        dtype: Number of the ONNX element type.
        variable: Another type variable to ask about.
    """
    schema = schema_of(op_type, opset)
    if schema is None:
        return False
    names = kernel_dtypes(op_type, opset, variable or schema.inputs[0].type_str)
    return names is None or dtype_name(dtype) in names
