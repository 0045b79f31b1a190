"""Expected failures: a file that says which check fails, in which phase, why, and until when.

A file or an entry that cannot be read is refused before any check. An entry that matches no check,
that is listed twice, has expired, or whose check passes is a failure that names file and line.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["KINDS", "Book", "Entry", "load"]

SCHEMA = 1
KINDS = ("xfail", "flaky", "skip", "tolerance")
_FIELDS = frozenset({"case", "phase", "kind", "reason", "issue", "scope", "until", "scale"})
_TEXTS = ("case", "reason", "issue", "phase")
_HEADER = re.compile(r"^\s*\[\[\s*expect\s*\]\]")
# What a scope may name besides packages.
_OWN_SCOPES = ("provider", "opset", "precision")


@dataclass(frozen=True)
class Entry:
    """One expectation.

    Attributes:
        place: ``expectations.toml:12``.
        case: Name of checks; ``*`` stands for anything, every other character for itself.
        phase: Where it fails; ``""`` for the kinds without one.
        kind: ``xfail``, ``flaky``, ``skip`` or ``tolerance``.
        reason: Why.
        issue: Where it is reported, or ``""``.
        scope: Package, ``provider``, ``opset`` or ``precision`` -> what it must be.
        until: Last day, or ``None``.
        scale: For ``tolerance``: factor on every float allowance.
    """

    place: str
    case: str
    phase: str
    kind: str
    reason: str
    issue: str = ""
    scope: tuple[tuple[str, str], ...] = ()
    until: datetime.date | None = None
    scale: float = 1.0

    def matches(self, name: str, nodeid: str) -> bool:
        """Whether the entry names a check, by its own name or by its whole node id."""
        pattern = re.compile(".*".join(map(re.escape, self.case.split("*"))))
        return any(pattern.fullmatch(text) is not None for text in (name, nodeid))

    def applies(self, facts: Mapping[str, Any]) -> bool:
        """Whether the scope fits; a fact that is not known yet fits.

        Args:
            facts: ``provider``, ``opset`` and ``precision`` of the check.
        """
        return all(_fits(key, wanted, facts) for key, wanted in self.scope)

    def words(self) -> str:
        """The reason, with where it is reported."""
        return f"{self.reason} ({self.issue})" if self.issue else self.reason


@dataclass
class Book:
    """All entries of a session.

    Attributes:
        entries: Usable ones.
        broken: Files and entries that cannot be read, each with file and line.
        problems: What is wrong with entries that can, each with file and line.
        used: Places of entries that named a check of this session.
    """

    entries: list[Entry] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def find(self, name: str, nodeid: str, facts: Mapping[str, Any]) -> Entry | None:
        """The entry of a check, if there is one; its use is remembered."""
        chosen = None
        for entry in self.entries:
            if entry.matches(name, nodeid):
                self.used.add(entry.place)
                if chosen is None and entry.applies(facts):
                    chosen = entry
        return chosen

    def unmatched(self) -> list[str]:
        """Entries that named no check of this session."""
        return [
            f"{entry.place}: no check is called {entry.case!r}; remove the entry or mend its name"
            for entry in self.entries
            if entry.place not in self.used
        ]


def load(paths: Iterable[str], root: Path, today: datetime.date) -> Book:
    """Reads files of expectations.

    Args:
        paths: Files, relative to `root`.
        root: pytest's root folder.
        today: The date that ``until`` is compared with.

    Returns:
        The entries, and what is wrong with the others.
    """
    book = Book()
    seen: dict[tuple[Any, ...], str] = {}
    for name in paths:
        for place, data in _tables(root / name, name, book.broken):
            entry = _entry(place, data, book.broken)
            if entry is None:
                continue
            key = (entry.case, entry.scope)
            if key in seen:
                book.problems.append(f"{place}: {entry.case!r} is listed at {seen[key]} already")
                continue
            seen[key] = place
            if entry.until is not None and entry.until < today:
                book.used.add(place)
                said = f"expired on {entry.until}: {entry.words()}"
                book.problems.append(f"{place}: the entry for {entry.case!r} {said}")
            book.entries.append(entry)
    return book


def lines_of(text: str) -> list[int]:
    """Number of the line where each ``[[expect]]`` begins."""
    return [n for n, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]


def _tables(path: Path, name: str, broken: list[str]) -> list[tuple[str, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        broken.append(f"{name}: cannot be read: {getattr(error, 'strerror', error)}")
        return []
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        broken.append(f"{name}:{line}: is not TOML: {error}")
        return []
    if data.get("schema") != SCHEMA:
        broken.append(f"{name}:1: schema = {SCHEMA} is expected, not {data.get('schema')!r}")
        return []
    unknown = sorted(set(data) - {"schema", "expect"})
    if unknown:
        broken.append(f"{name}:1: unknown: {', '.join(unknown)}; entries are written [[expect]]")
    tables, lines = data.get("expect", []), lines_of(text)
    if not isinstance(tables, list) or len(tables) != len(lines):
        broken.append(f"{name}:1: each entry begins with a line [[expect]]")
        return []
    return [(f"{name}:{line}", table) for line, table in zip(lines, tables, strict=True)]


def _entry(place: str, data: Mapping[str, Any], broken: list[str]) -> Entry | None:
    wrong = _wrong(data)
    if wrong:
        broken.append(f"{place}: {wrong}")
        return None
    scope = tuple(sorted((str(k), str(v)) for k, v in data.get("scope", {}).items()))
    until = data.get("until")
    return Entry(
        place=place,
        case=data["case"],
        phase=data.get("phase", ""),
        kind=data.get("kind", "xfail"),
        reason=data["reason"],
        issue=data.get("issue", ""),
        scope=scope,
        until=datetime.date.fromisoformat(until) if isinstance(until, str) else until,
        scale=float(data.get("scale", 1.0)),
    )


def _wrong(data: Mapping[str, Any]) -> str:
    """What is wrong with an entry, or ``""``."""
    from yobx.phases import PHASES  # nothing but pytest is loaded with the plugin

    kind, phase = data.get("kind", "xfail"), data.get("phase", "")
    scale = data.get("scale", 1.0)
    unknown = sorted(set(data) - _FIELDS)
    checks = (
        (unknown, f"unknown: {', '.join(unknown)}; valid: {', '.join(sorted(_FIELDS))}"),
        *((not data.get(name), f"{name} is missing") for name in ("case", "reason")),
        *((not isinstance(data.get(name, ""), str), f"{name} must be a text") for name in _TEXTS),
        (kind not in KINDS, f"kind is one of {', '.join(KINDS)}, not {kind!r}"),
        (
            kind in {"xfail", "flaky"} and phase not in PHASES,
            f"phase is one of {', '.join(PHASES)}, not {phase!r}",
        ),
        (kind == "skip" and phase != "crash", 'only a crash is skipped: phase = "crash"'),
        (
            (kind == "tolerance") != ("scale" in data),
            'scale belongs to kind = "tolerance", and to no other',
        ),
        (
            not isinstance(scale, (int, float)) or scale <= 0,
            f"scale is a positive number, not {scale!r}",
        ),
    )
    found = next((message for is_wrong, message in checks if is_wrong), "")
    return found or _wrong_date(data.get("until")) or _wrong_scope(data.get("scope", {}))


def _wrong_date(until: object) -> str:
    if until is None or (isinstance(until, datetime.date)):
        return "" if not isinstance(until, datetime.datetime) else "until is a day, not a time"
    try:
        datetime.date.fromisoformat(str(until))
    except ValueError:
        return f'until is a day, as "2027-03-01", not {until!r}'
    return ""


def _wrong_scope(scope: object) -> str:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if not isinstance(scope, Mapping):
        return "scope is a table of versions"
    for key, wanted in scope.items():
        if key in {"provider", "precision"} or wanted == "*":
            continue
        try:
            SpecifierSet(_versions(str(wanted)))
        except InvalidSpecifier:
            return f'scope.{key} is a version, as "<1.40" or "==21", not {wanted!r}'
    return ""


def _versions(text: str) -> str:
    """``21`` means ``==21``."""
    return f"=={text}" if text[:1].isdigit() else text


def _fits(key: str, wanted: str, facts: Mapping[str, Any]) -> bool:
    from packaging.specifiers import SpecifierSet

    if wanted == "*":
        return True
    if key in _OWN_SCOPES:
        have = facts.get(key)
        if not have:
            return True
        if key == "opset":
            return str(have) in SpecifierSet(_versions(wanted))
        return wanted.lower() in {str(have).lower(), _short(str(have))}
    try:
        return SpecifierSet(_versions(wanted)).contains(metadata.version(key), prereleases=True)
    except metadata.PackageNotFoundError:
        return False


def _short(provider: str) -> str:
    """``cpu`` for ``CPUExecutionProvider``."""
    return provider.removesuffix("ExecutionProvider").lower()
