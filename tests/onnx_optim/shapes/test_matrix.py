"""Products of matrices against onnxruntime and numpy."""

import numpy as np
import pytest
from onnx import TensorProto as T

from yobx.errors import ShapeError


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        (["n", 3], [3, "m"], ["n", "m"]),
        (["b", "n", 3], [3, 4], ["b", "n", 4]),
        (["b", "n", 3], ["b", 3, "m"], ["b", "n", "m"]),
        ([2, 1, "n", 3], ["b", 3, 4], [2, "b", "n", 4]),
        ([3], [3, "m"], ["m"]),
        (["n", 3], [3], ["n"]),
        ([3], [3], []),
        ([3], ["b", 3, 4], ["b", 4]),
    ],
)
def test_matmul(check, runtime_input, left, right, wanted):
    (found,) = check("MatMul", [runtime_input(left), runtime_input(right)])
    assert found.shape == wanted


def test_matmul_learns_that_inner_sizes_are_equal(check, runtime_input):
    check(
        "MatMul",
        [runtime_input(["n", "k"]), runtime_input(["j", 2])],
        sizes=[{"n": 2, "k": 3, "j": 3}],
    )
    with pytest.raises(ShapeError):
        check("MatMul", [runtime_input(["n", 3]), runtime_input([4, 2])])
    with pytest.raises(ShapeError):
        check("MatMul", [runtime_input([]), runtime_input([4, 2])])


def test_integer_products(check, runtime_input):
    left, right = runtime_input(["n", 3], T.UINT8), runtime_input([3, "m"], T.UINT8)
    check("MatMulInteger", [left, right])
    scale, zero = np.array(1, np.float32), np.array(0, np.uint8)
    check("QLinearMatMul", [left, scale, zero, right, scale, zero, scale, zero], opset=13)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm(check, runtime_input, a, b):
    left = runtime_input([4, "n"] if a else ["n", 4])
    right = runtime_input(["m", 4] if b else [4, "m"])
    (found,) = check("Gemm", [left, right], transA=a, transB=b)
    assert found.shape == ["n", "m"]


@pytest.mark.parametrize(
    ("equation", "shapes", "wanted"),
    [
        ("ij,jk->ik", [["n", 3], [3, "m"]], ["n", "m"]),
        ("bij,bjk", [["b", "n", 3], ["b", 3, "m"]], ["n", "m"]),
        ("...ij,...jk->...ik", [["b", "n", 3], ["b", 3, "m"]], ["b", "n", "m"]),
        ("...ij->...ji", [["a", "b", "n", 3]], ["a", "b", 3, "n"]),
        ("ii->i", [[3, 3]], [3]),
        ("ii", [[3, 3]], []),
        ("i,j->ij", [["n"], ["m"]], ["n", "m"]),
        ("ij->", [["n", "m"]], []),
        (" a b , b c -> c a ", [["n", 3], [3, "m"]], ["m", "n"]),
        ("ba", [["n", "m"]], ["m", "n"]),
    ],
)
def test_einsum(check, runtime_input, equation, shapes, wanted):
    (found,) = check("Einsum", [runtime_input(dims) for dims in shapes], equation=equation)
    assert found.shape == wanted


def test_det(check, runtime_input):
    (found,) = check("Det", [runtime_input(["n", 3, 3])])
    assert found.shape == ["n"]
