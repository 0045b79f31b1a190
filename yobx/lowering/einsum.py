"""Einstein sums as transposes and matrix products.

onnxruntime's ``Einsum`` stops the process on empty tensors and keeps attention from being fused;
``MatMul`` does neither. Only a label repeated inside one operand (a diagonal) stays an ``Einsum``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yobx.xbuilder import GraphBuilder

from .legalise import legal
from .reduce import reduce
from .shapes import Dim, axis_size, rank, reshape

__all__ = ["einsum"]

Operand = tuple[str, str]
"""A value and its labels."""

_SPARE = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _expand_ellipsis(g: GraphBuilder, equation: str, names: Sequence[str]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result, ellipses spelt out."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    used = set(equation)
    spare = [c for c in _SPARE if c not in used]
    widest = 0
    for term, name in zip(terms, names, strict=True):
        if "..." in term:
            widest = max(widest, rank(g, name) - len(term.replace("...", "")))
    dots = "".join(spare[:widest])
    expanded = []
    for term, name in zip(terms, names, strict=True):
        count = rank(g, name) - len(term.replace("...", ""))
        expanded.append(term.replace("...", dots[widest - count :] if count else ""))
    if not arrow:
        joined = left.replace(",", "").replace(".", "")
        right = "..." * bool(widest) + "".join(
            sorted(c for c in set(joined) if joined.count(c) == 1)
        )
    return expanded, right.replace("...", dots)


def einsum(
    g: GraphBuilder,
    names: Sequence[str],
    equation: str,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit an Einstein sum of any number of operands.

    Args:
        g: The graph.
        names: The operands.
        equation: NumPy's notation, ellipses and implicit results included.
        outputs: Names to give.
        name: Node name.

    Returns:
        Name of the result.
    """
    terms, result = _expand_ellipsis(g, equation, names)
    names = list(names)
    for i, term in enumerate(terms):
        terms[i] = "".join(dict.fromkeys(term))
        if terms[i] != term:
            names[i] = legal(g).Einsum(names[i], equation=f"{term}->{terms[i]}")
    value, labels = names[0], terms[0]
    for i in range(1, len(names)):
        later = set("".join(terms[i + 1 :]))
        keep = [c for c in dict.fromkeys(labels + terms[i]) if c in later or c in result]
        target = result if i == len(names) - 1 else "".join(keep)
        value = _contract(g, (value, labels), (names[i], terms[i]), target)
        labels = target
    value = _arrange(g, value, labels, result)
    return str(g.op.Identity(value, outputs=outputs, name=name)) if outputs else value


def _arrange(g: GraphBuilder, x: str, labels: str, wanted: str) -> str:
    """Sum labels that are not wanted and put the others in order."""
    x, labels = _sum_out(g, x, labels, set(wanted))
    if labels == wanted:
        return x
    return str(g.op.Transpose(x, perm=[labels.index(c) for c in wanted]))


def _sum_out(g: GraphBuilder, x: str, labels: str, kept: set[str]) -> tuple[str, str]:
    extra = [i for i, c in enumerate(labels) if c not in kept]
    if extra:
        x = reduce(g, "Sum", x, np.array(extra, np.int64), keepdims=False)
    return x, "".join(c for c in labels if c in kept)


def _contract(g: GraphBuilder, first: Operand, second: Operand, result: str) -> str:
    """Return the sum of two operands, labels in the order of ``result``."""
    (a, la), (b, lb) = first, second
    a, la = _sum_out(g, a, la, set(lb) | set(result))
    b, lb = _sum_out(g, b, lb, set(la) | set(result))
    shared = [c for c in la if c in lb]
    summed = [c for c in shared if c not in result]
    if not summed:
        return _product(g, (a, la), (b, lb), result)
    free = [c for c in result if (c in la) != (c in lb)]
    if free and free[0] in lb:  # The operand whose axes come first goes to the left.
        a, la, b, lb = b, lb, a, la
    batch = [c for c in result if c in la and c in lb]
    left = [c for c in result if c in la and c not in lb]
    right = [c for c in result if c in lb and c not in la]
    sizes = {c: axis_size(g, a, la.index(c)) for c in (*batch, *left)}
    sizes.update({c: axis_size(g, b, lb.index(c)) for c in right})
    left_side = _arrange(g, a, la, "".join([*batch, *left, *summed]))
    right_side = _arrange(g, b, lb, "".join([*batch, *summed, *right]))
    flat_left = len(left) != 1 and (batch or not left)
    left_side = _merge(g, left_side, (len(batch), len(left), len(summed)), keep=not flat_left)
    right_side = _merge(g, right_side, (len(batch), len(summed), len(right)), keep=False)
    product = legal(g).MatMul(left_side, right_side)
    order = "".join([*batch, *left, *right])
    if flat_left or len(right) != 1:
        product = _split(g, product, batch, [sizes[c] for c in (*left, *right)])
    return _arrange(g, product, order, result)


def _merge(g: GraphBuilder, x: str, counts: tuple[int, int, int], *, keep: bool) -> str:
    """Make one axis of each group of axes after the batch; ``keep`` leaves the first group."""
    batch, first, last = counts
    if (keep or first == 1) and last == 1:
        return x
    dims = [axis_size(g, x, i) for i in range(sum(counts))]
    head, tail = dims[: batch + first], dims[batch + first :]
    if not keep:
        head = [*head[:batch], _total(g, head[batch:])]
    return reshape(g, x, [*head, _total(g, tail)])


def _total(g: GraphBuilder, sizes: Sequence[Dim]) -> Dim:
    """Return the product of sizes."""
    total: Dim = 1
    for size in sizes:
        if isinstance(total, int) and isinstance(size, int):
            total *= size
        elif isinstance(total, int) and total == 1:
            total = size
        else:
            factors = [np.array([f], np.int64) if isinstance(f, int) else f for f in (total, size)]
            total = str(g.op.Mul(*factors))
    return total


def _split(g: GraphBuilder, x: str, batch: Sequence[str], sizes: Sequence[Dim]) -> str:
    """Undo the merging; batch sizes are read from the product, where they have broadcast."""
    head = [axis_size(g, x, i) for i in range(len(batch))]
    return reshape(g, x, [*head, *sizes])


def _product(g: GraphBuilder, first: Operand, second: Operand, result: str) -> str:
    """Multiply without a sum: both operands get the axes of the result."""

    def aligned(x: str, labels: str) -> str:
        own = "".join(c for c in result if c in labels)
        x = _arrange(g, x, labels, own)
        missing = [i for i, c in enumerate(result) if c not in labels]
        return str(g.op.Unsqueeze(x, np.array(missing, np.int64))) if missing else x

    return str(legal(g).Mul(aligned(*first), aligned(*second)))
