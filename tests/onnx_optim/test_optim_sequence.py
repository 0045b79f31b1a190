"""Sequences of tensors that share some of their sizes."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto as T

from tests.onnx_optim.running import check_model, dims, floats, parse
from yobx.onnx_optim import OptimDim, OptimSequence, OptimShape
from yobx.onnx_optim.type_protos import descriptor_of_type, type_of_descriptor


def test_sizes_that_differ_leave_the_rank_and_the_others() -> None:
    listed = OptimSequence(T.FLOAT, [["n", 3], ["m", 3]])
    assert listed.elem_dims == (None, OptimDim(3))
    assert not listed.elem_shape.has_rank()
    assert OptimSequence(T.FLOAT, [["n"], ["n", 3]]).elem_dims is None
    partly = OptimSequence(T.FLOAT, length="k", elem_dims=[None, "n"])
    assert partly.symbols() == {"k", "n"}
    assert repr(partly) == "OptimSequence(kFloat, length=OptimDim('k'), elem_shape=[?, n])"
    assert partly != OptimSequence(T.FLOAT, length="k")
    assert OptimSequence(T.FLOAT, elem_dims=[2, "n"]).elem_shape == OptimShape([2, "n"])
    assert OptimSequence(T.FLOAT, elem_dims=[]).elem_shape == OptimShape([])


def test_types_keep_the_sizes_that_elements_share() -> None:
    partly = OptimSequence(T.FLOAT, length="k", elem_dims=[None, "n"])
    proto = type_of_descriptor(partly)
    assert proto is not None
    dims = proto.sequence_type.elem_type.tensor_type.shape.dim
    assert [(d.WhichOneof("value"), d.dim_param) for d in dims] == [(None, ""), ("dim_param", "n")]
    assert descriptor_of_type(proto, OptimDim) == OptimSequence(T.FLOAT, elem_dims=[None, "n"])


def test_parts_of_unknown_size_have_a_rank_in_every_run() -> None:
    model = parse("""
        g (float[n, m] x, int64[k] sizes, int64 i) => (e, count, whole) {
          s = SplitToSequence <axis = 0> (x, sizes)
          e = SequenceAt (s, i)
          count = SequenceLength (s)
          whole = ConcatFromSequence <axis = 0> (s)
        }""")
    feeds = [
        {"x": floats(n, 4), "sizes": np.array(sizes), "i": np.array(i)}
        for n, sizes, i in [(3, [1, 2], 0), (3, [1, 2], 1), (2, [2], -1), (1, [0, 1], 0)]
    ]
    context = check_model(model, feeds)
    assert dims(context, "e") == ["SequenceAt_e_d0", "m"]
    assert dims(context, "whole") == ["ConcatFromSequence_whole_d0", "m"]
    assert context.get("count").value == (OptimDim("k"),)


def test_inputs_whose_elements_differ() -> None:
    model = parse("""
        g (seq(float[?, 3]) s) => (a, b, whole) {
          zero = Constant <value_int = 0> ()  one = Constant <value_int = 1> ()
          a = SequenceAt (s, zero)  b = SequenceAt (s, one)
          whole = ConcatFromSequence <axis = 0> (s)
        }""")
    context = check_model(model, [{"s": [floats(2, 3), floats(5, 3)]}])
    assert dims(context, "a") == ["SequenceAt_a_d0", 3]
    assert dims(context, "b") == ["SequenceAt_b_d0", 3]


def test_branches_and_insertions_keep_what_elements_share() -> None:
    model = parse("""
        g (bool c, float[n, m] x, float[k, m] y, int64[p] sizes) => (e) {
          s = If (c) <
            then_branch = t () => (a) { a = SplitToSequence <axis = 0> (x, sizes) },
            else_branch = f () => (b) { b = SequenceConstruct (y) }>
          more = SequenceInsert (s, y)
          zero = Constant <value_int = 0> ()
          e = SequenceAt (more, zero)
        }""")
    feeds = [
        {"c": np.array(c), "x": floats(3, 2), "y": floats(4, 2), "sizes": np.array([1, 2])}
        for c in (True, False)
    ]
    assert dims(check_model(model, feeds), "e") == ["SequenceAt_e_d0", "m"]
