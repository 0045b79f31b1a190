"""Results whose size depends on the data: fresh symbols with tight bounds."""

import numpy as np
import pytest
from onnx import TensorProto as T

from yobx.onnx_optim import OptimDim


def test_non_zero(check, runtime_input):
    (found,) = check("NonZero", [runtime_input(["n", "m"], T.INT64, 0, 2)], exact=False)
    assert found.shape.dims()[0] == OptimDim(2)
    check("NonZero", [runtime_input([], T.INT64, 0, 2)], exact=False)
    check("NonZero", [runtime_input([])], exact=False)
    (found,) = check("NonZero", [np.array([0, 3, 0, 4])])
    assert found.constant.tolist() == [[1, 3]]


def test_unique(check, runtime_input):
    found = check("Unique", [runtime_input(["n", "m"], T.INT64)], n_outputs=4, exact=False)
    assert found[0].shape == found[1].shape == found[3].shape
    assert found[2].shape == ["m*n"]
    found = check("Unique", [runtime_input(["n", 3])], n_outputs=4, axis=0, exact=False)
    assert found[2].shape == ["n"]
    (found,) = check("Unique", [np.array([4, 4, 5])])
    assert found.shape == [2]
    check("Unique", [runtime_input([])], n_outputs=4, exact=False)


def test_top_k(check, runtime_input):
    found = check("TopK", [runtime_input(["n", 7]), np.array([3])], n_outputs=2)
    assert found[0].shape == found[1].shape == ["n", 3]
    check("TopK", [runtime_input(["n+4", 7]), np.array([3])], n_outputs=2, axis=0)
    check("TopK", [runtime_input(["n", 7])], n_outputs=2, opset=7, k=2, need_runs=0)
    check(
        "TopK",
        [runtime_input(["n", 7]), runtime_input([1], T.INT64, 1, 7)],
        n_outputs=2,
        exact=False,
    )


@pytest.mark.parametrize("limit", [None, 0, 1, 2, 100])
def test_non_max_suppression(check, runtime_input, limit):
    boxes, scores = runtime_input(["n", 6, 4]), runtime_input(["n", "m", 6])
    extra = [] if limit is None else [np.array([limit])]
    (found,) = check("NonMaxSuppression", [boxes, scores, *extra], exact=False)
    assert found.shape.dims()[1] == OptimDim(3)
