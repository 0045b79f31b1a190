"""What pytest's own output says of a failing check: in full once, the decisive words first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_yobx.at_the_call import is_ours
from pytest_yobx.marked import is_model_function
from pytest_yobx.results import GOOD, Row, short_name

__all__ = ["alone", "brief", "failures", "forget", "is_foreign", "reason", "shorten"]

_TOLD = pytest.StashKey[dict[tuple[str, ...], tuple[str, int]]]()
# A number that stands alone: sizes, indices and errors are others under each binding.
_NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e[-+]?\d+)?(?![\w])")

_RULE = re.compile(r"(?P<rule>[^.]*)\. Received[^:]*: ?(?P<raised>.*?, which raised )?")
_END = re.compile(r"\. (?=[A-Z])|\.$")
_MOST = 200


def brief(report: Mapping[str, Any]) -> str:
    """One line: phase, value and operation, then the model.

    Args:
        report: JSON form of a report that did not pass.

    Returns:
        ``values: %h MatMul ← Dense, tower/dense (model.py:12); model tower``.
    """
    from yobx.words import printable

    phase = str(report["failed_phase"]) or "nothing compared"
    return printable(f"{phase}: {_what(report, phase)}; model {report['model_name']}")


def reason(report: Mapping[str, Any]) -> str:
    """What decides in a report that did not pass, without its phase and its model."""
    from yobx.words import printable

    return printable(_what(report, str(report["failed_phase"])))


def _what(report: Mapping[str, Any], phase: str) -> str:
    from yobx.words import HINT

    cause = report.get("cause")
    if cause:
        words = f"{cause['title']}: {cause['text']}"
        return f"{words[:_MOST]}…" if len(words) > _MOST else words
    found = report["localization"]
    if phase == "values" and found and found["value"]:
        origin = ", ".join(filter(None, (found["source_op"], found["layer"])))
        line = f" ({found['user_line']})" if found["user_line"] else ""
        return f"%{found['value']} {found['op_type']}{f' ← {origin}' * bool(origin)}{line}"
    wrong = next((o for o in report["outputs"] if o["outcome"] == "failed"), None)
    if phase == "values" and wrong:
        category = "systematically off" if wrong["category"] == "values" else wrong["category"]
        count = f"{wrong['wrong']} of {wrong['elements']} elements"
        return f"output {wrong['name']}, {count if wrong['wrong'] else category}"
    refuted = report["shapes"]["mismatches"]
    if phase in {"shapes", "shape-match"} and refuted:
        first = refuted[0]
        return f"%{first['value']} declared {first['static']}, runs as {first['runtime']}"
    messages = [m for p in report["phases"] if p["name"] == phase for m in p["messages"]]
    said = [message for message in messages if not message.startswith(HINT)]
    words = " ".join(" ".join(said).split())
    found_rule = _RULE.match(words)  # what was received decides, so it comes before the rule
    if found_rule:
        words = words[found_rule.end() :]
        if not found_rule["raised"]:
            words = f"{_END.split(words)[0]} — {found_rule['rule']}"
    words = words.removesuffix(".")
    return f"{words[:_MOST]}…" if len(words) > _MOST else words or "no output"


def failures(rows: Sequence[Row]) -> list[str]:
    """A line for each different failure of a run, for narrow terminals and long names of files."""
    told: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for row in rows:
        wrong = [report for report in row.reports if not report["passed"]]
        if wrong and row.outcome not in GOOD:
            first = brief(wrong[-1]), list[str]()
            told.setdefault(_signature(wrong[-1]), first)[1].append(short_name(row.nodeid))
    return [
        f"{what}: {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        for what, names in told.values()
    ]


def _signature(report: Mapping[str, Any]) -> tuple[str, ...]:
    """What makes two failures the same one under other sizes."""
    phase, found = str(report["failed_phase"]), report["localization"]
    told = [m for p in report["phases"] if p["outcome"] == "failed" for m in p["messages"]]
    if phase == "values" and found and found["value"]:
        told = [found["value"], found["node"], found["verdict"]]
    named = (str(report[key]) for key in ("model_name", "opset", "precision"))
    return (phase, *named, *dict.fromkeys(_NUMBER.sub("#", message) for message in told))


def _owner(item: pytest.Item) -> str:
    """A test without the cell of the matrix it is."""
    callspec = getattr(item, "callspec", None)
    parameters = {} if callspec is None else dict(callspec.params)
    parameters.pop("yobx_case", None)
    return item.nodeid.partition("[")[0] + (repr(parameters) if parameters else "")


def _sizes(report: Mapping[str, Any]) -> str:
    ran = [b for b in report["bindings"] if b["ran"]] or report["bindings"]
    words = (", ".join(f"{k}={v}" for k, v in b["sizes"].items()) or b["label"] for b in ran)
    return "; ".join(words)


def shorten(
    item: pytest.Item,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    found: Sequence[Mapping[str, Any]],
) -> None:
    """Gives a failure its line in the short summary; one that was told already is one line.

    Args:
        item: The test.
        call: What it raised.
        report: Its report, which is changed.
        found: JSON form of the reports of its checks.
    """
    from yobx.errors import VerificationError
    from yobx.words import printable

    error = call.excinfo.value if call.excinfo is not None else None
    if call.excinfo is not None and report.failed and _is_ours_alone(item, call.excinfo):
        report.longrepr = alone(call.excinfo)
    wrong = [known for known in found if not known["passed"]]
    if error is not None and report.failed and wrong:
        _in_plain_words(report.longrepr, error)
    crash = getattr(report.longrepr, "reprcrash", None)  # a text is of an entry of expectations
    if not report.failed or not wrong or crash is None:
        return
    failing = wrong[-1]
    if not isinstance(error, VerificationError):
        if failing["failed_phase"] == "import":  # what the code of the user raised, or an entry
            crash.message = brief(failing)
        return
    told = item.config.stash.setdefault(_TOLD, {})
    mine = item.nodeid, failing["seed"]
    first, seed = told.setdefault((_owner(item), *_signature(failing)), mine)
    if first != item.nodeid:
        words = f"yobx: {failing['failed_phase']}: as above, {_sizes(failing)}"
        words += f", seed {failing['seed']}" if failing["seed"] != seed else ""
        line = VerificationError(printable(f"{words} (in full: {short_name(first)})"))
        again = pytest.ExceptionInfo.from_exception(line.with_traceback(error.__traceback__))
        report.longrepr = short = alone(again)
        crash = short.reprcrash
    if crash is not None:
        crash.message = brief(failing)


def _in_plain_words(shown: Any, error: BaseException) -> None:
    """Takes what switches colours out of what code of the user raised, and adds what to try."""
    from yobx.advice import hint_of, without_colours
    from yobx.words import HINT

    chain = getattr(shown, "chain", None) or [(getattr(shown, "reprtraceback", None), None, None)]
    entries = [entry for trace, *_ in chain if trace is not None for entry in trace.reprentries]
    for entry in entries:
        entry.lines = [without_colours(line) for line in entry.lines]
    hint = hint_of(error)
    if hint and entries:
        entries[-1].lines.append(f"E   {HINT}{hint}")


def _is_ours_alone(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether a function that returned its model failed afterwards: none of its lines did it."""
    ours = is_ours(excinfo.value) and is_model_function(item)
    return ours and not any(map(is_foreign, excinfo.traceback))


def is_foreign(entry: Any) -> bool:
    """Whether a frame is none of pytest and of ours."""
    packages = {"pytest", "_pytest", "pluggy", "pytest_yobx", "yobx", "importlib", "xdist"}
    module = str(entry.frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] not in packages


def alone(excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
    """The message of an exception without its traceback, in a form that has a place."""
    return excinfo.getrepr(style="value", chain=False, tbfilter=False)


def forget(item: pytest.Item) -> None:
    """What a test told before it is run again was not shown."""
    told = item.config.stash.get(_TOLD, {})
    for key in [key for key, (first, _) in told.items() if first == item.nodeid]:
        del told[key]
