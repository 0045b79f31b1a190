from __future__ import annotations

import subprocess
import sys

import pytest_yobx
from pytest_yobx import fixtures, plugin

_PROBE = """
import pytest, sys, time
before = set(sys.modules)
start = time.process_time()
import pytest_yobx
spent = time.process_time() - start
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
foreign = loaded - set(sys.stdlib_module_names) - {"pytest_yobx", "_pytest", "pytest"}
print(spent, *sorted(foreign))
"""


def test_the_plugin_loads_nothing_but_pytest_and_the_standard_library():
    best = 1.0
    for _ in range(3):
        out = subprocess.run(
            [sys.executable, "-c", _PROBE], capture_output=True, text=True, check=True
        ).stdout.split()
        assert out[1:] == []
        best = min(best, float(out[0]))
    assert best < 0.05


def test_every_hook_and_fixture_is_where_pytest_looks():
    hooks = {name for name in vars(plugin) if name.startswith("pytest_") and name != "pytest_yobx"}
    assert hooks | set(fixtures.__all__) <= set(vars(pytest_yobx))
