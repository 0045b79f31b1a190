"""Runs one cell: a model, an opset, a precision, a seed, a binding.

Cells share converted models.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_yobx.entries import EntryError, Loaded
from pytest_yobx.options import ONE_EACH, OPTIONS, Settings, check_keywords
from pytest_yobx.results import attach, payloads_of, safe_name

if TYPE_CHECKING:
    from yobx.verification import CheckResult, PreparedCheck

__all__ = [
    "Case",
    "Cells",
    "binding_label",
    "cases_for",
    "finish",
    "left_out",
    "merged",
    "rerun_command",
]


@dataclass(frozen=True)
class Case:
    """One cell of the matrix.

    Attributes:
        target_opset: Opset, or ``None`` for the default of the conversion.
        binding: A label or a dict symbol -> size.
        seed: Seed of the inputs, or ``None`` for that of the settings.
        precision: Dtype of float inputs, or ``None`` for that of the settings.
    """

    target_opset: int | None
    binding: Any
    seed: int | None = None
    precision: str | None = None

    @property
    def id(self) -> str:
        """``opset21-float16-seed3-primes``; what was not asked for is left out."""
        parts = [] if self.target_opset is None else [f"opset{self.target_opset}"]
        parts += [] if self.precision is None else [self.precision]
        parts += [] if self.seed is None else [f"seed{self.seed}"]
        return "-".join([*parts, binding_label(self.binding)])

    def options(self) -> dict[str, Any]:
        """What the cell decides itself, without the binding."""
        chosen = {
            "target_opset": self.target_opset,
            "seed": self.seed,
            "precision": self.precision,
        }
        return {name: value for name, value in chosen.items() if value is not None}


def binding_label(binding: Any) -> str:
    """A label, or ``B7-S11``."""
    if isinstance(binding, Mapping):
        return "-".join(f"{name}{size}" for name, size in binding.items())
    return str(binding)


def cases_for(settings: Settings, marker: Mapping[str, Any] | None = None) -> list[Case]:
    """The cells of a model: every opset with every binding."""
    options = dict(marker or {})

    def choices(name: str) -> tuple[Any, ...]:
        value: Any = options.get(name)
        if value is None or value == []:
            value = getattr(settings, name)
        return (value,) if isinstance(value, (str, int, Mapping)) else tuple(value)

    opsets = choices("target_opset") or (None,)
    seeds, precisions = choices("seed"), choices("precision")
    return [
        Case(
            opset,
            binding,
            seed if len(seeds) > 1 else None,
            precision if precision != "source" else None,
        )
        for opset in opsets
        for precision in precisions
        for seed in seeds
        for binding in choices("bindings")
    ]


def merged(settings: Settings, *layers: Mapping[str, Any]) -> dict[str, Any]:
    """Options of one check: later layers win over earlier ones, all over flags and ini values."""
    result = settings.keywords()
    for layer in layers:
        result.update(layer)
    for name in ONE_EACH:
        value = result.get(name)
        if isinstance(value, (list, tuple)):
            result[name] = value[0]
    return result


def left_out(settings: Settings, *layers: Mapping[str, Any]) -> list[str]:
    """What several values were given for, of which `merged` takes the first, in words."""
    result = settings.keywords()
    for layer in layers:
        result.update(layer)
    found = {n: result[n] for n in ONE_EACH if isinstance(result.get(n), (list, tuple))}
    return [
        f"checked with {name}={values[0]} alone of {', '.join(map(str, values))}: a test that asks "
        "for the fixture yobx_case is one test for each"
        for name, values in found.items()
        if len(values) > 1
    ]


@dataclass
class Cells:
    """The model in hand: loaded and converted once for its cells.

    Only one model is kept; items of one model follow each other.
    """

    _owner: str = ""
    _loaded: Loaded | None = None
    _prepared: dict[Any, PreparedCheck] = field(default_factory=dict)
    _ended: dict[Any, str] = field(default_factory=dict)

    def run(
        self,
        item: pytest.Item,
        owner: str,
        load: Callable[[], Loaded],
        case: Case,
        marker: Mapping[str, Any],
        *,
        settings: Settings,
        scale: float = 1.0,
    ) -> CheckResult:
        """Checks one cell.

        A model that cannot be loaded or converted is told once; its other cells are skipped.

        Args:
            item: The test.
            owner: Identity of the model.
            load: Loads it.
            case: The cell.
            marker: Options of the marker.
            settings: Settings of the session.
            scale: Factor of an expectation on every float allowance.

        Returns:
            The findings.
        """
        from yobx.errors import ArgumentError
        from yobx.verification import prepare_check
        from yobx.verification.boundary import told
        from yobx.verification.check import failed_import

        if owner != self._owner:
            self.forget()
            self._owner = owner
        for end in (None, (case.target_opset, case.precision)):
            if end in self._ended:
                pytest.skip(self._ended[end])
        loaded = self._loaded = self._loaded or self._load(item, owner, load)
        options = merged(settings, loaded.options, marker)
        bindings = loaded.options.get("bindings") or [case.binding]
        options.pop("bindings")
        options.update(case.options())
        if scale != 1.0:
            options["tolerance_scale"] *= scale
        options.setdefault("name", owner.rpartition("::")[2])
        key = (case.target_opset, case.seed, case.precision, scale)
        prepared = self._prepared.get(key)
        if prepared is None:
            try:
                prepared = prepare_check(loaded.model, loaded.args, **options)
            except ArgumentError as error:
                attach(item, failed_import(options["name"], told(error)))
                raise
            self._prepared[key] = prepared
        if not prepared.ready:
            phase = prepared.result.report.failed_phase
            self._ended[(case.target_opset, case.precision)] = (
                f"not reached: {phase} failed, see {item.name}"
            )
        return prepared.run([bindings] if isinstance(bindings, (str, Mapping)) else bindings)

    def forget(self) -> None:
        """Forgets the model: what is run again is loaded and converted again."""
        self._owner, self._loaded, self._prepared, self._ended = "", None, {}, {}

    def _load(self, item: pytest.Item, owner: str, load: Callable[[], Loaded]) -> Loaded:
        """Loads a model; what it raises is a finding of the phase import."""
        from yobx.verification.boundary import Attempt, with_place
        from yobx.verification.check import failed_import

        with Attempt() as attempt:
            loaded = _loaded(load, owner)
            check_keywords(loaded.options, owner)
            return loaded
        error = attempt.error or EntryError(f"{owner} cannot be loaded.")
        own = isinstance(error, (EntryError, pytest.UsageError))
        self._ended[None] = f"not reached: import failed, see {item.name}"
        attach(
            item, failed_import(owner.rpartition("::")[2], str(error) if own else with_place(error))
        )
        raise error


def _loaded(load: Callable[[], Loaded], owner: str) -> Loaded:
    """Loads a model; one that ends the process is an error as any other."""
    from yobx.places import ended

    try:
        return load()
    except SystemExit as error:
        name = owner.rpartition("::")[2]
        why = f"{name} ended the process instead of giving a model: {ended(error)}."
        raise EntryError(why) from error


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
    from yobx.verification.artifacts import remove_artifacts, write_artifacts

    report = result.report
    report.rerun = report.rerun or rerun_command(item.config, item.nodeid, settings, report.seed)
    passed = report.passed
    folder = settings.folder / safe_name(item.nodeid)
    if passed and not settings.artifacts_always:
        if not any(not known["passed"] for known in payloads_of(item)):
            with contextlib.suppress(OSError):  # an old folder hides no result
                remove_artifacts(folder)
    else:
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
        report.raise_if_failed()  # chained to nothing: the text says what was raised, and where


#: Settings of a check that a flag may have given; those of the session change no result.
_REPEATED = frozenset(
    (
        "target_opset",
        "dynamic_shapes",
        "precision",
        "bindings",
        "provider",
        "tolerance_class",
        "tolerance_scale",
        "tolerances",
        "isolate",
    )
)


def rerun_command(
    config: pytest.Config, nodeid: str, settings: Settings, seed: int, *, isolate: bool = False
) -> str:
    """The command that repeats a test; flags that are part of its name are repeated too.

    Args:
        config: Tells which flags were given, and where pytest was started.
        nodeid: The test.
        settings: Settings of the session.
        seed: Seed of the check.
        isolate: Whether it is repeated in a process of its own.
    """
    parts = [
        "pytest",
        _quoted(_from_here(config, nodeid)),
        *(["--yobx"] if settings.active else []),
    ]
    for option in OPTIONS:
        text = config.getoption(option.ini, None) if option.name in _REPEATED else None
        if isolate and option.name == "isolate":
            text = "on"
        if text and not (option.name == "bindings" and "=" not in text):
            # With a blank, pytest takes a file for a place of tests.
            parts.append(
                f"{option.flag}{'=' if option.name == 'tolerances' else ' '}{_quoted(text)}"
            )
    several = settings.seed if isinstance(settings.seed, tuple) else (seed,)
    parts.append(f"--yobx-seed {','.join(map(str, several))}")
    return " ".join(parts)


def _quoted(text: str) -> str:
    """One word of a shell, readable: names of tests are full of brackets."""
    return '"' + re.sub(r'([\\"$`])', r"\\\1", text) + '"'


def _from_here(config: pytest.Config, nodeid: str) -> str:
    """The name of a test for the folder that pytest was started in, which need not be the root."""
    file, separator, rest = nodeid.partition("::")
    here = os.path.relpath(config.rootpath / file, config.invocation_params.dir)
    return f"{Path(here).as_posix()}{separator}{rest}"


def shown_path(path: Path) -> str:
    """The path from the current folder when it lies below it."""
    try:
        return f"{Path(os.path.relpath(path)).as_posix()}/"
    except ValueError:
        return str(path)
