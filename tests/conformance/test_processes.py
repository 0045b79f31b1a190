"""Work goes on in another process when one dies, and what it died of is known."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.processes import Ended, outcomes

_MODULE = """
import os
import signal


def square(key):
    if key < 0:
        os._exit(-key)
    if key == 100:
        os.kill(os.getpid(), signal.SIGKILL)
    return key * key, os.getpid()
"""


@pytest.fixture
def square(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Any]:
    """A function that another process can import."""
    (tmp_path / "squares.py").write_text(_MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "squares", raising=False)
    import squares  # type: ignore[import-not-found]

    found: Callable[[int], Any] = squares.square
    return found


def test_the_rest_goes_on_after_a_process_ended(square: Callable[[int], Any]) -> None:
    found: dict[int, Any] = dict(outcomes(square, [2, -7, 3, 100, 4]))
    assert list(found) == [2, -7, 3, 100, 4]
    assert [found[-7], found[100]] == [Ended(7), Ended(-9)]
    assert [found[key][0] for key in (2, 3, 4)] == [4, 9, 16]
    assert os.getpid() not in {found[key][1] for key in (2, 3, 4)}


def test_a_process_lives_for_so_many_keys(square: Callable[[int], Any]) -> None:
    results: list[Any] = [result for _, result in outcomes(square, [1, 2, 3, 4, 5], life=2)]
    workers = [worker for _, worker in results]
    assert [value for value, _ in results] == [1, 4, 9, 16, 25]
    assert workers[0] == workers[1] != workers[2] == workers[3] != workers[4]


def test_a_process_ends_with_who_asked(square: Callable[[int], Any]) -> None:
    results = outcomes(square, [1, 2, 3])
    _, found = next(results)
    assert isinstance(found, tuple)
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(found[1], 0)
