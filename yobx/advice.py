"""What to write in place of what a framework refuses, in its own words. Nothing is loaded here."""

from __future__ import annotations

import inspect
import linecache
import re
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "FIX_THE_SIZE",
    "factory_hint",
    "hint_of",
    "sizes_of_a_run",
    "traced_with_numbers",
    "trial_sizes",
    "without_colours",
]

#: What to do where a size has to be a number.
FIX_THE_SIZE = "fix the size with {} for that input in dynamic_shapes"

_SIZES = {
    "tensorflow": "tf.shape(x)[0], or keras.ops.shape(x)[0] in Keras, in place of x.shape[0]",
    "keras": "keras.ops.shape(x)[0] in place of x.shape[0]",
    "jax": "x.shape[0] itself, which stays symbolic while JAX traces, in place of int(x.shape[0]) "
    "or a size of an example",
}
# What switches colours on a terminal. Keras and TensorFlow write it, terminal or not.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NONE = re.compile(r"\bNone(Type)?\b")
# What Keras writes after what went wrong: shapes of arguments, with their sizes of None.
_ARGUMENTS = "Arguments received by"


def sizes_of_a_run(framework: str) -> str:
    """What to write where a size is needed that a run decides, or ``""``.

    Args:
        framework: ``keras``, ``tensorflow`` or ``jax``; others have no words of their own.
    """
    return _SIZES.get(framework, "")


def trial_sizes(
    names: Sequence[Sequence[int | str]], given: Sequence[Sequence[Any]]
) -> dict[str, int]:
    """A number for each name of a size: that of an example, or 2.

    Args:
        names: Sizes of each input, with the names of those that are dynamic.
        given: Its sizes in the example.
    """
    return {
        name: size if isinstance(size, int) else 2
        for shape, sizes in zip(names, given, strict=True)
        for name, size in zip(shape, sizes, strict=False)
        if isinstance(name, str)
    }


def traced_with_numbers(sizes: Mapping[str, int], dynamic: str) -> str:
    """What is wrong where a model can be traced if these sizes are numbers.

    Args:
        sizes: The sizes, by name.
        dynamic: What a dynamic size is while the framework traces.
    """
    are = "is a number" if len(sizes) == 1 else "are numbers"
    return f"it can be traced where {', '.join(sizes)} {are}, but a dynamic size is {dynamic}"


def without_colours(text: str) -> str:
    """A message without what switches colours on a terminal."""
    return _COLOUR.sub("", text)


def hint_of(error: BaseException) -> str:
    """What to try where a model of Keras was built and a size of it was None, or ``""``.

    Args:
        error: What code of the user raised.
    """
    said = without_colours(str(error)).partition(_ARGUMENTS)[0]
    if not isinstance(error, (TypeError, ValueError)) or not _NONE.search(said):
        return ""
    if type(error).__module__ != "builtins" or "Exception encountered when calling" not in said:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = (linecache.getline(frame.filename, frame.lineno or 0) for frame in frames)
    if not any(".shape" in line for line in lines):
        return ""
    return f"a dynamic size is None in x.shape: write {_SIZES['keras']}"


def factory_hint(model: Any) -> str:
    """What to try where a function or class was taken for a model and may be one that makes it.

    Args:
        model: What was given as a model, without inputs.

    Returns:
        A sentence that names the parameters which keep it from being called, or ``""``.
    """
    if not inspect.isfunction(model) and not inspect.isclass(model):
        return ""
    try:
        parameters = inspect.signature(model).parameters.values()
    except ValueError:  # a class of C code that does not say what it takes
        return ""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in several]
    if not needed:
        return ""
    return (
        f"If {model.__name__} makes the model: a factory takes no parameters, and this one needs "
        f"{', '.join(needed)}. Give {'it a default' if len(needed) == 1 else 'them defaults'}."
    )
