from tests.passes.support import apply, kinds, parse
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.transposes import compose_transposes, transposes_to_reshapes


def test_chain_is_composed() -> None:
    before = parse(
        """g (float[n, 3, 4] x) => (float[b, c, d] y) {
            a = Transpose <perm = [2, 0, 1]> (x)
            b = Transpose (a)
            y = Transpose <perm = [0, 2, 1]> (b)
        }"""
    )
    after = apply(before, compose_transposes, remove_dead_code)
    assert kinds(after) == {"Transpose": 1}


def test_pair_that_does_nothing() -> None:
    before = parse(
        """g (float[n, 3, 4] x) => (float[n, 3, 4] y) {
            a = Transpose <perm = [2, 0, 1]> (x)
            b = Transpose <perm = [1, 2, 0]> (a)
            y = Relu (b)
        }"""
    )
    assert kinds(apply(before, compose_transposes, remove_dead_code)) == {"Relu": 1}


def test_an_input_given_back_takes_a_node() -> None:
    before = parse(
        """g (float[n, 3] x) => (float[n, 3] y) {
            a = Transpose (x)
            y = Transpose (a)
        }"""
    )
    assert kinds(apply(before, compose_transposes, remove_dead_code)) == {"Identity": 1}


def test_constant_is_transposed() -> None:
    before = parse(
        """g (float[n, 2] x) => (float[n, 3] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
            t = Transpose (w)
            y = MatMul (x, t)
        }"""
    )
    assert kinds(apply(before, compose_transposes, remove_dead_code)) == {"MatMul": 1}


def test_only_sizes_of_one_move() -> None:
    before = parse(
        """g (float[n, 1, 1, 4] x) => (float[n, 4, 1, 1] y) {
            y = Transpose <perm = [0, 3, 1, 2]> (x)
        }"""
    )
    assert kinds(apply(before, transposes_to_reshapes)) == {"Reshape": 1}


def test_real_transposes_stay() -> None:
    before = parse(
        """g (float[n, 2, 3, 4] x, float[n, m, 1, 1] z)
        => (float[n, 4, 2, 3] y, float[m, n, 1, 1] w) {
            y = Transpose <perm = [0, 3, 1, 2]> (x)
            w = Transpose <perm = [1, 0, 2, 3]> (z)
        }"""
    )
    after = apply(before, compose_transposes, transposes_to_reshapes)
    assert kinds(after) == {"Transpose": 2}
