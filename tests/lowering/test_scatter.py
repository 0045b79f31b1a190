"""Scatters that combine what goes to one place, in one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

from tests.lowering.running import build_session
from yobx.errors import ConversionError
from yobx.lowering.scatter import scatter_nd
from yobx.xbuilder import GraphBuilder

UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum}
Sizes = tuple[int | str, ...]


def scatter(
    kind: str, x: Any, index: Any, updates: Any, sizes: tuple[Sizes, Sizes, Sizes] | None = None
) -> tuple[Any, list[str]]:
    """What a graph computes, and its operators; an index without sizes is a constant."""
    g = GraphBuilder(21)
    arrays = {"x": x, "index": index, "updates": updates}
    given = sizes or (x.shape, None, updates.shape)
    for (name, array), dims in zip(arrays.items(), given, strict=True):
        if dims is not None:
            g.make_tensor_input(name, array.dtype, list(dims))
    made = scatter_nd(g, "x", index if given[1] is None else "index", "updates", kind)
    g.make_tensor_output("y", source=made)
    model = g.to_onnx()
    feeds = {value.name: arrays[value.name] for value in model.graph.input}
    session = build_session(model)
    return session.run(None, feeds)[0], [node.op_type for node in model.graph.node]


def expected(kind: str, x: Any, index: Any, updates: Any) -> Any:
    wanted = x.copy()
    columns = index.shape[-1]
    rest = updates.reshape(-1, *x.shape[columns:])
    for place, update in zip(index.reshape(-1, columns), rest, strict=True):
        wanted[tuple(place)] = UFUNCS[kind](wanted[tuple(place)], update)
    return wanted


@pytest.mark.parametrize("kind", UFUNCS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "float16"])
@pytest.mark.parametrize(
    ("shape", "batch", "columns"),
    [
        ((5, 3), (7,), 1),
        ((5, 3), (7,), 2),
        ((4, 3, 2), (2, 5), 2),
        ((6,), (9,), 1),
        ((6,), (0,), 1),
    ],
)
def test_repeated_places(
    kind: str, dtype: str, shape: tuple[int, ...], batch: tuple[int, ...], columns: int
) -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(-4, 5, shape).astype(dtype)
    index = np.stack([rng.integers(0, size, batch) for size in shape[:columns]], -1)
    updates = rng.integers(-3, 4, (*batch, *shape[columns:])).astype(dtype)
    wanted = expected(kind, x, index, updates)
    symbolic = (
        tuple("abc"[: x.ndim]),
        (*"ijk"[: len(batch)], columns),
        tuple("uvw"[: updates.ndim]),
    )
    for sizes in (None, (x.shape, index.shape, updates.shape), symbolic):
        got, _ = scatter(kind, x, index, updates, sizes)
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == x.dtype


def test_no_update_of_a_place_is_lost() -> None:
    """onnxruntime's ScatterND lost some in every fourth run of this on two processors."""
    rng = np.random.default_rng(3)
    x, updates = np.zeros((2, 6400)), rng.uniform(size=(100, 6400))
    index = np.repeat([[0], [1]], 50, axis=0)
    wanted = expected("add", x, index, updates)
    g = GraphBuilder(21)
    for name, array in {"x": x, "index": index, "updates": updates}.items():
        g.make_tensor_input(name, array.dtype, list(array.shape))
    g.make_tensor_output("y", source=scatter_nd(g, "x", "index", "updates", "add"))
    session = build_session(g.to_onnx())
    for _ in range(100):
        (got,) = session.run(None, {"x": x, "index": index, "updates": updates})
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("index", "parallel"),
    [
        ([[0], [3], [1]], True),
        ([[0], [3], [0]], False),
        ([[-1], [-2]], True),
        ([[-1], [4]], False),
        ([[0, 1], [1, 0]], True),
        ([[0, 1], [0, 1]], False),
    ],
)
def test_known_places_that_differ_are_left_to_threads(index: list[Any], parallel: bool) -> None:
    x, places = np.arange(10.0).reshape(5, 2), np.array(index)
    updates = np.ones((len(places), *x.shape[places.shape[-1] :]))
    got, operators = scatter("add", x, places, updates)
    np.testing.assert_array_equal(got, expected("add", x, places, updates))
    assert ("ScatterND" in operators) == parallel


@pytest.mark.parametrize("place", [[0, 3], [2, 0], [-3, 0]])
def test_a_place_outside_is_refused(place: list[int]) -> None:
    x, index = np.zeros((2, 3)), np.array([[0, 0], place])
    sizes: tuple[Sizes, Sizes, Sizes] = (("a", "b"), ("n", 2), ("n",))
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
        scatter("add", x, index, np.ones(2), sizes)


def test_the_number_of_indexed_axes_is_needed() -> None:
    with pytest.raises(ConversionError, match="Pin the last size"):
        scatter(
            "add", np.zeros(3), np.zeros((2, 1), np.int64), np.ones(2), (("a",), ("n", "k"), ("n",))
        )
