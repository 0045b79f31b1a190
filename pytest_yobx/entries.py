"""Entries of ``yobx_models``: what they name, and how a model comes out of them."""

from __future__ import annotations

import glob
import importlib
import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Entry", "EntryError", "Loaded", "expand", "interpret"]

_ARCHIVES = (".keras", ".h5")


class EntryError(Exception):
    """An entry names nothing that can be checked; the message says what to change."""


@dataclass
class Loaded:
    """A model with its inputs.

    Attributes:
        model: Anything `check_conversion` takes.
        args: Inputs, or ``None`` to generate them.
        options: Options of the check.
    """

    model: Any
    args: Any = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One model to check.

    Attributes:
        name: Shown name, unique in the session.
        target: ``package.module:attribute``, or a path.
        problem: Why it cannot be loaded, found while expanding, or ``""``.
    """

    name: str
    target: str
    problem: str = ""

    def load(self, root: Path) -> Loaded:
        """Imports and calls what the entry names.

        Args:
            root: pytest's root folder; it is importable meanwhile and afterwards.

        Returns:
            The model.

        Raises:
            EntryError: If it cannot be found, or its factory returns something else.
        """
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
        if self.problem:
            raise EntryError(self.problem + _with_colon(self.target))
        if ":" in self.target and not Path(self.target).exists():
            return self._from_attribute()
        return self._from_path(root / self.target)

    def _from_attribute(self) -> Loaded:
        module_name, _, attribute = self.target.partition(":")
        try:
            value: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and module_name.startswith(error.name):
                raise EntryError(
                    f"yobx_models entry {self.target!r}: there is no module {error.name!r}. It is "
                    "looked for "
                    "from pytest's root folder and among the installed packages."
                ) from error
            raise
        from yobx.cli.load import find_attribute, is_factory  # one meaning with the command line
        from yobx.errors import ArgumentError
        from yobx.words import laid_out

        try:
            value = find_attribute(value, attribute, self.target)
        except ArgumentError as error:
            said = laid_out(f"yobx_models entry {self.target!r}: {error.said}", error.hint)
            raise EntryError(said) from error
        return interpret(value() if is_factory(value) else value, self.target)

    def _from_path(self, path: Path) -> Loaded:
        if path.suffix != ".onnx":
            return Loaded(path)
        from yobx.cli.load import companion_of, load_with_reference  # as `yobx check`
        from yobx.errors import ArgumentError
        from yobx.words import HINT, laid_out

        companion = companion_of(path)
        if not companion.is_file():
            raise EntryError(
                f"yobx_models entry {self.target!r}: an .onnx file is compared with its original.\n"
                f"{HINT}Write {companion.name} beside it, with a function reference(*inputs) over "
                "numpy arrays"
            )
        try:
            found = load_with_reference(path)
        except ArgumentError as error:
            raise EntryError(laid_out(error.said, error.hint)) from error
        return Loaded(found.model, found.args, found.options)


def interpret(value: Any, where: str) -> Loaded:
    """Reads what a factory returns.

    Args:
        value: ``model``, ``(model, args)`` or ``(model, args, options)``.
        where: Whose result it is, for the message.

    Returns:
        The model.

    Raises:
        EntryError: If it is something else.
    """
    from yobx.cli.load import interpret as read
    from yobx.errors import ArgumentError

    try:
        found = read(value, where)
    except ArgumentError as error:
        raise EntryError(str(error)) from error
    return Loaded(found.model, found.args, found.options)


def expand(lines: list[str], root: Path) -> list[Entry]:
    """Turns the lines of ``yobx_models`` into entries; no module is imported.

    Args:
        lines: The ini value.
        root: pytest's root folder.

    Returns:
        One entry a model; a line that names nothing gives an entry with a problem.
    """
    entries: list[Entry] = []
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if ":" in text and not (root / text).exists():
            form = "An entry has the form package.module:attribute."
            empty = not all(part.strip() for part in text.partition(":")[::2])
            problem = f"yobx_models entry {text!r} names nothing. {form}" if empty else ""
            entries.append(Entry(text, text, problem))
            continue
        entries += _files(text, root)
    seen: set[str] = set()
    result = []
    for entry in entries:
        if entry.name in seen:
            result.append(
                Entry(
                    f"{entry.name}#{len(seen)}",
                    entry.target,
                    f"yobx_models names {entry.name!r} twice.",
                )
            )
        else:
            result.append(entry)
        seen.add(entry.name)
    return result


def _files(pattern: str, root: Path) -> list[Entry]:
    found = sorted(glob.glob(pattern, root_dir=root, recursive=True))
    usable = [path for path in found if _is_model_file(root / path)]
    if not usable:
        other = f"; {found[0]} is no model" if found else ""
        problem = (
            f"yobx_models entry {pattern!r} matches no .keras or .onnx file and no SavedModel "
            "folder "
            f"under {root}{other}. An import path has the form package.module:attribute."
        )
        return [Entry(pattern, pattern, problem)]
    return [Entry(Path(path).as_posix(), path) for path in usable]


def _with_colon(target: str) -> str:
    """What to write for ``module.attribute``, where the colon was forgotten; or ``""``."""
    module_name, _, attribute = target.rpartition(".")
    root = module_name.partition(".")[0]
    dotted = all(part.isidentifier() for part in target.split("."))
    if not dotted or not module_name or importlib.util.find_spec(root) is None:
        return ""
    try:
        names = vars(importlib.import_module(module_name))
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            return ""
        raise
    from yobx.words import HINT, similar

    near = [attribute] if attribute in names else similar(attribute, names)
    return f"\n{HINT}Did you mean '{module_name}:{near[0]}'?" if near else ""


def _is_model_file(path: Path) -> bool:
    return path.suffix in {*_ARCHIVES, ".onnx"} or (path / "saved_model.pb").is_file()
