"""What the benchmarks share: processes of their own, peak memory, rounds in turn, tables."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any


def in_turn(contenders: Sequence[str], rounds: int) -> Iterator[str]:
    """Yield the contenders A B C A B C ..., so that a slow minute hits all alike."""
    for _ in range(rounds):
        yield from contenders


def worker(python: str, script: str, *arguments: str) -> dict[str, Any]:
    """Run one measurement in a process of its own; its last line of output is JSON."""
    done = subprocess.run([python, script, *arguments], capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"error": reason[:160]}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def has_module(python: str, name: str) -> bool:
    """Whether another interpreter can import a package."""
    program = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([python, "-c", program], check=False).returncode == 0


def with_peer(contenders: Sequence[str], peer: str, python: str) -> list[str]:
    """The contenders and, where its interpreter has it, the peer; a missing one is told."""
    if has_module(python, peer):
        return [*contenders, peer]
    print(f"{peer}: not installed in {python}")
    return list(contenders)


class PeakMemory:
    """Peak of the resident memory above its level at the start, in bytes (Linux)."""

    def __enter__(self) -> PeakMemory:
        """Forget the peak so far."""
        Path("/proc/self/clear_refs").write_text("5")
        self._start = self._read("VmRSS")
        self.growth = 0
        return self

    def __exit__(self, *_: object) -> None:
        """Read the peak."""
        self.growth = self._read("VmHWM") - self._start

    @staticmethod
    def _read(field: str) -> int:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return 1024 * int(line.split()[1])
        raise RuntimeError(f"/proc/self/status has no {field}")


def median(rows: Sequence[dict[str, Any]], key: str) -> float:
    """Median of a field over the rounds."""
    return statistics.median(float(row[key]) for row in rows)


def time_of(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one call, and its result."""
    import time

    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())
    sys.stdout.flush()
