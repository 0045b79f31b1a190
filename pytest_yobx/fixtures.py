"""The fixtures. They work with and without ``--yobx``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_yobx.at_the_call import AtTheCall
from pytest_yobx.cases import Case, cases_for, finish, left_out, merged
from pytest_yobx.collection import marker_options, settings_of
from pytest_yobx.expected import scale_of
from pytest_yobx.options import Settings, check_keywords
from pytest_yobx.results import safe_name

if TYPE_CHECKING:
    from yobx.verification import CheckResult

__all__ = [
    "assert_converts",
    "assert_shapes",
    "yobx_artifacts",
    "yobx_case",
    "yobx_convert",
    "yobx_settings",
]

Check = Callable[..., "CheckResult"]


@pytest.fixture(scope="session")
def yobx_settings(request: pytest.FixtureRequest) -> Settings:
    """Settings of the session; override it in ``conftest.py`` with ``settings.updated(...)``."""
    return settings_of(request.config)


@pytest.fixture
def yobx_artifacts(request: pytest.FixtureRequest, yobx_settings: Settings) -> Path:
    """Folder for files of this test; made on first use."""
    folder = yobx_settings.folder / safe_name(request.node.nodeid)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def yobx_case(request: pytest.FixtureRequest, yobx_settings: Settings) -> Case:
    """Opset and binding of this test: one test for each pair of the settings."""
    parameter = getattr(request, "param", None)
    return parameter if isinstance(parameter, Case) else cases_for(yobx_settings)[0]


def _options(
    request: pytest.FixtureRequest, settings: Settings, given: dict[str, Any]
) -> dict[str, Any]:
    check_keywords(given, "this call")
    options = merged(settings, marker_options(request.node), given)
    scale = scale_of(request.node)
    if scale != 1.0:
        options["tolerance_scale"] *= scale
    if "yobx_case" in request.fixturenames:
        case: Case = request.getfixturevalue("yobx_case")
        if "bindings" not in given:
            options["bindings"] = [case.binding]
        options.update({k: v for k, v in case.options().items() if k not in given})
    return options


def _left_out(
    request: pytest.FixtureRequest, settings: Settings, given: dict[str, Any]
) -> list[str]:
    """What was asked for and belongs to other tests than this one."""
    if "yobx_case" in request.fixturenames:
        return []
    return left_out(settings, marker_options(request.node), given)


@pytest.fixture
def assert_converts(request: pytest.FixtureRequest, yobx_settings: Settings) -> Check:
    """Converts, runs and compares a model; see `yobx.verification.check_conversion`.

    ``assert_converts(model, args, *, ...)`` takes every keyword of ``to_onnx`` by the same name.
    It raises `VerificationError` when anything differs, and returns a result with ``model``,
    ``session``, ``outputs``, ``expected`` and ``report``.
    """

    def check(model: Any, args: Any = None, **options: Any) -> CheckResult:
        __tracebackhide__ = True
        from yobx.verification import run_check

        with AtTheCall():
            result = run_check(model, args, **_options(request, yobx_settings, options))
            result.report.notes += _left_out(request, yobx_settings, options)
            finish(result, request.node, yobx_settings)
        return result

    return check


@pytest.fixture
def yobx_convert(request: pytest.FixtureRequest, yobx_settings: Settings) -> Callable[..., Any]:
    """Converts a model and infers its shapes, without running it; returns the `ModelProto`.

    The report says that values were not compared.
    """

    def convert(model: Any, args: Any = None, **options: Any) -> Any:
        __tracebackhide__ = True
        from yobx.verification import prepare_check

        with AtTheCall():
            prepared = prepare_check(model, args, **_options(request, yobx_settings, options))
            if not prepared.ready or prepared.result.report.failed_phase:
                finish(prepared.result, request.node, yobx_settings)
        return prepared.result.model

    return convert


@pytest.fixture
def assert_shapes(request: pytest.FixtureRequest, yobx_settings: Settings) -> Check:
    """Compares every stated type and shape of an ONNX model with runs of it.

    ``assert_shapes(model, args=None, *, bindings=..., seed=...)``; a model that is no `ModelProto`
    is converted.
    """

    def check(model: Any, args: Any = None, **options: Any) -> CheckResult:
        __tracebackhide__ = True
        from yobx.verification import check_shapes

        with AtTheCall():
            result = check_shapes(model, args, **_options(request, yobx_settings, options))
            result.report.notes += _left_out(request, yobx_settings, options)
            finish(result, request.node, yobx_settings)
        return result

    return check
