"""What C++ code writes to the process's standard error, caught.

onnxruntime reports a wrong declared shape only as a warning on the C++ standard error; it is
evidence, so it is read back. The file descriptor is shared by the process: one capture at a time.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from yobx.advice import without_colours

__all__ = ["CapturedText", "captured_stderr", "shape_warnings"]

_LOCK = threading.RLock()
_SHAPE_WARNING = re.compile(r"(VerifyOutputSizes|MergeShapeInfo)\]?\s*(.*)")


@dataclass
class CapturedText:
    """The text written while the capture was active, available after it ended."""

    text: str = ""
    warnings: list[str] = field(default_factory=list)


@contextmanager
def captured_stderr() -> Iterator[CapturedText]:
    """Redirects file descriptor 2 into a temporary file for the block.

    Yields:
        The object that holds the text once the block ends. Where the process has no descriptor 2,
        nothing is captured.
    """
    result = CapturedText()
    with _LOCK, tempfile.TemporaryFile() as sink:
        stream = sys.stderr
        if stream is not None:
            stream.flush()
        try:
            saved = os.dup(2)
        except OSError:
            yield result
            return
        os.dup2(sink.fileno(), 2)
        try:
            yield result
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            sink.seek(0)
            result.text = without_colours(sink.read().decode("utf-8", "replace"))
            result.warnings = shape_warnings(result.text)


def shape_warnings(text: str) -> list[str]:
    """The lines in which onnxruntime says that a declared shape is wrong.

    Args:
        text: Captured standard error.

    Returns:
        One sentence a warning, each once, in order.
    """
    found = (f"{kind}: {rest.strip()}" for kind, rest in _SHAPE_WARNING.findall(text))
    return list(dict.fromkeys(found))
