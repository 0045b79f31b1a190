"""Work in another process, which is replaced when it dies: some inputs end the process they run in.

Here everything goes on, and the piece of work that ended its process is known.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TypeVar

__all__ = ["Ended", "outcomes"]

K = TypeVar("K")
R = TypeVar("R")


@dataclass(frozen=True)
class Ended:
    """In place of a result: the process ended.

    Attributes:
        code: Its exit code; that of a signal is negative.
    """

    code: int | None


def outcomes(
    work: Callable[[K], R], keys: Sequence[K], *, life: int | None = None
) -> Generator[tuple[K, R | Ended]]:
    """Compute in another process, one key after the other.

    Args:
        work: Makes a result of a key; can be pickled, as can keys and results.
        keys: What to compute, in this order.
        life: How many keys one process computes before another takes over, which frees what the
            frameworks keep; all by default.

    Yields:
        Each key with its result.
    """
    left = list(keys)
    while left:
        turn = left[:life]
        with _process(work, turn) as (worker, results):
            for _ in turn:
                try:
                    result = results.recv()
                except (EOFError, OSError):  # OSError: in the middle of a result
                    worker.join()
                    result = Ended(worker.exitcode)
                yield left.pop(0), result
                if isinstance(result, Ended):
                    break


@contextlib.contextmanager
def _process(
    work: Callable[[K], R], keys: Sequence[K]
) -> Iterator[tuple[multiprocessing.process.BaseProcess, Connection]]:
    """A process at work, and where its results come; it ends with the block."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_serve, args=(theirs, work, keys), daemon=True)
    worker.start()
    theirs.close()
    try:
        yield worker, ours
    finally:
        ours.close()
        worker.kill()
        worker.join()


def _serve(pipe: Connection, work: Callable[[K], R], keys: Sequence[K]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    for key in keys:
        pipe.send(work(key))
