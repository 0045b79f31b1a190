"""Models in files: SavedModel folders, ``.keras`` and ``.h5`` archives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yobx.errors import ArgumentError, UnreadableModelError

__all__ = ["load_keras_file", "load_saved_model", "pick_signature"]

# How TensorFlow names the graphs of a SavedModel when none, or more than one, has the tags.
_ABOUT_TAGS = ("meta graph", "metagraph")
KERAS_SUFFIXES = frozenset({".keras", ".h5", ".hdf5"})


def load_keras_file(path: Path, *, allow_unsafe: bool) -> Any:
    """Loads a Keras archive, in Keras's safe mode unless told otherwise.

    Args:
        path: A ``.keras``, ``.h5`` or ``.hdf5`` file.
        allow_unsafe: Whether code inside the archive may run.

    Returns:
        The model, not compiled.

    Raises:
        ArgumentError: If the file needs unsafe mode.
        UnreadableModelError: If Keras cannot load it.
    """
    import keras

    try:
        return keras.saving.load_model(str(path), compile=False, safe_mode=not allow_unsafe)
    except (ValueError, TypeError, OSError, KeyError) as error:
        # Keras says "safe_mode" or "unsafe" whenever it refuses to run code of the archive.
        if not allow_unsafe and any(word in str(error) for word in ("safe_mode", "unsafe")):
            raise ArgumentError(
                "A Keras archive with code inside (a Lambda layer, for example) is loaded on "
                f"request only. Received: model={str(path)!r}, allow_unsafe=False. If you trust "
                "its author, pass allow_unsafe=True.",
                argument="allow_unsafe",
            ) from error
        raise UnreadableModelError(
            f"Keras cannot load this file. Received: model={str(path)!r}. Keras says: {error}. "
            "Custom layers must be registered or passed with keras.saving.custom_object_scope.",
            argument="model",
        ) from error


def load_saved_model(path: Path, *, tag: str | Sequence[str] | None) -> Any:
    """Loads a SavedModel.

    Args:
        path: The folder.
        tag: Tag, or tags, of the graph wanted; ``None`` takes the only one.

    Returns:
        The loaded object, which owns the variables.

    Raises:
        ArgumentError: If the folder holds no SavedModel with these tags.
        UnreadableModelError: If TensorFlow cannot load it.
    """
    import tensorflow as tf

    tags = None if tag is None else [tag] if isinstance(tag, str) else list(tag)
    try:
        return tf.saved_model.load(str(path), tags=tags)
    except (RuntimeError, ValueError, OSError, FileNotFoundError) as error:
        is_of_tags = any(word in str(error).lower() for word in _ABOUT_TAGS)
        kind = ArgumentError if is_of_tags else UnreadableModelError
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise kind(
            f"TensorFlow cannot load this SavedModel. Received: model={str(path)!r}, tag={tag!r}. "
            f"TensorFlow says: {said}",
            argument="tag" if is_of_tags else "model",
        ) from error


def pick_signature(loaded: Any, signature: str | None, title: str) -> Any:
    """Chooses a signature of a SavedModel.

    Args:
        loaded: The loaded object.
        signature: Its name; ``None`` takes ``serving_default`` or the only one.
        title: Where it was loaded from, for messages.

    Returns:
        A concrete function.

    Raises:
        ArgumentError: If there is no such signature, or none to choose by default.
    """
    known = list(getattr(loaded, "signatures", None) or ())
    if signature is None:
        signature = known[0] if len(known) == 1 else "serving_default"
    if signature not in known:
        listed = ", ".join(map(repr, known)) or "none"
        raise ArgumentError(
            f"A signature is one that the SavedModel has. Received: signature={signature!r} for "
            f"{title}, whose signatures are: {listed}.",
            argument="signature",
        )
    return loaded.signatures[signature]
