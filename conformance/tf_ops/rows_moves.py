"""Rows of operations that move, pick, count or compare elements: results are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

X = Arg("float32", ("n", 3))
M = Arg("float32", ("n", 3, 4))
SQUARE = Arg("float32", ("n", 3, 3))
PIXELS = Arg("float32", ("n", 4, 7, 2))
VOLUME = Arg("float32", ("n", 3, 4, 2, 2))
SIX = Arg("float32", (6, "n"))
FEW = Arg("int32", ("n",), 0, 3)
IDS = Arg("int32", (6,), values=(0, 0, 1, 3, 3, 3))
FULL = Arg("int32", (6,), values=(0, 0, 1, 2, 3, 3))
LOOSE = Arg("int32", (6,), values=(2, -1, 0, 2, 4, 0))
PICKS = Arg("int64", (6,), values=(1, 0, 2, 2, 1, 0))
E: dict[str, Any] = {"bindings": EMPTY}
NONE = np.zeros(0, np.int32)
BENT = Arg("float32", ("n", 4), values=(0.0, -0.0, 1.5, -2.75, 3e-38, 1e30))


def at_places(op_type: str, data: str = "tensor") -> Row:
    """Return the row of an operation that writes single elements, each once."""
    places, news = [[2, 0], [0, 1]], Arg("float32", (2,))
    inputs = {data: Arg("float32", (3, "n")), "indices": places, "updates": news}
    return Row(op_type, inputs, only=("Tindices",), options={"bindings": ({"n": 5}, {"n": 2})})


def unsorted(kind: str) -> Row:
    """Return the row of an unsorted segment reduction."""
    inputs = {"data": SIX, "segment_ids": LOOSE, "num_segments": 5}
    return Row(f"UnsortedSegment{kind}", inputs, only=("Tindices", "Tnumsegments"), ulps=4)


def sparse(op_type: str, **more: Any) -> Row:
    """Return the row of an operation on three places of a `(3, 2)` matrix."""
    return Row(op_type, {**more})


PLACES = [[0, 1], [2, 0], [2, 1]]
MOVES = [
    Row("SpaceToBatchND", {"input": PIXELS, "block_shape": [2, 3], "paddings": [[1, 1], [0, 2]]},
        only=("Tblock_shape", "Tpaddings")),
    Row("SpaceToBatch", {"input": PIXELS, "paddings": [[1, 1], [0, 1]]}, {"block_size": 2},
        options=E),
    Row("BatchToSpaceND", {"input": Arg("float32", (4, "n", 3, 2)), "block_shape": [2, 2],
        "crops": [[1, 0], [0, 2]]}, only=("Tblock_shape", "Tcrops")),
    Row("BatchToSpace", {"input": Arg("float32", (4, "n", 3, 2)), "crops": [[1, 0], [0, 2]]},
        {"block_size": 2}),
    Row("ReverseSequence", {"input": Arg("float32", (6, "n", 4)), "seq_lengths": IDS},
        {"seq_dim": 2}, only=("Tlen",)),
    Row("ExtractVolumePatches", {"input": VOLUME}, {"ksizes": [1, 2, 2, 1, 1],
        "strides": [1, 1, 2, 1, 1], "padding": "SAME"}, options=E),
    Row("DataFormatVecPermute", {"x": Arg("int32", (4,))}),
    Row("DataFormatDimMap", {"x": Arg("int32", ("n",), -4, 4)}, options=E),
    Row("Snapshot", {"input": X}, options=E),
    Row("DeepCopy", {"x": X}, options=E),
    Row("GuaranteeConst", {"input": X}),
    Row("PreventGradient", {"input": X}),
    Row("CheckNumerics", {"tensor": X}, {"message": "odd"}),
    Row("CheckNumericsV2", {"tensor": X}, {"message": "odd"}),
    Row("Fill", {"dims": [2, 3], "value": Arg("float32", ())}, only=("index_type",)),
    Row("BroadcastTo", {"input": X, "shape": [2, 3, 3]}, only=("Tidx",),
        options={"bindings": ({"n": 3},)}),
    Row("Empty", {"shape": [2, 3]}, {"init": True}),
    Row("BroadcastArgs", {"s0": Arg("int32", (2,), values=(3, 1)), "s1": [4]}),
    Row("Size", {"input": M}, options=E),
    Row("ShapeN", {"input": [X, M]}, options=E),
    Row("VariableShape", {}),
    Row("Gather", {"params": M, "indices": Arg("int32", (2, 2), 0, 1)}),
    Row("ScatterNd", {"indices": [[1], [3], [1]], "updates": Arg("float32", (3, "n")),
        "shape": [5, 3]}, only=("Tindices",), options={"bindings": ({"n": 3},), "dynamic": False}),
    Row("ScatterNdNonAliasingAdd", {"input": Arg("float32", (4, "n")), "indices": [[1], [3], [1]],
        "updates": Arg("float32", (3, "n"))}, ulps=2, half=2),
    *(at_places(f"TensorScatter{k}") for k in ("Add", "Max", "Min", "Sub", "Update")),
    Row("OneHot", {"indices": Arg("int32", ("n",), 0, 6), "depth": 4, "on_value": 1.0,
        "off_value": 0.0}, only=("TI",), options=E),
    Row("Pad", {"input": X, "paddings": [[1, 2], [0, 3]]}, only=("Tpaddings",)),
    Row("PadV2", {"input": X, "paddings": [[1, 2], [0, 3]], "constant_values": 2},
        only=("Tpaddings",)),
    Row("MirrorPad", {"input": X, "paddings": [[0, 0], [2, 1]]}, {"mode": "SYMMETRIC"},
        only=("Tpaddings",)),
    Row("SparseToDense", {"sparse_indices": PLACES, "output_shape": [3, 2],
        "sparse_values": Arg("float32", (3,)), "default_value": Arg("float32", ())}),
    Row("SparseReorder", {"input_indices": PLACES[::-1], "input_values": Arg("float32", (3,)),
        "input_shape": [3, 2]}),
    Row("RaggedTensorToTensor", {"shape": [-1, 3], "values": Arg("float32", (6,)),
        "default_value": Arg("float32", ()), "row_partition_tensors": [[0, 2, 2, 6]]},
        {"row_partition_types": ["ROW_SPLITS"]}),
    Row("ParallelDynamicStitch", {"indices": [[2, 0], [1, 3]], "data": [Arg("float32", (2, "n")),
        Arg("float32", (2, "n"))]}, options=E),
    Row("Reshape", {"tensor": M, "shape": [-1, 6]}, only=("Tshape",)),
    Row("Reshape", {"tensor": M, "shape": [-1, 6]}, tag="parts"),
    Row("Transpose", {"x": M, "perm": [2, 0, 1]}),
    Row("ConjugateTranspose", {"x": M, "perm": [2, 0, 1]}, options=E),
    Row("ExpandDims", {"input": M, "axis": -2}),
    Row("Concat", {"concat_dim": 1, "values": [M, M]}, options=E),
    Row("ConcatV2", {"values": [M, M], "axis": 1}),
    Row("Pack", {"values": [X, X]}, {"axis": 1}),
    Row("SplitV", {"value": Arg("float32", (6, "n")), "size_splits": [1, -1, 2], "axis": 0},
        {"num_split": 3}, only=("Tlen",)),
    Row("Tile", {"input": X, "multiples": [2, 3]}, only=("Tmultiples",)),
    Row("ReverseV2", {"tensor": X, "axis": [1]}, only=("Tidx",)),
    Row("Roll", {"input": X, "shift": [1, -1], "axis": [1, 0]}, only=("Tshift", "Taxis")),
    Row("StridedSlice", {"input": M, "begin": [0, 2], "end": [2, 0], "strides": [1, -1]},
        options={"bindings": ({"n": 3}, {"n": 2})}),
    Row("Slice", {"input": X, "begin": [0, 1], "size": [1, 2]}, only=("Index",)),
    Row("TensorStridedSliceUpdate", {"input": X, "begin": [0, 1], "end": [1, 3],
        "strides": [1, 1], "value": Arg("float32", (1, 2))}, only=("Index",)),
    Row("MatrixBandPart", {"input": M, "num_lower": 1, "num_upper": -1}, only=("Tindex",)),
    Row("BatchMatrixBandPart", {"input": M, "num_lower": 1, "num_upper": 0}, options=E,
        reference=tf.raw_ops.MatrixBandPart),
    Row("MatrixDiag", {"diagonal": X}, options=E),
    Row("MatrixDiagPart", {"input": M}, options=E),
    Row("MatrixDiagV2", {"diagonal": X, "k": 1, "num_rows": -1, "num_cols": -1,
        "padding_value": 2}, options=E),
    Row("MatrixDiagPartV2", {"input": M, "k": -1, "padding_value": 2}, options=E),
    Row("MatrixSetDiag", {"input": SQUARE, "diagonal": X}),
    Row("MatrixSetDiagV2", {"input": SQUARE, "diagonal": Arg("float32", ("n", 2)), "k": -1}),
    Row("MaxPoolV2", {"input": PIXELS, "ksize": [1, 2, 3, 1], "strides": [1, 1, 2, 1]},
        {"padding": "SAME"}),
    Row("MaxPool3D", {"input": VOLUME}, {"ksize": [1, 2, 2, 1, 1], "strides": [1, 1, 2, 1, 1],
        "padding": "SAME"}),
    Row("MaxPoolWithArgmax", {"input": PIXELS}, {"ksize": [1, 2, 3, 1], "strides": [1, 1, 2, 1],
        "padding": "VALID"}),
    Row("ResizeNearestNeighbor", {"images": PIXELS, "size": [5, 3]}),
    Row("Bitcast", {"input": Arg("int32", ("n", 3))}, {"type": "uint32"}, options=E),
    Row("Bitcast", {"input": Arg("int16", ("n", 2))}, {"type": "int32"}, tag="wider"),
    Row("Bitcast", {"input": Arg("uint8", ("n", 8), 0, 256)}, {"type": "int64"}, tag="widest"),
    Row("Bitcast", {"input": Arg("int64", ("n",), -(2**62), 2**62)}, {"type": "int8"},
        tag="narrower"),
    *(Row("Bitcast", {"input": Arg(kind, ("n", 4), values=(0.0, -0.0, 1.5, -2.75))}, {"type": to},
          tag=kind, options=E, only=()) for kind, to in (("float32", "int32"),
          ("float16", "int16"), ("bfloat16", "uint16"), ("float64", "int64"))),
    Row("Bitcast", {"input": Arg("int32", ("n", 3))}, {"type": "float32"}, tag="to float",
        only=()),
    *(Row("NextAfter", {"x1": BENT, "x2": Arg("float32", ("n", 4), values=toward)}, options=E,
          tag=f"{toward}") for toward in ((9.0, -1.0), (0.0,))),
]  # fmt: skip
PAIRED = [
    Row(op_type, inputs, {**attrs, "T": kind}, tag=kind, only=())
    for kind in ("complex64", "complex128")
    for op_type, inputs, attrs in (
        ("Pad", {"input": X, "paddings": [[1, 0], [0, 2]]}, {}),
        ("PadV2", {"input": X, "paddings": [[0, 0], [1, 2]], "constant_values": 3}, {}),
        ("Slice", {"input": X, "begin": [0, 1], "size": [-1, 2]}, {}),
        ("Squeeze", {"input": Arg("float32", ("n", 1, 3))}, {"axis": [1]}),
        ("Unpack", {"value": X}, {"axis": 1, "num": 3}),
        ("Split", {"value": X, "axis": 1}, {"num_split": 3}),
        ("SplitV", {"value": X, "size_splits": [1, 2], "axis": 1}, {"num_split": 2}),
        ("Tile", {"input": X, "multiples": [2, 3]}, {}),
        ("ReverseV2", {"tensor": X, "axis": [1]}, {}),
        ("Roll", {"input": X, "shift": [1], "axis": [1]}, {}),
        ("Select", {"condition": Arg("bool", ("n", 3)), "x": X, "y": X}, {}),
        ("SelectV2", {"condition": Arg("bool", ("n", 3)), "t": X, "e": X}, {}),
        ("Shape", {"input": X}, {}),
        ("ShapeN", {"input": [X, X]}, {}),
        ("Size", {"input": X}, {}),
        ("Fill", {"dims": [2, 3], "value": Arg("float32", ())}, {}),
        ("BroadcastTo", {"input": Arg("float32", (1, 3)), "shape": [4, 3]}, {}),
        ("ZerosLike", {"x": X}, {}),
        ("OnesLike", {"x": X}, {}),
        ("MatrixDiagV2", {"diagonal": X, "k": 1, "num_rows": -1, "num_cols": -1,
         "padding_value": 7}, {}),
        ("MatrixDiagV3", {"diagonal": X, "k": 1, "num_rows": -1, "num_cols": -1,
         "padding_value": 7}, {}),
    )
]  # fmt: skip
COUNTED = [
    *(Row(f"Arg{k}", {"input": Arg("float32", ("n", 5), -2, 3), "dimension": 1}, options=E,
          only=("Tidx", "output_type")) for k in ("Max", "Min")),
    *(Row(k, {"input": Arg("bool", ("n", 4)), "axis": [1]}, options=E) for k in ("All", "Any")),
    Row("TopK", {"input": Arg("float32", ("n", 5))}, {"k": 3}, options=E,
        reference=lambda input, k: tf.raw_ops.TopKV2(input=input, k=k)),
    Row("TopKV2", {"input": Arg("float32", ("n", 5)), "k": 3}, options=E,
        only=("Tk", "index_type")),
    Row("InTopK", {"predictions": Arg("float32", ("n", 5)), "targets": Arg("int32", ("n",), 0, 5)},
        {"k": 2}),
    Row("InTopKV2", {"predictions": Arg("float32", ("n", 5)),
        "targets": Arg("int32", ("n",), 0, 5), "k": 2}),
    Row("NthElement", {"input": Arg("float32", ("n", 5)), "n": 2}, options=E),
    Row("Unique", {"x": FEW}, options=E),
    Row("UniqueWithCounts", {"x": FEW}, options=E),
    Row("UniqueV2", {"x": FEW, "axis": NONE}, options=E, only=("Taxis", "out_idx")),
    Row("UniqueWithCountsV2", {"x": FEW, "axis": NONE}, options=E),
    Row("ListDiff", {"x": FEW, "y": [1, 2]}, options=E, only=("out_idx",)),
    *(Row(f"{k}Bound", {"sorted_inputs": Arg("float32", (1, 4), values=(1, 2, 2, 4)),
          "values": Arg("float32", (1, "n"), 0, 5)}, options=E) for k in ("Lower", "Upper")),
    Row("Bincount", {"arr": Arg("int32", ("n",), 0, 7), "size": 5, "weights": np.zeros(0)},
        options=E),
    Row("DenseBincount", {"input": Arg("int32", ("n",), 0, 5), "size": 5, "weights": np.zeros(0)},
        options=E),
    Row("HistogramFixedWidth", {"values": Arg("float32", ("n",), -4, 6), "value_range": [-2, 4],
        "nbins": 5}, options=E),
    Row("UnravelIndex", {"indices": Arg("int32", ("n",), 0, 24), "dims": [2, 3, 4]}),
    *(unsorted(k) for k in ("Sum", "Prod", "Max", "Min")),
    *(Row(f"Segment{k}", {"data": SIX, "segment_ids": IDS}, only=("Tindices",), ulps=4)
      for k in ("Sum", "Prod", "Max", "Min", "Mean")),
    *(Row(f"SparseSegment{k}", {"data": Arg("float32", (3, "n")), "indices": PICKS,
          "segment_ids": IDS}, ulps=4, half=2, options={"floor": 8.0})
      for k in ("Sum", "Mean", "SqrtN")),
    *(Row(f"SparseSegment{k}WithNumSegments", {"data": Arg("float32", (3, "n")), "indices": PICKS,
          "segment_ids": IDS, "num_segments": 6}, ulps=4, half=2, options={"floor": 8.0})
      for k in ("Sum", "Mean", "SqrtN")),
    Row("RaggedRange", {"starts": Arg("int32", ("n",), 0, 6), "limits": 7, "deltas": 2},
        options=E),
    Row("StringToNumber", {"string_tensor": Arg("string", ("n",), values=("15", "-2", "0"))}),
    Row("AsString", {"input": Arg("int32", ("n", 2))}, only=("T",)),
    Row("RegexFullMatch", {"input": Arg("string", ("n", 3)), "pattern": "[a-z]+"}),
]  # fmt: skip


def segments(kind: str) -> Row:
    """Return the row of an operation that has no CPU kernel, but a sibling that has."""
    sibling = getattr(tf.raw_ops, f"UnsortedSegment{kind}")
    inputs = {"data": SIX, "segment_ids": FULL, "num_segments": 4}
    return Row(f"Segment{kind}V2", inputs, ulps=4, reference=sibling)


COUNTED += [segments(kind) for kind in ("Sum", "Prod", "Max", "Min")]
ROWS = [row for row in (*MOVES, *COUNTED, *PAIRED) if row.op_type != "VariableShape"]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return cases_of(ROWS)
