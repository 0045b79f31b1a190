"""Factors of TensorFlow's graphs are judged by what they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import helper, numpy_helper

import yobx.tensorflow
from tests.verification.models import copied
from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion

A = np.random.default_rng(0).normal(size=(3, 5, 5)).astype(np.float32)


def symmetric(a: Any) -> Any:
    return a + tf.linalg.matrix_transpose(a)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda a: tf.linalg.eigh(symmetric(a)),
    "eigenvalues": lambda a: tf.linalg.eigvalsh(symmetric(a)),
    "svd": lambda a: tf.linalg.svd(a),
    "singular values": lambda a: tf.linalg.svd(a, compute_uv=False),
    "thin": lambda a: tf.linalg.svd(a[:, :, :3]),
    "whole": lambda a: tf.linalg.svd(a[:, :3], full_matrices=True),
    "qr": lambda a: tf.linalg.qr(a),
    "pinv": lambda a: tf.linalg.pinv(a),
    "cholesky": lambda a: tf.linalg.cholesky(a @ symmetric(a * 0) + a @ tf.transpose(a, [0, 2, 1])),
    "lu": lambda a: tf.linalg.lu(a),
    "solve": lambda a: tf.linalg.triangular_solve(a + 5.0 * tf.eye(5), a, adjoint=True),
    "determinant": lambda a: tf.linalg.det(a),
    "its logarithm": lambda a: tf.linalg.slogdet(a),
    "inverse": lambda a: tf.linalg.inv(a, adjoint=True),
    "general solve": lambda a: tf.linalg.solve(a, a[:, :, :2] + 1.0),
    "named": lambda a: dict(zip(("values", "a vector"), tf.linalg.eigh(symmetric(a)), strict=True)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_factors_agree(name: str) -> None:
    function = tf.function(FUNCTIONS[name], autograph=False)
    report = check_conversion(function, (A,), dynamic_shapes=({0: "b"},))
    assert report.passed, report.text()


def test_factors_of_a_keyword_argument_agree() -> None:
    def factors(b: Any, *, a: Any) -> Any:
        return tf.linalg.eigh(symmetric(a))[1] + 0.0 * b

    kwargs = {"a": A}
    for function in (tf.function(factors, autograph=False), factors):
        report = check_conversion(function, (A[:, :, :1],), kwargs=kwargs)
        assert report.passed, report.text()
        assert any("factors of the model were taken" in note for note in report.notes)


def _changed(model: onnx.ModelProto, output: int, change: Callable[[str, str], list[Any]]) -> Any:
    """A model with nodes between a result and its name."""
    wrong = copied(model)
    name = wrong.graph.output[output].name
    for node in wrong.graph.node:
        node.output[:] = [f"{name}_right" if o == name else o for o in node.output]
        node.input[:] = [f"{name}_right" if i == name else i for i in node.input]
    wrong.graph.node.extend(change(f"{name}_right", name))
    return wrong


def _gathered(indices: list[int], axis: int) -> Callable[[str, str], list[Any]]:
    value = numpy_helper.from_array(np.array(indices, np.int64))
    return lambda before, after: [
        helper.make_node("Constant", [], ["order"], value=value),
        helper.make_node("Gather", [before, "order"], [after], axis=axis),
    ]


def _times(factor: float, before: str, after: str) -> list[Any]:
    value = numpy_helper.from_array(np.array(factor, np.float32))
    return [
        helper.make_node("Constant", [], ["scale"], value=value),
        helper.make_node("Mul", [before, "scale"], [after]),
    ]


_scaled = partial(_times, 1.00001)
# A determinant is as far off as the condition of the matrix lets it be.
_grown = partial(_times, 1.001)


@pytest.mark.parametrize(
    ("name", "output", "change"),
    [
        ("eigh", 1, _gathered([1, 0, 2, 3, 4], 2)),
        ("eigh", 1, _gathered([0, 0, 2, 3, 4], 2)),
        ("eigh", 0, _gathered([1, 0, 2, 3, 4], 1)),
        ("eigh", 1, _scaled),
        ("svd", 1, _gathered([0, 2, 1, 3, 4], 2)),
        ("svd", 2, _gathered([0, 2, 1, 3, 4], 2)),
        ("svd", 2, _scaled),
        ("qr", 0, _scaled),
        ("lu", 0, _gathered([1, 0, 2, 3, 4], 2)),
        ("determinant", 0, _grown),
        ("its logarithm", 1, _grown),
        ("inverse", 0, _scaled),
        ("inverse", 0, _gathered([0, 1, 2, 4, 3], 2)),
        ("general solve", 0, _scaled),
    ],
)
def test_wrong_factors_are_told(
    name: str, output: int, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **options: Any) -> onnx.ModelProto:
        return _changed(to_onnx(*args, **options), output, change)

    monkeypatch.setattr(yobx.tensorflow, "to_onnx", broken)
    function = tf.function(FUNCTIONS[name], autograph=False)
    report = check_conversion(function, (A,), dynamic_shapes=({0: "b"},), localize=False)
    assert report.failed_phase == "values", report.text()
    places = [o.name for o in report.outputs]
    assert places.index(next(o.name for o in report.outputs if o.failed)) == output


@pytest.mark.parametrize(
    ("rows", "columns", "scale"), [(500_000, 1, 1.2), (20_000, 3, 1.001), (100, 3, 1.00002)]
)
def test_tall_matrices_hide_nothing(rows: int, columns: int, scale: float) -> None:
    tall = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)

    def scaled(g: Any, sts: Any, outputs: list[str], op: Any) -> str:
        root = g.op.MatMul(g.op.Transpose(op.inputs[0].name, perm=[1, 0]), op.inputs[0].name)
        size = g.op.Sqrt(g.op.Mul(root, np.array(scale**2, np.float32)))
        return str(g.op.Reshape(size, np.array([-1]), outputs=outputs[:1]))

    # For one column; of more, only the built-in converter knows.
    function = tf.function(lambda x: tf.linalg.svd(x[:, :1], compute_uv=False), autograph=False)
    report = check_conversion(
        function, (tall,), dynamic_shapes=({},), extra_converters={"Svd": scaled}, localize=False
    )
    assert report.failed_phase == "values", report.text()


def test_results_are_taken_before_what_is_made_of_them() -> None:
    def function(a: Any) -> Any:
        vectors = tf.linalg.eigh(symmetric(a))[1]
        return vectors, vectors * tf.sign(vectors[:, :1])

    report = check_conversion(tf.function(function, autograph=False), (A,), bindings=["primes"])
    assert report.passed, report.text()


def _mapped(a: Any) -> Any:
    return tf.map_fn(lambda x: tf.linalg.eigh(symmetric(x))[1], a) * 2.0


def _branched(a: Any) -> Any:
    return tf.cond(tf.reduce_sum(a) < 1e9, lambda: tf.linalg.eigh(symmetric(a))[1], lambda: a)


@pytest.mark.parametrize("function", [_mapped, _branched])
def test_factors_inside_loops_and_branches(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = tf.function(function, autograph=False)
    report = check_conversion(function, (A,), dynamic_shapes=({},), localize=False)
    assert report.passed, report.text()
    assert any("factors of the model were taken" in note for note in report.notes)

    def broken(*args: Any, **options: Any) -> onnx.ModelProto:
        return _changed(to_onnx(*args, **options), 0, _gathered([1, 0, 2, 3, 4], 2))

    monkeypatch.setattr(yobx.tensorflow, "to_onnx", broken)
    report = check_conversion(function, (A,), dynamic_shapes=({},), localize=False)
    assert report.failed_phase == "values", report.text()
