"""What a Reshape infers beside a size that may be 0 is written, or computed."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.passes.support import apply, kinds, parse, run
from yobx.passes import default_passes
from yobx.passes.inferred_sizes import settle_inferred_sizes


def settled(before: onnx.ModelProto) -> onnx.ModelProto:
    model = ir.from_proto(before)
    settle_inferred_sizes(model)
    return ir.to_proto(model)


COMPUTED = {"Shape": 2, "Concat": 1, "Reshape": 1}


def reshaped(shape: str, target: str) -> onnx.ModelProto:
    """A model of one Reshape."""
    rank, parts = len(target.split(",")), ", ".join("abcde"[: len(target.split(","))])
    return parse(
        f"""g (float[{shape}] x) => (float[{parts}] y) <int64[{rank}] t = {{{target}}}> {{
            y = Reshape (x, t)
        }}"""
    )


@pytest.mark.parametrize(
    ("shape", "target", "empty", "expected", "added"),
    [
        # the size is a number
        ("n, 4, 3", "0, -1", (0, 4, 3), (0, 12), {"Reshape": 1}),
        ("n, m, 4, 3", "0, 0, -1", (2, 0, 4, 3), (2, 0, 12), {"Reshape": 1}),
        # two sizes are open
        ("n, m, 3", "0, -1", (0, 5, 3), (0, 15), {"Flatten": 1}),
        ("n, h, w, 3", "0, -1", (0, 0, 4, 3), (0, 0), {"Flatten": 1}),
        ("n, h, w, 3", "0, -1, 3", (0, 5, 4, 3), (0, 20, 3), {**COMPUTED, "ReduceProd": 1}),
        ("n, h, 2, w", "0, -1", (0, 5, 2, 4), (0, 40), {"Flatten": 1}),
        ("n, h, 2, w, 3", "0, -1, 3", (0, 5, 2, 4, 3), (0, 40, 3), {**COMPUTED, "ReduceProd": 1}),
        ("n, h, 2, 3", "0, -1, 3", (0, 5, 2, 3), (0, 10, 3), {**COMPUTED, "Mul": 1}),
        ("n, m, 4", "0, 4, -1", (0, 6, 4), (0, 4, 6), COMPUTED),
        ("n, 2, m, 4", "0, 4, -1", (0, 2, 6, 4), (0, 4, 12), {**COMPUTED, "Mul": 1}),
        ("n, m, 4", "0, -1, 8", (0, 6, 4), (0, 3, 8), {**COMPUTED, "Div": 1}),
        ("n, m, 6", "0, -1, 4", (0, 6, 6), (0, 9, 4), {**COMPUTED, "Mul": 1, "Div": 1}),
        ("n, m, k, 2", "0, 0, -1", (0, 5, 3, 2), (0, 5, 6), {**COMPUTED, "Mul": 1}),
    ],
)
def test_empty_arrays(
    shape: str,
    target: str,
    empty: tuple[int, ...],
    expected: tuple[int, ...],
    added: dict[str, int],
) -> None:
    before = reshaped(shape, target)
    after = settled(before)
    assert kinds(after) == added
    full = np.arange(4 * max(np.prod(empty[1:]), 1), dtype=np.float32)
    full = np.resize(full, (4, *(size or 1 for size in empty[1:])))
    np.testing.assert_array_equal(run(after, {"x": full}), run(before, {"x": full}))
    with pytest.raises(Exception, match="requested shape"):
        run(before, {"x": np.zeros(empty, np.float32)})
    assert run(after, {"x": np.zeros(empty, np.float32)})[0].shape == expected


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ("n, 12", "-1, 6"),
        ("n, m", "0, 0"),
        ("n, m", "-1"),
        ("n, 4, m", "-1, 2"),
        ("n, 4", "0, 2, 2"),
    ],
)
def test_what_infers_nothing_beside_an_open_size(shape: str, target: str) -> None:
    before = reshaped(shape, target)
    after = settled(before)
    assert [n.input for n in after.graph.node] == [["x", "t"]]
    assert after.graph.initializer == before.graph.initializer


def test_sizes_are_computed_once() -> None:
    before = parse(
        """g (float[n, h, w, 3] x) => (float[a, b, c] y, float[d, e, f] z)
        <int64[3] t = {0, -1, 3}, int64[3] u = {0, -1, 1}> {
            y = Reshape (x, t)
            z = Reshape (x, t)
        }"""
    )
    after = apply(before, settle_inferred_sizes)
    assert kinds(after) == {**COMPUTED, "ReduceProd": 1, "Reshape": 2}


def test_all_passes_leave_an_empty_batch_alone() -> None:
    before = parse(
        """g (float[n, t, 4] x) => (float[a, b] y)
        <int64[2] u = {0, -1}, int64[1] first = {0}, int64[1] left = {-1}> {
            s = Shape (x)
            n = Gather (s, first)
            r = Concat <axis = 0> (n, left)
            y = Reshape (x, r)
        }"""
    )
    after = apply(before, *default_passes())
    assert kinds(after) == {"Flatten": 1}
    assert run(after, {"x": np.zeros((0, 7, 4), np.float32)})[0].shape == (0, 28)
