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
from pytest_yobx.plugin import (
    pytest_addoption as pytest_addoption,
)
from pytest_yobx.plugin import (
    pytest_collect_file as pytest_collect_file,
)
from pytest_yobx.plugin import (
    pytest_collection_modifyitems as pytest_collection_modifyitems,
)
from pytest_yobx.plugin import (
    pytest_configure as pytest_configure,
)
from pytest_yobx.plugin import (
    pytest_generate_tests as pytest_generate_tests,
)
from pytest_yobx.plugin import (
    pytest_load_initial_conftests as pytest_load_initial_conftests,
)
from pytest_yobx.plugin import (
    pytest_pycollect_makeitem as pytest_pycollect_makeitem,
)
from pytest_yobx.plugin import (
    pytest_pyfunc_call as pytest_pyfunc_call,
)
from pytest_yobx.plugin import (
    pytest_runtest_makereport as pytest_runtest_makereport,
)
from pytest_yobx.plugin import (
    pytest_runtest_setup as pytest_runtest_setup,
)
from pytest_yobx.plugin import (
    pytest_runtestloop as pytest_runtestloop,
)
from pytest_yobx.plugin import (
    pytest_sessionfinish as pytest_sessionfinish,
)
from pytest_yobx.plugin import (
    pytest_terminal_summary as pytest_terminal_summary,
)

__all__ = [
    "assert_converts",
    "assert_shapes",
    "yobx_artifacts",
    "yobx_case",
    "yobx_convert",
    "yobx_settings",
]
