"""Items of ours: models named in ``yobx_models``, and marked functions that return a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_yobx.at_the_call import AtTheCall
from pytest_yobx.cases import Case, Cells, cases_for, finish
from pytest_yobx.entries import Entry, EntryError, expand, interpret
from pytest_yobx.expected import scale_of
from pytest_yobx.marked import FIXTURES, is_model_function
from pytest_yobx.options import Settings
from pytest_yobx.telling import alone, is_foreign

__all__ = [
    "ModelItem",
    "ModelsFile",
    "cells_of",
    "facts_of",
    "is_check",
    "is_complete",
    "left_out",
    "marker_options",
    "models_wanted",
    "run_model_function",
    "selection_of",
    "settings_of",
]

_SETTINGS = pytest.StashKey[Settings]()
_MOST_NAMES = 8
_CELLS = pytest.StashKey[Cells]()


def settings_of(config: pytest.Config) -> Settings:
    """Settings of the session."""
    return config.stash[_SETTINGS]


def remember(config: pytest.Config, settings: Settings) -> None:
    """Keeps the settings of the session."""
    config.stash[_SETTINGS] = settings
    config.stash[_CELLS] = Cells()


def cells_of(config: pytest.Config) -> Cells:
    """The model in hand."""
    return config.stash[_CELLS]


def marker_options(node: pytest.Item) -> dict[str, Any]:
    """Arguments of the ``yobx`` markers of a test; the nearest wins."""
    options: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("yobx"))):
        options.update(marker.kwargs)
    return options


class ModelsFile(pytest.File):
    """The entries of ``yobx_models``, collected below the file that names them."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each model, opset and binding."""
        settings = settings_of(self.config)
        for entry in expand(self.config.getini("yobx_models"), self.config.rootpath):
            cases = cases_for(settings)
            if entry.problem:
                yield ModelItem.from_parent(self, name=entry.name, entry=entry, case=cases[0])
                continue
            for case in cases:
                name = f"{entry.name}[{case.id}]"
                yield ModelItem.from_parent(self, name=name, entry=entry, case=case)


class ModelItem(pytest.Item):
    """One cell of one entry."""

    def __init__(self, *, entry: Entry, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self.entry, self.case = entry, case
        self.add_marker("yobx")

    def runtest(self) -> None:
        """Checks the cell."""
        settings = settings_of(self.config)
        result = cells_of(self.config).run(
            self,
            self.entry.name,
            lambda: self.entry.load(self.config.rootpath),
            self.case,
            {},
            settings=settings,
            scale=scale_of(self),
        )
        finish(result, self, settings)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The failure text alone; a traceback only where the user's code raised."""
        from yobx.errors import VerificationError, YobxError

        if isinstance(excinfo.value, (VerificationError, EntryError, pytest.UsageError)):
            return alone(excinfo)
        # From where the user's code begins; the frames before are pytest's and ours.
        foreign = excinfo.traceback.filter(is_foreign)
        if not foreign and isinstance(excinfo.value, YobxError):
            return alone(excinfo)
        excinfo.traceback = foreign
        if not excinfo.traceback:  # none of it ran: a syntax error says where it is itself
            return excinfo.exconly()
        return super().repr_failure(excinfo, "short")

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the model is named."""
        return self.path, None, self.name


def is_check(item: pytest.Item) -> bool:
    """Whether a test is a check of ours: a model, or a test that uses a fixture which checks."""
    if isinstance(item, ModelItem) or is_model_function(item):
        return True
    return bool(FIXTURES & set(getattr(item, "fixturenames", ())))


def facts_of(item: pytest.Item) -> dict[str, Any]:
    """What is known of a check before it runs, for the scope of an expectation."""
    settings = settings_of(item.config)
    case: Any = item.case if isinstance(item, ModelItem) else None
    if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        case = item.callspec.params.get("yobx_case", case)
    options = {**settings.keywords(), **marker_options(item)}
    if isinstance(case, Case):
        options.update(case.options())
    return {name: options.get(name) for name in ("provider", "opset", "precision")} | {
        "opset": options.get("target_opset")
    }


def is_complete(config: pytest.Config) -> bool:
    """Whether the whole repository was asked for, so that what is absent does not exist."""
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS
    base, root = config.invocation_params.dir, config.rootpath.resolve()
    return whole or any((base / str(argument)).resolve() == root for argument in config.args)


def selection_of(config: pytest.Config) -> str:
    """Flags that leave tests out, as they were given: ``-k 'tower'``."""
    given = [
        f"{flag} {value!r}"
        for flag, name in (("-k", "keyword"), ("-m", "markexpr"))
        if (value := config.getoption(name, ""))
    ]
    given += [f"--deselect {name!r}" for name in config.getoption("deselect", None) or ()]
    given += ["--lf"] if config.getoption("lf", False) else []
    return " ".join(given)


def models_wanted(config: pytest.Config) -> bool:
    """Whether ``yobx_models`` belongs to what was asked for on the command line."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return True
    base = config.invocation_params.dir
    for argument in config.args:
        text, _, rest = str(argument).partition("::")
        path = (base / text).resolve()
        if path == config.inipath:
            return True
        if not rest and path.is_dir() and config.rootpath.resolve().is_relative_to(path):
            return True
    return False


def left_out(config: pytest.Config, items: Sequence[pytest.Item]) -> str:
    """Which models of ``yobx_models`` are not checked since other paths were given, or ``""``.

    Args:
        config: The configuration.
        items: What was collected.
    """
    chosen = {item.entry.name for item in items if isinstance(item, ModelItem)}
    listed = [entry.name for entry in expand(config.getini("yobx_models"), config.rootpath)]
    if chosen or not listed or models_wanted(config):
        return ""
    file = config.inipath.name if config.inipath is not None else "pyproject.toml"
    more = ", ..." if len(listed) > _MOST_NAMES else ""
    return (
        "yobx: the models of yobx_models are not collected, other paths were given: "
        f"{', '.join(listed[:_MOST_NAMES])}{more}. Add {file} to check them too"
    )


def run_model_function(item: pytest.Function) -> None:
    """Calls a marked function and checks the model it returns."""
    __tracebackhide__ = True
    settings: Settings = item._request.getfixturevalue("yobx_settings")
    parameters = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    chosen = parameters.pop("yobx_case", None)
    case = chosen if isinstance(chosen, Case) else cases_for(settings)[0]
    names = [name for name in item._fixtureinfo.argnames if name in item.funcargs]
    arguments = {name: item.funcargs[name] for name in names if name != "yobx_case"}
    owner = item.nodeid.partition("[")[0] + (f"[{parameters!r}]" if parameters else "")

    def load() -> Any:
        return interpret(item.obj(**arguments), item.name)

    marker, scale = marker_options(item), scale_of(item)
    cells = cells_of(item.config)
    with AtTheCall():
        result = cells.run(item, owner, load, case, marker, settings=settings, scale=scale)
        finish(result, item, settings)
