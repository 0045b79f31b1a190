"""Text for a report of a fault, ready to be filed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yobx.verification.findings import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yobx.verification.evidence import CheckResult
    from yobx.verification.report import ConversionReport

__all__ = ["issue_text"]

_HOLDS_WEIGHTS = "`model.onnx` holds the weights of the model: look before you publish it."


def issue_text(result: CheckResult, files: Sequence[str]) -> str:
    """Writes the text.

    Args:
        result: A failing check.
        files: Names of the files beside it.

    Returns:
        Markdown.
    """
    report = result.report
    parts = [
        f"# {_title(report)}",
        "## What happened",
        f"```text\n{report.text()}\n```",
        "## How to repeat it",
        *_repeat(report, files),
        "## Where",
        "\n".join(f"* {name} {version}" for name, version in report.environment.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _title(report: ConversionReport) -> str:
    found = report.localization
    if found is not None and found.op_type:
        source = found.source_op or found.op_type
        side = {"runtime": "onnxruntime", "converter": "the converter"}.get(found.verdict, "")
        blame = f" ({side})" if side else ""
        return f"{source}: {report.failed_phase} differ in {report.model_name}{blame}"
    failed = (phase for phase in report.phases if phase.outcome is Outcome.FAILED)
    first = next((line for phase in failed for line in phase.messages), "")
    return f"{report.failed_phase} fails for {report.model_name}: {first[:100]}"


def _repeat(report: ConversionReport, files: Sequence[str]) -> list[str]:
    steps = []
    if "repro.py" in files:
        smaller = " (`python repro.py reduced` for the smallest failing piece)"
        text = f"`python repro.py`{smaller if 'reduced.onnx' in files else ''}, with these files:"
        steps += [text, "\n".join(f"* `{name}`" for name in files)]
        if "model.onnx" in files:
            steps.append(_HOLDS_WEIGHTS)
    if report.rerun:
        steps.append(f"In the repository of the model: `{report.rerun}`")
    return steps or ["There is no converted model; the model's own code is needed."]
