"""Inputs and outputs with their channels first."""

from __future__ import annotations

import keras
import numpy as np
import onnxruntime
import pytest

from tests.tensorflow.helpers import data, dims, names_of
from yobx.errors import ArgumentError
from yobx.tensorflow import to_onnx


def _model() -> keras.Model:
    image, other = keras.Input((6, 5, 3), name="image"), keras.Input((2,), name="other")
    maps = keras.layers.Conv2D(4, 3, padding="same", name="maps")(image)
    return keras.Model([image, other], [maps, keras.layers.Dense(2, name="dense")(other)])


IMAGE, OTHER = data(2, 6, 5, 3), data(2, 2)


@pytest.mark.parametrize("inputs", [(), ("image",)])
@pytest.mark.parametrize("outputs", [(), ("maps",)])
def test_both_sides(inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
    model = _model()
    onx = to_onnx(model, inputs_as_nchw=inputs, outputs_as_nchw=outputs)
    assert names_of(onx) == (["image", "other"], ["maps", "dense"])
    wanted = [3, 6, 5] if inputs else [6, 5, 3]
    assert dims(onx.graph.input[0])[1:] == wanted
    assert dims(onx.graph.output[0])[1:] == ([4, 6, 5] if outputs else [6, 5, 4])
    transposes = [n for n in onx.graph.node if n.op_type == "Transpose"]
    assert len(transposes) == 2 - len(inputs) - len(outputs)
    session = onnxruntime.InferenceSession(onx.SerializeToString())
    given = IMAGE.transpose(0, 3, 1, 2) if inputs else IMAGE
    maps, dense = session.run(None, {"image": given, "other": OTHER})
    if outputs:
        maps = maps.transpose(0, 2, 3, 1)
    for got, value in zip((maps, dense), model([IMAGE, OTHER]), strict=True):
        np.testing.assert_allclose(got, np.asarray(value), rtol=1e-4, atol=1e-5)


def test_one_and_three_axes_of_places() -> None:
    for shape, perm in (((2, 4, 3), (0, 2, 1)), ((2, 4, 5, 6, 3), (0, 4, 1, 2, 3))):
        x = data(*shape)
        onx = to_onnx(lambda x: x + 1, (x,), inputs_as_nchw=["x"], outputs_as_nchw=["output_0"])
        session = onnxruntime.InferenceSession(onx.SerializeToString())
        (got,) = session.run(None, {"x": x.transpose(perm)})
        np.testing.assert_array_equal(got, (x + 1).transpose(perm))
        assert not [n for n in onx.graph.node if n.op_type == "Transpose"]


def test_dynamic_axes_are_those_of_the_model() -> None:
    onx = to_onnx(
        lambda x: x * 2,
        (IMAGE,),
        dynamic_shapes={"x": {1: "height", 3: "channels"}},
        inputs_as_nchw=["x"],
        outputs_as_nchw=["output_0"],
    )
    assert dims(onx.graph.input[0]) == [2, "channels", "height", 5]
    assert dims(onx.graph.output[0]) == [2, "channels", "height", 5]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"inputs_as_nchw": ["picture"]}, "'picture', which is none of 'image', 'other'"),
        ({"outputs_as_nchw": ["image"]}, "'image', which is none of 'maps', 'dense'"),
        ({"inputs_as_nchw": ["other"]}, "'other' of rank 2"),
        ({"outputs_as_nchw": ["dense"]}, "'dense' of rank 2"),
        ({"inputs_as_nchw": "image"}, "inputs_as_nchw is a sequence"),
        ({"outputs_as_nchw": ["maps", "maps"]}, "distinct"),
    ],
)
def test_what_is_wrong_is_told(options: dict[str, object], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        to_onnx(_model(), **options)


def test_complex_numbers_are_refused() -> None:
    x = np.zeros((1, 2, 3, 4), np.complex64)
    with pytest.raises(ArgumentError, match="of complex numbers"):
        to_onnx(lambda x: x, (x,), inputs_as_nchw=["x"])
