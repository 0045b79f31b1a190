"""A first look at files of models, before any framework is loaded to read them."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from yobx.errors import ArgumentError, UnreadableModelError
from yobx.words import did_you_mean

__all__ = ["refuse_unreadable"]

_HDF5 = b"\x89HDF\r\n\x1a\n"
_HDF5_PLACES = (0, 512, 1024, 2048)
_MOST_TO_PARSE = 100_000_000


def refuse_unreadable(path: Path) -> None:
    """Refuses what no framework could load: what is not there, cut off, or something else.

    A file that passes may be unreadable all the same.

    Args:
        path: A Keras archive, a frozen graph, or the folder of a SavedModel.

    Raises:
        ArgumentError: If it is not there, or of no kind that holds a model.
        UnreadableModelError: If it is cut off or corrupt.
    """
    if not path.exists():
        raise ArgumentError(
            f"No such file or folder. Received: model={str(path)!r}.",
            argument="model",
            hint=_near(path),
        )
    if path.is_dir():
        _look_into_folder(path)
    elif path.suffix == ".keras":
        _look_into_archive(path)
    elif path.suffix in {".h5", ".hdf5"}:
        _look_into_hdf5(path)
    elif path.suffix == ".pb":
        advice = "Of a SavedModel, give the folder."
        _look_into_message(path, path, "A .pb file holds a GraphDef", advice)
    elif path.suffix == ".onnx":
        raise ArgumentError(
            "A model to convert is of Keras, TensorFlow or JAX. Received: "
            f"model={str(path)!r}, an ONNX model already. `yobx infer` tells its shapes, "
            "`yobx check` compares it with a reference.",
            argument="model",
        )
    elif path.suffix != ".pbtxt":
        raise ArgumentError(
            "A model given as a path is a SavedModel folder, a .keras or .h5 file, or a frozen "
            f"graph (.pb). Received: model={str(path)!r}, which is another file.",
            argument="model",
        )


def _near(path: Path) -> str:
    folder = path.parent
    there = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return did_you_mean(path.name, there, cutoff=0.75, shown=lambda name: repr(str(folder / name)))


def _unreadable(rule: str, path: Path, why: str) -> UnreadableModelError:
    size = f", {path.stat().st_size} bytes" if path.is_file() else ""
    return UnreadableModelError(
        f"{rule}. Received: model={str(path)!r}{size}, which {why}", argument="model"
    )


def _look_into_folder(path: Path) -> None:
    names = [path / name for name in ("saved_model.pb", "saved_model.pbtxt")]
    if not any(name.is_file() for name in names):
        raise ArgumentError(
            "A SavedModel is a folder with the file saved_model.pb. Received: "
            f"model={str(path)!r}, without it.",
            argument="model",
        )
    if names[0].is_file():
        _look_into_message(
            path, names[0], "A SavedModel is what its saved_model.pb says", "It may be cut off."
        )


def _look_into_archive(path: Path) -> None:
    rule = "A .keras file is a zip archive"
    if not zipfile.is_zipfile(path):
        if _starts_like_hdf5(path):
            raise _unreadable(rule, path, "is an HDF5 file: rename it to end in .h5.")
        raise _unreadable(rule, path, "is none. It may be cut off.")
    try:
        with zipfile.ZipFile(path) as archive:
            broken, names = archive.testzip(), archive.namelist()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise _unreadable(rule, path, f"cannot be read: {error}.") from error
    if broken is not None:
        raise _unreadable(rule, path, f"is corrupt: {broken} in it does not fit its checksum.")
    if "config.json" not in names:
        raise _unreadable("A .keras file has a config.json", path, "has none.")


def _starts_like_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        for place in _HDF5_PLACES:
            file.seek(place)
            if file.read(len(_HDF5)) == _HDF5:
                return True
    return False


def _look_into_hdf5(path: Path) -> None:
    if not _starts_like_hdf5(path):
        why = "is none. It may be cut off."
        if zipfile.is_zipfile(path):
            why = "is a zip archive: if Keras saved it, rename it to end in .keras."
        raise _unreadable(f"A {path.suffix} file is an HDF5 file", path, why)


def _look_into_message(path: Path, file: Path, rule: str, advice: str) -> None:
    """Reads the fields of a protocol buffer, whatever they mean."""
    from google.protobuf import empty_pb2, message

    if file.stat().st_size > _MOST_TO_PARSE:
        return
    try:
        empty_pb2.Empty.FromString(file.read_bytes())
    except message.DecodeError as error:
        raise _unreadable(rule, path, f"cannot be read. {advice}") from error
