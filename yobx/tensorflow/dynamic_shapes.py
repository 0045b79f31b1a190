"""Which axes of the inputs are dynamic, and how their sizes are called.

``dynamic_shapes`` is ``None`` (the default rule for every input), a tuple with one entry per
flattened input, a dict by input name, or a structure nested like the arguments. An entry is

* ``{axis: name}``: these axes are dynamic, all others have the size they have in the arguments;
  a negative axis counts from the end, and one name means one size; an expression of names, as
  ``"2*h"``, relates sizes;
* ``{}``: static;
* ``None``: the default rule. Axis 0 is dynamic, and inputs that have the same size there share
  one name, ``batch`` for the first size met. A declaration (``tf.TensorSpec``,
  ``onnx.ValueInfoProto``, the signature of a model) is kept as it is: its open axes are dynamic
  and its sizes are fixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from yobx.errors import ArgumentError
from yobx.onnx_optim.sizes import named_size, refuse_contradicted, symbols_of
from yobx.tensorflow.arguments import CallArguments, InputLeaf, Size
from yobx.words import did_you_mean

__all__ = ["Entry", "resolve_dynamic_shapes"]

Entry = Mapping[int, str | None] | None
Shape = tuple[int | str, ...] | None

_SYMBOL = re.compile(r"[A-Za-z_]\w*")


def _error(message: str, hint: str = "") -> ArgumentError:
    return ArgumentError(message, argument="dynamic_shapes", hint=hint)


def resolve_dynamic_shapes(
    dynamic_shapes: Any, call: CallArguments, names: Sequence[str]
) -> tuple[Shape, ...]:
    """Gives every axis of every input a size or a name.

    Args:
        dynamic_shapes: As described at the top of this module.
        call: The arguments.
        names: Name of each input, in the order of ``call.leaves``.

    Returns:
        For each input a tuple with one size or name per axis, or ``None`` when its rank is unknown.

    Raises:
        ArgumentError: If ``dynamic_shapes`` does not fit the arguments.
    """
    entries = _entry_by_leaf(dynamic_shapes, call, names)
    leaves = call.leaves
    shapes: list[list[Any] | None] = [
        None if leaf.shape is None else list(_apply(entry, leaf, name))
        for entry, leaf, name in zip(entries, leaves, names, strict=True)
    ]
    known = [
        (dim, size)
        for shape, leaf in zip(shapes, leaves, strict=True)
        for dim, size in zip(shape or (), leaf.shape or (), strict=True)
        if isinstance(dim, str) and isinstance(size, int)
    ]
    symbols = _Symbols()
    for shape, leaf, name in zip(shapes, leaves, names, strict=True):
        for axis, size in enumerate(shape or ()):
            if isinstance(size, str):
                symbols.declare(size, leaf, axis, name)
    refuse_contradicted(known, "dynamic_shapes")
    for entry, shape, leaf, name in zip(entries, shapes, leaves, names, strict=True):
        if shape is None:
            continue
        for axis, size in enumerate(shape):
            if size is None and axis == 0 and entry is None:
                shape[axis] = symbols.batch(leaf)
            elif size is None:
                shape[axis] = symbols.new(f"{_identifier(name)}_dim{axis}")
    return tuple(None if shape is None else tuple(shape) for shape in shapes)


def _identifier(name: str) -> str:
    text = re.sub(r"\W", "_", name)
    return text if _SYMBOL.fullmatch(text) else f"_{text}"


def _is_entry(value: Any) -> bool:
    return value is None or (
        isinstance(value, Mapping)
        and all(isinstance(key, int) and not isinstance(key, bool) for key in value)
        and not any(isinstance(inner, Mapping | list | tuple) for inner in value.values())
    )


def _entry_by_leaf(spec: Any, call: CallArguments, names: Sequence[str]) -> list[Entry]:
    count = len(call.leaves)
    if spec is None or (_is_entry(spec) and not spec):
        return [spec] * count
    if _is_entry(spec):
        if count != 1:
            raise _error(
                "dynamic_shapes has one entry per input. Received: "
                f"dynamic_shapes={spec!r} for the inputs {_listed(names)}.",
                hint=f"Try a tuple of {count} dicts, or a dict by input name.",
            )
        return [spec]
    if isinstance(spec, list | tuple) and len(spec) == count and all(map(_is_entry, spec)):
        return list(spec)
    if isinstance(spec, Mapping):
        unknown = [key for key in spec if key not in names]
        if not unknown:
            return [_checked(spec.get(name), name) for name in names]
        if len(call.args) != 1 or not isinstance(call.args[0], Mapping):
            raise _error(
                f"dynamic_shapes names inputs of the model. Received: {unknown[0]!r}. "
                f"The inputs are {_listed(names)}.",
                did_you_mean(str(unknown[0]), names),
            )
        spec = (spec,)
    return _entries_like_arguments(spec, call, names)


def _entries_like_arguments(spec: Any, call: CallArguments, names: Sequence[str]) -> list[Entry]:
    """Walks ``dynamic_shapes`` along the path of every input."""
    entries = []
    met: set[tuple[Any, ...]] = set()
    if not isinstance(spec, list | tuple) or len(spec) != len(call.args):
        raise _error(
            "dynamic_shapes is None, a tuple with one dict axis -> name per input, a dict by input "
            f"name, or nested like the arguments. Received: dynamic_shapes={spec!r} for the inputs "
            f"{_listed(names)}.",
            hint=f"Try a tuple of {len(call.leaves)} dicts.",
        )
    for leaf, name in zip(call.leaves, names, strict=True):
        kind, *labels = leaf.path
        place: Any = spec if kind == "args" else None
        consumed: list[Any] = []
        while labels and not _is_entry(place):
            label = labels.pop(0)
            consumed.append(label)
            place = _descend(place, label, name, consumed)
        if labels and place:
            raise _error(
                "An entry of dynamic_shapes belongs to one input. Received: "
                f"{place!r} for {'.'.join(map(str, consumed))}, which holds several. "
                "Nest dynamic_shapes like the arguments, or use a dict by input name."
            )
        met.add(tuple(consumed))
        entries.append(_checked(place, name))
    unknown = next((path for path in _entry_paths(spec) if path not in met), None)
    if unknown is not None:
        raise _error(
            "dynamic_shapes is nested like the arguments. Received: an entry for "
            f"{'.'.join(map(str, unknown))}, where there is no input. The inputs are at "
            f"{', '.join('.'.join(map(str, leaf.path[1:])) for leaf in call.leaves)}."
        )
    return entries


def _entry_paths(place: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where entries are; ``None`` and ``{}`` may stand for what holds no input at all."""
    if isinstance(place, tuple) and hasattr(place, "_fields"):
        place = dict(zip(place._fields, place, strict=True))
    if _is_entry(place):
        if place:
            yield path
        return
    children = place.items() if isinstance(place, Mapping) else enumerate(place)
    for label, child in children:
        yield from _entry_paths(child, (*path, label))


def _descend(place: Any, label: Any, name: str, consumed: list[Any]) -> Any:
    if isinstance(place, Mapping):
        return place.get(label)
    if isinstance(label, str) and hasattr(place, label):
        return getattr(place, label)
    if isinstance(place, list | tuple) and isinstance(label, int) and label < len(place):
        return place[label]
    raise _error(
        "dynamic_shapes is nested like the arguments. Received: "
        f"{place!r} where the input {name!r} has {'.'.join(map(str, consumed))}.",
        hint="Try a dict by input name.",
    )


def _checked(entry: Any, name: str) -> Entry:
    if not _is_entry(entry):
        raise _error(
            "An entry of dynamic_shapes is a dict axis -> name, {} (static) or None (the default). "
            f"Received: {entry!r} for the input {name!r}.",
            hint="Try {0: 'batch'}.",
        )
    return entry  # type: ignore[no-any-return]


def _apply(entry: Entry, leaf: InputLeaf, name: str) -> tuple[Size, ...]:
    """Returns the shape of one input; ``None`` marks an axis that needs a name."""
    shape = list(leaf.shape or ())
    if entry is None:
        if leaf.concrete and shape:
            shape[0] = None
        return tuple(shape)
    named: dict[int, str | None] = {}
    for axis, symbol in entry.items():
        if not -len(shape) <= axis < len(shape):
            raise _error(
                f"An axis of dynamic_shapes exists in its input. Received: axis {axis} for the "
                f"input {name!r} of rank {len(shape)} ({leaf}).",
                f"Try an axis from 0 to {len(shape) - 1}."
                if shape
                else "A scalar has no axis: use {}.",
            )
        size = None if symbol is None else named_size(symbol)
        if symbol is not None and size is None:
            raise _error(
                "The name of a dynamic size is an identifier, or an expression of identifiers. "
                f"Received: {symbol!r} for axis {axis} of the input {name!r}.",
                hint="Try 'batch', 'seq_len' or '2*height'.",
            )
        position = axis % len(shape)
        if named.get(position, size) != size:
            raise _error(
                "One axis has one name. Received: axis "
                f"{position} of the input {name!r} twice in {dict(entry)!r}."
            )
        named[position] = size
    return tuple(named.get(axis, size) for axis, size in enumerate(shape))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


class _Symbols:
    """The names given so far, and the size each one stands for in the arguments."""

    def __init__(self) -> None:
        self._sizes: dict[str, tuple[Size, str]] = {}
        self._batches: dict[Size, str] = {}

    def declare(self, symbol: str, leaf: InputLeaf, axis: int, name: str) -> None:
        """Records a name that the caller chose; one name stands for one size."""
        size = leaf.shape[axis] if leaf.shape is not None else None
        place = f"axis {axis} of {name!r}"
        known, first = self._sizes.setdefault(symbol, (size, place))
        if isinstance(size, int) and isinstance(known, int) and size != known:
            raise _error(
                "The same name means the same size. Received: "
                f"{symbol!r} for {first}, of size {known}, and for {place}, of size {size}.",
                hint="Use two names, or arguments with equal sizes there.",
            )
        if not isinstance(known, int):
            self._sizes[symbol] = (size, place)
        for inner in symbols_of(symbol):
            self._sizes.setdefault(inner, (None, place))
        if axis == 0:
            self._batches.setdefault(size, symbol)

    def new(self, hint: str) -> str:
        """Returns a name that nobody has."""
        symbol, count = hint, 0
        while symbol in self._sizes:
            count += 1
            symbol = f"{hint}_{count}"
        self._sizes[symbol] = (None, hint)
        return symbol

    def batch(self, leaf: InputLeaf) -> str:
        """Returns the name of axis 0, shared by all inputs of the same size there."""
        size = leaf.shape[0] if leaf.shape else None
        if size not in self._batches:
            self._batches[size] = self.new("batch")
        return self._batches[size]
