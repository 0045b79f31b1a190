import numpy as np
import pytest

from tests.passes.support import apply, kinds, parse, run
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.reshapes import simplify_reshapes
from yobx.xbuilder import GraphBuilder


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = Reshape (x, flat)\n y = Reshape (a, square)", {"Reshape": 1}),
        ("a = Flatten (x)\n y = Unsqueeze (a, one)", {"Reshape": 1}),
        ("a = Unsqueeze (x, one)\n b = Squeeze (a, one)\n y = Relu (b)", {"Relu": 1}),
        ("a = Reshape (x, flat)\n b = Reshape (a, cube)\n y = Relu (b)", {"Relu": 1}),
    ],
)
def test_chains(body: str, expected: dict[str, int]) -> None:
    before = parse(
        f"""g (float[n, 2, 6] x) => (float[b, c, d] y)
        <int64[2] flat = {{-1, 12}}, int64[3] square = {{-1, 3, 4}}, int64[3] cube = {{-1, 2, 6}},
         int64[1] one = {{1}}> {{ {body} }}"""
    )
    assert kinds(apply(before, simplify_reshapes, remove_dead_code)) == expected


def test_computed_target_becomes_a_constant() -> None:
    before = parse(
        """g (float[n, 2, 6] x) => (float[n, 12] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] twelve = {12}> {
            s = Shape (x)
            n = Slice (s, zero, one)
            t = Concat <axis: int = 0> (n, twelve)
            y = Reshape (x, t)
        }"""
    )
    assert kinds(apply(before, simplify_reshapes, remove_dead_code)) == {"Reshape": 1}


@pytest.mark.parametrize(("rest", "expected"), [("minus", {"Reshape": 1}), ("m6", None)])
def test_a_size_that_is_left_open_stays_open(rest: str, expected: dict[str, int] | None) -> None:
    before = parse(
        f"""g (float[n, m, 6] x) => (float[n, mm] y)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] six = {{6}},
         int64[1] minus = {{-1}}> {{
            s = Shape (x)
            n = Slice (s, zero, one)
            m = Slice (s, one, two)
            m6 = Mul (m, six)
            p = Concat <axis: int = 0> (n, {rest})
            i = Cast <to: int = 6> (p)
            t = Cast <to: int = 7> (i)
            y = Reshape (x, t)
        }}"""
    )
    after = kinds(apply(before, simplify_reshapes, remove_dead_code))
    # A product that is computed is also right for n = 0, which a -1 is not.
    assert after == expected if expected else "Mul" in after


def test_a_squeeze_that_fails_for_some_sizes_still_does() -> None:
    before = parse(
        """g (float[n, m] x) => (float[n, 1] y)
        <int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}> {
            s = Slice (x, two, three, one)
            q = Squeeze (s, one)
            y = Unsqueeze (q, one)
        }"""
    )
    after = apply(before, simplify_reshapes, remove_dead_code)
    assert kinds(after) == {"Slice": 1, "Squeeze": 1, "Unsqueeze": 1}


def test_two_unknown_sizes_stay_computed() -> None:
    before = parse(
        """g (float[n, m, 6] x) => (float[m, n, 6] y)
        <int64[3] order = {1, 0, 2}> {
            s = Shape (x)
            t = Gather (s, order)
            y = Reshape (x, t)
        }"""
    )
    after = apply(before, simplify_reshapes, remove_dead_code)
    assert kinds(after) == {"Shape": 1, "Gather": 1, "Reshape": 1}


def test_sizes_that_are_kept() -> None:
    before = parse(
        """g (float[n, m, 6] x) => (float[n, m, 2, 3] y)
        <int64[2] tail = {2, 3}> {
            s = Shape <end: int = 2> (x)
            t = Concat <axis: int = 0> (s, tail)
            y = Reshape (x, t)
        }"""
    )
    assert kinds(apply(before, simplify_reshapes, remove_dead_code)) == {"Reshape": 1}


@pytest.mark.parametrize("n", [0, 3])
def test_empty_batches(n: int) -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("X", np.float32, ("n", 2, 6))
    flat = g.op.Reshape("X", np.array([-1, 12]))
    g.make_tensor_output("Y", source=g.op.Reshape(flat, np.array([-1, 3, 4])))
    model = g.to_onnx(passes=[simplify_reshapes])
    assert run(model, {"X": np.zeros((n, 2, 6), dtype=np.float32)})[0].shape == (n, 3, 4)


def test_needless_expand() -> None:
    before = parse(
        """g (float[n, 3] x, float[3] b) => (float[n, 3] y) {
            s = Shape (x)
            e = Expand (b, s)
            y = Add (x, e)
        }"""
    )
    assert kinds(apply(before, simplify_reshapes, remove_dead_code)) == {"Add": 1}


def test_expand_that_matters() -> None:
    before = parse(
        """g (float[n, 3] x, float[3] b) => (float[n, 3] y) {
            s = Shape (x)
            e = Expand (b, s)
            y = Add (b, e)
        }"""
    )
    assert "Expand" in kinds(apply(before, simplify_reshapes, remove_dead_code))
