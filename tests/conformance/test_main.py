"""The matrix is red when a part, a cell or a night is missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import conformance.__main__ as program
from conformance.cells import Cell, Verdict
from conformance.jax_harnesses import CatalogueMissingError, harnesses, sample


def _job(name: str, verdict: Verdict) -> tuple[str, Callable[[], Cell]]:
    return name, lambda: Cell(name, "group", verdict)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the shards asked for over four cells, then merge them."""

    def go(
        verdicts: Sequence[Verdict], *, shards: Sequence[str] = ("1/2", "2/2"), least: int = 4
    ) -> int:
        jobs = [_job(f"fake/{i}", verdict) for i, verdict in enumerate(verdicts)]
        minimum = tmp_path / "minimum.json"
        minimum.write_text(json.dumps({"cells": least}))
        monkeypatch.setattr(program, "_MINIMUM", minimum)
        monkeypatch.setattr(program, "_all_jobs", lambda: jobs)
        results = tmp_path / "results"
        for shard in shards:
            program.main(["run", "--shard", shard, "--results", str(results)])
        return program.main(["merge", str(results), "--output", str(tmp_path / "matrix")])

    return go


def test_complete_and_as_declared(run: Callable[..., int], tmp_path: Path) -> None:
    assert run([Verdict.PASS, Verdict.UNSUPPORTED, Verdict.PASS, Verdict.SOURCE]) == 0
    matrix = json.loads((tmp_path / "matrix" / "matrix.json").read_text())
    assert matrix["complete"] is True
    assert sorted(cell["name"] for cell in matrix["cells"]) == [f"fake/{i}" for i in range(4)]
    assert "| group | 2 | 1 | 1 | 0 | 0 |" in (tmp_path / "matrix" / "matrix.md").read_text()


@pytest.mark.parametrize("verdict", [Verdict.WRONG, Verdict.BROKEN])
def test_a_surprise_is_red(run: Callable[..., int], verdict: Verdict) -> None:
    assert run([Verdict.PASS, verdict, Verdict.PASS, Verdict.PASS]) == 1


def test_a_missing_shard_is_red(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(4 * [Verdict.PASS], shards=["1/2"], least=0) == 1
    assert "shard 2/2 is missing" in capsys.readouterr().out


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


def test_a_killed_case_leaves_a_gap_that_is_seen(run: Callable[..., int], tmp_path: Path) -> None:
    run(4 * [Verdict.PASS])
    part = tmp_path / "results" / "part-1-of-2.json"
    data = json.loads(part.read_text())
    data["cells"].pop()
    part.write_text(json.dumps(data))
    assert program.main(["merge", str(tmp_path / "results"), "--output", str(tmp_path / "m")]) == 1


def test_the_sample_is_fixed() -> None:
    try:
        everything = harnesses()
    except CatalogueMissingError as error:
        pytest.skip(str(error))
    assert len(everything) > 5000
    assert [h.fullname for h in sample(5)] == [h.fullname for h in sample(9)[:5]]
