"""The hooks. Each hands over to a module of one idea."""

from __future__ import annotations

import datetime
import json
import warnings
from collections.abc import Generator
from dataclasses import asdict
from typing import Any

import pytest

from pytest_yobx import collection, expected, marked, options, results, telling
from pytest_yobx.baseline import read_report
from pytest_yobx.cases import cases_for
from pytest_yobx.crashes import crash_text
from pytest_yobx.expectations import Book, load
from pytest_yobx.root import refuse_lost_settings
from pytest_yobx.shards import Attendance, shares
from pytest_yobx.writable import refuse_unwritable

_COLLECTED = pytest.StashKey[results.Collected]()
_BASELINE = pytest.StashKey[dict[str, Any] | None]()
_BOOK = pytest.StashKey[Book]()
_UPDATED = pytest.StashKey[list[str]]()
_UNTOLD = pytest.StashKey[bool]()


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
    refuse_lost_settings(config)
    settings = options.read_settings(config)
    collection.remember(config, settings)
    planning = config.getoption("collectonly", False) or hasattr(config, "workerinput")
    if settings.active and not planning:
        refuse_unwritable(settings)
    collected = config.stash[_COLLECTED] = results.Collected()
    before = read_report(config.rootpath / settings.baseline) if settings.baseline else None
    config.stash[_BASELINE] = before
    book = config.stash[_BOOK] = load(settings.expectations, config.rootpath, datetime.date.today())
    if book.broken:
        if settings.active and not planning:
            from pytest_yobx import summary

            collected.problems += book.broken
            summary.conclude(config, collected, settings, before)
        raise pytest.UsageError("\n".join(f"yobx: {problem}" for problem in book.broken))
    config.pluginmanager.register(_Recorder(collected), "yobx-recorder")
    config.pluginmanager.register(_Parts(collected), "yobx-parts")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_CrashedWorkers(config), "yobx-crashed-workers")


def pytest_report_header(config: pytest.Config) -> str | None:
    """What the words of the table at the end mean."""
    settings = collection.settings_of(config)
    if not settings.active:
        return None
    known = [b for b in settings.bindings if isinstance(b, str)]
    sizes = ", ".join(f"{name}: {options.MEANINGS[name]}" for name in known)
    return (
        f"yobx: sizes of a run ({sizes or 'as asked for'}); budget: error / what rounding explains"
    )


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> str | None:
    """Which of the models that are listed are not among what was collected, and why."""
    settings = collection.settings_of(config)
    if not settings.active or settings.shard is not None:
        return None
    return collection.left_out(config, items) or None


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
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker ended: it tells which checks it saw."""
        output = getattr(node, "workeroutput", {})
        data = output.get("yobx_attendance")
        if data:
            self._config.stash[_COLLECTED].attendance = Attendance.from_json(data)
            self._config.stash[_COLLECTED].deselected = output["yobx_deselected"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """A worker died: the test it ran is a crash, not a missing result."""
        settings = collection.settings_of(self._config)
        worker = getattr(getattr(report, "node", None), "gateway", None)
        words = f"the worker {getattr(worker, 'id', '')} died while it ran this test"
        text = crash_text(self._config, crashitem, " ".join(words.split()), settings)
        self._config.stash[_COLLECTED].crash(crashitem, text)
        if settings.active:  # pytest's words name the worker, and the file of the test
            report.longrepr = text
            report.location = (*report.location[:2], results.short_name(crashitem))


class _Parts:
    """The last word on what is collected: the share of this part, and the list of who attends."""

    def __init__(self, collected: results.Collected) -> None:
        self._collected = collected

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Counts the checks that a selection leaves out."""
        self._collected.deselected += sum(map(collection.is_check, items))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keeps the share of this part; files that are not in order fail whatever is selected."""
        book, complete = config.stash[_BOOK], collection.is_complete(config)
        if config.getoption("--yobx") and (book.entries or book.problems):
            items.append(
                expected.ProblemsItem.from_parent(
                    session, name=results.PROBLEMS, book=book, complete=complete
                )
            )
        shard = collection.settings_of(config).shard
        planned = [item.nodeid for item in items if collection.is_check(item)]
        if shard is not None:
            rows = (config.stash[_BASELINE] or {"results": []})["results"]
            seconds = {row["nodeid"]: float(row["seconds"]) for row in rows}
            mine = shares([item.nodeid for item in items], shard[1], seconds)[shard[0] - 1]
            others = config.stash[_COLLECTED].deselected
            config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in mine])
            config.stash[_COLLECTED].deselected = others  # those of other parts are made there
            items[:] = [item for item in items if item.nodeid in mine]
        assigned = [item.nodeid for item in items if collection.is_check(item)]
        config.stash[_COLLECTED].attendance = Attendance(planned, assigned, shard)
        config.stash[_UNTOLD] = True


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
    book = config.stash[_BOOK]
    for item in items:
        if collection.is_check(item):
            facts = collection.facts_of(item)
            expected.remember_entry(item, book.find(item.name, item.nodeid, facts))
        if isinstance(item, pytest.Function):
            if any(mark.args for mark in item.iter_markers("yobx")):
                raise pytest.UsageError(
                    f"yobx: the marker yobx of {item.nodeid} takes options by name only, as in "
                    "@pytest.mark.yobx(seed=3)"
                )
            why = marked.unusable(item)
            if why:
                raise pytest.UsageError(f"yobx: the marker yobx: {item.nodeid} {why}")
            given = collection.marker_options(item)
            if given:
                options.check_keywords(given, f"the marker yobx of {item.nodeid}", several=True)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Generator[None, Any, Any]:
    """With ``--yobx`` a marked function is collected whatever its name."""
    result = yield
    active = collector.config.getoption("--yobx")
    if result is None and active and marked.is_marked(obj):
        result = list(collector._genfunctions(name, obj))
    return result


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each opset and binding."""
    is_model = marked.is_model_function(metafunc.definition)
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


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A check that is known to crash is left out; one that is run again starts anew."""
    if results.begin(item):
        collection.cells_of(item.config).forget()
        telling.forget(item)
    expected.skip_if_told(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """With ``--yobx-isolate on`` the tests run in a child process."""
    config = session.config
    distributed = hasattr(config, "workerinput") or config.getoption("numprocesses", None)
    planning = config.getoption("collectonly", False)
    if not collection.settings_of(config).isolate or distributed or planning:
        return None
    if session.testsfailed and not config.getoption("continue_on_collection_errors"):
        return None  # pytest says so itself
    from pytest_yobx import isolation

    why = isolation.unavailable()
    if why:
        raise pytest.UsageError(f"yobx: --yobx-isolate: {why}")
    isolation.run_isolated(session, config.stash[_COLLECTED])
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A marked function returns its model: it is checked, with or without ``--yobx``."""
    if not marked.is_model_function(pyfuncitem):
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
    expected.judge_report(item, report, found)
    telling.shorten(item, call, report, found)
    told = report.when == "call" or (report.when == "setup" and not report.passed)
    if collection.is_check(item) and (told or report.failed):
        setattr(report, results.PAYLOAD, json.dumps({"reports": found}))
    if hasattr(item.config, "workerinput") and item.config.stash.get(_UNTOLD, False):
        # With the first report: a worker that is killed has no last word.
        item.config.stash[_UNTOLD] = False
        attendance = asdict(item.config.stash[_COLLECTED].attendance)
        setattr(report, results.ATTENDANCE, json.dumps(attendance))
    return report


# ---- the end
# -------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Writes the reports; a run that was asked for checks and made none is red."""
    config = session.config
    collected = config.stash[_COLLECTED]
    if hasattr(config, "workerinput"):
        output: dict[str, Any] = getattr(config, "workeroutput", {})
        output["yobx_attendance"] = asdict(collected.attendance)
        output["yobx_deselected"] = collected.deselected
        return
    settings = collection.settings_of(config)
    if not settings.active or config.getoption("collectonly", False):
        return
    from pytest_yobx import summary

    if settings.update_expectations:
        book, complete = config.stash[_BOOK], collection.is_complete(config)
        lines = expected.update(book, collected.rows, config.rootpath, complete=complete)
        config.stash[_UPDATED] = lines or ["no entry of the expectations changes"]
    collected.selection = collection.selection_of(config)
    summary.remove_stale(config, collected, settings)
    verdict = summary.conclude(config, collected, settings, config.stash[_BASELINE])
    # Nothing failed but checks that failed in the baseline: a test of another kind counts too.
    accepted = verdict.known and not verdict.reasons and session.testsfailed == verdict.known
    if exitstatus == pytest.ExitCode.TESTS_FAILED and accepted:
        session.exitstatus = pytest.ExitCode.OK
    quiet = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if verdict.reasons and exitstatus in quiet:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and settings.shard is not None:
        session.exitstatus = pytest.ExitCode.OK  # an empty part: merging decides


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """A table of the checks, and where the reports are."""
    settings = collection.settings_of(config)
    if settings.active:
        from pytest_yobx import summary

        summary.show(terminalreporter, config, config.stash[_COLLECTED], settings)
        for line in config.stash.get(_UPDATED, []):
            terminalreporter.write_line(line, green=line[:1] == "+", red=line[:1] == "-")
