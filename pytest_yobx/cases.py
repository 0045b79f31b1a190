"""Runs one cell: a model, an opset, a binding. Converted models are shared between cells."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_yobx.entries import Loaded
from pytest_yobx.options import Settings, check_keywords
from pytest_yobx.results import attach, safe_name

if TYPE_CHECKING:
    from yobx.verification import CheckResult, PreparedCheck

__all__ = ["Case", "Cells", "binding_label", "cases_for", "finish", "merged"]


@dataclass(frozen=True)
class Case:
    """One cell of the matrix.

    Attributes:
        target_opset: Opset, or ``None`` for the default of the conversion.
        binding: A label or a dict symbol -> size.
    """

    target_opset: int | None
    binding: Any

    @property
    def id(self) -> str:
        """``opset21-primes``."""
        opset = "" if self.target_opset is None else f"opset{self.target_opset}-"
        return f"{opset}{binding_label(self.binding)}"


def binding_label(binding: Any) -> str:
    """A label, or ``B7-S11``."""
    if isinstance(binding, Mapping):
        return "-".join(f"{name}{size}" for name, size in binding.items())
    return str(binding)


def cases_for(settings: Settings, marker: Mapping[str, Any] | None = None) -> list[Case]:
    """The cells of a model: every opset with every binding."""
    options = dict(marker or {})
    opsets: Any = options.get("target_opset", settings.target_opset) or (None,)
    if isinstance(opsets, (int, Mapping)):
        opsets = (opsets,)
    bindings: Any = options.get("bindings") or settings.bindings
    if isinstance(bindings, (str, Mapping)):
        bindings = (bindings,)
    return [Case(opset, binding) for opset in opsets for binding in bindings]


def merged(settings: Settings, *layers: Mapping[str, Any]) -> dict[str, Any]:
    """Options of one check: later layers win over earlier ones, all over flags and ini values."""
    result = settings.keywords()
    for layer in layers:
        result.update(layer)
    opset = result.get("target_opset")
    if isinstance(opset, (list, tuple)):
        result["target_opset"] = opset[0]
    return result


@dataclass
class Cells:
    """The model in hand: loaded and converted once for its cells.

    Only one model is kept; items of one model follow each other.
    """

    _owner: str = ""
    _loaded: Loaded | None = None
    _prepared: dict[Any, PreparedCheck] = field(default_factory=dict)

    def run(
        self,
        owner: str,
        load: Callable[[], Loaded],
        case: Case,
        settings: Settings,
        marker: Mapping[str, Any],
    ) -> CheckResult:
        """Checks one cell.

        Args:
            owner: Identity of the model.
            load: Loads it.
            case: The cell.
            settings: Settings of the session.
            marker: Options of the marker.

        Returns:
            The findings.
        """
        from yobx.verification import prepare_check

        if owner != self._owner:
            self._owner, self._loaded, self._prepared = owner, None, {}
        if self._loaded is None:
            self._loaded = load()
            check_keywords(self._loaded.options, owner)
        loaded = self._loaded
        options = merged(settings, loaded.options, marker)
        bindings = loaded.options.get("bindings") or [case.binding]
        options.pop("bindings")
        if case.target_opset is not None:
            options["target_opset"] = case.target_opset
        options.setdefault("name", owner.rpartition("::")[2])
        prepared = self._prepared.get(case.target_opset)
        if prepared is None:
            prepared = prepare_check(loaded.model, loaded.args, **options)
            self._prepared[case.target_opset] = prepared
        return prepared.run([bindings] if isinstance(bindings, (str, Mapping)) else bindings)


def finish(result: CheckResult, item: pytest.Item, settings: Settings) -> None:
    """Attaches a result to its test, writes artifacts, and raises if it failed.

    Args:
        result: The check.
        item: The test.
        settings: Settings of the session.

    Raises:
        VerificationError: With the one-screen text.
    """
    __tracebackhide__ = True
    from yobx.verification.artifacts import write_artifacts

    report = result.report
    flag = " --yobx" if settings.active else ""
    report.rerun = (
        report.rerun or f"pytest {json.dumps(item.nodeid)}{flag} --yobx-seed {report.seed}"
    )
    passed = report.passed
    if settings.artifacts_always or not passed:
        folder = settings.folder / safe_name(item.nodeid)
        try:
            write_artifacts(result, folder)
        except OSError as error:
            report.notes.append(
                f"artifacts could not be written to {folder}: {error.strerror or error}"
            )
            report.artifacts = ""
        else:
            report.artifacts = shown_path(folder)
    attach(item, report)
    if not passed:
        result.raise_if_failed()


def shown_path(path: Path) -> str:
    """The path from the current folder when it lies below it."""
    try:
        return f"{Path(os.path.relpath(path)).as_posix()}/"
    except ValueError:
        return str(path)
