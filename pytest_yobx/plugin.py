"""The hooks. Each hands over to a module of one idea."""

from __future__ import annotations

import json
import warnings
from collections.abc import Generator
from typing import Any

import pytest

from pytest_yobx import collection, options, results
from pytest_yobx.cases import cases_for

_COLLECTED = pytest.StashKey[results.Collected]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares flags and ini values."""
    options.add_options(parser)


def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Unknown flags and ini values of ours, before anything is imported."""
    options.refuse_unknown_flags(args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytest 9 deprecates it without another way to list names
        options.refuse_unknown_ini(getattr(early_config, "inicfg", ()))


def pytest_configure(config: pytest.Config) -> None:
    """Reads the settings and declares the marker."""
    config.addinivalue_line(
        "markers",
        "yobx(**options): the function returns a model (with inputs) to convert and compare; the "
        "options "
        "are those of yobx.verification.check_conversion",
    )
    collection.remember(config, options.read_settings(config))
    collected = config.stash[_COLLECTED] = results.Collected()
    config.pluginmanager.register(_Recorder(collected), "yobx-recorder")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_CrashedWorkers(config), "yobx-crashed-workers")


class _Recorder:
    """Gathers results in the process that shows them."""

    def __init__(self, collected: results.Collected) -> None:
        self._collected = collected

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes in one report."""
        self._collected.add(report)


class _CrashedWorkers:
    """Known to pytest only where xdist is, whose hook this is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """A worker died: the test it ran is a crash, not a missing result."""
        self._config.stash[_COLLECTED].crash(crashitem)


# ---- collection
# ------------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Any, parent: pytest.Collector) -> pytest.Collector | None:
    """``pytest --yobx pyproject.toml::model`` selects one model."""
    config = parent.config
    if not config.getoption("--yobx") or file_path != config.inipath:
        return None
    return collection.ModelsFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Adds the models of the repository, and checks the arguments of every marker."""
    named = any(isinstance(item, collection.ModelItem) for item in items)
    if config.getoption("--yobx") and not named and collection.models_wanted(config):
        path = config.inipath or config.rootpath / "pyproject.toml"
        parent = collection.ModelsFile.from_parent(session, path=path)
        items[:0] = list(parent.collect())
    for item in items:
        if isinstance(item, pytest.Function):
            given = collection.marker_options(item)
            if given:
                options.check_keywords(given, f"the marker yobx of {item.nodeid}")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Generator[None, Any, Any]:
    """With ``--yobx`` a marked function is collected whatever its name."""
    result = yield
    active = collector.config.getoption("--yobx")
    if result is None and active and collection.is_model_function(obj):
        result = list(collector._genfunctions(name, obj))
    return result


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each opset and binding."""
    is_model = collection.is_model_function(metafunc.function)
    if not is_model and "yobx_case" not in metafunc.fixturenames:
        return
    if "yobx_case" not in metafunc.fixturenames:
        metafunc.fixturenames.append("yobx_case")
    marker: dict[str, Any] = {}
    for mark in reversed(list(metafunc.definition.iter_markers("yobx"))):
        marker.update(mark.kwargs)
    cases = cases_for(collection.settings_of(metafunc.config), marker)
    metafunc.parametrize("yobx_case", cases, ids=[case.id for case in cases], indirect=True)


# ---- running
# -----------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A marked function returns its model: it is checked, with or without ``--yobx``."""
    if not collection.is_model_function(pyfuncitem.obj):
        return None
    __tracebackhide__ = True
    collection.run_model_function(pyfuncitem)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts what was found on the report, as text that crosses processes."""
    report = yield
    found = results.payloads_of(item)
    ours = isinstance(item, collection.ModelItem) or item.get_closest_marker("yobx") is not None
    if (found and report.when == "call") or (ours and (report.when == "call" or report.failed)):
        setattr(report, results.PAYLOAD, json.dumps({"reports": found}))
    return report


# ---- the end
# -------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Writes the reports; a run that was asked for checks and made none is red."""
    config = session.config
    if hasattr(config, "workerinput"):
        return
    collected = config.stash[_COLLECTED]
    settings = collection.settings_of(config)
    if not settings.active:
        return
    from pytest_yobx import summary

    summary.write_reports(config, collected, settings)
    planning = config.getoption("collectonly", False)
    if (
        not collected.executed
        and not planning
        and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """A table of the checks, and where the reports are."""
    settings = collection.settings_of(config)
    if settings.active:
        from pytest_yobx import summary

        summary.show(terminalreporter, config, config.stash[_COLLECTED], settings)
