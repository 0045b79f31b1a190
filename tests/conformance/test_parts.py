"""A part of a run grows by a cell, goes on where it ended, and says what it lacks."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from conformance.cells import Cell, Verdict
from conformance.parts import Part, PartError, Plan, Reporter, load_parts, problems, run

_PLAN = Plan("all", "", (1, 1), {"jax": "1"}, ["a", "b", "c"])
_MODULE = """
import os
from pathlib import Path

from conformance.cells import Cell, Verdict


def check(name):
    here = Path(__file__).parent
    with (here / "computed").open("a") as file:
        file.write(name)
    if name == "b" and not (here / "repaired").exists():
        os._exit(3)
    return Cell(name, "group", Verdict.PASS)
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Cell]:
    """Cells that pass, but for ``b``, which ends its process until it is repaired."""
    (tmp_path / "fragile.py").write_text(_MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fragile", raising=False)
    import fragile  # type: ignore[import-not-found]

    found: Callable[[str], Cell] = fragile.check
    return found


def _console() -> Console:
    return Console(file=io.StringIO())


def test_a_cell_that_ends_its_process_is_broken(
    tmp_path: Path, check: Callable[[str], Cell]
) -> None:
    cells = run(Part.begin(tmp_path, _PLAN), check, _console())
    assert [cell.verdict for cell in cells] == [Verdict.PASS, Verdict.BROKEN, Verdict.PASS]
    assert (cells[1].phase, cells[1].message) == ("crash", "the process ended with exit code 3")


def test_a_part_goes_on_where_it_ended(tmp_path: Path, check: Callable[[str], Cell]) -> None:
    part = Part.begin(tmp_path, _PLAN)
    part.add(Cell("a", "group", Verdict.WRONG))
    with part.path.open("a") as file:
        file.write('{"name": "b", "gro')  # killed while it wrote
    again = Part.begin(tmp_path, _PLAN)
    assert list(again.cells) == ["a"]
    cells = run(again, check, _console())
    assert [cell.name for cell in cells] == ["a", "b", "c"]
    assert (tmp_path / "computed").read_text() == "bc"
    assert list(Part.read(part.path).cells.values()) == cells


def test_cells_of_a_verdict_are_computed_again(
    tmp_path: Path, check: Callable[[str], Cell]
) -> None:
    run(Part.begin(tmp_path, _PLAN), check, _console())
    (tmp_path / "repaired").touch()
    cells = run(Part.begin(tmp_path, _PLAN), check, _console(), [Verdict.BROKEN])
    assert {cell.verdict for cell in cells} == {Verdict.PASS}
    assert (tmp_path / "computed").read_text() == "abcb"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"versions": {"jax": "2"}}, "versions"),
        ({"kind": "x64", "attendance": ["a"]}, "kind, attendance"),
    ],
)
def test_results_of_another_run_are_refused(
    tmp_path: Path, changes: dict[str, object], told: str
) -> None:
    Part.begin(tmp_path, _PLAN)
    with pytest.raises(PartError, match=f"begun with other {told}"):
        Part.begin(tmp_path, replace(_PLAN, **changes))  # type: ignore[arg-type]


def test_a_file_without_a_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "part-1-of-1.jsonl").write_text('{"kind"')
    with pytest.raises(PartError, match="does not begin with a plan"):
        load_parts(tmp_path)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    first = Part.begin(tmp_path, replace(_PLAN, shard=(1, 2)))
    for name in "ab":
        first.add(Cell(name, "group", Verdict.PASS))
    other = Part.begin(tmp_path / "x64", replace(_PLAN, kind="x64", attendance=["a", "d"]))
    for name in "ad":
        other.add(Cell(name, "group", Verdict.PASS))
    assert problems(load_parts(tmp_path), {"all": 3, "x64": 2}) == [
        "all: shard 2/2 is missing",
        "all: 2 cells, and there were 3",
        "c has no result",
        "a has two results",
    ]
    assert problems([], {}) == ["there is no part"]


def test_progress_tells_rate_and_end() -> None:
    reporter = Reporter(_console(), 10)
    start = time.time()
    for number in range(4):
        reporter.add(Cell(str(number), "group", Verdict.PASS))
    end = time.strftime("%H:%M", time.localtime(start + 200))
    told = reporter.progress(start + 80)
    assert told.startswith("4/10, 0.05/s, ends at ")
    assert end in told
    assert "4 pass, 0 unsupported" in told


def test_a_plan_is_one_line_of_json(tmp_path: Path) -> None:
    part = Part.begin(tmp_path, _PLAN)
    part.add(Cell("a", "group", Verdict.PASS))
    lines = [json.loads(line) for line in part.path.read_text().splitlines()]
    assert lines[0]["attendance"] == ["a", "b", "c"]
    assert lines[1]["name"] == "a"
