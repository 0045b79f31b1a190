"""The census of Keras is complete, as written down, and a sample of it passes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conformance import census
from conformance.cells import Verdict
from conformance.entries import MODES, Entry, check, function, layer, numbers

#: Entries of the sample that also runs for a pull request.
_SAMPLE = 32


def test_every_public_name_has_an_entry_or_a_reason() -> None:
    assert not census.missing()


def test_names_are_unique() -> None:
    counts = Counter(entry.full_name for entry in census.entries())
    assert not [name for name, count in counts.items() if count > 1]


def test_subjects_exist() -> None:
    import keras

    def exists(dotted: str) -> bool:
        found = keras
        for part in dotted.split("."):
            found = getattr(found, part, None)
        return found is not None

    assert not [s for s in {e.subject for e in census.entries()} if not exists(s)]


def test_refusals_and_allowances_have_reasons() -> None:
    special = [e for e in census.entries() if e.refused or e.refused_dynamic or e.norm]
    assert special
    assert not [e.full_name for e in special if not e.reason]


def test_results_are_of_these_entries() -> None:
    data = json.loads(census.RESULTS.read_text(encoding="utf-8"))
    wanted = Counter(f"keras.{e.subject}" for e in census.entries() for m in MODES if m in e.modes)
    written = {
        name: sum(count for key, count in row.items() if key != "reasons")
        for name, row in data["subjects"].items()
    }
    assert written == dict(wanted)
    verdicts = {key for row in data["subjects"].values() for key in row} - {"reasons"}
    assert verdicts <= {"pass", "unsupported", "source"}


def _id(value: object) -> str:
    return value.full_name if isinstance(value, Entry) else str(value)


@pytest.mark.parametrize("entry", census.sample(_SAMPLE), ids=_id)
def test_sample(entry: Entry) -> None:
    cell = check(entry, "dynamic" if "dynamic" in entry.modes else "static")
    assert cell.verdict not in {Verdict.WRONG, Verdict.BROKEN}, cell.message


def test_what_is_not_declared_is_broken() -> None:
    words = np.array([["a", "b"]], dtype=object)
    undeclared = layer("Hashing", words, num_bins=3)
    cell = check(undeclared, "static")
    assert cell.verdict is Verdict.BROKEN
    assert "not declared" in cell.message


def test_a_declared_refusal_that_does_not_come_is_broken() -> None:
    entry = layer("ReLU", numbers(2, 3), options={"refused": "no such thing", "reason": "none"})
    cell = check(entry, "static")
    assert cell.verdict is Verdict.BROKEN
    assert "passes" in cell.message


def test_what_keras_refuses_is_the_source() -> None:
    declared = {"refused": "pool_size", "reason": "a pool is not empty"}
    entry = layer("MaxPooling1D", numbers(2, 3, 1), pool_size=0, options=declared)
    assert check(entry, "static").verdict is Verdict.SOURCE


def off_when_traced(change: Any) -> Callable[[Any], Any]:
    """A function with one value eagerly and another one traced."""

    def wrong(x: Any) -> Any:
        import tensorflow as tf

        return x + (change if tf.executing_eagerly() else 0.0)

    return wrong


@pytest.mark.parametrize("change", [1e-3, np.array([np.inf, 0, 0], np.float32)], ids=str)
def test_an_allowance_by_norm_is_no_free_pass(change: Any) -> None:
    entry = function("add", off_when_traced(change), numbers(2, 3), norm=16.0, reason="none")
    assert check(entry, "static").verdict is Verdict.WRONG


def test_words_of_a_declared_error_excuse_no_wrong_value() -> None:
    entry = function("add", off_when_traced(1.0), numbers(2, 3), refused="VALUES", reason="none")
    assert check(entry, "static").verdict is Verdict.WRONG
