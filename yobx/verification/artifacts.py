"""What a failing check leaves in a folder, so that it can be looked at and repeated elsewhere."""

from __future__ import annotations

import json
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

_REPRO = '''\
"""Repeats a failing check; needs numpy, onnx, onnxruntime and ml_dtypes alone.

{headline}

``python repro.py reduced`` repeats it on the smallest piece that still fails, if there is one.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).parent


def load(name):
    """Arrays of one file; dtypes numpy cannot store are kept as bits beside their name."""
    with np.load(HERE / name, allow_pickle=False) as data:
        arrays = {{}}
        for key in data.files:
            if key.startswith("dtype of "):
                continue
            array = data[key]
            if "dtype of " + key in data.files:
                import ml_dtypes

                array = array.view(getattr(ml_dtypes, str(data["dtype of " + key])))
            elif array.dtype.kind == "U":
                array = array.astype(object)
            arrays[key] = array
    return arrays


def main(reduced=False):
    prefix = "reduced_" if reduced else ""
    inputs, expected = load(prefix + "inputs.npz"), load(prefix + "expected.npz")
    options = onnxruntime.SessionOptions()
    if reduced:  # a piece is looked at as it is written
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    path = str(HERE / ("reduced.onnx" if reduced else "model.onnx"))
    session = onnxruntime.InferenceSession(path, options, providers=["{provider}"])
    names = [output.name for output in session.get_outputs()]
    wrong = 0
    for name, got in zip(names, session.run(None, inputs)):
        if name not in expected:
            print(name, "has no expected value")
            continue
        want = expected[name]
        if got.dtype.kind in "fc" and got.shape == want.shape and got.dtype == want.dtype:
            error = np.abs(got.astype(np.complex128) - want.astype(np.complex128))
            print(name, got.dtype, got.shape, "max abs error", error.max() if error.size else 0.0)
            allowed = {reduced_tolerance!r} if reduced else {tolerance!r}
            wrong += bool(np.nanmax(error, initial=0.0) > allowed)
        else:
            same = got.dtype == want.dtype and got.shape == want.shape and bool((got == want).all())
            verdict = "equal" if same else f"differs from {{want.dtype}} {{want.shape}}"
            print(name, got.dtype, got.shape, verdict)
            wrong += not same
    print("wrong outputs:", wrong)
    return wrong


if __name__ == "__main__":
    raise SystemExit(bool(main("reduced" in sys.argv[1:])))
'''


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
        expected = {name: value for name, (_, value) in zip(names, run.expected, strict=False)}
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
        text = _REPRO.format(
            headline=report.text().splitlines()[0].replace("\\", "/").replace('"""', "'''"),
            provider=report.provider,
            tolerance=_tolerance(result.report.outputs),
            reduced_tolerance=_tolerance(_reduced_outputs(result)),
        )
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
    return next(
        (run for run in result.runs if run.binding.describe() == wrong),
        result.runs[0] if result.runs else None,
    )


def _reduced_outputs(result: CheckResult) -> list[OutputReport]:
    found = result.report.localization
    return [found.difference] if found is not None and found.difference is not None else []


def _tolerance(outputs: list[OutputReport]) -> float:
    """Largest error the check allowed, for the plain comparison of the script."""
    worst = [
        o.max_abs / o.budget_used
        for o in outputs
        if o.failed
        and o.max_abs
        and o.budget_used
        and np.isfinite(o.budget_used)
        and np.isfinite(o.max_abs)
    ]
    return float(min(worst, default=0.0))


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
