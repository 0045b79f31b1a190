import numpy as np

from yobx.xbuilder.initializers import InitializerStore


def test_small_arrays_are_found_by_content() -> None:
    store = InitializerStore()
    store.add("a", np.array([1.0, 2.0], dtype=np.float32), shareable=True)
    assert store.find(np.array([1.0, 2.0], dtype=np.float32)) == "a"
    assert store.find(np.array([1.0, 2.0], dtype=np.float64)) is None
    assert store.find(np.array([[1.0, 2.0]], dtype=np.float32)) is None


def test_zero_has_a_sign() -> None:
    store = InitializerStore()
    store.add("a", np.array(0.0), shareable=True)
    assert store.find(np.array(-0.0)) is None


def test_large_arrays_are_found_by_identity() -> None:
    store = InitializerStore()
    large = np.zeros(100_000)
    store.add("a", large, shareable=True)
    assert store.find(large) == "a"
    assert store.find(large.copy()) is None
    assert store["a"] is large


def test_named_arrays_are_not_shared() -> None:
    store = InitializerStore()
    store.add("a", np.array([1]), shareable=False)
    assert store.find(np.array([1])) is None
    assert list(store) == ["a"]


def test_strings() -> None:
    store = InitializerStore()
    store.add("a", np.array(["x", "y"], dtype=object), shareable=True)
    assert store.find(np.array(["x", "y"])) == "a"
    assert store.find(np.array([b"x", b"y"], dtype=object)) is None
