import numpy as np
import onnx

from tests.passes.support import apply, parse
from yobx.passes.duplicate_initializers import merge_initializers


def test_equal_initializers_are_merged() -> None:
    before = parse(
        """g (float[n, 2] x) => (float[n, 2] y)
        <float[2] a = {1, 2}, float[2] b = {1, 2}, float[2] c = {1, 3}, float[1, 2] d = {1, 2},
         double[2] e = {1, 2}> {
            p = Add (x, a)
            q = Add (p, b)
            r = Add (q, c)
            s = Add (r, d)
            f = Cast <to: int = 1> (e)
            y = Add (s, f)
        }"""
    )
    after = apply(before, merge_initializers)
    assert [t.name for t in after.graph.initializer] == ["a", "c", "d", "e"]


def test_zero_has_a_sign() -> None:
    before = parse(
        """g (float[n] x) => (float[n] y) <float a = {0.0}, float b = {-0.0}> {
            p = Mul (x, a)
            y = Mul (p, b)
        }"""
    )
    assert len(apply(before, merge_initializers).graph.initializer) == 2


def test_outputs_and_inputs_stay() -> None:
    before = parse(
        """g (float[2] x, float[2] a) => (float[2] y, float[2] b)
        <float[2] a = {1, 2}, float[2] b = {1, 2}, float[2] c = {1, 2}> {
            p = Add (x, a)
            q = Add (p, b)
            y = Add (q, c)
        }"""
    )
    assert len(apply(before, merge_initializers).graph.initializer) == 3


def test_arrays_that_differ_in_the_middle_only_stay() -> None:
    middle = np.ones(100, np.float32)
    middle[50] = 2
    before = parse(
        """g (float[n, 100] x, float[100] a, float[100] b) => (float[n, 100] y) {
            p = Add (x, a)
            y = Mul (p, b)
        }"""
    )
    del before.graph.input[1:]
    before.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(100, np.float32), "a"))
    before.graph.initializer.append(onnx.numpy_helper.from_array(middle, "b"))
    assert len(apply(before, merge_initializers).graph.initializer) == 2
