"""Strings."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    broadcast_shape,
    dims_of,
    int_list,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []


@register("StringConcat")
def string_concat(node: NodeView) -> OptimTensor:
    """Elementwise joining with broadcasting."""
    return OptimTensor(TensorType.kString, broadcast_shape(node, (node.tensor(0), node.tensor(1))))


@register("RegexFullMatch")
def regex_full_match(node: NodeView) -> OptimTensor:
    """A truth value per string."""
    return without_value(node.tensor(0), TensorType.kBool)


@register("StringSplit")
def string_split(node: NodeView) -> tuple[OptimTensor, ...]:
    """The pieces along a new last axis, and their number per string."""
    item = node.tensor(0)
    dims = dims_of(item)
    counts = without_value(item, TensorType.kInt64)
    if dims is None:
        pieces = node.unknown("the input's rank is not known", dtype=TensorType.kString)
    else:
        limit = node.attr("maxsplit", None)
        upper = None if limit is None or limit < 0 else OptimDim(int(limit) + 1)
        longest = node.fresh(len(dims), "the largest number of pieces", upper=upper)
        pieces = tensor(TensorType.kString, (*dims, longest))
    return (pieces, counts)[: node.n_outputs]


@register("StringNormalizer")
def string_normalizer(node: NodeView) -> OptimTensor:
    """Strings that are no stop words; one empty string when all of them are."""
    dims = dims_of(node.tensor(0))
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=TensorType.kString)
    if len(dims) not in (1, 2):
        node.fail(f"input must have rank 1 or 2, its rank is {len(dims)}")
    size = dims[-1]
    if node.attr("stopwords", None) or (size.bounds()[0] or 0) < 1:
        upper = OptimDim.max(size, ONE)
        size = node.fresh(
            len(dims) - 1, "the number of strings that are no stop words", upper=upper
        )
    return tensor(TensorType.kString, (*dims[:-1], size))


@register("TfIdfVectorizer")
def tf_idf_vectorizer(node: NodeView) -> OptimTensor:
    """One weight per n-gram of the pool."""
    dims = dims_of(node.tensor(0))
    places = int_list(node.attr("ngram_indexes", None))
    if not places:
        node.fail("attribute ngram_indexes is missing or empty")
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=TensorType.kFloat)
    if len(dims) > 2:
        node.fail(f"input must have rank 1 or 2, its rank is {len(dims)}")
    return tensor(TensorType.kFloat, (*dims[:-1], OptimDim(max(places) + 1)))
