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

# pytest finds the hooks among the names of this module; nobody imports them, so none is public.
# isort: off
from pytest_yobx.plugin import (
    pytest_addoption as pytest_addoption,
    pytest_collect_file as pytest_collect_file,
    pytest_collection_modifyitems as pytest_collection_modifyitems,
    pytest_configure as pytest_configure,
    pytest_generate_tests as pytest_generate_tests,
    pytest_load_initial_conftests as pytest_load_initial_conftests,
    pytest_pycollect_makeitem as pytest_pycollect_makeitem,
    pytest_pyfunc_call as pytest_pyfunc_call,
    pytest_report_collectionfinish as pytest_report_collectionfinish,
    pytest_report_header as pytest_report_header,
    pytest_runtest_makereport as pytest_runtest_makereport,
    pytest_runtest_setup as pytest_runtest_setup,
    pytest_runtestloop as pytest_runtestloop,
    pytest_sessionfinish as pytest_sessionfinish,
    pytest_terminal_summary as pytest_terminal_summary,
)

# isort: on

__all__ = [
    "assert_converts",
    "assert_shapes",
    "yobx_artifacts",
    "yobx_case",
    "yobx_convert",
    "yobx_settings",
]
