"""Every setting once: its flag, ini value, marker and fixture argument, default and meaning.

Precedence: fixture argument, marker or the options a factory returns > flag > ini value > default.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

__all__ = ["OPTIONS", "Option", "Settings", "check_keywords", "read_settings"]

BINDINGS = ("primes", "primes2", "ones")


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _opsets(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in _list(text))


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
                result.append(part)
        if sizes:
            result.append(sizes)
    return tuple(result)


def _truth(text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True, "auto": True}
    known |= {"0": False, "false": False, "no": False, "off": False}
    if text.lower() not in known:
        raise ValueError("on or off is expected")
    return known[text.lower()]


def _reports(text: str) -> tuple[str, ...]:
    kinds = _list(text)
    for kind in kinds:
        if kind not in {"html", "json", "none"}:
            raise ValueError("html, json or none is expected")
    return kinds


@dataclass(frozen=True)
class Option:
    """One setting.

    Attributes:
        name: Field of `Settings`; the marker and fixture argument of that name, if any.
        parse: From the text of a flag or an ini value.
        text: Default as a flag would give it.
        help: One line for ``--help``.
        metavar: What the flag takes; ``""`` for a flag without a value.
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


OPTIONS = (
    Option("target_opset", _opsets, "", "opsets to convert to, e.g. 18,21", "LIST"),
    Option(
        "bindings",
        _bindings,
        ",".join(BINDINGS),
        "sizes to try: labels or B=7,S=11;B=1,S=1",
        "LIST",
    ),
    Option("seed", int, "0", "seed of generated and resized inputs", "N"),
    Option("provider", str, "CPUExecutionProvider", "onnxruntime execution provider", "NAME"),
    Option("tolerance_scale", float, "1", "factor on every float allowance", "FACTOR"),
    Option("tolerances", str, "", "another tolerance table", "FILE"),
    Option("localize", _truth, "on", "look for the first differing value: on or off", "on|off"),
    Option("artifacts", str, ".yobx", "folder of artifacts and reports", "DIR", is_argument=False),
    Option(
        "artifacts_always",
        _truth,
        "off",
        "keep artifacts of passing checks too",
        "on|off",
        is_argument=False,
    ),
    Option(
        "report",
        _reports,
        "html,json",
        "reports to write: html,json or none",
        "LIST",
        is_argument=False,
    ),
)


@dataclass(frozen=True)
class Settings:
    """Settings of a session, after flags and ini values.

    Attributes:
        target_opset: Opsets; empty for the default of the conversion.
        bindings: Sizes to try.
        seed: Seed of inputs.
        provider: Execution provider.
        tolerance_scale: Factor on every float allowance.
        tolerances: Another tolerance table, or ``""``.
        localize: Whether differences are localised.
        artifacts: Folder of artifacts and reports.
        artifacts_always: Whether passing checks leave artifacts too.
        report: Kinds of reports.
        root: pytest's root folder.
        active: Whether ``--yobx`` was given.
    """

    target_opset: tuple[int, ...] = ()
    bindings: tuple[Any, ...] = BINDINGS
    seed: int = 0
    provider: str = "CPUExecutionProvider"
    tolerance_scale: float = 1.0
    tolerances: str = ""
    localize: bool = True
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
            "seed": self.seed,
            "provider": self.provider,
            "tolerance_scale": self.tolerance_scale,
            "localize": self.localize,
        }
        if self.tolerances:
            chosen["tolerances"] = str(self.root / self.tolerances)
        if self.target_opset:
            chosen["target_opset"] = self.target_opset[0]
        return chosen


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
        except ValueError as error:
            message = (
                f"yobx: {origin} takes {option.metavar} ({option.help}). Received: {text!r}: "
                f"{error}"
            )
            raise pytest.UsageError(message) from error
    root = config.rootpath
    return Settings(**values, root=root, active=bool(config.getoption("--yobx")))


def check_keywords(keywords: Mapping[str, Any], where: str) -> None:
    """Refuses arguments that no check takes.

    Args:
        keywords: Arguments of a marker, a factory or a fixture.
        where: Whose they are, for the message.

    Raises:
        pytest.UsageError: If one is unknown; the valid ones are listed.
    """
    from yobx.verification import CheckOptions

    _refuse_unknown(keywords, [f.name for f in fields(CheckOptions)], f"option of {where}")


def _refuse_unknown(keywords: Mapping[str, Any], valid: list[str], what: str) -> None:
    unknown = [key for key in keywords if key not in valid]
    if unknown:
        near = difflib.get_close_matches(unknown[0], valid, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise pytest.UsageError(
            f"yobx: unknown {what}: {unknown[0]}.{hint} Valid: {', '.join(valid)}"
        )
