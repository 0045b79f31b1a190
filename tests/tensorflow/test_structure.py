from __future__ import annotations

import collections
import json

import pytest

from yobx.tensorflow.structure import describe, flatten_with_path, path_text, rebuild

Point = collections.namedtuple("Point", ["x", "y"])
TREES = [
    {"b": 1, "a": [2, (3, {"z": 4, "y": 5})]},
    (1, [2, 3], {"k": (4,)}),
    Point(1, {"q": 2, "p": 3}),
    [],
    7,
    {10: 1, 9: 2},
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_order_is_the_one_of_tensorflow(tree: object) -> None:
    import tensorflow as tf

    assert [leaf for _, leaf in flatten_with_path(tree)] == tf.nest.flatten(tree)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_rebuild_inverts_flatten(tree: object) -> None:
    leaves = [leaf for _, leaf in flatten_with_path(tree)]
    again = rebuild(tree, leaves)
    assert again == tree
    assert type(again) is type(tree)
    if isinstance(tree, dict):
        assert list(again) == list(tree)


def test_paths() -> None:
    paths = [path_text(path) for path, _ in flatten_with_path({"b": 1, "a": [2, Point(3, 4)]})]
    assert paths == ["a.0", "a.1.x", "a.1.y", "b"]


def test_description_is_json_that_keeps_the_containers() -> None:
    text = describe({"b": "B", "a": ["x", ("y", None)], "p": Point("u", "v")})
    assert json.loads(text) == {
        "dict": {
            "b": "B",
            "a": {"list": ["x", {"tuple": ["y", None]}]},
            "p": {"namedtuple": {"x": "u", "y": "v"}},
        }
    }
