"""What a repository checks beyond its list of models."""

from typing import Any

import numpy as np
import pytest
from zoo.tabular import two_towers


@pytest.mark.yobx(dynamic_shapes=({0: "batch"},))
def scaled_sigmoid() -> Any:
    """Collected by ``pytest --yobx``: returns a model and its inputs."""
    import tensorflow as tf

    @tf.function
    def scale(x: Any) -> Any:
        return 6.0 * tf.sigmoid(x) - 3.0

    return scale, (np.linspace(-8.0, 8.0, 12, dtype=np.float32).reshape(3, 4),)


def test_names_are_kept(assert_converts: Any) -> None:
    """The fixture converts, compares, and hands back the model for further checks."""
    model, args = two_towers()
    result = assert_converts(model, args)
    assert {value.name for value in result.model.graph.input} == {"user", "item"}
