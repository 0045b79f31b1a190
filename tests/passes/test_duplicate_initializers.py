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
