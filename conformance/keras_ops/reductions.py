"""Sums, extremes, statistics, running totals, products of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.entries import Entry, function, numbers, positive, whole

__all__ = ["entries"]

_A, _B, _C = numbers(3, 4), numbers(3, 4, seed=1), numbers(2, 3, 4)
_HOLES = np.where(np.abs(_C) < 0.4, np.float32(np.nan), _C)
_OPEN = {"free": (1,)}
_RANKS = "Keras computes a rank from the shape, and wants to know all of it"
_SINGULAR: dict[str, Any] = {
    "norm": 12.0,
    "reason": "singular values round by the norm of the matrix",
}
_AXES = (None, 0, -1, (0, 2))


def entries() -> Iterator[Entry]:
    """Every entry about reductions."""
    yield from _whole_arrays()
    yield from _without_nan()
    yield from _quantiles()
    yield from _running()
    yield from _products()
    yield from _segments()


def _along_axes(name: str, call: Callable[..., Any]) -> Iterator[Entry]:
    for axis in (None, 0, -1):
        yield function(name, lambda x, a=axis: call(x, axis=a), _C, label=f"axis {axis}", **_OPEN)


def _whole_arrays() -> Iterator[Entry]:
    from keras import ops

    for name in "sum prod mean max min amax amin std var logsumexp ptp".split():
        call = getattr(ops, name)
        for axis in _AXES:
            if name == "ptp" and axis is None:
                continue
            yield function(
                name, lambda x, c=call, a=axis: c(x, axis=a), _C, label=f"axis {axis}", **_OPEN
            )
        yield function(
            name, lambda x, c=call: c(x, axis=1, keepdims=True), _C, label="kept", **_OPEN
        )
        if name not in {"logsumexp"}:
            yield function(name, lambda x, c=call: c(x, axis=1), whole(3, 4, high=5), label="int32")
    for name in ("all", "any"):
        call = getattr(ops, name)
        for axis in (None, 1, (0, 1)):
            yield function(
                name,
                lambda x, c=call, a=axis: c(x, axis=a),
                _C > -1.2,
                label=f"axis {axis}",
            )
    for name in ("argmax", "argmin"):
        call = getattr(ops, name)
        yield from _along_axes(name, call)
        yield function(name, lambda x, c=call: c(x, axis=1, keepdims=True), _C, label="kept")
        yield function(name, lambda x, c=call: c(x, axis=1), whole(3, 9, high=3), label="ties")
    yield function("count_nonzero", lambda x: ops.count_nonzero(x, axis=1), np.round(_A), **_OPEN)
    yield function("count_nonzero", ops.count_nonzero, np.round(_A), label="all")
    yield function("average", lambda x, w: ops.average(x, axis=1, weights=w), _A, positive(3, 4))
    yield function("average", ops.average, _A, label="plain")
    for axes in ([0], [1, 2]):
        yield function("moments", lambda x, a=axes: ops.moments(x, axes=a), _C, label=f"{axes}")
    yield function("moments", lambda x: ops.moments(x, axes=[1], keepdims=True), _C, label="kept")
    order: Any
    for order in (1, 2, 3, np.inf, -np.inf, 0):
        yield function("norm", lambda x, o=order: ops.norm(x, ord=o, axis=-1), _C, label=f"{order}")
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf):
        yield function(
            "norm",
            lambda x, o=order: ops.norm(x, ord=o, axis=(1, 2)),
            _C,
            label=f"matrix {order}",
            **(_SINGULAR if order in {"nuc", 2, -2} else {}),
        )
    yield function("norm", ops.norm, _A, label="all")
    for order in (1, 2, 3):
        yield function(
            "normalize", lambda x, o=order: ops.normalize(x, axis=-1, order=o), _C, label=f"{order}"
        )


def _without_nan() -> Iterator[Entry]:
    from keras import ops

    known: dict[str, Any] = {"refused": "__index__", "reason": _RANKS}
    for name in "nansum nanprod nanmean nanmax nanmin nanstd nanvar nanmedian".split():
        sizes = known if name == "nanmedian" else {}
        call = getattr(ops, name)
        for axis in (None, 1, (0, 2)):
            yield function(
                name,
                lambda x, c=call, a=axis: c(x, axis=a),
                _HOLES,
                label=f"axis {axis}",
                **({} if axis is None else sizes),
            )
        yield function(
            name, lambda x, c=call: c(x, axis=1, keepdims=True), _HOLES, label="kept", **sizes
        )
    some = np.where(np.arange(4) == 1, np.float32(np.nan), _A)
    for name in ("nanargmax", "nanargmin"):
        call = getattr(ops, name)
        yield function(name, lambda x, c=call: c(x, axis=1), some)
    for name in ("nancumsum", "nancumprod"):
        call = getattr(ops, name)
        yield function(name, lambda x, c=call: c(x, axis=1), _HOLES)
    yield function("nanquantile", lambda x: ops.nanquantile(x, 0.3, axis=-1), _HOLES, **known)
    yield function("nanpercentile", lambda x: ops.nanpercentile(x, 30, axis=-1), _HOLES, **known)


def _quantiles() -> Iterator[Entry]:
    from keras import ops

    for axis in (None, 1, (0, 2)):
        yield function("median", lambda x, a=axis: ops.median(x, axis=a), _C, label=f"axis {axis}")
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        yield function(
            "quantile",
            lambda x, m=method: ops.quantile(x, 0.3, axis=1, method=m),
            _C,
            label=method,
            **_OPEN,
        )
        yield function(
            "percentile",
            lambda x, m=method: ops.percentile(x, 60, axis=1, method=m),
            _C,
            label=method,
        )
    several = np.array([0.1, 0.5, 0.9], "float32")
    yield function(
        "quantile", lambda x: ops.quantile(x, several, axis=-1, keepdims=True), _C, label="several"
    )


def _running() -> Iterator[Entry]:
    from keras import ops

    for name in ("cumsum", "cumprod"):
        call = getattr(ops, name)
        yield from _along_axes(name, call)
    for order in (1, 2):
        yield function("diff", lambda x, n=order: ops.diff(x, n=n), _C, label=f"{order}", **_OPEN)
    yield function("diff", lambda x: ops.diff(x, axis=1), _C, label="axis 1")
    yield function("trapezoid", lambda y: ops.trapezoid(y, dx=0.5), _A)
    yield function(
        "trapezoid", lambda y, x: ops.trapezoid(y, x=x), _A, np.cumsum(positive(3, 4), 1), label="x"
    )
    for reverse in (False, True):
        yield function(
            "associative_scan",
            lambda x, r=reverse: ops.associative_scan(lambda a, b: a * b, x, axis=1, reverse=r),
            numbers(2, 7),
            label=f"reverse={reverse}",
        )


def _products() -> Iterator[Entry]:
    from keras import ops

    yield function("matmul", ops.matmul, _C, numbers(2, 4, 5))
    yield function("matmul", ops.matmul, _C, numbers(4), label="a line", free=({0: "n"}, {}))
    yield function(
        "matmul",
        ops.matmul,
        whole(3, 4, high=9, dtype="int8"),
        whole(4, 2, high=9, dtype="int8"),
        label="int8",
        free=({0: "n"}, {}),
    )
    yield function(
        "matmul",
        ops.matmul,
        whole(3, 4, high=9),
        whole(4, 2, high=9),
        label="int32",
        free=({0: "n"}, {}),
    )
    yield function("dot", ops.dot, _A, numbers(4, 5), free=({0: "n"}, {}))
    yield function("dot", ops.dot, _C, numbers(4, 5), label="rank 3", free=({0: "n"}, {}))
    yield function("dot", ops.dot, numbers(4), numbers(4), label="lines")
    yield function("inner", ops.inner, _A, _B, free=({0: "n"}, {}))
    yield function("vdot", ops.vdot, _A, _B)
    yield function("cross", ops.cross, numbers(4, 3), numbers(4, 3, seed=1))
    yield function("cross", ops.cross, numbers(4, 2), numbers(4, 2, seed=1), label="plane")
    for axes in (1, 2, ([2], [0])):
        other = numbers(4, 5) if axes != 2 else numbers(3, 4, 5)
        yield function(
            "tensordot",
            lambda x, y, a=axes: ops.tensordot(x, y, axes=a),
            _C,
            other,
            label=f"{axes}",
            free=({0: "n"}, {}),
        )
    for equation in (
        "ij,jk->ik",
        "ij,kj->ik",
        "ij,ij->i",
        "ij->ji",
        "ij->",
        "ij,jk",
        "...j,jk->...k",
    ):
        two = "," in equation
        other = numbers(4, 4) if "jk" in equation or "kj" in equation else _A
        args = (_A, other) if two else (_A,)
        free = ({0: "n"}, {0: "n"} if other is _A else {}) if two else ({0: "n"},)
        yield function(
            "einsum", lambda *x, e=equation: ops.einsum(e, *x), *args, label=equation, free=free
        )
    yield function(
        "einsum",
        lambda a, b, c: ops.einsum("ij,jk,kl->il", a, b, c),
        _A,
        numbers(4, 5),
        numbers(5, 2),
        label="three",
        free=({0: "n"}, {}, {}),
    )
    yield function(
        "corrcoef",
        ops.corrcoef,
        _A,
        refused="OperatorNotAllowedInGraphError",
        reason="Keras asks a tensor for its truth while it traces",
    )
    for mode in ("valid", "same", "full"):
        yield function(
            "correlate",
            lambda x, y, m=mode: ops.correlate(x, y, mode=m),
            numbers(7),
            numbers(3),
            label=mode,
            modes=("static",),
        )
    yield function("cdist", ops.cdist, _A, numbers(5, 4))


def _segments() -> Iterator[Entry]:
    from keras import ops

    ids = np.array([0, 0, 1, 3, 3, 3], "int32")
    for name in "segment_max segment_min segment_prod segment_sum".split():
        call = getattr(ops, name)
        yield function(name, lambda x, i, c=call: c(x, i, num_segments=5), numbers(6, 2), ids)
        yield function(
            name,
            lambda x, i, c=call: c(x, i, num_segments=5),
            numbers(6, 2),
            ids[::-1].copy(),
            label="any order",
        )
        yield function(
            name,
            lambda x, i, c=call: c(x, i, sorted=True),
            numbers(6, 2),
            ids,
            label="sorted",
        )
