"""Hypothesis strategies for tests of models: arrays a model takes, sizes, and small ONNX models.

```python
@given(inputs_for([("float32", ("B", 4)), ("int64", ("B",))]))
def test_tower(arrays): ...
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from yobx.errors import ArgumentError
from yobx.onnx_optim.sizes import as_written, size_of, symbols_of
from yobx.verification.source_onnx import model_inputs
from yobx.verification.sources import InputSpec, value_spec

__all__ = ["arrays_for", "inputs_for", "models", "sizes_for"]

Array = NDArray[Any]
_MOST = 7
_WORDS = ("", "a", "Beta gamma", "épsilon", "0", "-1", "zeta\n", "日本")
# Where functions bend, and what a converter forgets.
_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-6, -18.5, 88.0)
_TOKENS = 10


def _spec(spec: Any) -> InputSpec:
    """Reads ``(dtype, shape)``, a `ValueInfoProto`, or anything with a dtype and a shape."""
    if isinstance(spec, InputSpec):
        return spec
    if isinstance(spec, onnx.ValueInfoProto):
        return value_spec(spec)
    dtype, shape = spec if isinstance(spec, tuple) else (spec.dtype, spec.shape)
    dtype = getattr(dtype, "as_numpy_dtype", dtype)
    if isinstance(dtype, str):
        dtype = object if dtype == "string" else getattr(ml_dtypes, dtype, dtype)
    name = "" if isinstance(spec, tuple) else str(getattr(spec, "name", "") or "")
    return InputSpec(name, np.dtype(dtype), as_written(shape))


def _specs(source: Any) -> list[InputSpec]:
    if isinstance(source, onnx.ModelProto):
        return model_inputs(source)
    return [_spec(item) for item in source]


def sizes_for(
    specs: Any, *, least: int = 0, most: int = _MOST
) -> st.SearchStrategy[dict[str, int]]:
    """Sizes of the named dimensions; a name that several inputs share has one size.

    The names are those in expressions too: ``("2*n",)`` is drawn by its ``n``.

    Args:
        specs: Descriptions of inputs, or an ONNX model.
        least: Smallest size; 0 and 1 are the ones that find most.
        most: Largest size.

    Returns:
        Strategy of symbol -> size.
    """
    dims = [dim for spec in _specs(specs) for dim in spec.shape or () if isinstance(dim, str)]
    names = [symbol for dim in dims for symbol in symbols_of(dim)]
    one = st.integers(least, most)
    named = st.fixed_dictionaries(dict.fromkeys(dict.fromkeys(names), one))
    return named.filter(lambda sizes: all((size_of(dim, sizes) or 0) >= 0 for dim in dims))


def arrays_for(
    spec: Any,
    *,
    sizes: Mapping[str, int] | None = None,
    special: bool = False,
    tokens: int = _TOKENS,
    least: int = 0,
    most: int = _MOST,
) -> st.SearchStrategy[Array]:
    """Arrays that one input takes.

    Args:
        spec: ``(dtype, shape)``, a `ValueInfoProto`, a ``tf.TensorSpec``, or a
            ``jax.ShapeDtypeStruct``; open sizes are ``None``, a name or an expression of names.
        sizes: Sizes of the names; drawn where one is missing.
        special: Whether floats may be NaN, infinite or subnormal.
        tokens: Integers are ids below this; ``uint8`` is an image and has its whole range.
        least: Smallest size that is drawn.
        most: Largest size that is drawn.

    Returns:
        Strategy of arrays.
    """
    found = _spec(spec)
    chosen = dict(sizes or {})
    elements = _elements(found.dtype, special, tokens)

    def shapes(more: Mapping[str, int]) -> st.SearchStrategy[tuple[int, ...]]:
        return st.tuples(
            *(
                st.integers(least, most) if dim is None else st.just(_size(dim, {**more, **chosen}))
                for dim in found.shape or ()
            )
        )

    named = sizes_for([found], least=least, most=most)
    return named.flatmap(shapes).flatmap(lambda shape: _filled(found.dtype, shape, elements))


def _size(dim: int | str, sizes: Mapping[str, int]) -> int:
    size = dim if isinstance(dim, int) else size_of(dim, sizes)
    if size is None or size < 0:
        raise ArgumentError(
            f"The sizes make every axis 0 or longer. Received: {dim} with {dict(sizes)}.",
            argument="sizes",
        )
    return size


def _elements(dtype: np.dtype[Any], special: bool, tokens: int) -> st.SearchStrategy[Any]:
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "OSU":
        return st.sampled_from(_WORDS)
    if dtype == np.uint8:
        return st.integers(0, 255)
    if dtype.kind in "iu":
        return st.integers(0, min(tokens - 1, int(np.iinfo(dtype).max)))
    if dtype.kind == "c":
        return st.complex_numbers(max_magnitude=10.0, allow_nan=special, width=64)
    usual = st.floats(-10.0, 10.0, width=32) | st.sampled_from(_EDGES)
    return usual | st.floats(width=32) if special else usual


def _filled(
    dtype: np.dtype[Any], shape: tuple[int, ...], elements: st.SearchStrategy[Any]
) -> st.SearchStrategy[Array]:
    wide = dtype if dtype.kind in "biuc" else np.dtype(np.float64)
    if dtype.kind in "OSU":
        return hnp.arrays(np.dtype(object), shape, elements=elements)
    made = hnp.arrays(wide, shape, elements=elements)
    return made if wide == dtype else made.map(lambda array: array.astype(dtype))


@st.composite
def inputs_for(
    draw: st.DrawFn,
    specs: Any,
    *,
    special: bool = False,
    tokens: int = _TOKENS,
    least: int = 0,
    most: int = _MOST,
) -> tuple[Array, ...]:
    """Arrays for all inputs, with one size for each name.

    Args:
        draw: Given by Hypothesis.
        specs: Descriptions as for `arrays_for`, or an ONNX model.
        special: As for `arrays_for`.
        tokens: As for `arrays_for`.
        least: Smallest size that is drawn.
        most: Largest size that is drawn.

    Returns:
        One array an input.
    """
    found = _specs(specs)
    sizes = draw(sizes_for(found, least=least, most=most))
    one: dict[str, Any] = {
        "sizes": sizes,
        "special": special,
        "tokens": tokens,
        "least": least,
        "most": most,
    }
    return tuple(draw(arrays_for(spec, **one)) for spec in found)


# ---- models --------------------------------------------------------------------------------------

_UNARY = ("Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Exp", "Softplus", "Identity")
_BINARY = ("Add", "Sub", "Mul", "Max", "Min")


@st.composite
def models(
    draw: st.DrawFn, *, least_nodes: int = 1, most_nodes: int = 6, opset: int = 21
) -> onnx.ModelProto:
    """Small random float32 models over one or two inputs ``[B, n]``, valid and fully typed.

    Args:
        draw: Given by Hypothesis.
        least_nodes: Fewest nodes.
        most_nodes: Most nodes.
        opset: Opset.

    Returns:
        The model; every node leads to an output.
    """
    width = draw(st.integers(1, 4))
    values: list[tuple[str, list[Any]]] = [("x", ["B", width])]
    if draw(st.booleans()):
        values.append(("x2", ["B", width]))
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in values]
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    for index in range(draw(st.integers(least_nodes, most_nodes))):
        values.append(_node(draw, index, values, nodes, weights))
    used = {name for node in nodes for name in node.input}
    ends = [value for value in values if value[0] not in used and not value[0].startswith("x")]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in ends]
    graph = helper.make_graph(nodes, "random", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _node(
    draw: st.DrawFn,
    index: int,
    values: Sequence[tuple[str, list[Any]]],
    nodes: list[onnx.NodeProto],
    weights: list[onnx.TensorProto],
) -> tuple[str, list[Any]]:
    """Adds one node; returns its output with its shape."""
    name, dims = draw(st.sampled_from(values))
    output = f"v{index}"
    kind = draw(st.sampled_from(("unary", "binary", "dense", "softmax", "reduce", "join")))
    if kind == "dense":
        wide = draw(st.integers(1, 4))
        seed = draw(st.integers(0, 2**16))
        array = np.random.default_rng(seed).standard_normal((dims[1], wide)).astype(np.float32)
        weights.append(numpy_helper.from_array(array, f"w{index}"))
        node = helper.make_node("MatMul", [name, f"w{index}"], [output])
        dims = [dims[0], wide]
    elif kind == "softmax":
        node = helper.make_node("Softmax", [name], [output], axis=-1)
    elif kind == "reduce":
        weights.append(numpy_helper.from_array(np.array([1], np.int64), f"axes{index}"))
        node = helper.make_node("ReduceSum", [name, f"axes{index}"], [output], keepdims=1)
        dims = [dims[0], 1]
    elif kind == "unary":
        node = helper.make_node(draw(st.sampled_from(_UNARY)), [name], [output])
    else:
        fitting = [v for v in values if v[1] == dims or (kind == "binary" and v[1][1] == 1)]
        other, _ = draw(st.sampled_from(fitting))
        if kind == "binary":
            node = helper.make_node(draw(st.sampled_from(_BINARY)), [name, other], [output])
        else:
            node = helper.make_node("Concat", [name, other], [output], axis=1)
            dims = [dims[0], 2 * dims[1]]
    nodes.append(node)
    return output, dims
