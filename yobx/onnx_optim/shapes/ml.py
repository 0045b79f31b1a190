"""Traditional machine learning: `ai.onnx.ml`."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    dims_of,
    int_list,
    product,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.tensor_type import BY_NUMBER, TensorType

__all__: list[str] = []

ML = "ai.onnx.ml"


@register("Binarizer Imputer", domain=ML)
def like_input(node: NodeView) -> OptimTensor:
    """Same dtype and shape."""
    return without_value(node.tensor(0))


@register("Normalizer Scaler", domain=ML)
def float_like_input(node: NodeView) -> OptimTensor:
    """Same shape, float."""
    return without_value(node.tensor(0), TensorType.kFloat)


@register("CategoryMapper", domain=ML)
def category_mapper(node: NodeView) -> OptimTensor:
    """Strings to integers, or back."""
    item = node.tensor(0)
    dtype = TensorType.kInt64 if item.dtype == TensorType.kString else TensorType.kString
    return without_value(item, dtype if item.dtype else TensorType.kUndefined)


@register("LabelEncoder", domain=ML)
def label_encoder(node: NodeView) -> OptimTensor:
    """Same shape, dtype of the values that keys are mapped to."""
    item = node.tensor(0)
    stored = node.attr_proto("values_tensor")
    if stored is not None:
        return without_value(item, BY_NUMBER.get(stored.t.data_type, TensorType.kUndefined))
    for name, dtype in (
        ("values_strings", TensorType.kString),
        ("values_int64s", TensorType.kInt64),
        ("values_floats", TensorType.kFloat),
    ):
        if node.has_attr(name):
            return without_value(item, dtype)
    # The first version maps strings to their position in one list, and back.
    if item.dtype == TensorType.kString:
        return without_value(item, TensorType.kInt64)
    return without_value(item, TensorType.kString if item.dtype else TensorType.kUndefined)


@register("OneHotEncoder", domain=ML)
def one_hot_encoder(node: NodeView) -> OptimTensor:
    """A new last axis with one entry per category."""
    dims = dims_of(node.tensor(0))
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=TensorType.kFloat)
    count = len(node.attr("cats_int64s", ()) or node.attr("cats_strings", ()))
    return tensor(TensorType.kFloat, (*dims, OptimDim(count)))


@register("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: NodeView) -> OptimTensor:
    """Columns of all inputs side by side."""
    dims = dims_of(node.tensor(0))
    sizes = int_list(node.attr("inputdimensions", None))
    rows = _rows(node)
    if sizes is not None:
        return tensor(TensorType.kFloat, (rows, OptimDim(sum(sizes))))
    every = [dims_of(node.tensor(index)) for index in range(len(node.inputs))]
    if dims is None or any(item is None or len(item) != 2 for item in every):
        return tensor(TensorType.kFloat, (rows, node.fresh(1, "an input's shape is not known")))
    total = OptimDim(0)
    for item in every:
        total = total + (item[1] if item is not None else ONE)
    return tensor(TensorType.kFloat, (rows, total))


def _rows(node: NodeView) -> OptimDim:
    """Batch size of `(n, features)`; a vector is one row."""
    dims = dims_of(node.tensor(0))
    if dims is None:
        return node.fresh(0, "the input's rank is not known")
    return dims[0] if len(dims) > 1 else ONE


@register("LinearRegressor SVMRegressor TreeEnsembleRegressor", domain=ML)
def regressor(node: NodeView) -> OptimTensor:
    """`(n, targets)`, float."""
    name = "targets" if node.op_type == "LinearRegressor" else "n_targets"
    count = 1 if node.op_type == "SVMRegressor" else int(node.attr(name, 1))
    return tensor(TensorType.kFloat, (_rows(node), OptimDim(count)))


@register("TreeEnsemble", domain=ML)
def tree_ensemble(node: NodeView) -> OptimTensor:
    """`(n, targets)` in the input's dtype."""
    item = node.tensor(0)
    return tensor(item.dtype, (_rows(node), OptimDim(int(node.attr("n_targets", 1)))))


def _labels(node: NodeView) -> tuple[TensorType, int]:
    """Element type and number of class labels."""
    strings = node.attr("classlabels_strings", None)
    if strings:
        return TensorType.kString, len(strings)
    integers = node.attr("classlabels_int64s", None) or node.attr("classlabels_ints", ())
    return TensorType.kInt64, len(integers)


@register("LinearClassifier SVMClassifier TreeEnsembleClassifier", domain=ML)
def classifier(node: NodeView) -> tuple[OptimTensor, ...]:
    """Label per row, and scores per class."""
    dtype, count = _labels(node)
    rows = _rows(node)
    scores = OptimDim(count)
    if not _one_score_per_label(node, count):
        scores = node.fresh(1, "the number of scores is up to the model", output=1)
    return (tensor(dtype, (rows,)), tensor(TensorType.kFloat, (rows, scores)))[: node.n_outputs]


def _one_score_per_label(node: NodeView, count: int) -> bool:
    if count < 1:
        return False
    if node.op_type == "LinearClassifier":
        intercepts = len(node.attr("intercepts", ()))
        return intercepts == count or (intercepts == 1 and count == 2)
    if node.op_type == "SVMClassifier":
        return bool(node.attr("prob_a", ())) and len(node.attr("vectors_per_class", ())) == count
    return count > 1


_CASTS = {
    "TO_FLOAT": TensorType.kFloat,
    "TO_STRING": TensorType.kString,
    "TO_INT64": TensorType.kInt64,
}


@register("CastMap", domain=ML)
def cast_map(node: NodeView) -> OptimTensor:
    """One row with the values of a map."""
    target = str(node.attr("cast_to", "TO_FLOAT"))
    dtype = _CASTS.get(target)
    if dtype is None:
        node.fail(f"attribute cast_to={target!r} must be one of {', '.join(_CASTS)}")
    if node.attr("map_form", "DENSE") == "SPARSE":
        return tensor(dtype, (ONE, OptimDim(int(node.attr("max_map", 1)))))
    return tensor(dtype, (ONE, node.fresh(1, "the number of entries of the map")))


@register("DictVectorizer", domain=ML)
def dict_vectorizer(node: NodeView) -> OptimTensor:
    """One row with one entry per word of the vocabulary."""
    item = node.tensor(0)
    words = node.attr("string_vocabulary", None) or node.attr("int64_vocabulary", ())
    dtype = item.dtype.map_types()[1] if item.dtype.is_map else TensorType.kUndefined
    return tensor(dtype, (ONE, OptimDim(len(words))))


@register("ZipMap", domain=ML)
def zip_map(node: NodeView) -> OptimTensor:
    """A sequence with one map per row; its length is the only dimension."""
    text = bool(node.attr("classlabels_strings", ()))
    dtype = TensorType.kSeqMapStringFloat if text else TensorType.kSeqMapInt64Float
    return tensor(dtype, (_rows(node),))


@register("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(node: NodeView) -> OptimTensor:
    """Chosen columns of the last axis; a vector gives one row."""
    item = node.tensor(0)
    dims, places = dims_of(item), dims_of(node.tensor(1))
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    if not dims:
        node.fail("the input must have at least one dimension")
    count = (
        node.fresh(len(dims) - 1, "the number of columns") if places is None else product(places)
    )
    return tensor(item.dtype, (ONE, count) if len(dims) == 1 else (*dims[:-1], count))
