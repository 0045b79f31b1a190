from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from yobx.tensorflow import register as registry
from yobx.tensorflow.register import (
    TF_OP_CONVERTERS,
    accepts_verbose,
    get_tf_op_converter,
    get_tf_op_converters,
    get_tf_op_registration,
    register_tf_op_converter,
)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    before, records = dict(TF_OP_CONVERTERS), dict(registry._REGISTRATIONS)
    yield
    TF_OP_CONVERTERS.clear()
    TF_OP_CONVERTERS.update(before)
    registry._REGISTRATIONS.clear()
    registry._REGISTRATIONS.update(records)


def test_string_and_tuple() -> None:
    @register_tf_op_converter("YobxTestA")
    def one(g, sts, outputs, op):
        return outputs[0]

    @register_tf_op_converter(("YobxTestB", "YobxTestBV2"), dtypes=("float32",))
    def two(g, sts, outputs, op):
        return outputs[0]

    assert get_tf_op_converter("YobxTestA") is one
    assert get_tf_op_converter("YobxTestBV2") is two
    assert get_tf_op_converter("YobxTestC") is None
    record = get_tf_op_registration("YobxTestB")
    assert record is not None
    assert record.dtypes == frozenset({"float32"})
    assert "test_register.py" in record.place
    assert get_tf_op_registration("YobxTestA").dtypes is None


def test_lookup_returns_a_copy() -> None:
    copy = get_tf_op_converters()
    copy["YobxTestA"] = print
    assert get_tf_op_converter("YobxTestA") is None


def test_duplicate_names_both_places() -> None:
    @register_tf_op_converter("YobxTestA")
    def first(g, sts, outputs, op):
        return ""

    with pytest.raises(TypeError, match=r"YobxTestA.*first.*second.*extra_converters"):

        @register_tf_op_converter("YobxTestA")
        def second(g, sts, outputs, op):
            return ""

    assert get_tf_op_converter("YobxTestA") is first


def test_duplicate_inside_a_tuple() -> None:
    with pytest.raises(TypeError, match="YobxTestD"):

        @register_tf_op_converter(("YobxTestD", "YobxTestD"))
        def twice(g, sts, outputs, op):
            return ""


@pytest.mark.parametrize("names", [(), ["YobxTestA"], ("YobxTestA", 3), "", None])
def test_odd_names_are_refused(names: object) -> None:
    with pytest.raises(TypeError, match="non-empty tuple"):
        register_tf_op_converter(names)  # type: ignore[arg-type]


def test_dtypes_is_not_a_string() -> None:
    with pytest.raises(TypeError, match=r"dtypes=\('float32',\)"):
        register_tf_op_converter("YobxTestA", dtypes="float32")


def test_which_converters_take_verbose() -> None:
    assert accepts_verbose(lambda g, sts, outputs, op, verbose=0: "")
    assert accepts_verbose(lambda g, sts, outputs, op, **more: "")
    assert not accepts_verbose(lambda g, sts, outputs, op: "")


def test_listing_does_not_import_tensorflow() -> None:
    code = (
        "import sys, yobx.tensorflow.ops as ops, yobx.tensorflow.register as r; ops.register();"
        "ops.register(); assert r.TF_OP_CONVERTERS;"
        "assert not {'tensorflow', 'keras', 'jax', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dtypes_by_attribute() -> None:
    import tensorflow as tf

    @register_tf_op_converter("YobxTestA", dtypes={"T": ("float32", "int32")})
    def one(g, sts, outputs, op):
        return outputs[0]

    record = get_tf_op_registration("YobxTestA")
    assert record is not None
    assert record.dtypes == frozenset({"float32", "int32"})
    with tf.Graph().as_default():
        # Index and result types are not part of the declaration.
        good = tf.raw_ops.ArgMax(input=tf.zeros([2]), dimension=tf.constant(0, tf.int64))
        bad = tf.raw_ops.ArgMax(input=tf.zeros([2], tf.int8), dimension=0)
    assert record.undeclared(good.op) == []
    assert record.undeclared(bad.op) == ["int8"]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda g, op: "", "too many positional arguments"),
        (lambda g, sts, outputs, op, more: "", "missing a required argument: 'more'"),
        (lambda g, sts, outputs, op, *, dtype: "", "missing a required argument: 'dtype'"),
        (3, "3, which cannot be called"),
    ],
)
def test_a_converter_that_cannot_be_called_is_refused_with_its_place(function, why):
    with pytest.raises(TypeError) as caught:
        register_tf_op_converter(("YobxTestA", "YobxTestB"))(function)
    text = str(caught.value)
    assert text.startswith(
        "A converter takes (g, sts, outputs, op), and verbose=0 if it likes. Received: "
    )
    assert text.endswith(
        f"{why}, registered for 'YobxTestA', 'YobxTestB'. Try def convert(g, sts, outputs, op): ..."
    )
    assert callable(function) == ("test_register.py:" in text)
    assert get_tf_op_converter("YobxTestA") is None


def test_what_a_converter_may_take_besides():
    register_tf_op_converter("YobxTestA")(lambda g, sts, outputs, op, *, verbose=0: "")
    register_tf_op_converter("YobxTestB")(lambda *args, **keywords: "")
    register_tf_op_converter("YobxTestD")(lambda g, sts, outputs, op, more=1: "")
