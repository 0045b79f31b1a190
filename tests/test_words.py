"""Words of messages."""

from __future__ import annotations

from yobx.words import did_you_mean, hint_apart, nearest, similar


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


def test_what_to_try_stands_apart() -> None:
    assert hint_apart("Inputs are given. Received: None. Try args=(array, ...).") == (
        "Inputs are given. Received: None.",
        "Try args=(array, ...).",
    )
    assert hint_apart("hint: write y") == ("", "write y")
    assert hint_apart("Nothing is to be tried. Received: 3.") == (
        "Nothing is to be tried. Received: 3.",
        "",
    )


def test_what_code_of_the_user_said_is_no_hint() -> None:
    said = "A model must run. Received: f, which raised ValueError: bad. Try a bath. At a.py:3."
    assert hint_apart(f"{said} Write x.") == (said, "Write x.")
