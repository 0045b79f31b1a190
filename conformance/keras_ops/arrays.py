"""Functions that make, move and choose: shapes, indices, sorting, sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.entries import Entry, function, numbers, positive, whole

__all__ = ["entries"]

_A, _B, _C = numbers(3, 4), numbers(3, 4, seed=1), numbers(2, 3, 4)
_N = whole(6, high=5)
_OPEN = {"free": (1,)}


def entries() -> Iterator[Entry]:
    """Every entry about arrays."""
    yield from _made()
    yield from _moved()
    yield from _joined()
    yield from _chosen()
    yield from _sorted()
    yield from _windows()


def _made() -> Iterator[Entry]:
    from keras import ops

    for name in ("zeros_like", "ones_like", "empty_like"):
        call = getattr(ops, name)
        shown = call if name != "empty_like" else (lambda x: 0 * ops.empty_like(x))
        yield function(name, shown, _A, **_OPEN)
    yield function("full_like", lambda x: ops.full_like(x, 2.5), _A, **_OPEN)
    sized = {
        "zeros": lambda x: x + ops.zeros(ops.shape(x)),
        "ones": lambda x: x + ops.ones(ops.shape(x)),
        "full": lambda x: x + ops.full(ops.shape(x), 3.0),
        "empty": lambda x: x + 0 * ops.empty((3, 4)),
        "eye": lambda x: ops.matmul(x, ops.eye(4, k=1)),
        "identity": lambda x: ops.matmul(x, ops.identity(4)),
        "tri": lambda x: x * ops.tri(3, 4, k=-1),
        "arange": lambda x: x * ops.cast(ops.arange(ops.shape(x)[1]), "float32"),
        "shape": lambda x: ops.reshape(x, (ops.shape(x)[1], ops.shape(x)[0])),
        "size": lambda x: x / ops.cast(ops.size(x), "float32"),
        "ndim": lambda x: x * ops.ndim(x),
    }
    fixed = {"empty", "eye", "identity", "tri"}
    for name, call in sized.items():
        modes = ("static",) if name in fixed else ("static", "dynamic")
        yield function(name, call, _A, modes=modes, free=(1,))
    for name in ("linspace", "logspace", "geomspace"):
        call = getattr(ops, name)
        yield function(name, lambda a, b, c=call: c(a, b, 5), positive(3), 1 + positive(3))
        yield function(
            name,
            lambda a, b, c=call: c(a, b, 5, endpoint=False),
            positive(3),
            1 + positive(3),
            label="open",
        )
    yield function(
        "bartlett",
        lambda x: x * ops.bartlett(4),
        _A,
        refused="OperatorNotAllowedInGraphError",
        reason="Keras asks a tensor of the window for its truth while it traces",
    )
    for name in ("blackman", "hamming", "hanning"):
        call = getattr(ops, name)
        yield function(name, lambda x, c=call: x * c(4), _A, modes=("static",))
    yield function("kaiser", lambda x: x * ops.kaiser(4, 3.0), _A, modes=("static",))
    yield function("array", ops.array, _A)
    for increasing in (False, True):
        yield function(
            "vander",
            lambda x, i=increasing: ops.vander(x, 3, increasing=i),
            numbers(4),
            label=str(increasing),
        )
    for indexing in ("xy", "ij"):
        yield function(
            "meshgrid",
            lambda x, y, i=indexing: ops.meshgrid(x, y, indexing=i),
            numbers(3),
            numbers(4),
            label=indexing,
            free=({0: "n"}, {0: "m"}),
        )
    for dtype in ("float32", "int32", "bool"):
        yield function(
            "one_hot",
            lambda x, d=dtype: ops.one_hot(x, 5, dtype=d),
            whole(2, 3, high=6, low=-1),
            label=dtype,
        )
    yield function(
        "one_hot", lambda x: ops.one_hot(x, 5, axis=0), whole(2, 3, high=5), label="axis 0"
    )
    yield function("multi_hot", lambda x: ops.multi_hot(x, 5), whole(2, 3, high=5))


def _moved() -> Iterator[Entry]:
    from keras import ops

    moves = {
        "transpose": [ops.transpose, lambda x: ops.transpose(x, (1, 0, 2))],
        "swapaxes": [lambda x: ops.swapaxes(x, 0, -1)],
        "moveaxis": [lambda x: ops.moveaxis(x, 0, -1), lambda x: ops.moveaxis(x, [0, 1], [2, 0])],
        "flip": [ops.flip, lambda x: ops.flip(x, 1), lambda x: ops.flip(x, (0, 2))],
        "fliplr": [ops.fliplr],
        "flipud": [ops.flipud],
        "rot90": [ops.rot90, lambda x: ops.rot90(x, 2), lambda x: ops.rot90(x, -1, axes=(0, 2))],
        "roll": [
            lambda x: ops.roll(x, 2),
            lambda x: ops.roll(x, -1, axis=1),
            lambda x: ops.roll(x, (1, 2), axis=(0, 2)),
        ],
        "reshape": [
            lambda x: ops.reshape(x, (-1, 2)),
            lambda x: ops.reshape(x, (ops.shape(x)[0], -1)),
        ],
        "ravel": [ops.ravel],
        "squeeze": [lambda x: ops.squeeze(x[..., :1], -1), lambda x: ops.squeeze(x[:, :1], 1)],
        "expand_dims": [lambda x: ops.expand_dims(x, 1), lambda x: ops.expand_dims(x, (0, -1))],
        "broadcast_to": [lambda x: ops.broadcast_to(x[:1], (5, *x.shape[1:]))],
        "repeat": [
            lambda x: ops.repeat(x, 2),
            lambda x: ops.repeat(x, 3, axis=1),
            lambda x: ops.repeat(x, [1, 0, 2], axis=1),
        ],
        "tile": [lambda x: ops.tile(x, 2), lambda x: ops.tile(x, (2, 1, 3))],
        "tril": [ops.tril, lambda x: ops.tril(x, -1)],
        "triu": [ops.triu, lambda x: ops.triu(x, 1)],
        "diagonal": [
            lambda x: ops.diagonal(x, axis1=1, axis2=2),
            lambda x: ops.diagonal(x, 1, axis1=1, axis2=2),
        ],
        "trace": [
            lambda x: ops.trace(x, axis1=1, axis2=2),
            lambda x: ops.trace(x, -1, axis1=1, axis2=2),
        ],
        "rearrange": [
            lambda x: ops.rearrange(x, "a b c -> a (c b)"),
            lambda x: ops.rearrange(x, "a b (c d) -> (a d) b c", d=2),
        ],
        "unstack": [lambda x: ops.unstack(x, axis=1)],
        "split": [lambda x: ops.split(x, 2, axis=2), lambda x: ops.split(x, [1, 3], axis=-1)],
        "array_split": [lambda x: ops.array_split(x, 3, axis=2)],
        "hsplit": [lambda x: ops.hsplit(x, 3)],
        "vsplit": [lambda x: ops.vsplit(x, 2)],
        "dsplit": [lambda x: ops.dsplit(x, 2)],
    }
    for name, calls in moves.items():
        for number, call in enumerate(calls):
            yield function(
                name,
                call,
                _C,
                label=f"way {number}",
                modes=("static",) if name == "vsplit" else ("static", "dynamic"),
            )
    for mode in ("constant", "reflect", "symmetric"):  # TensorFlow has no "edge" and no "empty"
        yield function(
            "pad",
            lambda x, m=mode: ops.pad(x, ((1, 1), (0, 2)), mode=m),
            _A,
            label=mode,
            modes=("static",),
        )
        yield function(
            "pad",
            lambda x, m=mode: ops.pad(x, ((0, 0), (0, 2)), mode=m),
            _A,
            label=f"{mode} open",
            **_OPEN,
        )
    yield function(
        "pad", lambda x: ops.pad(x, ((2, 2), (0, 1)), constant_values=7.0), _A, label="sevens"
    )
    for k in (0, 1, -1):
        yield function("diag", lambda x, k=k: ops.diag(x, k), numbers(4), label=f"line {k}")
        yield function("diag", lambda x, k=k: ops.diag(x, k), _A, label=f"matrix {k}")
        yield function("diagflat", lambda x, k=k: ops.diagflat(x, k), _A, label=f"{k}")


def _joined() -> Iterator[Entry]:
    from keras import ops

    for name in ("concatenate", "stack"):
        call = getattr(ops, name)
        for axis in (0, 1, -1):
            yield function(
                name,
                lambda a, b, c=call, x=axis: c([a, b], axis=x),
                _A,
                _B,
                label=f"{axis}",
            )
    for name in ("hstack", "vstack", "dstack"):
        call = getattr(ops, name)
        yield function(name, lambda a, b, c=call: c([a, b]), _A, _B)
        yield function(
            name,
            lambda a, b, c=call: c([a, b]),
            numbers(4),
            numbers(4),
            label="lines",
        )
    yield function("append", ops.append, _A, _B)
    yield function("append", lambda a, b: ops.append(a, b, axis=1), _A, _B, label="axis 1")
    yield function("outer", ops.outer, numbers(3), numbers(4))
    yield function(
        "kron",
        ops.kron,
        numbers(2, 3),
        numbers(3, 2),
        refused="cannot be interpreted as an integer",
        reason="Keras multiplies the sizes while it traces, and wants to know them",
    )


def _chosen() -> Iterator[Entry]:
    from keras import ops

    ids = np.array([[0, 2], [1, 0]], "int32")
    for axis in (None, 0, 1, -1):
        yield function(
            "take",
            lambda x, i, a=axis: ops.take(x, i, axis=a),
            _A,
            ids,
            label=f"{axis}",
            free=({0: "n"}, {}),
        )
    yield function("take", lambda x: ops.take(x, np.array([-1, 0]), axis=1), _A, label="negative")
    along = whole(3, 2, high=4)
    yield function("take_along_axis", lambda x, i: ops.take_along_axis(x, i, axis=1), _A, along)
    yield function(
        "take_along_axis",
        lambda x, i: ops.take_along_axis(x, i, axis=None),
        _A,
        along.ravel(),
        label="flat",
    )
    yield function("get_item", lambda x: ops.get_item(x, (slice(None), 1)), _A)
    yield function(
        "get_item", lambda x: ops.get_item(x, (Ellipsis, slice(None, None, -2))), _A, label="steps"
    )
    yield function("slice", lambda x: ops.slice(x, (1, 0), (2, 3)), _A, modes=("static",))
    yield function(
        "slice_update",
        lambda x, y: ops.slice_update(x, (1, 1), y),
        _A,
        numbers(2, 2),
        modes=("static",),
    )
    place = np.array([[0], [2], [2]], "int32")
    yield function("scatter", lambda i, v: ops.scatter(i, v, (4, 4)), place, _A)
    for reduction in (None, "add", "max", "min"):  # TensorFlow fails at "mul"
        yield function(
            "scatter_update",
            lambda x, v, r=reduction: ops.scatter_update(x, np.array([[0], [2]]), v, reduction=r),
            _A,
            numbers(2, 4),
            label=f"{reduction}",
            modes=("static",),
        )
    yield function("nonzero", ops.nonzero, np.round(_A))
    yield function("unravel_index", lambda x: ops.unravel_index(x, (3, 4)), whole(5, high=12))
    yield function(
        "extract_sequences", lambda x: ops.extract_sequences(x, 8, 4), numbers(2, 30), **_OPEN
    )


def _sorted() -> Iterator[Entry]:
    from keras import ops

    for axis in (-1, 0, 1):
        yield function("sort", lambda x, a=axis: ops.sort(x, axis=a), _A, label=f"{axis}", **_OPEN)
        yield function(
            "argsort", lambda x, a=axis: ops.argsort(x, axis=a), _A, label=f"{axis}", **_OPEN
        )
    yield function("argsort", ops.argsort, _N, label="ties")
    yield function("argsort", lambda x: ops.argsort(x, axis=None), _A, label="flat")
    yield function("argpartition", lambda x: ops.argpartition(x, 1)[..., 1], _A)
    for ordered in (False, True):
        yield function(
            "top_k",
            lambda x, s=ordered: _in_order(ops.top_k(x, 2, sorted=s), s),
            _A,
            label=f"{ordered}",
        )
    yield function("in_top_k", lambda t, p: ops.in_top_k(t, p, 2), whole(3, high=4), _A)
    edges = np.array([-1.0, 0.0, 1.0], "float32")
    yield function("digitize", lambda x: ops.digitize(x, edges), _A, **_OPEN)
    for side in ("left", "right"):
        yield function(
            "searchsorted",
            lambda s, v, w=side: ops.searchsorted(s, v, side=w),
            edges,
            numbers(5),
            label=side,
            free=({}, {0: "n"}),  # a dynamic sequence has positions of another dtype in Keras
        )
    yield function("unique", ops.unique, _N)
    yield function(
        "unique", lambda x: ops.unique(x, return_inverse=True, return_counts=True), _N, label="all"
    )
    truth: dict[str, Any] = {
        "refused": "OperatorNotAllowedInGraphError",
        "reason": "Keras asks a tensor for its truth while it traces",
    }
    yield function("isin", ops.isin, _N, np.array([1, 3], "int32"), **truth)
    yield function(
        "isin",
        lambda x, y: ops.isin(x, y, invert=True),
        _N,
        np.array([1, 3], "int32"),
        label="invert",
        **truth,
    )
    yield function("bincount", lambda x: ops.bincount(x, minlength=6), _N)
    yield function(
        "bincount",
        lambda x, w: ops.bincount(x, weights=w, minlength=6),
        _N,
        numbers(6),
        label="weights",
    )
    yield function(
        "bincount", lambda x: ops.bincount(x, minlength=6), whole(2, 5, high=6), label="rows"
    )
    yield function("histogram", lambda x: ops.histogram(x, bins=4), _A.ravel())
    yield function(
        "histogram", lambda x: ops.histogram(x, bins=4, range=(-1, 1)), _A.ravel(), label="range"
    )


def _in_order(found: Any, already: bool) -> Any:
    """The values in an order that is stated; without one it is that of an algorithm."""
    from keras import ops

    return found if already else ops.sort(found[0])


def _windows() -> Iterator[Entry]:
    from keras import ops

    image = numbers(2, 3, 8, 8)
    for sizes in (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 2, "dilation": 2},
    ):
        said = ", ".join(f"{k}={v}" for k, v in sizes.items())
        yield function(
            "unfold",
            lambda x, s=sizes: ops.unfold(x, **s),
            image,
            label=said,
            refused_dynamic="Failed to convert elements of [None",
            reason="Keras reshapes to sizes that it wants to know",
        )
    yield function("fold", lambda x: ops.fold(x, (8, 8), 2, stride=2), numbers(2, 12, 16))
    for name in ("depth_to_space", "space_to_depth"):
        call = getattr(ops, name)
        yield function(
            name,
            lambda x, c=call: c(x, 2),
            numbers(2, 4, 6, 8),
            free=(1, 2) if name[0] == "d" else (),
        )
