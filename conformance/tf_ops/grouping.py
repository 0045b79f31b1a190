"""Order, search, counts, segments, blocks, patches and matrix parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import BINDINGS, EMPTY, PRIMARY, Arg, Case, works_in_tf
from conformance.tf_ops.declared import declared_dtypes

IDS = Arg("int32", (6,), values=(0, 0, 1, 3, 3, 3))
LOOSE = Arg("int32", (6,), values=(2, -1, 0, 2, 4, 0))
INDEX = Arg("int64", (6,), values=(1, 0, 2, 2, 1, 0))
FLOATING = ("float16", "bfloat16", "float32", "float64")
SPARSE = (*FLOATING,)
UNIQUE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
          "bfloat16", "float32", "float64", "bool", "string")  # fmt: skip
# op type -> (function, first input's shape, other inputs, dtypes left out because TF has no kernel)
TABLE: dict[str, tuple[Callable[..., Any], tuple[int | str, ...], tuple[Arg, ...], set[str]]] = {
    "TopKV2": (lambda x: tf.math.top_k(x, 3), ("n", 5), (), set()),
    "NthElement": (lambda x: tf.raw_ops.NthElement(input=x, n=2, reverse=True), ("n", 5), (),
                   {"uint32", "uint64"}),
    "UniqueV2": (lambda x: tf.raw_ops.UniqueV2(x=x, axis=np.zeros(0, np.int32)), ("n",), (), set()),
    "UniqueWithCountsV2": (lambda x: tf.raw_ops.UniqueWithCountsV2(x=x, axis=[0]), ("n", 2), (),
                           {"bfloat16", "string"}),
    "ListDiff": (lambda x: tf.raw_ops.ListDiff(x=x, y=x[:1]), ("n",), (), {"bool"}),
    "LowerBound": (lambda x: tf.searchsorted(tf.sort(x, 1), x), ("n", 4), (),
                   {"uint32", "uint64", "uint16", "uint8"}),
    "UpperBound": (lambda x: tf.raw_ops.UpperBound(sorted_inputs=tf.sort(x, 1), values=x), (2, 4),
                   (), set()),
    "UnsortedSegmentSum": (lambda x, i: tf.math.unsorted_segment_sum(x, i, 5), (6, "n"), (LOOSE,),
                           set()),
    "UnsortedSegmentProd": (lambda x, i: tf.math.unsorted_segment_prod(x, i, 5), (6, "n"),
                            (LOOSE,), set()),
    "UnsortedSegmentMax": (lambda x, i: tf.math.unsorted_segment_max(x, i, 5), (6, "n"), (LOOSE,),
                           set()),
    "UnsortedSegmentMin": (lambda x, i: tf.math.unsorted_segment_min(x, i, 5), (6, "n"), (LOOSE,),
                           set()),
    "SegmentSum": (lambda x, i: tf.math.segment_sum(x, i), (6, "n"), (IDS,), set()),
    "SegmentMean": (lambda x, i: tf.math.segment_mean(x, i), (6, "n"), (IDS,), set()),
    "SegmentMax": (lambda x, i: tf.math.segment_max(x, i), (6, "n"), (IDS,), set()),
    "SegmentMin": (lambda x, i: tf.math.segment_min(x, i), (6, "n"), (IDS,), set()),
    "SegmentProd": (lambda x, i: tf.math.segment_prod(x, i), (6, "n"), (IDS,), set()),
    "DynamicPartition": (lambda x, i: tf.dynamic_partition(x, i, 4), (6, "n"), (IDS,), set()),
    "DynamicStitch": (lambda x, i: tf.dynamic_stitch([i, [1]], [x, x[:1]]), (6, "n"), (IDS,),
                      set()),
    "SpaceToBatchND": (lambda x: tf.space_to_batch(x, [2, 3], [[1, 1], [0, 2]]),
                       ("n", 4, 7, 2), (), set()),
    "BatchToSpaceND": (lambda x: tf.batch_to_space(x, [2, 2], [[1, 0], [0, 2]]),
                       (4, "n", 3, 2), (), set()),
    "ReverseSequence": (lambda x, i: tf.reverse_sequence(x, i, 2, 0), (6, "n", 4),
                        (IDS,), set()),
    "ExtractImagePatches": (lambda x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 1, 1],
                            [1, 1, 2, 1], "SAME"), ("n", 6, 5, 2), (), set()),
    "PopulationCount": (lambda x: tf.raw_ops.PopulationCount(x=x), ("n", 5), (), set()),
    "LeftShift": (lambda x: tf.bitwise.left_shift(x, x // x * 3), ("n", 5), (), set()),
    "RightShift": (lambda x: tf.bitwise.right_shift(x, x // x), ("n", 5), (), set()),
    "Bucketize": (lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[-2.0, 0.5, 0.5, 3.0]),
                  ("n", 5), (), set()),
    "MatrixBandPart": (lambda x: tf.linalg.band_part(x, 1, -1), ("n", 3, 4), (), set()),
    "MatrixDiagV3": (lambda x: tf.linalg.diag(x, k=-1), ("n", 3), (), set()),
    "MatrixDiagPartV3": (lambda x: tf.linalg.diag_part(x, k=1), ("n", 3, 4), (), set()),
    "MatrixSetDiagV3": (lambda x: tf.linalg.set_diag(x, x[:, 0, :3]), ("n", 3, 4), (), set()),
    "ApproximateEqual": (lambda x: tf.raw_ops.ApproximateEqual(x=x, y=x[:, ::-1], tolerance=1.5),
                         ("n", 5), (), set()),
    "SquaredDifference": (lambda x: tf.math.squared_difference(x, x[:, ::-1]), ("n", 5), (),
                          set()),
}  # fmt: skip
ONE_OR_MORE = {"MatrixSetDiagV3", "BatchToSpaceND"}
POSITIVE = {"LeftShift", "RightShift"}


def table_cases() -> Iterator[Case]:
    """Yield the operations of `TABLE` for every dtype that TensorFlow runs."""
    for op_type, (function, shape, others, missing) in TABLE.items():
        for dtype in declared_dtypes(op_type):
            if dtype in missing:
                continue
            low = 1 if op_type in POSITIVE else -4
            case = Case(
                f"{op_type}-{dtype}",
                function,
                (Arg(dtype, shape, low, 5), *others),
                ulps=4,
                contraction=8 if "Segment" in op_type and dtype in FLOATING else 0,
                bindings=BINDINGS if op_type in ONE_OR_MORE else EMPTY,
                dynamic=dtype in PRIMARY,
            )
            if works_in_tf(case):
                yield case


def index_cases() -> Iterator[Case]:
    """Yield sparse segment reductions by dtype."""
    for op_type in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
        raw = getattr(tf.raw_ops, op_type)
        numbered = getattr(tf.raw_ops, f"{op_type}WithNumSegments")
        for dtype in FLOATING:
            yield Case(
                f"{op_type}-{dtype}",
                lambda x, i, s, raw=raw: raw(data=x, indices=i, segment_ids=s),
                (Arg(dtype, (3, "n")), INDEX, IDS),
                contraction=8,
            )
            yield Case(
                f"{op_type}WithNumSegments-{dtype}",
                lambda x, i, s, raw=numbered: raw(data=x, indices=i, segment_ids=s, num_segments=6),
                (Arg(dtype, (3, "n")), INDEX, IDS),
                contraction=8,
            )
    for op_type in ("SegmentSumV2", "SegmentProdV2", "SegmentMaxV2", "SegmentMinV2"):
        raw = getattr(tf.raw_ops, op_type)
        for dtype in ("float32", "int32", "float64"):
            case = Case(
                f"{op_type}-{dtype}",
                lambda x, s, raw=raw: raw(data=x, segment_ids=s, num_segments=6),
                (Arg(dtype, (6, "n")), IDS),
                contraction=8 if dtype != "int32" else 0,
            )
            if works_in_tf(case):
                yield case


COUNTS = Arg("int32", ("n", 4), 0, 6)
OTHERS = [
    Case("top_k_ties", lambda x: tf.math.top_k(x, 4), (Arg("int32", ("n", 6), 0, 3),)),
    Case("top_k_all", lambda x: tf.math.top_k(x, tf.shape(x)[1]), (Arg("float32", ("n", "m")),)),
    Case("sort", lambda x: tf.sort(x, 0, "DESCENDING"), (Arg("float32", ("n", 3)),)),
    Case("argsort", lambda x: tf.argsort(x, 1, stable=True), (Arg("int32", ("n", 6), 0, 3),)),
    Case("in_top_k", lambda p, t: tf.math.in_top_k(t, p, 2),
         (Arg("float32", ("n", 5)), Arg("int32", ("n",), 0, 5))),
    Case("unique_order", lambda x: tf.unique(x), (Arg("int32", ("n",), 0, 3),), bindings=EMPTY),
    Case("unique_counts", lambda x: tf.unique_with_counts(x), (Arg("int64", ("n",), 0, 3),)),
    Case("bincount", lambda x: tf.math.bincount(x, minlength=5, maxlength=5), (COUNTS,)),
    Case("bincount_axis", lambda x: tf.math.bincount(x, minlength=5, maxlength=5, axis=-1),
         (COUNTS,)),
    Case("bincount_binary", lambda x: tf.math.bincount(x, minlength=4, maxlength=4, axis=-1,
         binary_output=True), (COUNTS,)),
    Case("bincount_weights", lambda x, w: tf.math.bincount(x, weights=w, minlength=6,
         maxlength=6), (COUNTS, Arg("float32", ("n", 4))), contraction=8),
    Case("histogram", lambda x: tf.histogram_fixed_width(x, [-2.0, 3.0], 7),
         (Arg("float32", ("n", 9), -4, 5),), bindings=EMPTY),
    Case("unravel", lambda x: tf.unravel_index(x, [3, 4, 5]), (Arg("int32", ("n",), 0, 60),)),
    Case("searchsorted_right", lambda x: tf.searchsorted([[1, 2, 2, 3]], x, "right"),
         (Arg("int32", (1, "n"), 0, 5),)),
    Case("bitcast", lambda x: tf.bitcast(x, tf.uint32), (Arg("int32", ("n", 3)),)),
    Case("volume_patches", lambda x: tf.extract_volume_patches(x, [1, 2, 2, 1, 1],
         [1, 1, 2, 1, 1], "SAME"), (Arg("float32", ("n", 3, 4, 2, 2)),)),
    Case("patches_valid", lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 3, 2, 1],
         [1, 1, 1, 1], "VALID"), (Arg("float32", ("n", "m", 5, 2)),)),
    Case("space_to_batch_1d", lambda x: tf.space_to_batch(x, [2], [[1, 0]]),
         (Arg("float32", ("n", 5, 3)),)),
    Case("dilated_conv", lambda x, w: tf.nn.convolution(x, w, padding="SAME", dilations=[2, 3]),
         (Arg("float32", ("n", 6, 7, 2)), Arg("float32", (3, 3, 2, 4))), contraction=16),
    Case("reverse_sequence", lambda x: tf.reverse_sequence(x, [2, 0, 3], 1, 0),
         (Arg("float32", (3, 4, "n")),)),
    Case("band_all", lambda x: tf.linalg.band_part(x, 0, 0), (Arg("float32", ("n", "m")),)),
    Case("diag_square", lambda x: tf.raw_ops.MatrixDiag(diagonal=x), (Arg("float32", ("n", 3)),)),
    Case("diag_part", lambda x: tf.raw_ops.MatrixDiagPart(input=x),
         (Arg("float32", ("n", 2, "m")),)),
    Case("diag_up", lambda x: tf.linalg.diag(x, k=2, padding_value=7.0),
         (Arg("float32", ("n", "m")),)),
    Case("diag_part_below", lambda x: tf.linalg.diag_part(x, k=-1), (Arg("float32", ("n", 4, 3)),)),
    Case("vec_permute", lambda x: tf.raw_ops.DataFormatVecPermute(x=x, src_format="NHWC",
         dst_format="NCHW"), (Arg("int32", (4,)),)),
    Case("vec_permute_2", lambda x: tf.raw_ops.DataFormatVecPermute(x=x, src_format="NHWC",
         dst_format="NWHC"), (Arg("int32", (2,)),)),
    Case("dim_map", lambda x: tf.raw_ops.DataFormatDimMap(x=x, src_format="NHWC",
         dst_format="NCHW"), (Arg("int32", ("n",), -4, 4),)),
    Case("cross", lambda x, y: tf.linalg.cross(x, y),
         (Arg("int32", ("n", 3)), Arg("int32", ("n", 3)))),
    Case("invert_permutation", lambda x: tf.math.invert_permutation(x),
         (Arg("int64", (4,), values=(3, 1, 0, 2)),)),
]  # fmt: skip


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*table_cases(), *index_cases(), *OTHERS]
