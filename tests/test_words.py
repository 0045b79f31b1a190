"""Words of messages."""

from __future__ import annotations

import pickle

import pytest

from yobx.errors import (
    ArgumentError,
    TraceError,
    UnreadableModelError,
    UnsupportedOpError,
    YobxError,
)
from yobx.words import did_you_mean, laid_out, nearest, similar


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
    assert laid_out("Inputs are given.", "Try args=(array, ...).") == (
        "Inputs are given.\nhint: Try args=(array, ...)."
    )
    assert laid_out("Nothing is to be tried.", "") == "Nothing is to be tried."


def test_an_error_says_what_to_try_apart() -> None:
    error = ArgumentError("A size is a number. Received: 'a'.", argument="size", hint="Try 3.")
    assert (error.said, error.hint) == ("A size is a number. Received: 'a'.", "Try 3.")
    assert str(error) == "A size is a number. Received: 'a'. Try 3."
    assert (ArgumentError("Try. Use. Give.").said, ArgumentError("x").hint) == (
        "Try. Use. Give.",
        "",
    )


@pytest.mark.parametrize("kind", [YobxError, UnsupportedOpError, UnreadableModelError, TraceError])
def test_an_error_is_the_same_after_it_was_sent(kind: type[YobxError]) -> None:
    again = pickle.loads(pickle.dumps(kind("A rule.", hint="Try 3.")))
    assert (str(again), again.said, again.hint) == ("A rule. Try 3.", "A rule.", "Try 3.")
