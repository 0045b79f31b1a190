"""Traditional machine learning against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper

from yobx.onnx_optim import ShapesContext, TensorType, compute_shapes
from yobx.onnx_optim.optim_tensor import OptimTensor

ML = "ai.onnx.ml"


@pytest.fixture
def ml(check):
    def run(op_type, inputs, **keywords):
        return check(op_type, inputs, domain=ML, opset=keywords.pop("opset", 1), **keywords)

    return run


def test_simple_ones(ml, runtime_input):
    item = runtime_input(["n", 3])
    ml("Binarizer", [item], threshold=0.5)
    ml("Imputer", [item], imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=0.0)
    ml("Normalizer", [item], norm="L1")
    ml("Scaler", [item], offset=[0.0], scale=[1.0])
    ml("Scaler", [runtime_input(["n", 3], T.INT64)], offset=[0.0], scale=[1.0])
    ml("OneHotEncoder", [runtime_input(["n"], T.INT64)], cats_int64s=[0, 1, 2])
    ml("FeatureVectorizer", [item, runtime_input(["n", 2])], inputdimensions=[3, 2])
    ml("ArrayFeatureExtractor", [item, np.array([0, 2])])


def test_labels(ml, runtime_input):
    text, number = runtime_input(["n", 2], T.STRING), runtime_input(["n", 2], T.INT64)
    ml("CategoryMapper", [text], cats_int64s=[1, 2], cats_strings=["c", "a"])
    ml("CategoryMapper", [number], cats_int64s=[1, 2], cats_strings=["c", "a"])
    ml("LabelEncoder", [text], opset=2, keys_strings=["c"], values_floats=[2.0])
    ml("LabelEncoder", [number], opset=2, keys_int64s=[1], values_strings=["c"])
    ml("LabelEncoder", [text], classes_strings=["c", "a"], need_runs=0)


def test_regressors(ml, runtime_input):
    item = runtime_input(["n", 3])
    (found,) = ml(
        "LinearRegressor", [item], coefficients=[1.0] * 6, intercepts=[0.0, 1.0], targets=2
    )
    assert found.shape == ["n", 2]
    ml(
        "SVMRegressor", [item], coefficients=[1.0], support_vectors=[1.0, 2.0, 3.0], n_supports=1,
        rho=[0.0], kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0],
    )  # fmt: skip


@pytest.mark.parametrize(("labels", "intercepts"), [([1, 2, 3], 3), ([1, 2], 1), ([1, 2], 2)])
def test_linear_classifier(ml, runtime_input, labels, intercepts):
    found = ml(
        "LinearClassifier", [runtime_input(["n", 3])], n_outputs=2, classlabels_ints=labels,
        coefficients=[1.0] * (3 * intercepts), intercepts=[0.0] * intercepts,
    )  # fmt: skip
    assert found[1].shape == ["n", len(labels)]


def test_tree_ensemble_regressor(ml, runtime_input):
    tree = {
        "nodes_falsenodeids": [2, 0, 0], "nodes_featureids": [0, 0, 0], "nodes_hitrates": [1.0] * 3,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_nodeids": [0, 1, 2],
        "nodes_treeids": [0, 0, 0], "nodes_truenodeids": [1, 0, 0], "nodes_values": [0.5, 0.0, 0.0],
    }  # fmt: skip
    votes = {"ids": [0, 1], "nodeids": [1, 2], "treeids": [0, 0], "weights": [1.0, 2.0]}
    target = {f"target_{key}": value for key, value in votes.items()}
    (found,) = ml("TreeEnsembleRegressor", [runtime_input(["n", 3])], n_targets=2, **tree, **target)
    assert found.shape == ["n", 2]
    classes = {f"class_{key}": value for key, value in votes.items()}
    for labels in ([0, 1], [0, 1, 2]):
        found = ml(
            "TreeEnsembleClassifier", [runtime_input(["n", 3])], n_outputs=2,
            classlabels_int64s=labels, **tree, **classes,
        )  # fmt: skip
        assert found[1].shape == ["n", len(labels)]


def _infer(op_type, tensor, **attributes):
    context = ShapesContext({ML: 3})
    context.set("x", tensor)
    compute_shapes(context, helper.make_node(op_type, ["x"], ["y"], domain=ML, **attributes))
    return context.get("y")


def test_maps():
    found = _infer("ZipMap", OptimTensor(T.FLOAT, ["n", 3]), classlabels_strings=["a", "b", "c"])
    assert (found.dtype, found.shape) == (TensorType.kSeqMapStringFloat, ["n"])
    found = _infer("ZipMap", OptimTensor(T.FLOAT, [3]), classlabels_int64s=[1, 2, 3])
    assert (found.dtype, found.shape) == (TensorType.kSeqMapInt64Float, [1])
    words = OptimTensor(TensorType.kMapStringInt64, None)
    found = _infer("DictVectorizer", words, string_vocabulary=["a", "b"])
    assert (found.dtype, found.shape) == (TensorType.kInt64, [1, 2])
    found = _infer(
        "CastMap", OptimTensor(TensorType.kMapInt64Float, None), map_form="SPARSE", max_map=5
    )
    assert (found.dtype, found.shape) == (TensorType.kFloat, [1, 5])
