"""Whether a file can be written, asked before the work instead of after it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from yobx.errors import ArgumentError

__all__ = ["refuse_unwritable"]


def refuse_unwritable(path: Path, option: str) -> None:
    """Refuses the name of a file that cannot be written; nothing is left by asking.

    Args:
        path: The file.
        option: The option that names it, ``output`` for ``--output``.

    Raises:
        ArgumentError: If its folder is not there or takes no file, or if it is a folder itself.
    """
    folder, why = path.parent, ""
    if not folder.is_dir():
        why = f"No such folder: {folder}"
    elif path.is_dir():
        why = f"A file is written, not a folder. Received: {path}"
    else:
        try:
            if path.exists():
                with path.open("ab"):
                    pass
            else:
                with tempfile.TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            why = f"{path} cannot be written: {error.strerror or error}"
    if why:
        raise ArgumentError(f"{why}, given as --{option}.", argument=option)
