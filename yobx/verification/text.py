"""The failure text: one screen, the user's words first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from yobx.verification.findings import RANDOM, UNDECIDED, Cause, Findings, Outcome, OutputReport
from yobx.words import HINT, counted, printable

__all__ = ["render"]

_WIDTH = 11
_HEADLINES = {
    "import": "the model cannot be loaded",
    "trace": "the model fails while it is traced",
    "convert": "the model cannot be converted",
    "check": "the converted model is not valid",
    "shapes": "shape inference finds a contradiction",
    "load": "onnxruntime cannot load the converted model",
    "run": "a run fails",
    "structure": "STRUCTURE differs",
    "shape-match": "SHAPES differ",
    "values": "VALUES differ",
    "provenance": "provenance is incomplete",
}
_MOST_ROWS = 8
# Exact, or units in the last place that the operators have in the table.
_STRICT = re.compile(
    r"bitwise|(?!.*as asked)(exact.*|[\d.]+ ULP \((exact|rounded|transcendental)[^)]*\))"
)


def render(report: Findings) -> str:
    """Writes a report as text.

    Args:
        report: What was found.

    Returns:
        Lines of at most about 120 characters, without colour.
    """
    lines = [_headline(report), *_cause_lines(report)]
    failed = [p for p in report.phases if p.outcome is Outcome.FAILED]
    for phase in failed:
        wrong = any(output.failed for output in report.outputs)
        if phase.name == "values" and wrong and not phase.error_type:
            continue  # told below, output by output
        shown = phase.messages[:_MOST_ROWS]
        for i, message in enumerate(shown):
            lines += _message_lines(phase.name if i == 0 else "", message, report.cause)
        if len(phase.messages) > len(shown):
            lines.append(_row("", f"… and {len(phase.messages) - len(shown)} more"))
    lines += _output_lines(report)
    lines += _localization_lines(report)
    lines += _shape_lines(report)
    lines += _reached_lines(report)
    for note in report.notes:
        lines.append(_row("note", note))
    if report.rerun:
        lines.append(_row("rerun", report.rerun))
    if report.artifacts:
        lines.append(_row("artifacts", report.artifacts))
    return "\n".join(map(printable, lines))


def _row(label: str, text: str) -> str:
    return f" {label:<{_WIDTH}}{text}" if len(label) < _WIDTH else f" {label} {text}"


def _cause_lines(report: Findings) -> list[str]:
    """What is behind the failure comes before what is seen of it."""
    cause = report.cause
    if cause is None or report.passed:
        return []
    lines = [_row("cause", cause.text)]
    return [*lines, _row("hint", cause.hint)] if cause.hint else lines


def _message_lines(label: str, message: str, cause: Cause | None) -> list[str]:
    """A message, unless the cause tells it already, or what it says to try."""
    if cause is not None and message == cause.title:
        return []
    if not message.startswith(HINT):
        return [_row(label, message)]
    hint = message.removeprefix(HINT)
    if cause is not None and cause.hint and cause.hint.lower() in hint.lower():
        return []
    return [_row("hint", hint)]


def _headline(report: Findings) -> str:
    framework = f" ({report.framework})" if report.framework else ""
    what = f"model {report.model_name}{framework}"
    opset = f"opset {report.opset}, " if report.opset else ""  # unknown without a model
    how = f"{opset}{report.precision} precision, {report.provider}, seed {report.seed}"
    if report.passed:
        count = len({o.name for o in report.outputs})
        sizes = len([b for b in report.bindings if b.ran])
        found = (
            f"{count} {'output' if count == 1 else 'outputs'} under "
            f"{sizes} {'binding' if sizes == 1 else 'bindings'}, {report.seconds:.1f} s"
        )
        return f"yobx: agrees — {what}, {how}: {found}"
    if report.internal:
        return f"yobx: INTERNAL ERROR in the phase {report.failed_phase} — {what}, {how}"
    headline = _HEADLINES.get(report.failed_phase, "nothing was compared, so nothing is proven")
    if report.cause is not None:
        return f"yobx: {report.cause.title} — {what}, {how}"
    if any(p.error_type == "ArgumentError" for p in report.phases if p.name == report.failed_phase):
        headline = "an argument is wrong"
    elif report.failed_phase == "values" and not any(output.failed for output in report.outputs):
        headline = "VALUES are not proven"
    elif report.failed_phase == "values" and _all_are(report.outputs, RANDOM):
        headline = "VALUES cannot be compared"
    elif report.failed_phase == "values" and _all_are(report.outputs, UNDECIDED):
        exact = any(o.failed and o.budget_used is None for o in report.outputs)  # of whole numbers
        headline = "VALUES cannot be decided" if exact else "VALUES agree, which proves nothing"
    return f"yobx: {headline} — {what}, {how}"


def _all_are(outputs: Iterable[OutputReport], category: str) -> bool:
    """Whether outputs failed, all of them for one reason."""
    failed = [output for output in outputs if output.failed]
    return bool(failed) and all(output.category == category for output in failed)


def _state(outputs: Sequence[OutputReport]) -> str:
    """One word for outputs of which some failed."""
    apart = (category for category in (RANDOM, UNDECIDED) if _all_are(outputs, category))
    return next(apart, "wrong")


def _output_lines(report: Findings) -> list[str]:
    if not report.outputs:
        return []
    by_name: dict[str, list[OutputReport]] = {}
    for output in report.outputs:
        by_name.setdefault(output.name, []).append(output)
    wrong = {name for name, rows in by_name.items() if any(row.failed for row in rows)}
    if not wrong and report.passed:
        return [_row("outputs", _accuracy(report)), *_rule_lines(report.outputs)]
    cells = []
    for name, rows in list(by_name.items())[:_MOST_ROWS]:
        cells.append(f"{name} {_state(rows).upper() if name in wrong else _fine(rows)}")
    if len(by_name) > _MOST_ROWS:
        cells.append("…")
    if not wrong:  # another phase failed
        compared = dict.fromkeys(output.binding for output in report.outputs)
        return [_row("outputs", f"{'   '.join(cells)}, under {'; '.join(compared)}")]
    said = _state(report.outputs)
    lines = [_row("outputs", f"{len(wrong)}/{len(by_name)} {said}:  " + "   ".join(cells))]
    for name in [name for name in by_name if name in wrong][:3]:
        rows = [row for row in by_name[name] if row.failed]
        lines += describe_output(rows[0])
        if len(rows) > 1:
            lines.append(
                _row("", f"also {said} under {', '.join(row.binding for row in rows[1:])}")
            )
    return lines


def _fine(rows: list[OutputReport]) -> str:
    if all(row.vacuous and row.elements for row in rows):
        return "not finite"
    if all(row.rule.startswith("exact") for row in rows):
        return "OK (exact)"
    return "OK (weak)" if any(row.outcome is Outcome.WARNING for row in rows) else "OK"


def _rule_lines(outputs: Sequence[OutputReport]) -> list[str]:
    """By what outputs were compared, where that is not as strict as their operators allow."""
    names: dict[str, list[str]] = {}
    for output in outputs:
        if output.rule and not _STRICT.fullmatch(output.rule):
            named = names.setdefault(output.rule, [])
            named += [output.name] if output.name not in named else []
    lines = []
    for i, (rule, named) in enumerate(names.items()):
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        text = f"{', '.join(named[:3])}{more}: {rule}"
        lines.append(_row("allowed" if i == 0 else "", text))
    return lines[:_MOST_ROWS]


def _accuracy(report: Findings) -> str:
    used = [o.budget_used for o in report.outputs if o.budget_used is not None]
    worst = max((o.max_abs or 0.0 for o in report.outputs), default=0.0)
    share = f", {max(used):.0%} of what rounding explains" if used else ""
    return f"max abs error {worst:.2e}{share}"


def describe_output(output: OutputReport) -> list[str]:
    """The lines about one wrong value."""
    shape = output.symbolic_shape or "[" + ", ".join(map(str, output.shape)) + "]"
    head = f"{output.dtype} {shape}"
    if output.category == RANDOM:
        return [_row(output.name[: _WIDTH - 1], f"{head}   another one in each call")]
    if output.elements:
        share = output.wrong / output.elements
        head += f"   {output.wrong}/{output.elements} elements ({_percent(share)})"
        if output.category == "values" and not output.wrong:
            head = f"{head.partition('   ')[0]}   no element alone, the root mean square of all"
    if output.category not in {"", "values", UNDECIDED}:
        head += f"   {output.category}"
    if output.first_index is not None and output.got:
        head += f"   first at {list(output.first_index)}: got {output.got}  want {output.want}"
    lines = [_row(output.name[: _WIDTH - 1], head)]
    if len(output.name) >= _WIDTH:
        lines = [_row("", output.name), _row("", head)]
    if output.max_abs is not None:
        where = f" at {list(output.max_abs_index)}" if output.max_abs_index is not None else ""
        text = f"max abs {output.max_abs:.2g}{where}"
        if output.max_rel is not None:
            text += f"   max rel {output.max_rel:.2g}"
        if output.ulp is not None:
            p50, p99, most = output.ulp
            text += f"   ULP p50 {p50:.0f} p99 {p99:.0f} max {most:.0f}"
        lines.append(_row("", f"{text}   allowed {output.rule}"))
    if output.histogram:
        lines.append(
            _row("", "|err|  " + " | ".join(f"{label}: {n}" for label, n in output.histogram))
        )
    lines += [_row("", note) for note in output.notes]
    return lines


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else f"{share:.1g}"


def _localization_lines(report: Findings) -> list[str]:
    found = report.localization
    if found is None:
        return []
    lines: list[str] = []
    if found.value:
        origin = ""
        if found.source_op or found.layer or found.source_name:
            layer = f'layer "{found.layer}"' if found.layer else ""
            op = " ".join(part for part in (found.source_op, found.source_name) if part)
            origin = " ← " + " / ".join(
                part for part in (layer, f"{report.framework} op {op}" if op else "") if part
            )
        line = f" ({found.user_line})" if found.user_line else ""
        lines.append(_row("differs at", f"%{found.value}  node {found.node}{origin}{line}"))
        if found.inputs:
            lines.append(_row("", "inputs: " + ", ".join(found.inputs[:6])))
    if found.reason:
        lines.append(_row("verdict" if not found.value else "", found.reason))
    method = f"{counted(found.compared, 'intermediate value')} compared ({found.method})"
    lines.append(
        _row(
            "",
            method if found.compared or found.method else "no intermediate value could be compared",
        )
    )
    if found.reduced_nodes:
        lines.append(
            _row(
                "",
                f"reduced to {counted(found.reduced_nodes, 'node')} that still "
                f"{'fails' if found.reduced_nodes == 1 else 'fail'}",
            )
        )
    return lines


def _shape_lines(report: Findings) -> list[str]:
    shapes = report.shapes
    if not shapes.values:
        return []
    ran = "; ".join(_binding(b.sizes) for b in report.bindings if b.ran)
    text = f"{shapes.checked} of {counted(shapes.values, 'value')} confirmed"
    if shapes.mismatches:
        text += f", {len(shapes.mismatches)} refuted"
    if shapes.partial or shapes.unknown:
        text += f", {shapes.partial + shapes.unknown} not fully known"
    if shapes.unobserved:
        text += f", {shapes.unobserved} not observable"
    return [_row("shapes", f"{text}, under {ran}")]


def _binding(sizes: dict[str, int]) -> str:
    if not sizes:
        return "static sizes"
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _reached_lines(report: Findings) -> list[str]:
    """Checks that were not made are never silent."""
    missing = [p.name for p in report.phases if p.outcome is Outcome.NOT_REACHED]
    lines = []
    if missing:
        lines.append(_row("not made", ", ".join(missing)))
    for phase in report.phases:
        if phase.outcome is Outcome.WARNING:
            lines += [_row("warning", f"{phase.name}: {message}") for message in phase.messages[:3]]
    for binding in report.bindings:
        if binding.note and not binding.told:
            lines.append(_row("binding", f"{binding.label}: {binding.note}"))
    return lines
