"""Every setting once: its flag, ini value, marker and fixture argument, default and meaning.

Precedence: fixture argument, marker or the options a factory returns > flag > ini value > default.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

__all__ = [
    "MEANINGS",
    "ONE_EACH",
    "OPTIONS",
    "Option",
    "Settings",
    "check_keywords",
    "read_settings",
    "table",
]

_NOT_SETTABLE = frozenset({"root", "active"})
#: What a marker or a flag may give several of, one test each.
ONE_EACH = ("target_opset", "seed", "precision")
BINDINGS = ("primes", "primes2", "ones")
#: What the names of bindings mean, for the head of a run.
MEANINGS = {
    "primes": "every symbol another prime",
    "primes2": "others, even but for the batch",
    "ones": "1 everywhere",
    "zeros": "an empty batch",
    "sample": "sizes as given",
}
_LABELS = tuple(MEANINGS)
_PROVIDER = "CPUExecutionProvider"


def _list(text: str) -> tuple[str, ...]:
    """The different parts: one that is given twice would be two tests of one name."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _numbers(text: str) -> tuple[int, ...]:
    parts = _list(text)
    if not all(part.removeprefix("-").isdecimal() for part in parts):
        raise ValueError("whole numbers are expected")
    return tuple(int(part) for part in parts)


def _number(text: str) -> int:
    if len(_numbers(text)) != 1:
        raise ValueError("a whole number is expected")
    return _numbers(text)[0]


def _opsets(text: str) -> tuple[int, ...]:
    opsets = _numbers(text)
    if opsets:
        _refuse_opsets(opsets)
    return opsets


def _refuse_opsets(opsets: Sequence[int]) -> None:
    """Refuses opsets that cannot be written.

    Raises:
        ValueError: With the range of those that can.
    """
    from yobx.lowering.opsets import DEFAULT_OPSET, OLDEST_OPSET, newest_opset

    # The newest is found by loading models, so it is asked for where it may matter.
    if min(opsets) < OLDEST_OPSET or (max(opsets) > DEFAULT_OPSET and max(opsets) > newest_opset()):
        raise ValueError(
            f"opsets are integers from {OLDEST_OPSET} to {newest_opset()}, the newest that the "
            "installed onnxruntime loads"
        )


def _refuse_provider(name: str, where: str) -> None:
    """Refuses a provider that onnxruntime does not have here; that of processors is everywhere.

    Args:
        name: The provider.
        where: Who asks for it, for the message.

    Raises:
        pytest.UsageError: With those that it has.
    """
    if name == _PROVIDER:  # known without loading onnxruntime
        return
    try:
        import onnxruntime
    except ImportError as error:
        raise pytest.UsageError(
            f"yobx: {where} asks for the provider {name!r} of onnxruntime, which is not installed"
        ) from error
    available = onnxruntime.get_available_providers()
    if name in available:
        return
    from yobx.words import similar

    short = {provider.removesuffix("ExecutionProvider"): provider for provider in available}
    near = [short[word] for word in similar(name.removesuffix("ExecutionProvider"), short)]
    raise pytest.UsageError(
        f"yobx: {where} asks for the provider {name!r}, which the installed onnxruntime does not "
        f"have.{f' Did you mean {near[0]}?' if near else ''} It has: {', '.join(available)}"
    )


def _count(text: str) -> int:
    count = _number(text)
    if count < 0:
        raise ValueError("a number of checks, 0 or more, is expected")
    return count


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise ValueError("a positive number is expected")
    return factor


def _seeds(text: str) -> int | tuple[int, ...]:
    seeds = _numbers(text)
    if not seeds or min(seeds) < 0:
        raise ValueError("seeds are integers, 0 or more")
    return seeds[0] if len(seeds) == 1 else seeds


def _bindings(text: str) -> tuple[str | dict[str, int], ...]:
    """``primes,ones`` are labels; ``B=7,S=11`` is one assignment; ``;`` separates assignments."""
    result: list[str | dict[str, int]] = []
    for group in text.split(";"):
        sizes: dict[str, int] = {}
        for part in _list(group):
            name, equals, size = part.partition("=")
            if equals:
                sizes[name.strip()] = int(size)
            else:
                result.append(_one_of(*_LABELS)(part))
        if sizes:
            result.append(sizes)
        if min(sizes.values(), default=0) < 0:
            raise ValueError("sizes are integers, 0 or more")
    if not result:
        raise ValueError("at least one is expected")
    return tuple(result)


def _dynamic(text: str) -> dict[str, dict[int, str]] | None:
    """``x:0=B,1=S;y:0=B``: the form of the command line."""
    found: dict[str, dict[int, str]] = {}
    for group in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, axes = group.rpartition(":")
        pairs = [part.partition("=") for part in _list(axes)]
        if not colon or not name or not all(equals and symbol for _, equals, symbol in pairs):
            raise ValueError("INPUT:AXIS=SYMBOL is expected")
        found[name] = {int(axis): symbol.strip() for axis, _, symbol in pairs}
    return found or None


def _truth(text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True, "auto": True}
    known |= {"0": False, "false": False, "no": False, "off": False}
    if text.lower() not in known:
        raise ValueError("on or off is expected")
    return known[text.lower()]


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{', '.join(choices[:-1])} or {choices[-1]} is expected")
        return text

    return parse


def _some_of(*choices: str) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        return tuple(_one_of(*choices)(part) for part in _list(text))

    return parse


def _shard(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    index, slash, count = text.partition("/")
    shard = (int(index), int(count)) if slash else (0, 0)
    if not 1 <= shard[0] <= shard[1]:
        raise ValueError("i/n with 1 <= i <= n is expected")
    return shard


@dataclass(frozen=True)
class Option:
    """One setting.

    Attributes:
        name: Field of `Settings`; the marker and fixture argument of that name, if any.
        parse: From the text of a flag or an ini value.
        text: Default as a flag would give it.
        help: One line for ``--help``.
        metavar: What the flag takes.
        is_argument: Whether marker and fixtures take it too.
    """

    name: str
    parse: Callable[[str], Any]
    text: str
    help: str
    metavar: str = "VALUE"
    is_argument: bool = True

    @property
    def flag(self) -> str:
        """``--yobx-tolerance-scale``."""
        return f"--yobx-{self.name.replace('_', '-')}"

    @property
    def ini(self) -> str:
        """``yobx_tolerance_scale``."""
        return f"yobx_{self.name}"


_PRECISIONS = ("source", "float16", "bfloat16", "float32", "float64")
_CLASSES = ("auto", "exact", "rounded", "transcendental", "measured")


def _session(
    name: str, parse: Callable[[str], Any], text: str, meaning: str, metavar: str
) -> Option:
    return Option(name, parse, text, meaning, metavar, is_argument=False)


OPTIONS = (
    Option("target_opset", _opsets, "", "opsets to convert to, one test each: 18,21", "LIST"),
    Option("dynamic_shapes", _dynamic, "", "dynamic axes: x:0=B,1=S;y:0=B", "AXES"),
    Option(
        "bindings",
        _bindings,
        ",".join(BINDINGS),
        f"sizes to try, one test each: {', '.join(f'{k} ({v})' for k, v in MEANINGS.items())}, or "
        "B=7,S=11;B=1,S=1",
        "LIST",
    ),
    Option("seed", _seeds, "0", "seeds of inputs and resizing, one test each: 0,1,2", "LIST"),
    Option(
        "precision",
        _some_of(*_PRECISIONS),
        "source",
        "dtypes the float inputs are given in, one test each: source, float16, bfloat16, float32, "
        "float64",
        "LIST",
    ),
    Option("provider", str, _PROVIDER, "onnxruntime execution provider", "NAME"),
    Option(
        "tolerance_class",
        _one_of(*_CLASSES),
        "auto",
        "rule for float outputs: auto, exact, rounded, transcendental or measured",
        "CLASS",
    ),
    Option("tolerance_scale", _factor, "1", "factor on every float allowance", "FACTOR"),
    Option("tolerances", str, "", "another tolerance table", "FILE"),
    Option("localize", _truth, "on", "look for the first differing value", "on|off"),
    _session(
        "isolate",
        _truth,
        "off",
        "run checks in a child process, so that a crash ends one",
        "on|off",
    ),
    _session("expectations", _list, "", "files of expected failures", "FILES"),
    _session(
        "update_expectations",
        _truth,
        "off",
        "rewrite entries that no longer hold, and show what changed",
        "on|off",
    ),
    _session("shard", _shard, "", "run part i of n, and write who attended", "i/n"),
    _session("baseline", str, "", "report.json to compare with: fewer cells are a failure", "FILE"),
    _session(
        "fail_on",
        _one_of("regressions", "any", "untested"),
        "any",
        "what makes a run red: what the baseline did not have, any failure, or also a check that "
        "was skipped or compared nothing",
        "regressions|any|untested",
    ),
    _session("min_cells", _count, "1", "fewest checks that must have been made", "N"),
    _session("artifacts", str, ".yobx", "folder of artifacts and reports", "DIR"),
    _session("artifacts_always", _truth, "off", "keep artifacts of passing checks too", "on|off"),
    _session(
        "report",
        _some_of("html", "json", "none"),
        "html,json",
        "reports to write: html, json or none",
        "LIST",
    ),
)


@dataclass(frozen=True)
class Settings:
    """Settings of a session, after flags and ini values.

    Attributes:
        target_opset: Opsets; empty for the default of the conversion.
        dynamic_shapes: Dynamic axes, or ``None`` for the default of the conversion.
        bindings: Sizes to try.
        seed: Seed of inputs, or several.
        precision: Dtypes of float inputs.
        provider: Execution provider.
        tolerance_class: Rule for float outputs.
        tolerance_scale: Factor on every float allowance.
        tolerances: Another tolerance table, or ``""``.
        localize: Whether differences are localised.
        isolate: Whether checks run in a child process.
        expectations: Files of expected failures.
        update_expectations: Whether these are rewritten.
        shard: Part and number of parts, or ``None``.
        baseline: Report to compare with, or ``""``.
        fail_on: What makes a run red: ``regressions``, ``any`` or ``untested``.
        min_cells: Fewest checks that must have been made.
        artifacts: Folder of artifacts and reports.
        artifacts_always: Whether passing checks leave artifacts too.
        report: Kinds of reports.
        root: pytest's root folder.
        active: Whether ``--yobx`` was given.
    """

    target_opset: tuple[int, ...] = ()
    dynamic_shapes: Any = None
    bindings: tuple[Any, ...] = BINDINGS
    seed: int | tuple[int, ...] = 0
    precision: str | tuple[str, ...] = ("source",)
    provider: str = _PROVIDER
    tolerance_class: str = "auto"
    tolerance_scale: float = 1.0
    tolerances: str = ""
    localize: bool = True
    isolate: bool = False
    expectations: tuple[str, ...] = ()
    update_expectations: bool = False
    shard: tuple[int, int] | None = None
    baseline: str = ""
    fail_on: str = "any"
    min_cells: int = 1
    artifacts: str = ".yobx"
    artifacts_always: bool = False
    report: tuple[str, ...] = ("html", "json")
    root: Path = field(default_factory=Path)
    active: bool = False

    @property
    def folder(self) -> Path:
        """Folder of artifacts and reports."""
        return self.root / self.artifacts

    def updated(self, **changes: Any) -> Settings:
        """A copy with other values, for ``conftest.py``.

        Raises:
            pytest.UsageError: If a name is unknown.
        """
        valid = [f.name for f in fields(self)]
        _refuse_unknown(changes, valid, "yobx setting")
        return replace(self, **changes)

    def keywords(self) -> dict[str, Any]:
        """The settings as keyword arguments of a check."""
        chosen: dict[str, Any] = {
            "bindings": list(self.bindings),
            "seed": self.seed if isinstance(self.seed, int) else self.seed[0],
            "precision": self.precision if isinstance(self.precision, str) else self.precision[0],
            "provider": self.provider,
            "tolerance_class": self.tolerance_class,
            "tolerance_scale": self.tolerance_scale,
            "localize": self.localize,
        }
        if self.dynamic_shapes is not None:
            chosen["dynamic_shapes"] = self.dynamic_shapes
        if self.tolerances:
            chosen["tolerances"] = str(self.root / self.tolerances)
        if self.target_opset:
            chosen["target_opset"] = self.target_opset[0]
        return chosen


def table() -> str:
    """The settings as a Markdown table; the read-me holds it."""
    rows = [
        "| argument, marker | flag | ini value | default | meaning |",
        "|---|---|---|---|---|",
    ]
    for option in OPTIONS:
        name = f"`{option.name}`" if option.is_argument else ""
        metavar = option.metavar.replace("|", "\\|")
        default = f"`{option.text}`" if option.text else ""
        rows.append(
            f"| {name} | `{option.flag} {metavar}` | `{option.ini}` | {default} | {option.help} |"
        )
    return "\n".join(rows)


def add_options(parser: pytest.Parser) -> None:
    """Declares flags and ini values."""
    group = parser.getgroup("yobx", "conversion to ONNX")
    group.addoption(
        "--yobx", action="store_true", help="collect and check the models of yobx_models"
    )
    parser.addini(
        "yobx_models", "models to check: package.module:factory, or globs of files", type="linelist"
    )
    for option in OPTIONS:
        shown = f"{option.help} (default: {option.text or 'none'})".replace("%", "%%")
        group.addoption(
            option.flag, dest=option.ini, default=None, metavar=option.metavar, help=shown
        )
        parser.addini(option.ini, option.help, default=None)


def read_settings(config: pytest.Config) -> Settings:
    """Resolves flags, ini values and defaults.

    Raises:
        pytest.UsageError: If a value cannot be read; the message names the setting and what it
        takes.
    """
    values: dict[str, Any] = {}
    for option in OPTIONS:
        given = config.getoption(option.ini, None)
        origin = option.flag
        if given is None:
            given, origin = config.getini(option.ini), f"ini value {option.ini}"
        text = option.text if given in (None, "", []) else given
        if isinstance(text, list):
            text = ",".join(map(str, text))
        try:
            values[option.name] = option.parse(str(text)) if text else option.parse("")
            if option.name == "provider" and _runs_here(config):
                _refuse_provider(str(text), origin)
        except ValueError as error:
            message = (
                f"yobx: {origin} takes {option.metavar} ({option.help}). Received: {text!r}: "
                f"{error}"
            )
            raise pytest.UsageError(message) from error
    if values["fail_on"] == "regressions" and not values["baseline"]:
        raise pytest.UsageError(
            "yobx: --yobx-fail-on regressions compares with an earlier run: add --yobx-baseline "
            "FILE (the report.json of that run)"
        )
    root = config.rootpath
    table = values["tolerances"]
    if table and not (root / table).is_file():
        raise pytest.UsageError(f"yobx: --yobx-tolerances: there is no file {root / table}")
    return Settings(**values, root=root, active=bool(config.getoption("--yobx")))


def _runs_here(config: pytest.Config) -> bool:
    """Whether checks run on this machine, as far as the process that distributes them knows."""
    machines = config.getoption("tx", None) or ()
    return not hasattr(config, "workerinput") and not any(
        re.search(r"\b(ssh|socket|via)=", str(machine)) for machine in machines
    )


def refuse_unknown_flags(arguments: Sequence[str]) -> None:
    """Refuses flags of ours that do not exist, with those that do.

    Args:
        arguments: The command line.

    Raises:
        pytest.UsageError: If one is unknown.
    """
    given = [text.partition("=")[0] for text in arguments if text.startswith("--yobx")]
    valid = ["--yobx", *(option.flag for option in OPTIONS)]
    _refuse_unknown(dict.fromkeys(given), valid, "flag")


def refuse_unknown_ini(names: Iterable[str]) -> None:
    """Refuses ini values of ours that do not exist, with those that do.

    Args:
        names: Names in the configuration file.

    Raises:
        pytest.UsageError: If one is unknown.
    """
    given = [name for name in names if name.startswith("yobx_")]
    valid = ["yobx_models", *(option.ini for option in OPTIONS)]
    _refuse_unknown(dict.fromkeys(given), valid, "ini value")


def check_keywords(keywords: Mapping[str, Any], where: str, *, several: bool = False) -> None:
    """Refuses arguments that no check takes.

    Args:
        keywords: Arguments of a marker, a factory or a fixture.
        where: Whose they are, for the message.
        several: Whether lists are one test each: those of a marker are.

    Raises:
        pytest.UsageError: If one is unknown; the valid ones are listed. Or if several values are
            given where one test is all there can be, or if one cannot be used.
    """
    from yobx.verification import CheckOptions

    _refuse_unknown(keywords, [f.name for f in fields(CheckOptions)], f"option of {where}")
    for name in () if several else ONE_EACH:
        if isinstance(keywords.get(name), (list, tuple)):
            raise pytest.UsageError(
                f"yobx: {where} is one check, of one {name}. Received: {keywords[name]!r}. Ask for "
                "several with the marker yobx or a flag: they are one test each"
            )
    _refuse_values(keywords, where)


def _refuse_values(keywords: Mapping[str, Any], where: str) -> None:
    """Refuses opsets and providers that there are not, before a model is converted."""
    asked: Any = keywords.get("target_opset")
    if isinstance(asked, Mapping):
        asked = [version for domain, version in asked.items() if domain in {"", "ai.onnx"}]
    asked = [asked] if isinstance(asked, int) else asked
    opsets = [opset for opset in asked or () if isinstance(opset, int)]
    try:
        if opsets:
            _refuse_opsets(opsets)
    except ValueError as error:
        received = keywords["target_opset"]
        raise pytest.UsageError(f"yobx: target_opset={received!r} of {where}: {error}") from error
    provider = keywords.get("provider")
    if isinstance(provider, str):
        _refuse_provider(provider, where)


def _refuse_unknown(keywords: Mapping[str, Any], valid: list[str], what: str) -> None:
    unknown = [key for key in keywords if key not in valid]
    if unknown:
        from yobx.words import similar  # nothing but pytest is loaded with the plugin

        usable = [name for name in valid if name not in _NOT_SETTABLE]
        word = re.split("[-_]", unknown[0])[-1].removesuffix("s")
        close = similar(unknown[0], usable, cutoff=0.8)
        near = close or [n for n in usable if word and word in n] or similar(unknown[0], usable)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise pytest.UsageError(
            f"yobx: unknown {what}: {unknown[0]}.{hint} Valid: {', '.join(usable)}"
        )
