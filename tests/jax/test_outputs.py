"""Names of results: different, readable, and never those of inputs."""

from __future__ import annotations

import jax
import pytest

from yobx.errors import ConversionError
from yobx.jax.outputs import output_names


@pytest.mark.parametrize(
    ("result", "names"),
    [
        (0, ["output_0"]),
        ((0, [1, 2]), ["output_0", "output_1.0", "output_1.1"]),
        ({"x": 0, "x_out": 1}, ["x_out", "x_out_"]),
        ({"a": {"b": 0}, "a.b": 1}, ["a.b", "a.b_"]),
    ],
)
def test_names(result: object, names: list[str]) -> None:
    assert output_names(None, jax.tree.structure(result), ["x"]) == names


def test_no_result_is_refused() -> None:
    with pytest.raises(ConversionError, match="at least one array"):
        output_names(None, jax.tree.structure(()), [])
