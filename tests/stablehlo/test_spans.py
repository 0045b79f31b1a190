from __future__ import annotations

import itertools

import numpy as np
import pytest

from yobx.onnx_optim import OptimDim
from yobx.stablehlo.spans import FIRST, LAST, moved_span, span, strided

SIZES = range(1, 14)
M = OptimDim("m")
STARTS = ["0", "1", "3", "m - 1", "m - 3", "max(m - 3, 0)", "m//2", "min(m, 2)"]
COUNTS = ["1", "2", "m", "m - 1", "max(m - 1, 0)", "max(m - 4, 0)", "min(m, 3)", "m//2", "m - m//2"]
COUNTS += ["m - max(m - 3, 0)", "m - 3", "(m + 1)//2", "max(m - 3, 0)"]


def cut(size: int, start: int, end: int, step: int = 1) -> list[int]:
    """What ONNX's Slice takes, which counts a negative bound from the back."""
    last = None if end in (LAST, FIRST) else end
    return list(np.arange(size)[start:last:step])


@pytest.mark.parametrize(("start", "count"), list(itertools.product(STARTS, COUNTS)))
def test_constant_bounds_cut_what_is_meant(start: str, count: str) -> None:
    s, n = OptimDim(start), OptimDim(count)
    found, moved = span(M, s, n), moved_span(M, s, n)
    for size in SIZES:
        first, length = s.evaluate({"m": size}), n.evaluate({"m": size})
        if not 0 <= length <= size:
            continue  # no program of this size
        inside = max(0, min(first, size - length))
        if found is not None and first == inside:
            assert cut(size, *found) == list(range(first, first + length))
        if moved is not None:
            assert cut(size, *moved) == list(range(inside, inside + length))


@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [
        ("1", "m - 1", (1, LAST)),
        ("0", "max(m - 1, 0)", (0, -1)),
        ("1", "max(m - 2, 0)", (1, -1)),
        ("0", "min(m, 3)", (0, 3)),
        ("max(m - 3, 0)", "m - max(m - 3, 0)", (-3, LAST)),
        ("m - 1", "1", (-1, LAST)),
        ("m//2", "m - m//2", None),
        ("0", "m//2", None),
    ],
)
def test_known_forms(start: str, count: str, expected: tuple[int, int] | None) -> None:
    assert span(M, OptimDim(start), OptimDim(count)) == expected
    assert moved_span(M, OptimDim(start), OptimDim(count)) == expected


def test_a_start_that_may_be_before_the_axis_is_not_moved() -> None:
    start, count = M - 3, OptimDim(2)
    assert span(M, start, count) == (-3, -1), "which is inside"
    assert moved_span(M, start, count) is None


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
@pytest.mark.parametrize("start", ["0", "1", "2", "m - 1", "m - 2"])
@pytest.mark.parametrize("count", ["m", "(m + 1)//2", "m//2", "m - 1", "(m + 2)//3", "(m - 1)//2"])
def test_strided_positions(start: str, count: str, step: int) -> None:
    s, n = OptimDim(start), OptimDim(count)
    found = strided(M, s, step, n)
    for size in SIZES if found is not None else ():
        positions = s.evaluate({"m": size}) + step * np.arange(n.evaluate({"m": size}))
        assert cut(size, found[0], found[1], step) == list(positions)


def test_positions_that_are_all_there_are() -> None:
    assert strided(M, OptimDim(0), 2, (M + 1) // 2) == (0, LAST)
    assert strided(M, OptimDim(1), 2, M // 2) == (1, LAST)
    assert strided(M, M - 1, -1, M) == (-1, FIRST)
    assert strided(M, OptimDim(0), 2, M // 2) == (0, -1), "all before the last element"
    assert strided(M, OptimDim(0), 2, M // 3) is None


@pytest.mark.parametrize("step", [2, 3, 5])
@pytest.mark.parametrize("left", [0, 1, 2, 7])
@pytest.mark.parametrize("start", [0, 1, 4])
def test_positions_before_the_end(start: int, left: int, step: int) -> None:
    count = OptimDim.max((M - start - left).ceil_div(step), 0)
    bounds = strided(M, OptimDim(start), step, count)
    assert bounds is not None
    late = strided(M, OptimDim.min(M, start), step, (M - OptimDim.min(M, start)).ceil_div(step))
    assert late == (start, LAST)
    for size in SIZES:
        number = count.evaluate({"m": size})
        assert cut(size, *bounds, step) == [start + step * i for i in range(number)]
