from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from yobx.errors import ArgumentError
from yobx.tensorflow.arguments import CallArguments, normalise_arguments
from yobx.tensorflow.dynamic_shapes import resolve_dynamic_shapes


def _call(*shapes: tuple[int, ...]) -> CallArguments:
    return normalise_arguments(tuple(np.zeros(shape, np.float32) for shape in shapes))


def _resolve(spec: Any, *shapes: tuple[int, ...]) -> tuple[Any, ...]:
    call = _call(*shapes)
    return resolve_dynamic_shapes(spec, call, [f"x{i}" for i in range(len(shapes))])


def test_default_shares_a_name_by_size() -> None:
    assert _resolve(None, (5, 4), (5, 3), (2, 3), ()) == (
        ("batch", 4),
        ("batch", 3),
        ("batch_1", 3),
        (),
    )


def test_default_joins_a_named_size() -> None:
    assert _resolve(({0: "n"}, None), (5, 4), (5, 3)) == (("n", 4), ("n", 3))
    assert _resolve(({1: "batch"}, None), (5, 4), (7, 3)) == ((5, "batch"), ("batch_1", 3))


def test_static() -> None:
    assert _resolve(({},), (5, 4)) == ((5, 4),)
    assert _resolve({}, (5, 4), (2, 3)) == ((5, 4), (2, 3))


def test_negative_axis_and_names() -> None:
    assert _resolve(({-1: "w", 0: "n"},), (5, 4, 3)) == (("n", 4, "w"),)
    assert _resolve(({0: "n"}, {1: "n"}), (5, 4), (3, 5)) == (("n", 4), (3, "n"))
    assert _resolve({0: "n"}, (5, 4)) == (("n", 4),)
    assert _resolve(({1: None},), (5, 4)) == ((5, "x0_dim1"),)


def test_by_name() -> None:
    assert _resolve({"x1": {1: "k"}}, (5, 4), (5, 3)) == (("batch", 4), (5, "k"))


def test_nested_like_the_arguments() -> None:
    zeros = np.zeros((5, 4), np.float32)
    call = normalise_arguments(({"b": zeros, "a": zeros}, [zeros, zeros]))
    names = ["a", "b", "l.0", "l.1"]
    nested = ({"a": {0: "n"}, "b": {}}, [{1: "m"}, None])
    assert resolve_dynamic_shapes(nested, call, names) == (
        ("n", 4),
        (5, 4),
        (5, "m"),
        ("n", 4),
    )
    assert resolve_dynamic_shapes((None, {}), call, names)[2:] == ((5, 4), (5, 4))
    flat = ({0: "n"}, {}, {1: "m"}, {})
    assert resolve_dynamic_shapes(flat, call, names)[2] == (5, "m")


def test_expressions_relate_sizes() -> None:
    shapes = _resolve(({0: "m + n", 1: "m*2"}, {0: "n + m", 1: "n"}), (5, 4), (5, 3))
    assert shapes == (("m + n", "2*m"), ("m + n", "n"))
    declared = onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, ["batch", None])
    call = normalise_arguments((declared, np.zeros((6,), np.float32)))
    named = resolve_dynamic_shapes((None, {0: "2*batch"}), call, ["a", "b"])
    assert named == (("batch", "a_dim1"), ("2*batch",))


def test_a_single_dict_argument_may_be_named_by_key() -> None:
    zeros = np.zeros((5, 4), np.float32)
    call = normalise_arguments(({"b": zeros, "a": zeros},))
    spec = {"a": {0: "n"}, "b": {0: "n"}}
    renamed = resolve_dynamic_shapes(spec, call, ["first", "second"])
    assert renamed == (("n", 4), ("n", 4))


def test_declarations_are_kept() -> None:
    import tensorflow as tf

    specs = (tf.TensorSpec((None, 4, None)), tf.TensorSpec((2, 3)), tf.TensorSpec(None))
    call = normalise_arguments(specs)
    assert resolve_dynamic_shapes(None, call, ["a", "b", "c"]) == (
        ("batch", 4, "a_dim2"),
        (2, 3),
        None,
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (({2: "n"}, {}), r"axis 2 for the input 'x0' of rank 2"),
        (({-3: "n"}, {}), r"axis -3"),
        (({0: "n"}, {1: "n"}), r"'n' for axis 0 of 'x0', of size 5, and for axis 1 of 'x1'"),
        (({0: "a", -2: "b"}, {}), "One axis has one name"),
        (({0: "not a name"}, {}), "identifier"),
        (({0: 5}, {}), "identifier"),
        (({0: "2 n"}, {}), "identifier"),
        (({0: "3"}, {}), "identifier"),
        (({0: "2*n"}, {}), r"'2\*n' for an axis of size 5"),
        (({1: "2*n"}, {1: "n"}), r"'2\*n' for an axis of size 4"),
        (({},), "nested like"),
        (({}, {}, {}), "nested like"),
        ({"y": {0: "n"}}, r"'y'. The inputs are 'x0', 'x1'"),
        ({0: "n"}, "one entry per input"),
        ("batch", "dynamic_shapes is None, a tuple"),
        (("n", {}), "axis -> name"),
    ],
)
def test_errors(spec: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        _resolve(spec, (5, 4), (5, 3))
    assert caught.value.argument == "dynamic_shapes"


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        (({"a": {0: "n"}, "bb": {0: "n"}}, [{}, {}]), "0.bb"),
        (({"a": {0: "n"}}, [{}, {}, {0: "n"}]), "1.2"),
    ],
)
def test_an_entry_without_an_input(spec: Any, place: str) -> None:
    zeros = np.zeros((5, 4), np.float32)
    call = normalise_arguments(({"b": zeros, "a": zeros}, [zeros, zeros]))
    with pytest.raises(ArgumentError, match=rf"an entry for {place}, where there is no input"):
        resolve_dynamic_shapes(spec, call, ["a", "b", "l.0", "l.1"])


def test_keys_that_are_numbers() -> None:
    zeros = np.zeros((5, 4), np.float32)
    call = normalise_arguments(({0: zeros, 1: zeros},))
    found = resolve_dynamic_shapes(({1: {0: "n"}, 0: {}},), call, ["x.0", "x.1"])
    assert found == ((5, 4), ("n", 4))


def test_a_scalar_has_no_axis() -> None:
    with pytest.raises(ArgumentError, match="A scalar has no axis"):
        _resolve(({0: "n"},), ())


def _shapes(model: onnx.ModelProto) -> dict[str, list[int | str]]:
    return {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }


def _signed() -> Any:
    import tensorflow as tf

    @tf.function(
        input_signature=[tf.TensorSpec((None, 4)), {"k": tf.TensorSpec((24, 4), name="key")}]
    )
    def scores(x: Any, named: Any = None) -> Any:
        return tf.matmul(x, named["k"], transpose_b=True)

    return scores


@pytest.mark.parametrize("as_keyword", [False, True])
def test_sizes_that_an_input_signature_fixes_are_not_made_dynamic(as_keyword: bool) -> None:
    from yobx.tensorflow import to_onnx

    x, named = np.ones((3, 4), np.float32), {"k": np.ones((24, 4), np.float32)}
    args, kwargs = ((x,), {"named": named}) if as_keyword else ((x, named), None)
    model = to_onnx(_signed(), args, kwargs=kwargs)
    assert _shapes(model) == {"x": ["batch", 4], "k": [24, 4], "output_0": ["batch", 24]}


def test_a_name_for_a_size_that_an_input_signature_fixes_is_refused() -> None:
    from yobx.tensorflow import to_onnx

    args = (np.ones((3, 4), np.float32), {"k": np.ones((24, 4), np.float32)})
    with pytest.raises(ArgumentError, match=r"fixed to 24 in .* None there in its input_signature"):
        to_onnx(_signed(), args, dynamic_shapes={"x": {0: "b"}, "k": {0: "n"}})


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (np.ones((3, 4), np.float32), r"float32\[3, 4\] for the input 'named\.k'"),
        (np.ones((24, 4)), r"Try value.astype\('float32'\)"),
    ],
)
def test_arguments_that_do_not_fit_an_input_signature(key: Any, message: str) -> None:
    from yobx.tensorflow import to_onnx

    with pytest.raises(ArgumentError, match=message):
        to_onnx(_signed(), (np.ones((3, 4), np.float32), {"k": key}))


@pytest.mark.parametrize("kind", ["RaggedTensorSpec", "SparseTensorSpec"])
def test_a_signature_of_ragged_or_sparse_tensors_is_refused(kind: str) -> None:
    import tensorflow as tf

    from yobx.tensorflow import to_onnx

    @tf.function(input_signature=[getattr(tf, kind)((None, None), tf.float32)])
    def same(x: Any) -> Any:
        return x

    with pytest.raises(ArgumentError, match=f"no ragged or sparse ones. Received: .*{kind}"):
        to_onnx(same)
