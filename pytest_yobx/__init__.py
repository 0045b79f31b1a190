"""pytest plugin that converts models to ONNX and proves the result."""

from __future__ import annotations

from pytest_yobx.fixtures import (
    assert_converts,
    assert_shapes,
    yobx_artifacts,
    yobx_case,
    yobx_convert,
    yobx_settings,
)
from pytest_yobx.plugin import (
    pytest_addoption,
    pytest_collect_file,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_generate_tests,
    pytest_load_initial_conftests,
    pytest_pycollect_makeitem,
    pytest_pyfunc_call,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_runtestloop,
    pytest_sessionfinish,
    pytest_terminal_summary,
)

__all__ = [
    "assert_converts",
    "assert_shapes",
    "yobx_artifacts",
    "yobx_case",
    "yobx_convert",
    "yobx_settings",
]

# pytest finds these among the names of this module; nobody imports them.
_HOOKS = (
    pytest_addoption,
    pytest_collect_file,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_generate_tests,
    pytest_load_initial_conftests,
    pytest_pycollect_makeitem,
    pytest_pyfunc_call,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_runtestloop,
    pytest_sessionfinish,
    pytest_terminal_summary,
)
