"""What a failing check leaves in a folder, so that it can be looked at and repeated elsewhere."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from yobx.verification.issue_text import issue_text
from yobx.verification.value_table import value_table

if TYPE_CHECKING:
    from yobx.verification.evidence import BindingRun, CheckResult
    from yobx.verification.findings import OutputReport

__all__ = ["remove_artifacts", "write_artifacts"]

_SIZE_LIMIT = 512 * 2**20
# Everything that is ever written; a user may keep files of his own beside it.
_NAMES = (
    "model.onnx",
    *(f"{prefix}{label}.npz" for prefix in ("", "reduced_") for label in ("inputs", "expected")),
    "actual.npz",
    "reduced.onnx",
    "repro.py",
    "values.jsonl",
    "issue.md",
    "failure.txt",
    "report.json",
)


def write_artifacts(result: CheckResult, folder: Path) -> list[str]:
    """Writes model, arrays, report and a script that repeats the check.

    Args:
        result: The check.
        folder: Where; made if it does not exist.

    Returns:
        Names of the files written.

    Raises:
        OSError: If the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report = result.report
    report.artifacts = str(folder)
    written = []
    if result.model is not None:
        if result.model.ByteSize() < _SIZE_LIMIT:
            onnx.save(result.model, str(folder / "model.onnx"))
            written.append("model.onnx")
        else:
            report.notes.append(
                "the model is larger than 512 MB and was not kept among the artifacts"
            )
    run = _failing_run(result)
    if run is not None:
        names = (
            [output.name for output in result.model.graph.output]
            if result.model is not None
            else []
        )
        expected = {name: value for name, (_, value) in zip(names, run.wanted, strict=False)}
        for label, arrays in (
            ("inputs", run.feeds),
            ("expected", expected),
            ("actual", run.actual),
        ):
            _save(folder / f"{label}.npz", arrays)
            written.append(f"{label}.npz")
    if result.reduced is not None and result.reduced.model.ByteSize() < _SIZE_LIMIT:
        onnx.save(result.reduced.model, str(folder / "reduced.onnx"))
        _save(folder / "reduced_inputs.npz", result.reduced.feeds)
        _save(folder / "reduced_expected.npz", result.reduced.expected)
        written += ["reduced.onnx", "reduced_inputs.npz", "reduced_expected.npz"]
    if "model.onnx" in written and run is not None:
        text = _script(result, run)
        (folder / "repro.py").write_text(text, encoding="utf-8")
        written.append("repro.py")
    if run is not None:
        rows = "".join(json.dumps(row) + "\n" for row in value_table(result, run))
        (folder / "values.jsonl").write_text(rows, encoding="utf-8")
        written.append("values.jsonl")
    if not report.passed:
        text = issue_text(result, written)
        (folder / "issue.md").write_text(text, encoding="utf-8")
        written.append("issue.md")
    (folder / "failure.txt").write_text(report.text() + "\n", encoding="utf-8")
    (folder / "report.json").write_text(
        json.dumps(report.as_dict(), indent=1) + "\n", encoding="utf-8"
    )
    return [*written, "failure.txt", "report.json"]


def _script(result: CheckResult, run: BindingRun) -> str:
    """The text of `repro.py`, with what is known of this check."""
    report = result.report
    headline = report.text().splitlines()[0].replace("\\", "/").replace('"""', "'''")
    place = report.localization.difference if report.localization is not None else None
    of_piece = _tolerances([place], place.binding) if place is not None else {}
    known = {
        "PROVIDER": report.provider,
        "OUTPUTS": len(run.expected),
        "ALLOWED: dict[str, float]": _tolerances(report.outputs, run.binding.describe()),
        "ALLOWED_REDUCED": min(of_piece.values(), default=0.0),
        "ZERO_SIGN": any(output.category == "zero sign" for output in report.outputs),
    }
    text = files("yobx.verification").joinpath("repro.py").read_text(encoding="utf-8")
    for name, value in known.items():
        start = text.index(f"\n{name} = ") + len(f"\n{name} = ")
        end = min(found for found in (text.find("  #", start), text.find("\n", start)) if found > 0)
        text = f"{text[:start]}{value!r}{text[end:]}"
    return text.replace("<headline>", headline, 1)


def remove_artifacts(folder: Path) -> None:
    """Removes what an earlier failure left, and the folder if nothing else is in it.

    Args:
        folder: Where `write_artifacts` wrote.
    """
    if not (folder / "report.json").is_file():
        return
    for name in _NAMES:
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _failing_run(result: CheckResult) -> BindingRun | None:
    wrong = next((o.binding for o in result.report.outputs if o.failed and o.binding), None)
    return result.run_under(wrong) or (result.runs[0] if result.runs else None)


def _tolerances(outputs: list[OutputReport], binding: str) -> dict[str, float]:
    """Largest error the check allowed, for the plain comparison of the script."""
    return {
        output.name: output.max_abs / output.budget_used
        for output in outputs
        if output.binding == binding
        and output.max_abs
        and output.budget_used
        and np.isfinite(output.budget_used)
        and np.isfinite(output.max_abs)
    }


def _save(path: Path, arrays: dict[str, Any]) -> None:
    flat: dict[str, Any] = {}
    for name, value in arrays.items():
        rows = (
            {f"{name}[{i}]": item for i, item in enumerate(value)}
            if isinstance(value, list)
            else {name: value}
        )
        for key, item in rows.items():
            if item is None:
                continue
            array = np.asarray(item)
            if array.dtype.kind in "OST":
                array = np.array([str(v) for v in array.ravel()], dtype=np.str_).reshape(
                    array.shape
                )
            elif array.dtype.isbuiltin == 2:  # of ml_dtypes
                flat[f"dtype of {key}"] = np.array(array.dtype.name)
                array = array.view(f"u{array.dtype.itemsize}")
            flat[key] = array
    # A key may hold any character of an ONNX name; it is a file name inside the archive only.
    np.savez_compressed(path, **flat)
