"""Emit an ONNX operator, cast around it where onnxruntime has no kernel for the dtype.

``legal(g).Max(a, b)`` is ``g.op.Max(a, b)`` when the kernel table has the cell. Otherwise inputs
that share the type variable go through a wider dtype that holds every value, and the outputs come
back. A cast is inserted only where the result cannot differ; float64 has no wider type, so it is
refused instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from yobx.errors import UnsupportedDtypeError
from yobx.xbuilder import GraphBuilder

from .dtypes import DTYPES
from .kernels import dtype_name, kernel_dtypes, newer_opset, schema_of

__all__ = ["LegalOps", "legal", "widened"]

# Where a dtype may go, best first. An entry is used if every value of the dtype fits into it.
_WIDER: dict[str, tuple[str, ...]] = {
    "bool": ("uint8", "int32", "int64"),
    "int8": ("int32", "int64", "float32"),
    "uint8": ("int32", "int64", "float32"),
    "int16": ("int32", "int64", "float32"),
    "uint16": ("int32", "int64", "float32"),
    "int32": ("int64", "float64"),
    "uint32": ("int64", "float64"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
}
# uint64 has no wider type. These operators only move values, or compute modulo 2**64: the bits may
# travel as int64. The ordered ones travel biased by -2**63, which keeps the order.
_BITS = frozenset(
    "Abs Add Sub Mul Neg Where Pad Expand Tile Concat Gather GatherND GatherElements ScatterND "
    "ScatterElements Slice Split Transpose Reshape Equal CumSum ReduceSum ReduceProd MatMul Einsum "
    "Compress ReverseSequence DepthToSpace SpaceToDepth Trilu CenterCropPad".split()
)
_ORDERED = frozenset(
    "Max Min Less LessOrEqual Greater GreaterOrEqual TopK ReduceMax ReduceMin ArgMax ArgMin "
    "MaxPool Unique Clip".split()
)
_BIAS = np.array(-(2**63), dtype=np.int64)


@lru_cache(maxsize=4096)
def widened(op_type: str, opset: int, variable: str, dtype: str) -> str | None:
    """Return the dtype to compute in: ``dtype`` if it has a kernel, ``None`` if none fits.

    Args:
        op_type: Name of an operator of the standard domain.
        opset: Opset of the model.
        variable: Type variable of the operator, as its schema names it.
        dtype: Name of the dtype that is met.
    """
    names = kernel_dtypes(op_type, opset, variable)
    if names is None or not dtype or dtype in names:
        return dtype
    if dtype == "uint64" and op_type in _BITS | _ORDERED:
        return "int64" if "int64" in names else None
    return next((wide for wide in _WIDER.get(dtype, ()) if wide in names), None)


class LegalOps:
    """``g.op`` with casts: every attribute is an emitter of that ONNX operator."""

    def __init__(self, g: GraphBuilder) -> None:
        self._g = g

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        def emit(*inputs: Any, **keywords: Any) -> Any:
            return self._emit(op_type, inputs, keywords)

        return emit

    def _emit(self, op_type: str, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
        emitter = getattr(self._g.op, op_type)
        plan = self._plan(op_type, inputs, keywords)
        if not plan:
            return emitter(*inputs, **keywords)
        return self._emit_widened(op_type, inputs, keywords, plan)

    def _input_dtype(self, value: Any) -> str:
        if isinstance(value, str):
            return dtype_name(int(self._g.get_type(value)))
        if isinstance(value, np.ndarray | np.generic):
            return str(value.dtype) if value.dtype != object else "string"
        return ""

    def _plan(
        self, op_type: str, inputs: Sequence[Any], keywords: dict[str, Any]
    ) -> dict[str, tuple[str, str]]:
        """Return ``{type variable: (dtype, dtype to compute in)}`` where the two differ."""
        opset = self._g.opset("")
        schema = schema_of(op_type, opset)
        plan: dict[str, tuple[str, str]] = {}
        if schema is None:
            return plan
        for i, value in enumerate(inputs):
            dtype = self._input_dtype(value)
            if not dtype:
                continue
            variable = schema.inputs[min(i, len(schema.inputs) - 1)].type_str
            wide = widened(op_type, opset, variable, dtype)
            if wide is None:
                newer = newer_opset(op_type, opset, variable, dtype)
                advice = (
                    "Cast the model to float32 there, or give the op a converter of your own with "
                    "extra_converters."
                    if newer is None
                    else f"Try target_opset={newer} or newer."
                )
                raise UnsupportedDtypeError(
                    f"onnxruntime has no {op_type} for {dtype} at opset {opset}, and no wider "
                    f"dtype holds its values. Node: {keywords.get('name') or '?'}.",
                    supported=sorted(kernel_dtypes(op_type, opset, variable) or ()),
                    hint=advice,
                )
            if wide != dtype:
                plan[variable] = (dtype, wide)
        return plan

    def _emit_widened(
        self,
        op_type: str,
        inputs: Sequence[Any],
        keywords: dict[str, Any],
        plan: dict[str, tuple[str, str]],
    ) -> Any:
        schema = schema_of(op_type, self._g.opset(""))
        biased = op_type in _ORDERED
        wide_inputs = []
        for i, value in enumerate(inputs):
            variable = schema.inputs[min(i, len(schema.inputs) - 1)].type_str
            known = variable in plan and self._input_dtype(value) != ""
            wide_inputs.append(self._widen(value, plan[variable], biased) if known else value)
        arguments = {k: v for k, v in keywords.items() if k != "outputs"}
        wanted = keywords.get("outputs")
        names = list(wanted) if isinstance(wanted, list | tuple) else [None] * int(wanted or 1)
        pairs = [
            plan.get(schema.outputs[min(i, len(schema.outputs) - 1)].type_str)
            for i in range(len(names))
        ]
        # A free name comes back unchanged, and the result itself is to have the name asked for.
        hints = [f"{name or op_type}_wide" for name in names]
        inner = [
            self._g.unique_name(hint) if pair or name is None else name
            for hint, name, pair in zip(hints, names, pairs, strict=True)
        ]
        getattr(self._g.op, op_type)(*wide_inputs, outputs=inner, **arguments)
        results = [
            self._narrow(value, pair, biased, name) if pair else value
            for value, pair, name in zip(inner, pairs, names, strict=True)
        ]
        return results[0] if len(results) == 1 else tuple(results)

    def _widen(self, value: Any, pair: tuple[str, str], biased: bool) -> Any:
        source, wide = pair
        if isinstance(value, np.ndarray | np.generic):
            value = self._g.make_initializer(None, np.asarray(value))
        moved = self._g.op.Cast(value, to=DTYPES[wide])
        return self._g.op.Add(moved, _BIAS) if biased and source == "uint64" else moved

    def _narrow(self, value: str, pair: tuple[str, str], biased: bool, name: str | None) -> str:
        source, _ = pair
        if biased and source == "uint64":
            value = self._g.op.Sub(value, _BIAS)
        outputs = None if name is None else [name]
        return str(self._g.op.Cast(value, to=DTYPES[source], outputs=outputs))


def legal(g: GraphBuilder) -> LegalOps:
    """Return the emitter of ``g`` that casts around operators onnxruntime lacks for a dtype."""
    return LegalOps(g)
