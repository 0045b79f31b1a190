"""Products of matrices: `MatMul`, `Gemm`, `Einsum` and their relatives."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    Dims,
    broadcast,
    broadcast_dim,
    dims_of,
    ranked,
    register,
    same_dim,
    tensor,
)
from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["gemm_of", "matmul_dims"]


def matmul_dims(node: NodeView, left: Dims, right: Dims) -> Dims:
    """Shape of `numpy.matmul`: vectors lose their axis, leading axes broadcast."""
    if not left or not right:
        node.fail("a scalar cannot be multiplied as a matrix")
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        same_dim(node, left[-1], inner, "inner sizes of a matrix product")
    lead_left, lead_right = left[:-2], right[:-2]
    if not lead_right or lead_left == lead_right:
        lead = lead_left
    else:
        lead = broadcast(node, lead_left, lead_right) if lead_left else lead_right
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return (*lead, *rows, *columns)


def _matmul(
    node: NodeView, left: OptimTensor, right: OptimTensor, dtype: TensorType
) -> OptimTensor:
    first, second = dims_of(left), dims_of(right)
    if first is None or second is None:
        return node.unknown("the rank of an operand is not known", dtype=dtype)
    return tensor(dtype, matmul_dims(node, first, second))


@register("MatMul")
def matmul(node: NodeView) -> OptimTensor:
    """`numpy.matmul`."""
    left, right = node.tensor(0), node.tensor(1)
    return _matmul(node, left, right, left.dtype or right.dtype)


@register("MatMulInteger")
def matmul_integer(node: NodeView) -> OptimTensor:
    """Product of integers into int32."""
    return _matmul(node, node.tensor(0), node.tensor(1), TensorType.kInt32)


@register("QLinearMatMul")
def qlinear_matmul(node: NodeView) -> OptimTensor:
    """Quantised product: input 3 is the right operand, input 7 the result's zero point."""
    return _matmul(node, node.tensor(0), node.tensor(3), node.tensor(7).dtype)


@register("Gemm")
def gemm(node: NodeView) -> OptimTensor:
    """`alpha * A' @ B' + beta * C` of two matrices."""
    left, right = node.tensor(0), node.tensor(1)
    return gemm_of(node, left, right, left.dtype or right.dtype)


def gemm_of(
    node: NodeView, left: OptimTensor, right: OptimTensor, dtype: TensorType
) -> OptimTensor:
    """Result of a `Gemm` with its transposing attributes."""
    first, second = dims_of(left), dims_of(right)
    for dims in (first, second):
        if dims is not None and len(dims) != 2:
            node.fail(f"operands must be matrices, one has rank {len(dims)}")
    swap_left, swap_right = node.attr("transA", 0) == 1, node.attr("transB", 0) == 1
    reason = "the shape of an operand is not known"
    if first is not None and second is not None:
        inner = first[0] if swap_left else first[1]
        same_dim(node, inner, second[1] if swap_right else second[0], "inner sizes of Gemm")
    rows = node.fresh(0, reason) if first is None else first[1 if swap_left else 0]
    columns = node.fresh(1, reason) if second is None else second[0 if swap_right else 1]
    return tensor(dtype, (rows, columns))


@register("Det")
def det(node: NodeView) -> OptimTensor:
    """One number per square matrix in the last two axes."""
    item = node.tensor(0)
    dims = ranked(node, item, 2)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    same_dim(node, dims[-2], dims[-1], "sides of a matrix")
    return tensor(item.dtype, dims[:-2])


def _labels(node: NodeView, term: str, rank: int) -> list[str]:
    """One label per axis; the axes of an ellipsis are called `.0`, `.1`, ... from the right."""
    if "..." not in term:
        if len(term) != rank:
            node.fail(f"term {term!r} of the equation has {len(term)} labels for rank {rank}")
        return list(term)
    before, _, after = term.partition("...")
    if "." in before + after:
        node.fail(f"term {term!r} of the equation has more than one ellipsis")
    hidden = rank - len(before) - len(after)
    if hidden < 0:
        node.fail(f"term {term!r} of the equation has too many labels for rank {rank}")
    return [*before, *(f".{hidden - 1 - place}" for place in range(hidden)), *after]


def _implicit(terms: list[str]) -> str:
    letters = "".join(terms).replace(".", "")
    once = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return ("..." if any("..." in term for term in terms) else "") + once


@register("Einsum")
def einsum(node: NodeView) -> OptimTensor:
    """Sizes of the labels on the right of the arrow."""
    equation = str(node.attr("equation", "")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    tensors = [node.tensor(index) for index in range(len(node.inputs))]
    dtype = next((item.dtype for item in tensors if item.dtype), TensorType.kUndefined)
    if len(terms) != len(tensors):
        node.fail(f"equation {equation!r} has {len(terms)} terms for {len(tensors)} inputs")
    sizes: dict[str, list[OptimDim]] = {}
    hidden = 0
    for term, item in zip(terms, tensors, strict=True):
        dims = dims_of(item)
        if dims is None:
            if "..." in equation:
                return node.unknown("the rank of an operand is not known", dtype=dtype)
            continue
        names = _labels(node, term, len(dims))
        hidden = max(hidden, sum(name[0] == "." for name in names))
        for name, dim in zip(names, dims, strict=True):
            sizes.setdefault(name, []).append(dim)
    result = right if arrow else _implicit(terms)
    out = _labels(node, result, len(result.replace("...", "")) + (hidden if "..." in result else 0))
    return tensor(
        dtype,
        [
            broadcast_dim(node, sizes[name])
            if name in sizes
            else node.fresh(axis, "the rank of an operand is not known")
            for axis, name in enumerate(out)
        ],
    )
