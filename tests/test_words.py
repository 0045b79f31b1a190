"""Words of messages."""

from __future__ import annotations

from yobx.words import did_you_mean, nearest, similar


def test_nearest() -> None:
    assert nearest("Relo", ["Relu", "Abs"]) == "did you mean 'Relu'?"
    assert nearest("zzzz", ["Relu", "Abs"]) == ""


def test_several_are_named_closest_first() -> None:
    assert similar("sise", ["side", "seed", "size", "sise2"], n=3)[0] == "sise2"
    assert did_you_mean("MatMull", ["MatMul", "MatMulAdd"], n=2) == (
        "Did you mean 'MatMul' or 'MatMulAdd'?"
    )


def test_capitals_make_no_difference() -> None:
    assert similar("matmul", ["MatMul", "Max"]) == ["MatMul"]
    assert similar("X", ["x", "X"], n=2) == ["X", "x"]


def test_how_alike_they_must_be() -> None:
    assert did_you_mean("seed", ["speed"], shown=str) == "Did you mean speed?"
    assert did_you_mean("seed", ["speed"], cutoff=0.95) == ""
