"""Weights that a model holds: they become named initializers, not anonymous constants.

Flax NNX modules, bound Linen modules, Equinox modules and other callable pytrees, Keras models,
partial functions and methods of all these are taken apart into their arrays and a function of them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arguments import path_labels
from .keras_models import is_keras_layer, keras_parts

__all__ = ["Parameters", "find_parameters"]

#: Last labels of a path in Flax that say nothing.
_WRAPPERS = ("value", "raw_value")


@dataclass(frozen=True)
class Parameters:
    """The arrays of a model.

    Attributes:
        names: Their tree paths, joined by points.
        arrays: The arrays.
        call: ``call(arrays, *args, **kwargs)`` runs the model with other arrays.
        changed: Names of arrays that a call so far replaced by others in the model.
    """

    names: tuple[str, ...]
    arrays: tuple[Any, ...]
    call: Callable[..., Any]
    changed: set[str] = field(default_factory=set)


def find_parameters(fn: Callable[..., Any]) -> Parameters | None:
    """Take a model apart.

    Args:
        fn: A callable.

    Returns:
        Its arrays, or ``None`` if it is a plain function.
    """
    if is_keras_layer(fn):
        values, with_values = keras_parts(fn)
        leaves = _Leaves(values)
        return leaves.parameters(
            lambda arrays, *args, **kwargs: with_values(leaves.fill(arrays))(*args, **kwargs)
        )
    owner = getattr(fn, "__self__", None)
    if owner is not None and hasattr(fn, "__func__"):
        method = fn.__func__
        return _take_apart(owner, lambda whole: functools.partial(method, whole))
    return _take_apart(fn, lambda whole: whole)


def _take_apart(model: Any, callable_of: Callable[[Any], Callable[..., Any]]) -> Parameters | None:
    parts = _parts(model)
    if parts is None:
        return None
    tree, rebuild = parts
    leaves = _Leaves(tree, skipped=2 if isinstance(model, functools.partial) else 0)
    changed: set[str] = set()

    def call(arrays: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        whole = rebuild(leaves.fill(arrays))
        result = callable_of(whole)(*args, **kwargs)
        changed.update(leaves.differing(_state(whole), arrays))
        return result

    return leaves.parameters(call, changed)


def _state(model: Any) -> Any:
    """What a model holds that a call may change; ``None`` if it cannot change."""
    nnx = sys.modules.get("flax.nnx")
    return nnx.state(model) if nnx is not None and isinstance(model, nnx.Module) else None


def _parts(model: Any) -> tuple[Any, Callable[[Any], Any]] | None:
    """A pytree with the arrays of a model, and how the model is made of such a tree."""
    import jax

    linen, nnx = sys.modules.get("flax.linen"), sys.modules.get("flax.nnx")
    if linen is not None and isinstance(model, linen.Module):
        if model.scope is None:
            return None
        module, variables = model.unbind()
        return variables, module.bind
    if nnx is not None and isinstance(model, nnx.Module):
        definition, state = nnx.split(model)
        return state, functools.partial(nnx.merge, definition)
    if isinstance(model, functools.partial):
        function = model.func

        def again(whole: Any) -> Any:
            return functools.partial(function, *whole[0], **whole[1])

        return (model.args, model.keywords), again
    if jax.tree.structure(model) == jax.tree.structure(0):
        return None
    return model, lambda whole: whole


class _Leaves:
    """The arrays of a pytree; other leaves stay as they are."""

    def __init__(self, tree: Any, skipped: int = 0) -> None:
        import jax

        pairs, self._structure = jax.tree_util.tree_flatten_with_path(tree)
        self._values = [value for _, value in pairs]
        self.places = [i for i, value in enumerate(self._values) if _is_numeric(value)]
        self._names = [_name(path_labels(pairs[i][0])[skipped:]) for i in self.places]

    def fill(self, arrays: Sequence[Any]) -> Any:
        """The tree with other arrays."""
        import jax

        values = list(self._values)
        for place, array in zip(self.places, arrays, strict=True):
            values[place] = array
        return jax.tree.unflatten(self._structure, values)

    def differing(self, tree: Any, arrays: Sequence[Any]) -> list[str]:
        """Names of the arrays in whose place a tree of this structure has another one."""
        import jax

        values, structure = jax.tree.flatten(tree)
        if structure != self._structure:
            return []
        pairs = zip(self._names, self.places, arrays, strict=True)
        return [name for name, place, array in pairs if values[place] is not array]

    def parameters(
        self, call: Callable[..., Any], changed: set[str] | None = None
    ) -> Parameters | None:
        """The arrays with their names and the function of them, if there are any."""
        if not self.places:
            return None
        arrays = tuple(self._values[place] for place in self.places)
        return Parameters(tuple(self._names), arrays, call, set() if changed is None else changed)


def _is_numeric(value: Any) -> bool:
    import jax

    if not isinstance(value, jax.Array | np.ndarray):
        return False
    return not jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended)  # random keys


def _name(labels: tuple[Any, ...]) -> str:
    if len(labels) > 1 and labels[-1] in _WRAPPERS:
        labels = labels[:-1]
    return ".".join(map(str, labels)) or "parameter"
