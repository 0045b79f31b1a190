"""What is told of files before a framework reads them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from yobx.errors import ArgumentError, UnreadableModelError
from yobx.model_files import refuse_unreadable

HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(50)


def archive(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(name, "text of some length")


def damaged(path: Path) -> None:
    archive(path, "config.json", "weights")
    data = path.read_bytes().replace(b"some length", b"some l\0ngth", 1)
    path.write_bytes(data)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    archive(Path("good.keras"), "config.json")
    archive(Path("bare.keras"), "other.json")
    damaged(Path("damaged.keras"))
    Path("cut.keras").write_bytes(Path("good.keras").read_bytes()[:-30])
    Path("old.keras").write_bytes(HDF5)
    Path("good.h5").write_bytes(HDF5)
    Path("behind.h5").write_bytes(bytes(512) + HDF5)
    archive(Path("new.h5"), "config.json")
    Path("text.hdf5").write_text("text")
    Path("good.pb").write_bytes(b"\x0a\x03abc")
    Path("cut.pb").write_bytes(b"\x0a\x03ab")
    Path("text.pbtxt").write_text("node {}")
    Path("model.onnx").write_bytes(b"")
    Path("notes.txt").write_text("text")
    for name, data in (("saved", b"\x0a\x03abc"), ("broken", b"\x0a\x03ab")):
        Path(name).mkdir()
        Path(name, "saved_model.pb").write_bytes(data)
    Path("empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "name", ["good.keras", "good.h5", "behind.h5", "good.pb", "text.pbtxt", "saved"]
)
def test_what_may_hold_a_model_passes(folder: Path, name: str) -> None:
    refuse_unreadable(Path(name))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("bare.keras", "A .keras file has a config.json"),
        ("damaged.keras", "which is corrupt: config.json in it does not fit its checksum."),
        ("cut.keras", "A .keras file is a zip archive"),
        ("old.keras", "which is an HDF5 file: rename it to end in .h5."),
        ("new.h5", "which is a zip archive: if Keras saved it, rename it to end in .keras."),
        ("text.hdf5", "A .hdf5 file is an HDF5 file. Received: model='text.hdf5', 4 bytes"),
        ("cut.pb", "which cannot be read. Of a SavedModel, give the folder."),
        ("broken", "which cannot be read. It may be cut off."),
    ],
)
def test_what_is_cut_off_or_corrupt(folder: Path, name: str, told: str) -> None:
    with pytest.raises(UnreadableModelError) as caught:
        refuse_unreadable(Path(name))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("god.keras", "No such file or folder. Received: model='god.keras'. Did you mean 'good."),
        ("nothing/like.it", "No such file or folder. Received: model='nothing/like.it'."),
        ("model.onnx", "an ONNX model already. `yobx infer` tells its shapes, `yobx check` comp"),
        ("notes.txt", "model='notes.txt', which is another file."),
        ("empty", "A SavedModel is a folder with the file saved_model.pb"),
    ],
)
def test_what_is_no_model(folder: Path, name: str, told: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        refuse_unreadable(Path(name))
    assert told in str(caught.value)
    assert not isinstance(caught.value, UnreadableModelError)
