"""Element-wise operations: every declared dtype, awkward values, broadcasting, empty tensors."""

from __future__ import annotations

import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.declared import declared_dtypes, runnable
from yobx.tensorflow.ops import arithmetic, elementwise

FLOATS = {"float16", "bfloat16", "float32", "float64"}
# Largest distance in units of the last place, where it is not zero: both sides round.
ULPS = {
    "Acos": 4, "Asin": 4, "Atan": 4, "Cos": 4, "Sin": 4, "Exp": 4, "Log": 4, "Sqrt": 1, "Tanh": 6,
    "Sigmoid": 6, "Acosh": 8, "Asinh": 8, "Atanh": 8, "Cosh": 6, "Sinh": 8, "Tan": 6, "Expm1": 8,
    "Log1p": 8, "Rsqrt": 3, "Reciprocal": 2, "Inv": 2, "Elu": 8, "Selu": 8, "Softplus": 8,
    "Softsign": 3, "Erf": 8, "Erfc": 16, "LeakyRelu": 1, "Pow": 4, "Atan2": 4, "Div": 1,
    "RealDiv": 1, "Xlogy": 4, "Xlog1py": 8, "DivNoNan": 1, "Xdivy": 1, "SquaredDifference": 2,
}  # fmt: skip
FLAGS = {"Relu": "features", "Relu6": "features", "Elu": "features", "Selu": "features",
         "LeakyRelu": "features", "Softplus": "features", "Softsign": "features"}  # fmt: skip
UNARY = [*elementwise.UNARY, "Cos", "Exp", "Log", "Neg", "Sigmoid", "Sin", "Sqrt", "Tanh",
         *arithmetic._UNARY_LIBRARY, *FLAGS,
         "Erf", "Erfc", "Square", "Tan", "Reciprocal", "Inv", "Sign", "IsFinite"]  # fmt: skip
BINARY = [*elementwise.BINARY, "Sub", "RealDiv", "Add", "AddV2", "Mul", "Equal", "NotEqual",
          "Xlogy", "Xlog1py",
          "Xdivy", "DivNoNan", "MulNoNan", "SquaredDifference", "Atan2"]  # fmt: skip
DIVIDING = ["Div", "TruncateDiv", "FloorDiv", "FloorMod", "Mod", "TruncateMod"]
BOUNDED = {"Sin", "Cos", "Tan", "Sigmoid", "Tanh"}
# What TensorFlow computes step by step in half precision.
HALVES = {"Selu": 6.0, "Softplus": 6.0}


def accepted(op_type: str, dtype: str) -> bool:
    """Tell whether TensorFlow itself runs the op for a dtype (``bool`` may only be a result)."""
    from tensorflow.python.framework import op_def_registry

    op_def = op_def_registry.get(op_type)
    name = op_def.input_arg[0].type_attr
    if not name:
        return bool(tf.dtypes.as_dtype(op_def.input_arg[0].type).name == dtype)
    able = runnable(op_type, name)
    return able is None or dtype in able


def unary_cases() -> list[Case]:
    """Return a case for every function of one tensor and every dtype."""
    cases = []
    for op_type in UNARY:
        keyword = FLAGS.get(op_type, "x")
        for dtype in declared_dtypes(op_type):
            if not accepted(op_type, dtype):
                continue
            raw = getattr(tf.raw_ops, op_type)
            special = dtype in FLOATS and op_type not in ("Sin", "Cos", "Tan")
            arg = Arg(dtype, ("n", 7), special=special)
            if op_type in ("Reciprocal", "Inv") and dtype not in FLOATS:
                arg = Arg(dtype, ("n", 7), values=(1, -1, 2, -3))
            cases.append(
                Case(
                    f"{op_type}-{dtype}",
                    lambda x, raw=raw, keyword=keyword: raw(**{keyword: x}),
                    (arg,),
                    ulps=ULPS.get(op_type, 0)
                    if dtype in ("float32", "float64")
                    else HALVES.get(op_type, 2.0),
                    floor=1.0 if op_type in BOUNDED else 0.0,
                    bindings=EMPTY,
                )
            )
    return cases


def binary_cases() -> list[Case]:
    """Return a case for every function of two tensors and every dtype."""
    cases = []
    for op_type in BINARY:
        for dtype in declared_dtypes(op_type):
            if not accepted(op_type, dtype):
                continue
            raw = getattr(tf.raw_ops, op_type)
            special = dtype in FLOATS
            cases.append(
                Case(
                    f"{op_type}-{dtype}",
                    (lambda x, y, raw=raw: raw(y=x, x=y))
                    if op_type != "Atan2"
                    else (lambda x, y, raw=raw: raw(y=y, x=x)),
                    (Arg(dtype, ("n", 5), special=special), Arg(dtype, (1, 5), special=special)),
                    ulps=ULPS.get(op_type, 0) if dtype in ("float32", "float64") else 2.0,
                    bindings=EMPTY,
                )
            )
    return cases


def dividing_cases() -> list[Case]:
    """Return divisions and remainders of every dtype, with every combination of signs."""
    cases = []
    for op_type in DIVIDING:
        for dtype in declared_dtypes(op_type):
            if not accepted(op_type, dtype):
                continue
            raw = getattr(tf.raw_ops, op_type)
            whole = dtype not in FLOATS
            low = 0 if dtype.startswith("u") or not whole else tf.as_dtype(dtype).min
            top = (low, 7, -7, 8, -8, 1, -1, 0)
            x = Arg(dtype, ("n", 8), values=top) if whole else Arg(dtype, ("n", 8), special=True)
            if dtype.startswith("u"):
                x = Arg(dtype, ("n", 8), values=(7, 8, 0, 1, 9, 200, 100, 255))
                y = Arg(dtype, ("n", 1), values=(2, 3, 1, 5, 200))
            elif whole:
                y = Arg(dtype, ("n", 1), values=(2, -2, -1, 3, -3))
            else:
                y = Arg(dtype, ("n", 1), values=(2, -2, 0, 0.5, -3, 1))
            ulps = 0 if dtype in ("float32", "float64") else 2
            cases.append(
                Case(
                    f"{op_type}-{dtype}",
                    lambda x, y, raw=raw: raw(x=x, y=y),
                    (x, y),
                    ulps=max(ulps, ULPS.get(op_type, 0)),
                    bindings=({"n": 5}, {"n": 1}, {"n": 0}),
                )
            )
    return cases


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*unary_cases(), *binary_cases(), *dividing_cases()]
