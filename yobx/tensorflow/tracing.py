"""One trace of the model: from a source and its arguments to a ``ConcreteFunction``."""

from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from yobx.advice import sizes_of_a_run, traced_with_numbers, trial_sizes, without_colours
from yobx.errors import TraceError, YobxError
from yobx.tensorflow.arguments import CallArguments
from yobx.tensorflow.own_traces import own_traces
from yobx.tensorflow.source import ModelSource
from yobx.user_code import UserCode

__all__ = ["refuses_tensorflow_tensors", "trace"]

_FRAMEWORKS = ("tensorflow", "keras", "jax", "jaxlib", "flax", "equinox", "yobx.tensorflow")


def _is_users(filename: str) -> bool:
    """Tells the user's own files from those of frameworks and of generated code."""
    modules = (sys.modules.get(name) for name in _FRAMEWORKS)
    roots = [os.path.dirname(str(module.__file__)) for module in modules if module is not None]
    roots.append(os.path.dirname(os.__file__))
    return not (
        "__autograph_generated_file" in filename
        or "site-packages" in filename
        or any(filename.startswith(root + os.sep) for root in roots)
    )


def trace(
    source: ModelSource,
    call: CallArguments,
    names: Sequence[str],
    shapes: Sequence[tuple[int | str, ...] | None],
    *,
    advice: str = "Try calling it on the same arguments inside tf.function",
    framework: str = "tensorflow",
) -> Any:
    """Traces the model once, with every named axis open.

    Args:
        source: The model.
        call: Its arguments.
        names: Name of each input.
        shapes: Size or name of every axis of every input.
        advice: What to try when the model raises.
        framework: Of which the model is: advice on its sizes is in the words of that.

    Returns:
        A ``ConcreteFunction`` whose first inputs are the leaves of ``call``, in their order. A
        function that was traced already is returned as it is.

    Raises:
        TraceError: If the model raises; the cause is chained.
    """
    if source.concrete is not None:
        return source.concrete
    import tensorflow as tf

    fill = tf.autograph.experimental.do_not_convert(call.fill)
    invoke = source.invoke

    def entry(*tensors: Any) -> Any:
        args, kwargs = fill(tensors)
        return invoke(*args, **kwargs)

    def traced(sizes: Sequence[tuple[int | str, ...] | None]) -> Any:
        specs = [
            tf.TensorSpec(
                None if shape is None else [n if isinstance(n, int) else None for n in shape],
                tf.as_dtype(leaf.dtype),
                name=_operation_name(name),
            )
            for leaf, name, shape in zip(call.leaves, names, sizes, strict=True)
        ]
        with source.guard(), own_traces():
            return tf.function(entry, autograph=source.autograph).get_concrete_function(*specs)

    def told(error: Exception) -> TraceError:
        why, instead = _advice(traced, call, shapes, framework)
        line = _users_line(error)
        tried = f"{why[0].upper()}{why[1:]}. {instead[0].upper()}{instead[1:]}" if why else advice
        return TraceError(
            f"A model must run while the framework traces it. Received: {source.title}, which "
            f"raised {type(error).__name__}: {_first_words(error)}{f' At {line}.' if line else ''}",
            sizes=f"{why}{f', at {line}' * bool(line)}" if why else "",
            instead=instead,
            hint=f"{tried}; the original error is chained.",
        )

    with UserCode(told):
        return traced(shapes)


def _advice(
    traced: Callable[[Sequence[tuple[int | str, ...] | None]], Any],
    call: CallArguments,
    shapes: Sequence[tuple[int | str, ...] | None],
    framework: str,
) -> tuple[str, str]:
    """What is wrong and what to try where the model can be traced if its sizes are fixed."""
    given = [leaf.shape or () for leaf in call.leaves]
    open_sizes = trial_sizes([shape or () for shape in shapes], given)
    fixed = [
        None if shape is None else tuple(n if isinstance(n, int) else open_sizes[n] for n in shape)
        for shape in shapes
    ]
    if not open_sizes:
        return "", ""
    try:
        with UserCode(lambda error: TraceError(_first_words(error))):
            traced(fixed)
    except YobxError:
        return "", ""  # it fails for another reason, which is told already
    dynamic = "symbolic" if framework == "jax" else "None"
    return (
        traced_with_numbers(open_sizes, f"{dynamic} in x.shape"),
        f"write {sizes_of_a_run(framework)}, or fix the sizes with {{}} for that input in "
        "dynamic_shapes",
    )


def _operation_name(name: str) -> str:
    """Makes a name that TensorFlow takes for an operation."""
    text = re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", name)
    return text if re.match(r"[A-Za-z0-9.]", text) else f"input{text}"


def _first_words(error: Exception) -> str:
    """The message without the traceback that TensorFlow writes in front of it."""
    lines = [line.strip() for line in without_colours(str(error)).splitlines() if line.strip()]
    if lines and lines[0] == "in user code:":
        wanted = f"{type(error).__name__}: "
        kept = [i for i, line in enumerate(lines) if line.startswith(wanted)]
        lines = lines[kept[-1] :] if kept else lines[-1:]
        lines[0] = lines[0].removeprefix(wanted)
    return " ".join(lines)[:600]


def _users_line(error: Exception) -> str:
    """Finds the innermost line that belongs to no framework."""
    metadata = getattr(error, "ag_error_metadata", None)
    if metadata is not None:
        for frame in metadata.translated_stack:
            if frame.is_converted and _is_users(frame.filename):
                return f"{frame.filename}:{frame.lineno}: {(frame.code or '').strip()}"
    frames = traceback.extract_tb(error.__traceback__)
    for found in reversed(frames):
        if _is_users(found.filename):
            code = linecache.getline(found.filename, found.lineno or 0).strip()
            return f"{found.filename}:{found.lineno}: {code}"
    return ""


def refuses_tensorflow_tensors(error: TraceError) -> bool:
    """Tells whether a trace failed because the function is one of JAX.

    JAX raises ``TypeError`` when it is given something that is not an abstract array of its own, or
    has a dtype that is not one of numpy's; in the second case only the place tells that it is JAX.

    Args:
        error: What :func:`trace` raised.
    """
    cause = error.__cause__
    text = str(cause)
    phrases = ("as an abstract array", "as a JAX value", "valid JAX type", "valid JAX array")
    return isinstance(cause, TypeError) and (
        any(phrase in text for phrase in phrases) or _raised_inside_jax(cause)
    )


def _raised_inside_jax(error: BaseException) -> bool:
    """Tells whether code of JAX was running; autograph keeps its frames in the message only."""
    frames = traceback.walk_tb(error.__traceback__)
    modules = [str(frame.f_globals.get("__name__", "")) for frame, _ in frames]
    return any(name.partition(".")[0] == "jax" for name in modules) or (
        re.search(r'File "[^"]*[\\/]jax[\\/]_src[\\/]', str(error)) is not None
    )
