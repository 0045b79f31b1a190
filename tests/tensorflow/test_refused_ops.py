"""Every op type of TensorFlow has a converter, or a reason why it has none."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from yobx.errors import UnsupportedAttributeError, UnsupportedOpError
from yobx.tensorflow import to_onnx
from yobx.tensorflow.ops import register
from yobx.tensorflow.refused_ops import CLASSES, by_class, class_of
from yobx.tensorflow.register import TF_OP_CONVERTERS

register()
NAMES = [name for name in dir(tf.raw_ops) if name[0].isupper()]


def test_every_op_type_is_registered_or_has_a_class() -> None:
    rest = [name for name in NAMES if name not in TF_OP_CONVERTERS]
    assert [name for name in rest if class_of(name) is None] == []
    assert sum(len(names) for names in by_class(rest).values()) == len(rest)


def titles(*names: str) -> set[str]:
    found = [class_of(name) for name in names]
    assert None not in found
    return {refused.title for refused in found if refused is not None}


def test_classes_of_what_inference_graphs_may_hold() -> None:
    assert titles("DecodeRaw") == {"Bytes of strings"}
    assert titles("SampleDistortedBoundingBoxV2") == {"Random crops for training"}
    assert titles("RaggedTensorToVariant", "RaggedTensorFromVariant") == {
        "Ragged rows as one value"
    }
    assert titles(
        "TensorArrayV3", "TensorArrayReadV3", "TensorArrayCloseV3", "Enter", "LoopCond"
    ) == {"Loops and arrays of frozen graphs"}
    assert titles("TensorArrayV2", "RefEnter") == {"First versions of control flow and lists"}
    assert titles("CudnnRNN", "CudnnRNNV3") == {"Recurrent layers of CUDA"}


def test_every_class_has_members() -> None:
    found = by_class(name for name in NAMES if name not in TF_OP_CONVERTERS)
    assert set(found) == set(CLASSES)


def test_other_names_have_no_class() -> None:
    assert class_of("MyOwnOp") is None


def test_the_error_says_why() -> None:
    function = tf.function(lambda x: tf.strings.to_hash_bucket_fast(x, 3))
    with pytest.raises(UnsupportedOpError, match="StringToHashBucketFast gives other numbers"):
        to_onnx(function, (np.array(["a"], object),))


def test_a_pattern_that_needs_an_engine_is_refused_with_another_way() -> None:
    function = tf.function(lambda x: tf.strings.regex_replace(x, "(a+)b*", r"\1"))
    with pytest.raises(UnsupportedAttributeError, match="operator StringRegexReplace"):
        to_onnx(function, (np.array(["a"], object),))
