"""The matrix is red when a part, a cell or a night is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import conformance.__main__ as program
from conformance import jobs, parts
from conformance.cells import Cell, Verdict
from conformance.jax_harnesses import CatalogueMissingError, harnesses, sample

_MODULE = """
from conformance.cells import Cell, Verdict


def check(kind, name):
    return Cell(name, "group", Verdict(name.rpartition("/")[2]))
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the shards asked for over some cells, then merge them."""
    (tmp_path / "fake_cells.py").write_text(_MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fake_cells", raising=False)
    from fake_cells import check  # type: ignore[import-not-found]

    minimum = tmp_path / "minimum.json"
    monkeypatch.setattr(program, "_MINIMUM", minimum)
    monkeypatch.setattr(jobs, "check", check)

    def go(
        verdicts: Sequence[Verdict],
        *more: str,
        shards: Sequence[str] = ("1/2", "2/2"),
        least: int = 4,
    ) -> int:
        names = [f"fake/{i}/{verdict}" for i, verdict in enumerate(verdicts)]
        minimum.write_text(json.dumps({"all": least}))
        monkeypatch.setattr(jobs, "names", lambda kind: names)
        results = tmp_path / "results"
        for shard in shards:
            program.main(["run", "--shard", shard, "--results", str(results), *more])
        return program.main(["merge", str(results), "--output", str(tmp_path / "matrix")])

    return go


def test_complete_and_as_declared(run: Callable[..., int], tmp_path: Path) -> None:
    assert run([Verdict.PASS, Verdict.UNSUPPORTED, Verdict.PASS, Verdict.SOURCE]) == 0
    matrix = json.loads((tmp_path / "matrix" / "matrix.json").read_text())
    assert matrix["complete"] is True
    assert sorted(cell["name"] for cell in matrix["cells"]) == [
        "fake/0/pass",
        "fake/1/unsupported",
        "fake/2/pass",
        "fake/3/source",
    ]
    assert "| group | 2 | 1 | 1 | 0 | 0 |" in (tmp_path / "matrix" / "matrix.md").read_text()


@pytest.mark.parametrize("verdict", [Verdict.WRONG, Verdict.BROKEN])
def test_a_surprise_is_red(run: Callable[..., int], verdict: Verdict) -> None:
    assert run([Verdict.PASS, verdict, Verdict.PASS, Verdict.PASS]) == 1


def test_a_missing_shard_is_red(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(4 * [Verdict.PASS], shards=["1/2"], least=0) == 1
    assert "shard 2/2 is missing" in capsys.readouterr().out


def test_the_minimum_is_close_to_what_there_is() -> None:
    least = json.loads(program._MINIMUM.read_text(encoding="utf-8"))
    there = len(jobs.names("all"))
    assert 0.95 * there < least["all"] < there


def test_shards_of_two_runs_are_red(run: Callable[..., int]) -> None:
    assert run(4 * [Verdict.PASS], shards=["1/2", "2/2", "1/3"], least=0) == 1


def test_fewer_cells_than_there_were_is_red(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(4 * [Verdict.PASS], least=5) == 1
    assert "4 cells, and there were 5" in capsys.readouterr().out


def test_nothing_at_all_is_red(run: Callable[..., int]) -> None:
    assert run([], shards=[], least=0) == 2
    assert run([], least=0) == 2


def test_a_run_that_was_stopped_leaves_a_gap_that_is_seen(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(4 * [Verdict.PASS])
    part = tmp_path / "results" / "part-1-of-2.jsonl"
    part.write_text("".join(part.read_text().splitlines(keepends=True)[:-1]))
    assert program.main(["merge", str(tmp_path / "results"), "--output", str(tmp_path / "m")]) == 1
    assert "fake/2/pass has no result" in capsys.readouterr().out


def test_only_cells_with_a_text_in_the_name_are_run(
    run: Callable[..., int], tmp_path: Path
) -> None:
    assert run([Verdict.PASS, Verdict.WRONG], "--search", "pass", shards=["1/1"]) == 0
    matrix = json.loads((tmp_path / "matrix" / "matrix.json").read_text())
    assert [cell["name"] for cell in matrix["cells"]] == ["fake/0/pass"]


def test_results_of_another_run_are_refused(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(4 * [Verdict.PASS])
    results = str(tmp_path / "results")
    assert program.main(["run", "--shard", "1/2", "--results", results, "--x64"]) == 2
    assert "was begun with other kind." in capsys.readouterr().out


def test_a_stopped_run_says_how_to_go_on(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*arguments: object) -> list[Cell]:
        raise KeyboardInterrupt

    monkeypatch.setattr(parts, "run", stop)
    run([Verdict.PASS], shards=["1/1"])
    assert "the same command goes on from here" in capsys.readouterr().out


def test_the_sample_is_fixed() -> None:
    try:
        everything = harnesses()
    except CatalogueMissingError as error:
        pytest.skip(str(error))
    assert len(everything) > 5000
    assert [h.fullname for h in sample(5)] == [h.fullname for h in sample(9)[:5]]
