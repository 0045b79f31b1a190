from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tests.verification.models import model, network, unary, value
from yobx.errors import ArgumentError
from yobx.verification import check_conversion
from yobx.verification.bindings import axes_of_inputs, choose_bindings, resized


def bindings_of(target, *arrays, asked=None):
    return choose_bindings(target, axes_of_inputs(target), list(arrays), asked)


def two_inputs():
    node = helper.make_node("MatMul", ["x", "y"], ["z"])
    inputs = [value("x", ["B", "K", 7]), value("y", ["B", 7, "N"])]
    return model([node], inputs, [value("z", ["B", "K", "N"])])


def test_every_symbol_gets_a_prime_of_its_own():
    target = two_inputs()
    x, y = np.zeros((2, 6, 7), "f4"), np.zeros((2, 7, 12), "f4")
    primes, primes2, ones = bindings_of(target, x, y)
    for binding in (primes, primes2):
        sizes = list(binding.sizes.values())
        assert len(set(sizes)) == 3
        assert 7 not in sizes, "7 is a fixed size of the model"
    assert all(all(n % d for d in range(2, n)) for n in primes.sizes.values())
    assert all(n % 2 == 0 for symbol, n in primes2.sizes.items() if symbol != "B")
    assert not set(primes.sizes.values()) & set(primes2.sizes.values())
    assert set(ones.sizes.values()) == {1}


def test_primes_keep_the_whole_sample_and_primes2_shrinks_it():
    target = two_inputs()
    x, y = np.zeros((20, 6, 7), "f4"), np.zeros((20, 7, 40), "f4")
    primes, primes2, _ = bindings_of(target, x, y)
    assert primes.sizes["B"] >= 20
    assert primes.sizes["N"] >= 40
    assert primes2.sizes["N"] <= 40


def test_the_second_sizes_are_even_and_twice_a_prime_where_one_is_free():
    target = two_inputs()
    x, y = np.zeros((2, 16, 7), "f4"), np.zeros((2, 7, 40), "f4")
    _, primes2, _ = bindings_of(target, x, y)
    assert primes2.sizes == {"B": 11, "K": 6, "N": 38}
    small = np.zeros((2, 3, 7), "f4"), np.zeros((2, 7, 2), "f4")
    assert bindings_of(target, *small)[1].sizes["K"] % 2 == 1, "no even size is left"


def test_a_batch_of_one_still_grows():
    primes = bindings_of(unary("Relu"), np.zeros((1, 4), "f4"))[0]
    assert primes.sizes == {"B": 5}


def test_refused_sizes_have_something_softer():
    target = two_inputs()
    x, y = np.zeros((2, 16, 7), "f4"), np.zeros((2, 7, 32), "f4")
    primes = bindings_of(target, x, y)[0]
    assert primes.softer is not None
    assert primes.softer.sizes["K"] <= 16
    assert primes.softer.softer is not None
    assert primes.softer.softer.sizes == {"B": primes.sizes["B"], "K": 16, "N": 32}


def test_a_static_model_has_one_binding():
    (only,) = bindings_of(unary("Relu", (3, 4)), np.zeros((3, 4), "f4"))
    assert only.sizes == {}
    assert only.describe() == "static sizes"


def test_an_unnamed_axis_is_bound_too():
    primes = bindings_of(unary("Relu", (None, 4)), np.zeros((2, 4), "f4"))[0]
    assert primes.sizes == {"x[0]": 5}


def expressions():
    """Of an input of `[3*n, k - 2]` and one of `[n]`."""
    inputs = [value("x", ["3*n", "k - 2"]), value("y", ["n"])]
    nodes = [helper.make_node("Relu", [name], [name.upper()]) for name in ("x", "y")]
    outputs = [value("X", ["3*n", "k - 2"]), value("Y", ["n"])]
    return model(nodes, inputs, outputs)


def test_a_size_that_is_an_expression_follows_from_its_symbols():
    target = expressions()
    sample = [np.ones((6, 5), "f4"), np.ones(2, "f4")]
    natural, primes, primes2, ones = bindings_of(
        target, *sample, asked=["sample", "primes", "primes2", "ones"]
    )
    assert natural.sizes == {"n": 2, "k": 7}
    for binding in (primes, primes2):
        x, y = resized(axes_of_inputs(target), sample, binding, seed=0)
        n, k = binding.sizes["n"], binding.sizes["k"]
        assert (x.shape, y.shape) == ((3 * n, k - 2), (n,))
    assert ones.sizes == {"n": 1, "k": 7}, "an axis of k - 2 has no size at k = 1"


def test_a_binding_of_a_negative_size_is_refused():
    sample = [np.ones((6, 5), "f4"), np.ones(2, "f4")]
    with pytest.raises(ArgumentError, match=r"Received: {'k': 1}: no input has k - 2 = -1"):
        bindings_of(expressions(), *sample, asked=[{"k": 1}])


def test_a_binding_that_no_input_can_have_is_told():
    target = unary("Relu", ["n - 9"])
    report = check_conversion(target, (np.ones(3, "f4"),), reference=lambda x: np.maximum(x, 0))
    assert report.passed, report.text()
    assert [b.note for b in report.bindings if not b.ran] == [
        "not made: no input has n - 9 = -8, under n=1"
    ]


def test_a_source_that_asks_for_even_sizes_gets_them():
    def halves(x):
        return np.maximum(x, 0).reshape(-1, 2, 4).reshape(-1, 4)

    def reference(x):
        if len(x) % 2:
            raise ValueError("odd")
        return halves(x)

    report = check_conversion(unary("Relu"), (np.ones((2, 4), "f4"),), reference=reference)
    assert report.passed, report.text()
    assert [b.sizes for b in report.bindings if b.ran] == [{"B": 4}, {"B": 8}]


def test_a_binding_of_ones_own():
    (mine,) = bindings_of(unary("Relu"), np.zeros((2, 4), "f4"), asked=[{"B": 3}])
    assert mine.sizes == {"B": 3}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["prime"], "primes, primes2, ones, zeros, sample"),
        ([{"C": 3}], "The model has: B"),
        ([{"B": -1}], "B=-1"),
        ([{"B": 2.5}], "B=2.5"),
    ],
)
def test_wrong_bindings_are_refused(asked, words):
    with pytest.raises(ArgumentError, match=r"binding|size") as caught:
        bindings_of(unary("Relu"), np.zeros((2, 4), "f4"), asked=asked)
    assert words in str(caught.value)


def test_inputs_of_one_symbol_are_resized_together():
    target = two_inputs()
    x = np.random.default_rng(0).normal(size=(2, 6, 7)).astype("f4")
    y = np.random.default_rng(1).normal(size=(2, 7, 12)).astype("f4")
    primes = bindings_of(target, x, y)[0]
    new_x, new_y = resized(axes_of_inputs(target), [x, y], primes, seed=0)
    assert new_x.shape[0] == new_y.shape[0] == primes.sizes["B"]
    np.testing.assert_array_equal(new_x[:2, :6], x)
    again = resized(axes_of_inputs(target), [x, y], primes, seed=0)
    np.testing.assert_array_equal(again[0], new_x)
    other = resized(axes_of_inputs(target), [x, y], primes, seed=1)
    assert (other[0] != new_x).any()


def test_a_matrix_with_one_symbol_for_both_axes_stays_invertible():
    target = unary("Identity", ["B", "N", "N"])
    x = np.random.default_rng(0).normal(size=(2, 4, 4)).astype("f4")
    (new,) = resized(axes_of_inputs(target), [x], bindings_of(target, x)[0], seed=0)
    size = new.shape[-1]
    assert size > 4
    assert (np.linalg.matrix_rank(new) == size).all()


def test_an_empty_batch_is_a_binding_of_its_own():
    x = np.ones((2, 16), np.float32)
    report = check_conversion(network(), (x,), reference=network(), bindings=["zeros"])
    assert report.passed
    assert [b.sizes for b in report.bindings] == [{"B": 0}]
    assert report.outputs[0].elements == 0
