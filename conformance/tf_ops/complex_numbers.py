"""Complex numbers: operations that move them, functions, reductions and matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.python.xla import dynamic_update_slice

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

KINDS = ("complex64", "complex128")
X = Arg("float32", ("n", 3))
M = Arg("float32", ("n", 3, 4))
PIXELS = Arg("float32", ("n", 4, 6, 4))
SQUARE = Arg("float32", ("n", 4, 4))
Z = Arg("float32", ("n", 5))
UNIT = Arg("float32", ("n", 5), -1.5, 1.5)
ROWS = Arg("float32", (5, "m"))
GROUPS = Arg("int32", (5,), values=(0, 0, 1, 3, 3))
MIXED = Arg("int32", (5,), values=(2, 0, -1, 3, 0))
PLACES = Arg("int64", (4, 1), values=(1, 3, 0, 1))
UPDATES = Arg("float32", (4, "m"))
SOME = Arg("float32", ("n", 3), values=(0, 1, 0, 0, 0.5, 0, 2))
Inputs = dict[str, Any]

#: Op type, inputs, attributes of what only moves or compares numbers: nothing is rounded.
MOVED: tuple[tuple[str, Inputs, Inputs], ...] = (
    ("MatrixBandPart", {"input": M, "num_lower": 1, "num_upper": -1}, {}),
    ("MatrixBandPart", {"input": M, "num_lower": Arg("int64", (), 0, 2), "num_upper": 0}, {}),
    ("MatrixDiagPartV3", {"input": M, "k": [-1, 1], "padding_value": 2 + 3j}, {}),
    ("MatrixDiagPartV3", {"input": M, "k": 1, "padding_value": 0}, {"align": "LEFT_LEFT"}),
    ("DepthToSpace", {"input": PIXELS}, {"block_size": 2}),
    ("SpaceToDepth", {"input": PIXELS}, {"block_size": 2}),
    ("Diag", {"diagonal": X}, {}),
    ("DiagPart", {"input": Arg("float32", ("n", 2, "n", 2))}, {}),
    ("DynamicPartition", {"data": ROWS, "partitions": GROUPS}, {"num_partitions": 4}),
    ("DynamicStitch", {"indices": [Arg("int32", (3,), values=(0, 2, 1)),
                                   Arg("int32", (2,), values=(1, 4))],
                       "data": [Arg("float32", (3, "m")), Arg("float32", (2, "m"))]}, {}),
    ("Equal", {"x": SOME, "y": Arg("float32", ("n", 3), values=(0, 1, 0, 0, 0.5, 1, -0.0))}, {}),
    ("NotEqual", {"x": SOME, "y": Arg("float32", (1, 3), values=(0, 1, 2, 0, 0.5, 0))}, {}),
    ("ExtractImagePatches", {"images": PIXELS}, {"ksizes": [1, 2, 3, 1], "strides": [1, 1, 2, 1],
     "rates": [1, 2, 1, 1], "padding": "SAME"}),
    ("MirrorPad", {"input": M, "paddings": [[0, 0], [1, 2], [2, 0]]}, {"mode": "REFLECT"}),
    ("MirrorPad", {"input": M, "paddings": [[0, 0], [1, 2], [2, 0]]}, {"mode": "SYMMETRIC"}),
    ("OneHot", {"indices": Arg("int32", ("n", 3), -1, 5), "depth": 4, "on_value": 1 + 2j,
                "off_value": -3j}, {"axis": 1}),
    ("Rank", {"input": M}, {}),
    ("ReverseSequence", {"input": Arg("float32", (3, "m", 4, 2)), "seq_lengths": [2, 0, 4]},
     {"seq_dim": 2, "batch_dim": 0}),
    ("ScatterNd", {"indices": PLACES, "updates": Arg("float32", (4, 3)), "shape": [5, 3]}, {}),
    ("TensorScatterAdd", {"tensor": ROWS, "indices": PLACES, "updates": UPDATES}, {}),
    ("TensorScatterSub", {"tensor": ROWS, "indices": PLACES, "updates": UPDATES}, {}),
    ("TensorScatterUpdate", {"tensor": ROWS, "indices": Arg("int64", (4, 1), values=(1, 3, 0, 4)),
                             "updates": UPDATES}, {}),
    ("TensorStridedSliceUpdate", {"input": M, "begin": [0, 1, 2], "end": [1, 9, 3],
     "strides": [1, 1, 1], "value": Arg("float32", (1, 2, 3))}, {"begin_mask": 4}),
    ("Where", {"condition": SOME}, {}),
)  # fmt: skip
SETTING: tuple[tuple[str, Inputs, Inputs], ...] = (
    ("MatrixSetDiagV3", {"input": M, "diagonal": Arg("float32", ("n", 3, 3)), "k": [-1, 1]}, {}),
    ("MatrixSetDiagV3", {"input": M, "diagonal": Arg("float32", ("n", 3)), "k": 1}, {}),
)
#: Op type -> the argument of a function of one number.
FUNCTIONS = {
    **dict.fromkeys(("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Log1p", "Reciprocal",
                     "Inv", "Rsqrt", "Sign", "Sqrt", "Sigmoid", "Tan", "Tanh"), Z),
    **dict.fromkeys(("Cos", "Cosh", "Sin", "Sinh", "Expm1"), Arg("float32", ("n", 5), -2, 2)),
}  # fmt: skip
PAIRS = ("Div", "DivNoNan", "MulNoNan", "SquaredDifference", "Xdivy", "Xlogy", "Xlog1py")
SLOPES = ("InvGrad", "ReciprocalGrad", "RsqrtGrad", "SqrtGrad", "SigmoidGrad", "TanhGrad")
NEAR: Inputs = {"ulps": 16, "options": {"floor": 8.0, "bindings": EMPTY, "dynamic": True}}
SUMS: Inputs = {"ulps": 16, "options": {"floor": 64.0, "dynamic": True}}
REDUCED: tuple[tuple[str, Inputs, Inputs], ...] = (
    *((kind, {"input": M, "axis": axes}, {"keep_dims": keep})
      for kind in ("Prod", "EuclideanNorm", "Mean", "Sum")
      for axes, keep in (([1], False), ([2, 1], True), ([], False), ([-3], False))
      if kind != "Prod" or axes != [-3]),
    *((kind, {"x": M, "axis": 1}, {"exclusive": exclusive, "reverse": backward})
      for kind in ("Cumsum", "Cumprod") for exclusive in (False, True)
      for backward in (False, True)),
    *((f"Segment{kind}", {"data": ROWS, "segment_ids": GROUPS}, {})
      for kind in ("Sum", "Prod", "Mean")),
    *((f"Segment{kind}V2", {"data": ROWS, "segment_ids": GROUPS, "num_segments": 5}, {})
      for kind in ("Sum", "Prod")),
    *((f"UnsortedSegment{kind}", {"data": ROWS, "segment_ids": MIXED, "num_segments": 4}, {})
      for kind in ("Sum", "Prod")),
)  # fmt: skip
BITS = Arg("float32", ("n", 3), values=(0.0, -0.0, 1.5, -2.75, 3e20, -np.inf, 1e-7))
WHOLE: Inputs = {"options": {"bindings": EMPTY, "dynamic": True}}
BAND: Inputs = {k: Arg("float32", ("n", 1, 4)) for k in ("superdiag", "maindiag", "subdiag")}


def bits(kind: str) -> Iterator[Row]:
    """Yield the rows of bits read as another type."""
    for to in ("float32", "int32", "int64", "float64", "int16", "uint8", *KINDS):
        if (kind, to) != ("complex64", "complex128"):
            yield _row("Bitcast", {"input": BITS}, {"type": to}, kind, to, **WHOLE)
    if kind == "complex64":
        yield _row("Bitcast", {"input": Arg("float32", ("n", 3, 2))}, {"type": "complex128"}, kind,
                   "complex128", **WHOLE)  # fmt: skip
    for own, size in (("float32", 2), ("int64", 1), ("int16", 4), ("float64", 1), ("uint8", 8)):
        count = size * (2 if kind == "complex128" else 1)
        shape = ("n", 3) if count == 1 else ("n", 3, count)
        yield Row("Bitcast", {"input": Arg(own, shape)}, {"type": kind}, tag=f"{own}-{kind}",
                  only=(), vary=(), **WHOLE)  # fmt: skip


def rows() -> Iterator[Row]:
    """Yield the rows."""
    for kind in KINDS:
        for i, (op_type, inputs, attrs) in enumerate((*MOVED, *SETTING)):
            options: Inputs = {"dynamic": op_type not in ("MatrixSetDiagV3", "DiagPart")}
            yield _row(op_type, inputs, attrs, kind, f"{i}", options=options)
        for op_type, arg in FUNCTIONS.items():
            yield _row(op_type, {"x": arg}, {}, kind, "", **NEAR)
        for op_type in PAIRS:
            given = {"x": Z, "y": Arg("float32", (1, 5), 1, 3)}
            yield _row(op_type, given, {}, kind, "", **NEAR)
            given = {"x": SOME, "y": SOME}
            if op_type not in ("Div", "SquaredDifference"):
                whole = op_type in ("DivNoNan", "MulNoNan")
                given = {"x": SOME, "y": SOME if whole else Arg("float32", ("n", 3), 1, 3)}
                yield _row(op_type, given, {}, kind, "zeros", **NEAR)
        for op_type in SLOPES:
            yield _row(op_type, {"y": UNIT, "dy": Z}, {}, kind, "", **SUMS)
        base, exponent = Arg("float32", ("n", 5), 1, 4), Arg("float32", (1, 5), 0, 2)
        yield _row("Pow", {"x": base, "y": exponent}, {}, kind, "", **SUMS)
        yield _row("Pow", {"x": Z, "y": 3}, {}, kind, "cube", ulps=16,
                   options={"floor": 200.0, "dynamic": True})  # fmt: skip
        for i, (op_type, inputs, attrs) in enumerate(REDUCED):
            # TensorFlow has no kernel for sorted segments of a given number
            plain = op_type.endswith("V2")
            reference = getattr(tf.raw_ops, f"Unsorted{op_type[:-2]}") if plain else None
            yield _row(op_type, inputs, attrs, kind, f"{i}", reference=reference, **SUMS)
        yield from bits(kind)
        yield _row("TridiagonalMatMul", {**BAND, "rhs": Arg("float32", ("n", 4, 2))}, {}, kind, "",
                   **SUMS)  # fmt: skip


def _row(op_type: str, inputs: Inputs, attrs: Inputs, kind: str, tag: str, **options: Any) -> Row:
    label = f"{kind}-{tag}" if tag else kind
    return Row(op_type, inputs, {**attrs, "T": kind}, tag=label, only=(), vary=(), **options)


def _switched(kind: str) -> Case:
    """A condition as TensorFlow 1 writes it."""

    def function(x: Any, condition: Any) -> Any:
        z = tf.cast(tf.complex(x[..., 0], x[..., 1]), kind)
        below, above = tf.raw_ops.Switch(data=z, pred=condition)
        merged = tf.raw_ops.Merge(inputs=[below * 2, above * 3]).output
        return tf.stack([tf.math.real(merged), tf.math.imag(merged)], -1)

    def plain(x: Any, condition: Any) -> Any:
        return x * (3 if bool(condition) else 2)

    arg = Arg("float32" if kind == "complex64" else "float64", ("n", 3, 2))
    return Case(f"switch-{kind}", function, (arg, Arg("bool", ())), eager=plain)


def _updated(kind: str) -> Case:
    """A block overwritten at a start, which is moved so that the block fits."""

    def function(x: Any) -> Any:
        z = tf.cast(tf.complex(x[..., 0], x[..., 1]), kind)
        made = dynamic_update_slice(z, z[:, :2] * 2, tf.constant([7, 1]))
        return tf.stack([tf.math.real(made), tf.math.imag(made)], -1)

    def plain(x: Any) -> Any:
        return tf.concat([x[:, :1], x[:, :2] * 2], 1)

    arg = Arg("float32" if kind == "complex64" else "float64", ("n", 3, 2))
    return Case(f"update-{kind}", function, (arg,), eager=plain)


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*cases_of(rows()), *(made(kind) for kind in KINDS for made in (_switched, _updated))]
