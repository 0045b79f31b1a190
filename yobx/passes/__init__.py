"""Clean-up of a finished graph: each pass is a function that changes an ``onnx_ir.Model``."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir

from yobx.passes.batch_norm import affine_to_batch_norm
from yobx.passes.clips import merge_clips
from yobx.passes.common_subexpressions import merge_common_subexpressions
from yobx.passes.constants import fold_constants
from yobx.passes.convolutions import fold_into_convolutions
from yobx.passes.counted_indices import keep_counted_indices
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.dense import fold_into_dense
from yobx.passes.duplicate_initializers import merge_initializers
from yobx.passes.gemm import matmul_add_to_gemm
from yobx.passes.hard_sigmoid import merge_hard_sigmoid
from yobx.passes.identities import remove_identities
from yobx.passes.inferred_sizes import settle_inferred_sizes
from yobx.passes.layer_norm import merge_layer_norm
from yobx.passes.layout import optimize_layout
from yobx.passes.neutral_numbers import keep_neutral_numbers
from yobx.passes.pooling import mean_to_global_pool
from yobx.passes.recurrent import merge_directions
from yobx.passes.reshapes import simplify_reshapes
from yobx.passes.tensordot import unflatten_matmul
from yobx.passes.transposed_products import keep_transposed_products
from yobx.passes.transposes import compose_transposes, transposes_to_reshapes
from yobx.passes.unit_axes import transpose_outside_unit_axes

__all__ = ["default_passes"]


def default_passes() -> tuple[Callable[[onnx_ir.Model], None], ...]:
    """Returns the passes that every converted model goes through, in order.

    Returns:
        Functions on an ``onnx_ir.Model``, for ``GraphBuilder.to_onnx(passes=...)``.
    """
    return (
        remove_dead_code,
        fold_constants,
        remove_identities,
        merge_initializers,
        merge_common_subexpressions,
        compose_transposes,
        merge_directions,
        merge_layer_norm,
        simplify_reshapes,
        unflatten_matmul,
        transpose_outside_unit_axes,
        remove_dead_code,
        optimize_layout,
        remove_identities,
        compose_transposes,
        transposes_to_reshapes,
        remove_dead_code,
        fold_into_convolutions,
        affine_to_batch_norm,
        fold_into_dense,
        matmul_add_to_gemm,
        merge_clips,
        merge_hard_sigmoid,
        mean_to_global_pool,
        fold_constants,
        merge_common_subexpressions,
        remove_identities,
        simplify_reshapes,
        settle_inferred_sizes,
        remove_dead_code,
        keep_counted_indices,
        keep_neutral_numbers,
        keep_transposed_products,
        remove_dead_code,
    )
