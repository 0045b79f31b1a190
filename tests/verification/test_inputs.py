from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest

from tests.verification.models import unary
from yobx.errors import ArgumentError
from yobx.verification import check_conversion
from yobx.verification.arguments import in_precision
from yobx.verification.inputs import generate, resize
from yobx.verification.runner import Session
from yobx.verification.sources import InputSpec


def grown(array, *shape, seed=0):
    return resize(array, shape, np.random.default_rng(seed))


def test_token_ids_stay_valid():
    ids = np.array([[3, 8, 1]], np.int64)
    assert set(np.unique(grown(ids, 7, 11))) <= {1, 3, 8}


def test_no_two_rows_of_floats_are_equal():
    rows = grown(np.random.default_rng(0).normal(size=(2, 5)).astype("f4"), 13, 5)
    assert len(np.unique(rows, axis=0)) == 13


def test_the_range_is_kept():
    image = np.random.default_rng(0).uniform(0, 255, (1, 4, 4, 3)).astype("f4")
    big = grown(image, 5, 7, 7, 3)
    assert big.min() >= image.min() - 1e-3
    assert big.max() <= image.max() + 1e-3


@pytest.mark.parametrize("have", [1, 2, 4, 6])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_square_matrices_stay_positive_definite(have, dtype):
    root = np.random.default_rng(have).normal(size=(3, have, have + 1))
    matrices = (root @ root.swapaxes(-1, -2)).astype(dtype)
    big = resize(matrices, (3, 11, 11), np.random.default_rng(0), [1])
    np.testing.assert_allclose(big, big.swapaxes(-1, -2), rtol=1e-6)
    assert np.linalg.eigvalsh(big).min() > 0
    assert np.abs(big).max() <= np.abs(matrices).max() * (1 + 1e-6)
    np.testing.assert_array_equal(big[:, :have, :have], matrices)


def test_square_matrices_stay_hermitian_as_pairs():
    root = np.random.default_rng(0).normal(size=(4, 5)) + 1j * np.random.default_rng(1).normal(
        size=(4, 5)
    )
    matrix = root @ root.conj().T
    pairs = np.stack([matrix.real, matrix.imag], axis=-1)
    big = resize(pairs, (7, 7, 2), np.random.default_rng(0), [0])
    assert np.linalg.eigvalsh(big[..., 0] + 1j * big[..., 1]).min() > 0
    np.testing.assert_allclose(big[..., 1], -big[..., 1].T, atol=1e-12)


@pytest.mark.parametrize("size", [5, 7, 13])
def test_square_matrices_stay_invertible(size):
    plain = np.random.default_rng(3).normal(size=(4, 4))
    skew = plain - plain.T
    for matrix in (plain, skew, -plain @ plain.T):
        big = resize(matrix, (size, size), np.random.default_rng(size), [0])
        assert np.linalg.cond(big) < 1e3 * np.linalg.cond(matrix)
        assert np.linalg.matrix_rank(grown(matrix, size, size)) == 4


def test_square_masks_stay_masks():
    mask = np.tri(3, dtype=np.float32)
    big = resize(mask, (7, 7), np.random.default_rng(0), [0])
    assert set(np.unique(big)) <= {0.0, 1.0}


def test_masks_stay_masks():
    mask = np.array([[1.0, 0.0, 1.0]], np.float32)
    assert set(np.unique(grown(mask, 5, 7))) <= {0.0, 1.0}


def test_smaller_is_the_beginning():
    array = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(grown(array, 2, 3), array[:2, :3])


def test_an_empty_sample_can_grow():
    assert grown(np.zeros((0, 3), "f4"), 5, 3).shape == (5, 3)


def test_strings_and_bools_are_taken():
    words = np.array(["a", "b"], dtype=object)
    assert set(grown(words, 5)) <= {"a", "b"}
    assert grown(np.array([True]), 3).all()


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "f2", "c8", "i1", "u2", "i8", "?", "O", ml_dtypes.bfloat16]
)
def test_generated_inputs_have_the_declared_type(dtype):
    spec = InputSpec("x", np.dtype(dtype), ("B", 3, None))
    first, second = generate([spec, spec], seed=4)
    assert first.dtype == np.dtype(dtype)
    assert first.shape == (3, 3, 8)
    assert second.shape == first.shape
    again = generate([spec], seed=4)[0]
    assert (again == first).all()


def test_one_name_means_one_size():
    x, y = generate(
        [InputSpec("x", np.dtype("f4"), (None, "T")), InputSpec("y", np.dtype("f4"), ("T",))], 0
    )
    assert x.shape[1] == y.shape[0]


def test_a_size_that_is_an_expression_follows_from_its_name():
    kind = np.dtype("f4")
    x, y = generate([InputSpec("x", kind, ("3*n", "k - 10")), InputSpec("y", kind, ("n",))], 0)
    assert x.shape[0] == 3 * y.shape[0]
    assert x.shape[1] > 0


def test_sizes_that_cannot_be_positive_are_refused():
    with pytest.raises(ArgumentError, match="Received: inputs of the sizes -n"):
        generate([InputSpec("x", np.dtype("f4"), ("-n",))], 0)


def test_a_scalar_stays_a_scalar():
    assert grown(np.array(3.5, np.float32)).shape == ()


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_a_scalar_is_fed_as_a_scalar(dtype):
    kind = {"float32": "float", "bfloat16": "bfloat16"}[np.dtype(dtype).name]
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 21]> '
        f"g ({kind} x) => ({kind} y) {{ y = Identity(x) }}"
    )
    result = Session(model).run({"x": np.array(1.5, dtype)})
    assert result.values["y"].shape == ()
    assert not result.warnings


def test_floats_in_another_precision():
    args = (np.ones((2, 3), np.float32), {"ids": np.arange(3), "flag": True})
    half, rest = in_precision(args, "bfloat16")
    assert half.dtype == ml_dtypes.bfloat16
    assert rest["ids"].dtype == np.int64
    assert rest["flag"] is True
    assert in_precision(args, "source") is args


def test_a_precision_reaches_the_conversion():
    model = unary("Exp", ("B",))
    x = np.ones(3, np.float32)
    assert check_conversion(model, (x,), reference=np.exp).passed
    report = check_conversion(model, (x,), reference=np.exp, precision="float64")
    assert report.precision == "float64"
    assert report.failed_phase == "run"
    with pytest.raises(ArgumentError, match="precision is one of source, float16"):
        check_conversion(model, (x,), reference=np.exp, precision="half")


def test_a_tolerance_class_of_the_caller():
    model = unary("Exp", ("B",))
    x = np.linspace(-3, 3, 100).astype(np.float32)

    def off(x):
        exact = np.exp(x)
        return exact + 3 * np.spacing(exact)

    assert check_conversion(model, (x,), reference=off).failed_phase == "values"
    for label, passes in (
        ("exact", False),
        ("rounded", False),
        ("transcendental", True),
    ):
        report = check_conversion(model, (x,), reference=off, tolerance_class=label)
        assert report.passed is passes, report.text()
    assert check_conversion(
        model, (x,), reference=off, tolerance_class="rounded", tolerance_scale=8
    ).passed
    for factor in ("8", 0, float("nan"), float("inf")):
        with pytest.raises(ArgumentError, match="a tolerance scale is a positive number"):
            check_conversion(model, (x,), reference=off, tolerance_scale=factor)
    report = check_conversion(model, (x,), reference=np.exp, tolerance_class="measured")
    assert report.passed
    assert "measured deviations" in report.outputs[0].rule


def test_images_have_their_whole_range_and_ids_stay_small():
    image, ids = generate(
        [
            InputSpec("image", np.dtype(np.uint8), (None, 16, 16, 3)),
            InputSpec("ids", np.dtype(np.int64), (None, 16)),
        ],
        0,
    )
    assert image.max() > 200
    assert ids.max() <= 9
