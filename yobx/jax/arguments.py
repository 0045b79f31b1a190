"""The arguments of a JAX call: their leaves, names and symbolic shapes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx

from yobx.errors import ArgumentError
from yobx.jax.random_keys import as_data, as_key, is_key
from yobx.onnx_optim import TensorType
from yobx.onnx_optim.sizes import named_size, refuse_contradicted
from yobx.onnx_optim.tensor_type import to_numpy
from yobx.words import did_you_mean

__all__ = [
    "Call",
    "Leaf",
    "abstract_arrays",
    "path_labels",
    "read_call",
    "resolve_shapes",
    "scope_constraints",
    "symbolic_scopes",
]

Dim = int | str
Labels = tuple[Any, ...]
_SYMBOL = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Leaf:
    """One array among the arguments.

    Attributes:
        labels: Its path: index of the argument or its keyword, then keys and indices.
        dtype: Element type as JAX takes it: of 32 bits for 64 unless 64-bit types are enabled.
        shape: Sizes; a name or an expression for a symbolic one, ``None`` for one without a name.
        name: Name that the argument itself carries, or ``""``.
        concrete: Whether the sizes are those of data, not of a declaration.
    """

    labels: Labels
    dtype: np.dtype[Any]
    shape: tuple[Any, ...]
    name: str
    concrete: bool


@dataclass(frozen=True)
class Call:
    """A call with a :class:`Leaf` for every array.

    Attributes:
        tree: Structure of ``(args, kwargs)``.
        values: Flat arguments, those that are no arrays as they are.
        leaves: The arrays, by position in ``values``.
        keys: What generates bits of those that are random keys, by position in ``values``.
    """

    tree: Any
    values: tuple[Any, ...]
    leaves: dict[int, Leaf]
    keys: Mapping[int, Any] = field(default_factory=dict)

    def fill(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments with one array for each leaf."""
        import jax

        flat = list(self.values)
        for position, array in zip(self.leaves, arrays, strict=True):
            key = self.keys.get(position)
            flat[position] = array if key is None or array is None else as_key(array, key)
        args, kwargs = jax.tree.unflatten(self.tree, flat)
        return args, kwargs


def path_labels(path: Sequence[Any]) -> Labels:
    """Keys, indices and attribute names of a JAX tree path."""
    return tuple(next(getattr(k, a) for a in ("key", "idx", "name") if hasattr(k, a)) for k in path)


def read_call(args: Any, kwargs: Mapping[str, Any] | None) -> Call:
    """Find the arrays among the arguments.

    Args:
        args: Tuple of arguments; anything else is the only argument.
        kwargs: Keyword arguments.

    Returns:
        The call.

    Raises:
        ArgumentError: If an array has an element type that ONNX lacks.
    """
    import jax

    if type(args) is list:
        args = tuple(args)
    elif not isinstance(args, tuple) or hasattr(args, "_fields"):
        args = () if args is None else (args,)

    def is_leaf(value: Any) -> bool:
        return isinstance(value, onnx.ValueInfoProto)

    pairs, tree = jax.tree_util.tree_flatten_with_path((args, dict(kwargs or {})), is_leaf=is_leaf)
    leaves, keys = {}, {}
    for position, (path, value) in enumerate(pairs):
        labels = path_labels(path)[1:]
        if is_key(value):
            data, keys[position] = as_data(value)
            leaf = _leaf(labels, data)
            if leaf is not None and not value.shape:  # its axis is no batch
                leaf = replace(leaf, concrete=False)
        else:
            leaf = _leaf(labels, value)
        if leaf is not None:
            leaves[position] = leaf
    return Call(tree, tuple(value for _, value in pairs), leaves, keys)


def _leaf(labels: Labels, value: Any) -> Leaf | None:
    if isinstance(value, onnx.ValueInfoProto):
        return _declared(labels, value)
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None:
        return None
    sizes = tuple(d if isinstance(d, int) else str(d) for d in shape)
    concrete = isinstance(value, np.ndarray | np.generic) or hasattr(value, "addressable_shards")
    if np.dtype(dtype).kind in "OUST":
        raise ArgumentError(
            f"JAX takes arrays of numbers. Received: dtype {dtype} of {labels!r}. "
            "Convert it before the call.",
            argument="args",
        )
    return Leaf(labels, _taken(np.dtype(dtype)), sizes, "", concrete)


def _taken(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that JAX computes with when it is given an array of this one."""
    from jax import dtypes

    taken: np.dtype[Any] = np.dtype(dtypes.canonicalize_dtype(dtype))
    return taken


def _declared(labels: Labels, value: onnx.ValueInfoProto) -> Leaf:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        raise ArgumentError(
            f"JAX needs the rank of every input. Received: an unknown rank for {value.name!r}.",
            argument="args",
            hint="Try a shape with a name for every dynamic size.",
        )
    shape = tuple(
        d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim
    )
    dtype = to_numpy(TensorType(tensor.elem_type))
    return Leaf(labels, _taken(dtype), shape, value.name, False)


def name_leaves(
    function: Callable[..., Any], leaves: Sequence[Leaf], given: Sequence[str] | None
) -> list[str]:
    """Names of the inputs: those given, those the arguments carry, else their tree paths.

    Raises:
        ArgumentError: If the number of names is not that of the inputs, or one occurs twice.
    """
    if given is not None:
        if len(given) != len(leaves) or len(set(given)) != len(given):
            raise ArgumentError(
                "input_names has one distinct name per flattened input. Received: "
                f"{list(given)!r} for {len(leaves)} inputs.",
                argument="input_names",
            )
        return list(given)
    parameters = _parameters(function)
    full = [_full_path(leaf.labels, parameters) for leaf in leaves]
    short = [leaf.name or _short(path) for leaf, path in zip(leaves, full, strict=True)]
    names: list[str] = []
    for path, name in zip(full, short, strict=True):
        if not name:
            raise ArgumentError(
                "Keys name the inputs. Received: the key '' in "
                f"{path[0]}{''.join(f'[{key!r}]' for key in path[1:])}.",
                argument="args",
                hint="Try another key, or input_names.",
            )
        wanted = name if short.count(name) == 1 else ".".join(map(str, path))
        names.append(_free(wanted, names))
    return names


def _free(name: str, taken: Sequence[str]) -> str:
    unique, count = name, 0
    while unique in taken:
        count += 1
        unique = f"{name}_{count}"
    return unique


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in signature.parameters.values() if p.kind in kinds]


def _full_path(labels: Labels, parameters: Sequence[str]) -> Labels:
    first, *rest = labels
    if isinstance(first, int):
        first = parameters[first] if first < len(parameters) else f"args_{first}"
    return (first, *rest)


def _short(path: Labels) -> str:
    """Keys name an input by themselves; positions need the parameter before them."""
    _, *rest = path
    return ".".join(map(str, rest if rest and isinstance(rest[0], str) else path))


def resolve_shapes(dynamic_shapes: Any, call: Call, names: Sequence[str]) -> list[tuple[Dim, ...]]:
    """Give every axis of every input a size or a name.

    Args:
        dynamic_shapes: ``None``, ``{}``, a tuple with one dict axis -> name per flattened input, a
            dict by input name, or nested like the arguments; by default axis 0 of every array is
            dynamic, and arrays of the same size there share a name.
        call: The arguments.
        names: Names of the inputs.

    Returns:
        Shapes of the inputs.

    Raises:
        ArgumentError: If ``dynamic_shapes`` does not fit the arguments.
    """
    leaves = list(call.leaves.values())
    entries = _entries(dynamic_shapes, leaves, names)
    shapes = [_named(e, leaf, n) for e, leaf, n in zip(entries, leaves, names, strict=True)]
    sizes: dict[str, int] = {}
    batches: dict[Any, str] = {}
    known: list[tuple[str, int]] = []
    for shape, leaf, name in zip(shapes, leaves, names, strict=True):
        for axis, (dim, size) in enumerate(zip(shape, leaf.shape, strict=True)):
            if isinstance(dim, str) and isinstance(size, int):
                known.append((dim, size))
                _check_same(sizes, dim, size, name)
                if axis == 0:
                    batches.setdefault(size, dim)
    refuse_contradicted(known, "dynamic_shapes")
    for shape, leaf, name in zip(shapes, leaves, names, strict=True):
        for axis, dim in enumerate(shape):
            if dim is None and axis == 0 and leaf.concrete:
                shape[0] = batches.setdefault(leaf.shape[0], _free("batch", [*batches.values()]))
            elif dim is None:
                text = re.sub(r"\W", "_", name)
                shape[axis] = f"{text if _SYMBOL.fullmatch(text) else f'_{text}'}_dim{axis}"
    return [tuple(shape) for shape in shapes]


def _check_same(sizes: dict[str, int], symbol: str, size: int, name: str) -> None:
    if sizes.setdefault(symbol, size) != size:
        raise ArgumentError(
            f"The same name means the same size. Received: {symbol!r} of size {sizes[symbol]} and, "
            f"in {name!r}, of size {size}.",
            argument="dynamic_shapes",
            hint="Use two names, or arguments with equal sizes there.",
        )


def _is_entry(value: Any) -> bool:
    return value is None or (
        isinstance(value, Mapping) and all(isinstance(key, int) for key in value)
    )


def _entries(spec: Any, leaves: Sequence[Leaf], names: Sequence[str]) -> list[Any]:
    if spec is None or spec == {}:
        return [spec] * len(leaves)
    if _is_entry(spec) and len(leaves) == 1:
        return [spec]
    is_flat = isinstance(spec, list | tuple) and len(spec) == len(leaves)
    if is_flat and all(map(_is_entry, spec)):
        return list(spec)
    if isinstance(spec, Mapping) and all(key in names for key in spec):
        return [spec.get(name) for name in names]
    unknown = [str(k) for k in spec if k not in names] if isinstance(spec, Mapping) else []
    if unknown and all(isinstance(key, str) for key in spec):
        raise ArgumentError(
            f"dynamic_shapes names inputs of the model. Received: {unknown[0]!r}. The inputs are "
            f"{', '.join(names)}.",
            argument="dynamic_shapes",
            hint=did_you_mean(unknown[0], names),
        )
    if not isinstance(spec, list | tuple):
        raise ArgumentError(
            "dynamic_shapes is None, a tuple with one dict axis -> name per input, a dict by input "
            f"name, or nested like the arguments. Received: dynamic_shapes={spec!r} for the inputs "
            f"{', '.join(names)}.",
            argument="dynamic_shapes",
            hint=f"Try a tuple of {len(leaves)} dicts.",
        )
    if len(spec) > 1 + max(map(_place, leaves), default=0):
        raise ArgumentError(
            f"dynamic_shapes has one entry per argument. Received: {len(spec)} entries for the "
            f"inputs {', '.join(names)}.",
            argument="dynamic_shapes",
            hint=f"Try a tuple of {len(leaves)} dicts.",
        )
    return [_nested(spec, leaf, name) for leaf, name in zip(leaves, names, strict=True)]


def _place(leaf: Leaf) -> int:
    """Position of the argument that holds an array."""
    first = leaf.labels[0]
    return first if isinstance(first, int) else 0


def _nested(spec: Any, leaf: Leaf, name: str) -> Any:
    place = spec if isinstance(leaf.labels[0], int) else None
    for label in leaf.labels:
        if _is_entry(place):
            break
        if isinstance(place, Mapping):
            place = place.get(label)
        elif isinstance(label, int) and isinstance(place, list | tuple) and label < len(place):
            place = place[label]
        else:
            place = getattr(place, str(label), ...)
    if not _is_entry(place):
        raise ArgumentError(
            f"dynamic_shapes is nested like the arguments. Received: {place!r} for the input "
            f"{name!r}.",
            argument="dynamic_shapes",
            hint="Try a dict by input name.",
        )
    return place


def _named(entry: Any, leaf: Leaf, name: str) -> list[Any]:
    shape = list(leaf.shape)
    if entry is None:
        if leaf.concrete and shape:
            shape[0] = None
        return shape
    for axis, symbol in entry.items():
        size = None if symbol is None else named_size(symbol)
        if not -len(shape) <= axis < len(shape) or (size is None) != (symbol is None):
            raise ArgumentError(
                "An entry of dynamic_shapes is a dict axis -> name, an identifier or an expression "
                "of identifiers as '2*height', with axes that exist. "
                f"Received: {axis}: {symbol!r} for the input {name!r} of rank {len(shape)}.",
                argument="dynamic_shapes",
            )
        shape[axis] = size
    return shape


def abstract_arrays(
    call: Call, shapes: Sequence[tuple[Dim, ...]], constraints: Iterable[str]
) -> list[Any]:
    """What the function is traced on.

    Args:
        call: The arguments.
        shapes: Shapes of the inputs, as :func:`resolve_shapes` gives them.
        constraints: What JAX may assume of the names, besides what the scopes of symbolic sizes
            among the arguments say.

    Returns:
        One ``jax.ShapeDtypeStruct`` an array.
    """
    import jax

    scope = _scope(call, tuple(constraints))
    return [
        jax.ShapeDtypeStruct(_symbolic(shape, scope), leaf.dtype)
        for shape, leaf in zip(shapes, call.leaves.values(), strict=True)
    ]


def symbolic_scopes(call: Call) -> list[Any]:
    """The scopes of the symbolic sizes among the arguments, each once."""
    from jax import export

    arrays = [call.values[position] for position in call.leaves]
    dims = [dim for array in arrays for dim in getattr(array, "shape", ())]
    return list(dict.fromkeys(d.scope for d in dims if export.is_symbolic_dim(d)))


def _scope(call: Call, constraints: tuple[str, ...]) -> Any:
    """One scope for all names: that of the arguments, or one that says what all of theirs say."""
    from jax import export

    scopes = symbolic_scopes(call)
    if len(scopes) == 1 and not constraints:
        return scopes[0]
    return export.SymbolicScope((*constraints, *(c for s in scopes for c in scope_constraints(s))))


def scope_constraints(scope: Any) -> list[str]:
    """The constraints that a scope was made with, which JAX tells in its text alone."""
    _, _, listed = str(scope).partition(" with constraints:")
    return [line.strip() for line in listed.splitlines() if line.strip()]


def _symbolic(shape: tuple[Dim, ...], scope: Any) -> tuple[Any, ...]:
    from jax import export

    if not any(isinstance(d, str) for d in shape):
        return shape
    text = ", ".join(map(str, shape))
    try:
        return tuple(export.symbolic_shape(text, scope=scope))
    except ValueError as error:
        raise ArgumentError(
            f"JAX takes sizes of +, -, *, floordiv, mod, max and min. Received: {text}: {error}",
            argument="dynamic_shapes",
        ) from error
