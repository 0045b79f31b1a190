"""Probe which (operator, version, dtype) onnxruntime can run, and write ``kernel_table.json``.

Run as ``python -m yobx.lowering.probe_kernels``. Each cell is one single-node model: it must load,
and for operators whose inputs may be any small tensor it must also run. The result is data; the
lowering reads it through :mod:`yobx.lowering.kernels` and casts around what is missing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, defs, helper

from .dtypes import DTYPES
from .kernels import TABLE_PATH
from .opsets import OLDEST_OPSET, newest_opset

SCHEMA_NAMES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    **{f"tensor({name})": name for name in DTYPES if not name.startswith("float")},
    "tensor(float16)": "float16",
}
# Attributes without which a node is not valid; everything else keeps its default.
REQUIRED_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "AveragePool": {"kernel_shape": [1, 1]},
    "BitShift": {"direction": "LEFT"},
    "Cast": {"to": TensorProto.FLOAT},
    "Concat": {"axis": 0},
    "ConcatFromSequence": {"axis": 0},
    "DepthToSpace": {"blocksize": 2},
    "Einsum": {"equation": "ij,jk->ik"},
    "GroupNormalization": {"num_groups": 1},
    "GRU": {"hidden_size": 2},
    "LSTM": {"hidden_size": 2},
    "LRN": {"size": 3},
    "LpPool": {"kernel_shape": [1, 1]},
    "MaxPool": {"kernel_shape": [1, 1]},
    "MaxUnpool": {"kernel_shape": [1, 1]},
    "RNN": {"hidden_size": 2},
    "RandomNormal": {"shape": [2]},
    "RandomUniform": {"shape": [2]},
    "RegexFullMatch": {"pattern": "a"},
    "SpaceToDepth": {"blocksize": 2},
    "Split": {"num_outputs": 2},
}
# Inputs to connect where the required ones do not make a usable node ("" is left out).
INPUTS: dict[str, list[str]] = {"Resize": ["X", "", "scales"], "Clip": ["input", "min", "max"]}
# Dtypes of the other type variables where the usual choice (float32) is not a useful one.
DEFAULTS: dict[str, dict[str, str]] = {
    "OneHot": {"T1": "int64", "T2": "int64"},
    "QuantizeLinear": {"T1": "float32"},
}
# Operators that accept tensors of any shape: these cells are run, not only loaded.
RUNNABLE = frozenset(
    """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitwiseAnd BitwiseNot BitwiseOr
    BitwiseXor Ceil Concat Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater
    GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual
    Log LogSoftmax Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal ReduceL1
    ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare Relu Round Selu Shape Sigmoid Sign Sin Sinh Size Softmax
    Softplus Softsign Sqrt Sub Sum Swish Tan Tanh Where Xor MatMul ArgMax ArgMin NonZero
    Transpose Flatten Det Trilu
    """.split()
)
SKIPPED = frozenset(
    "If Loop Scan SequenceMap Constant ConstantOfShape Optional OptionalGetElement "
    "OptionalHasElement SplitToSequence SequenceAt SequenceConstruct SequenceEmpty "
    "SequenceErase SequenceInsert SequenceLength ImageDecoder AffineGrid".split()
)


def schemas(opset: int) -> Iterator[Any]:
    """Yield the schema of each operator of the standard domain at one opset.

    Args:
        opset: Opset of the model.
    """
    names = {s.name for s in defs.get_all_schemas() if s.domain == ""} - SKIPPED
    for name in sorted(names):
        try:
            schema = defs.get_schema(name, opset, "")
        except defs.SchemaError:
            continue
        if not schema.deprecated:
            yield schema


def variables(schema: Any) -> dict[str, list[str]]:
    """Return the dtypes that the standard allows for each type variable of ``schema``.

    Args:
        schema: Schema of an operator.
    """
    return {
        c.type_param_str: [SCHEMA_NAMES[t] for t in c.allowed_type_strs if t in SCHEMA_NAMES]
        for c in schema.type_constraints
    }


def default_dtype(allowed: Sequence[str]) -> str:
    """Return the dtype a type variable has while another one is probed."""
    return next((d for d in ("float32", "int64", "bool") if d in allowed), allowed[0])


def single_node_model(schema: Any, binding: Mapping[str, str], opset: int) -> onnx.ModelProto:
    """Build a model of one ``schema`` node whose type variables are bound by ``binding``.

    Args:
        schema: Schema of an operator.
        binding: Name of a dtype for each type variable.
        opset: Opset of the model.

    Returns:
        The model; it is not checked.
    """

    def dtype(formal: Any) -> int:
        name = binding.get(formal.type_str) or SCHEMA_NAMES[formal.type_str]
        return DTYPES[name]

    optional = defs.OpSchema.FormalParameterOption.Optional
    required = [p.name for p in schema.inputs if p.option != optional]
    inputs = INPUTS.get(schema.name, required)
    ins = [p for p in schema.inputs if p.name in inputs]
    outs = [p for p in schema.outputs if p.option != optional] or list(schema.outputs[:1])
    if schema.name == "Split":
        outs = [outs[0], outs[0]]
    values = [(f"y{i}", dtype(p)) for i, p in enumerate(outs)]
    attributes = REQUIRED_ATTRIBUTES.get(schema.name, {})
    if schema.name == "BitCast":
        attributes = {"to": DTYPES[binding["T2"]]}
    node = helper.make_node(
        schema.name, inputs, [n for n, _ in values], domain=schema.domain, **attributes
    )
    graph = helper.make_graph(
        [node],
        "probe",
        [helper.make_tensor_value_info(p.name, dtype(p), None) for p in ins],
        [helper.make_tensor_value_info(n, t, None) for n, t in values],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _refusals() -> tuple[type[Exception], ...]:
    """Return the unrelated classes that onnxruntime raises, and what odd input types cause here."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = (item for item in vars(state).values() if isinstance(item, type))
    return (*(k for k in own if issubclass(k, Exception)), RuntimeError, TypeError, ValueError)


def runs(model: onnx.ModelProto, *, execute: bool) -> bool:
    """Tell whether onnxruntime loads ``model`` and, on request, runs it on ones.

    Args:
        model: A model of one node.
        execute: Whether it is run, too.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        types = [i.type for i in session.get_inputs()]
        if execute and "tensor(bfloat16)" not in types:
            values = {"tensor(float)": np.float32, "tensor(double)": np.float64}
            feeds = {}
            for value in session.get_inputs():
                kind = value.type[len("tensor(") : -1]
                if kind == "string":
                    feeds[value.name] = np.array([["a", "b"], ["c", "d"]], dtype=object)
                else:
                    feeds[value.name] = np.ones((2, 2), values.get(value.type, kind))
            session.run(None, feeds)
    except _refusals():
        return False
    return True


def probe_schema(schema: Any, opset: int) -> dict[str, list[str]] | None:
    """Return ``{type variable: [dtypes that run]}`` of one operator at one opset.

    The opset matters beyond the schema's version: onnxruntime may run an operator without a kernel
    by its function body, which it only has for some opsets.

    Args:
        schema: Schema of an operator.
        opset: Opset of the model.
    """
    allowed = variables(schema)
    if not all(allowed.values()):  # Sequences, optionals and 4-bit types are not casts' business.
        return None
    base = {v: default_dtype(d) for v, d in allowed.items()}
    base.update(DEFAULTS.get(schema.name, {}))
    execute = schema.name in RUNNABLE

    def bound(variable: str, dtype: str) -> dict[str, str]:
        others = dict.fromkeys(base, as_wide(dtype)) if schema.name == "BitCast" else base
        return {**others, variable: dtype}

    return {
        variable: [
            d
            for d in dtypes
            if runs(single_node_model(schema, bound(variable, d), opset), execute=execute)
        ]
        for variable, dtypes in allowed.items()
    }


def as_wide(dtype: str) -> str:
    """Return the unsigned integers that have as many bits as a dtype."""
    digits = "".join(c for c in dtype if c.isdigit())
    return f"uint{digits or 8}"


def probe(last_opset: int) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Return ``{op: {opset: {type variable: [dtypes that run]}}}``; equal rows are not repeated.

    Args:
        last_opset: The newest opset that is asked about.
    """
    table: dict[str, dict[str, dict[str, list[str]]]] = {}
    for opset in range(OLDEST_OPSET, last_opset + 1):
        for schema in schemas(opset):
            row = probe_schema(schema, opset)
            rows = table.setdefault(schema.name, {})
            previous = next(reversed(rows.values()), None)
            if row is not None and row != previous:
                rows[str(opset)] = row
    return {name: rows for name, rows in table.items() if rows}


def main() -> None:
    """Write the table beside this module (or where ``--output`` says)."""
    import onnxruntime

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=TABLE_PATH)
    output: Path = parser.parse_args().output
    last_opset = newest_opset()
    document = {
        "versions": {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__},
        "opsets": [OLDEST_OPSET, last_opset],
        "kernels": probe(last_opset),
    }
    output.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
