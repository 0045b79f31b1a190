"""JAX's cases counted by primitive: what the documentation shows is of the cases that there are."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from conformance import jax_results
from conformance.cells import Cell, Known, Verdict, load_known
from conformance.jax_harnesses import harnesses
from conformance.jax_results import KINDS, OUTCOMES, RESULTS, primitives

_KNOWN = {"jax*/sort_*": Known("jax*/sort_*", Verdict.WRONG, "a reason")}


def _cells() -> list[Cell]:
    return [
        Cell("jax/sort_a", "sort", Verdict.WRONG),
        Cell("jax-symbolic/sort_a", "sort", Verdict.PASS),
        Cell("jax-symbolic/sort_b", "sort", Verdict.SOURCE),
        Cell("jax-x64/abs_a", "abs", Verdict.BROKEN),
        Cell("jax/eig_a", "eig", Verdict.UNSUPPORTED),
        Cell("keras.layers.Dense[static]", "keras.layers.Dense", Verdict.PASS),
    ]


def test_cells_are_counted_by_primitive_and_kind() -> None:
    assert primitives(_cells(), _KNOWN) == {
        "abs": {"x64": {"fail": 1}, "reasons": []},
        "eig": {"static": {"refused": 1}, "reasons": []},
        "sort": {
            "static": {"declared": 1},
            "symbolic": {"pass": 1, "source": 1},
            "reasons": ["a reason"],
        },
    }


def test_what_is_written_is_what_was_counted(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax_results, "RESULTS", tmp_path / "results.json")
    jax_results.write(_cells(), _KNOWN, {"jax": "1"})
    data = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert data["versions"] == {"jax": "1"}
    assert data["primitives"] == primitives(_cells(), _KNOWN)


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """The results in the repository."""
    data: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return data


@pytest.mark.parametrize("kind", ["static", "symbolic"])
def test_every_case_was_run(written: dict[str, Any], kind: str) -> None:
    import jax

    if written["versions"]["jax"] != jax.__version__:
        pytest.skip("the results are of another JAX")
    wanted = Counter(str(harness.group_name) for harness in harnesses())
    rows = written["primitives"]
    assert {name: sum(row.get(kind, {}).values()) for name, row in rows.items()} == {
        name: wanted[name] for name in rows
    }
    assert set(wanted) <= set(rows)


def test_nothing_fails_and_what_is_refused_has_a_reason(written: dict[str, Any]) -> None:
    for name, row in written["primitives"].items():
        found = {outcome for kind in KINDS for outcome in row.get(kind, {})}
        assert found <= set(OUTCOMES) - {"fail"}, name
        assert bool(row["reasons"]) is bool(found & {"declared", "refused"}), name


def test_reasons_are_those_that_are_declared(written: dict[str, Any]) -> None:
    declared = {entry.reason for entry in load_known().values()}
    assert {r for row in written["primitives"].values() for r in row["reasons"]} <= declared
