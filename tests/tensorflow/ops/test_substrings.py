"""Parts of text, which need the domain of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

from yobx.errors import UnsupportedAttributeError
from yobx.tensorflow import to_onnx

ALLOWED = {"": 21, "com.microsoft": 1}
WORDS = np.array(["d\u00e9j\u00e0", "abc"], object)


def session_of(function: Any) -> onnxruntime.InferenceSession:
    model = to_onnx(tf.function(function), (WORDS,), target_opset=ALLOWED)
    return onnxruntime.InferenceSession(model.SerializeToString())


@pytest.mark.parametrize("function", [tf.strings.length, lambda x: tf.strings.substr(x, 0, 1)])
def test_without_the_domain_the_error_says_how_to_allow_it(function: Any) -> None:
    with pytest.raises(UnsupportedAttributeError, match=r"'com\.microsoft': 1"):
        to_onnx(tf.function(function), (WORDS,))


def test_a_byte_within_a_character_cannot_be_cut_off() -> None:
    session = session_of(lambda x: tf.strings.substr(x, 0, 2))
    assert list(session.run(None, {"x": np.array(["abc", ""], object)})[0]) == ["ab", ""]
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
        session.run(None, {"x": WORDS})


def test_a_position_outside_is_an_error() -> None:
    session = session_of(lambda x: tf.strings.substr(x, 4, 1, unit="UTF8_CHAR"))
    assert list(session.run(None, {"x": WORDS[:1]})[0]) == [""]
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
        session.run(None, {"x": WORDS})
