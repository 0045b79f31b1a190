"""How a report becomes a verdict, and how verdicts are compared with what is declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cells import Cell, Known, Verdict, declared, judge, load_known
from yobx.verification import ConversionReport, Outcome


def _failed(phase: str, error_type: str = "") -> ConversionReport:
    report = ConversionReport(model_name="model")
    report.phase(phase).outcome = Outcome.FAILED
    report.phase(phase).error_type = error_type
    return report


@pytest.mark.parametrize(
    ("phase", "error", "verdict"),
    [
        ("trace", "TraceError", Verdict.BROKEN),
        ("convert", "UnsupportedOpError", Verdict.UNSUPPORTED),
        ("convert", "UnsupportedDtypeError", Verdict.UNSUPPORTED),
        ("convert", "GraphError", Verdict.BROKEN),
        ("load", "LoadError", Verdict.BROKEN),
        ("values", "", Verdict.WRONG),
        ("shapes", "", Verdict.WRONG),
    ],
)
def test_verdict_of_a_failed_phase(phase: str, error: str, verdict: Verdict) -> None:
    cell = Cell.of_report("jax/x", "x", _failed(phase, error))
    assert (cell.verdict, cell.phase) == (verdict, phase)


def test_a_report_that_compared_nothing_does_not_pass() -> None:
    assert Cell.of_report("jax/x", "x", ConversionReport()).verdict is Verdict.WRONG


def test_json_round_trip() -> None:
    cell = Cell("jax/x", "x", Verdict.BROKEN, "load", "text", 1.5)
    assert Cell.from_dict(cell.as_dict()) == cell


@pytest.mark.parametrize(
    ("verdict", "given", "surprising"),
    [
        (Verdict.PASS, None, False),
        (Verdict.UNSUPPORTED, None, False),
        (Verdict.SOURCE, None, False),
        (Verdict.BROKEN, None, True),
        (Verdict.WRONG, None, True),
        (Verdict.WRONG, Verdict.WRONG, False),
        (Verdict.PASS, Verdict.WRONG, True),
        (Verdict.BROKEN, Verdict.WRONG, True),
    ],
)
def test_judge(verdict: Verdict, given: Verdict | None, surprising: bool) -> None:
    known = {} if given is None else {"jax/x": Known("jax/x", given, "a reason")}
    assert bool(judge([Cell("jax/x", "x", verdict)], known)) is surprising


def test_a_pattern_declares_several_cells_and_a_name_comes_first() -> None:
    known = {
        text: Known(text, Verdict.WRONG, text) for text in ("jax*/a_*_c", "jax/a_b_c", "jax/d")
    }
    found = [declared(name, known) for name in ("jax-x64/a_b_c", "jax/a_b_c", "jax/a_b_cd")]
    assert [entry and entry.reason for entry in found] == ["jax*/a_*_c", "jax/a_b_c", None]


def test_a_pattern_says_nothing_of_what_the_framework_does_not_run() -> None:
    known = {text: Known(text, Verdict.WRONG, "why") for text in ("jax/a_*", "jax/b")}
    cells = [Cell(f"jax/{name}", "x", Verdict.SOURCE) for name in ("a_1", "b")]
    cells.append(Cell("jax/a_2", "x", Verdict.PASS))
    assert [text.partition(":")[0] for text in judge(cells, known)] == ["jax/b", "jax/a_2"]


def test_brackets_in_a_name_are_no_pattern() -> None:
    known = {"ops.abs[static]": Known("ops.abs[static]", Verdict.WRONG, "why")}
    assert declared("ops.abs[static]", known) is known["ops.abs[static]"]
    assert declared("ops.abss", known) is None


def test_declared_cells_have_reasons_and_occur_once(tmp_path: Path) -> None:
    entry = '[[known]]\ncell = "jax/x"\nverdict = "wrong"\n'
    path = tmp_path / "known.toml"
    path.write_text(entry)
    with pytest.raises(ValueError, match="without a reason"):
        load_known(path)
    path.write_text(2 * (entry + 'reason = "rounding"\n'))
    with pytest.raises(ValueError, match="declared twice"):
        load_known(path)


def test_the_file_of_the_project_can_be_read() -> None:
    assert all(known.reason for known in load_known().values())
