"""Changes of a model that must not change, or only refine, what is stated."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.onnx_optim.running import models
from yobx.errors import ShapeError
from yobx.onnx_optim import OptimDim, OptimTensor, ShapesContext, compute_shapes

RELAXED = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def context_of(model: onnx.ModelProto) -> ShapesContext | None:
    context = ShapesContext()
    try:
        compute_shapes(context, model)
    except ShapeError:
        return None
    return context


def tensors(context: ShapesContext) -> dict[str, OptimTensor]:
    return {n: d for n, d in context.values.items() if isinstance(d, OptimTensor)}


def copy_of(model: onnx.ModelProto) -> onnx.ModelProto:
    other = onnx.ModelProto()
    other.CopyFrom(model)
    return other


def with_sizes(model: onnx.ModelProto, sizes: Mapping[str, int | str]) -> onnx.ModelProto:
    """The model with integers or other names in the place of the symbols of its inputs."""
    other = copy_of(model)
    for value in other.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            size = sizes.get(dim.dim_param)
            if isinstance(size, int):
                dim.dim_value = size
            elif size is not None:
                dim.dim_param = size
    return other


@RELAXED
@given(models(), st.sampled_from([(0, 1), (1, 1), (2, 3), (5, 2)]))
def test_infer_then_bind_agrees_with_bind_then_infer(
    model: onnx.ModelProto, sizes: tuple[int, int]
) -> None:
    note(onnx.printer.to_text(model))
    symbolic = context_of(model)
    values = dict(zip(("n", "m"), sizes, strict=True))
    concrete = context_of(with_sizes(model, values))
    if symbolic is None or concrete is None:
        return
    for name, stated in tensors(symbolic).items():
        known = tensors(concrete)[name]
        assert stated.dtype == known.dtype
        if not stated.shape.has_rank() or not known.shape.has_rank():
            continue
        assert len(stated.shape) == len(known.shape), name
        for a, b in zip(stated.shape, known.shape, strict=True):
            if a.symbols() <= values.keys() and b.is_int():
                assert a.evaluate(values) == b, f"{name}: {a} against {b}"


@RELAXED
@given(models())
def test_names_of_symbols_do_not_matter(model: onnx.ModelProto) -> None:
    names = {"n": "zz", "m": "a b"}
    first, second = context_of(model), context_of(with_sizes(model, names))
    assert (first is None) == (second is None)
    if first is None or second is None:
        return
    for name, stated in tensors(first).items():
        renamed = tensors(second)[name]
        assert stated.shape.rank() == renamed.shape.rank()
        for a, b in zip(
            stated.shape if stated.shape.has_rank() else (),
            renamed.shape if renamed.shape.has_rank() else (),
            strict=True,
        ):
            assert a.substitute(names) == b, name


@RELAXED
@given(models())
def test_a_branch_that_is_always_taken_changes_nothing(model: onnx.ModelProto) -> None:
    last = model.graph.node[-1].output[0]
    body = helper.make_graph(list(model.graph.node), "t", [], [onnx.ValueInfoProto(name=last)])
    other = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["other"])], "e", [], [onnx.ValueInfoProto(name="other")]
    )
    flag = helper.make_tensor("flag", TensorProto.BOOL, [], [1])
    wrapped = copy_of(model)
    del wrapped.graph.node[:]
    wrapped.graph.initializer.append(flag)
    wrapped.graph.node.append(
        helper.make_node("If", ["flag"], ["wrapped"], then_branch=body, else_branch=other)
    )
    wrapped.graph.output[0].name = "wrapped"
    first, second = context_of(model), context_of(wrapped)
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert first.get(last) == second.get("wrapped")


@RELAXED
@given(models())
def test_moving_all_nodes_into_a_function_changes_nothing(model: onnx.ModelProto) -> None:
    last = model.graph.node[-1].output[0]
    function = helper.make_function(
        "loc", "Whole", ["x", "w"], [last], list(model.graph.node), [helper.make_opsetid("", 20)]
    )
    called = copy_of(model)
    called.opset_import.add(domain="loc", version=1)
    called.functions.append(function)
    del called.graph.node[:]
    called.graph.node.append(helper.make_node("Whole", ["x", "w"], ["y"], domain="loc"))
    called.graph.output[0].name = "y"
    first, second = context_of(model), context_of(called)
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert first.get(last) == second.get("y")


@RELAXED
@given(models(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_does_not_matter(model: onnx.ModelProto, random: object) -> None:
    first = context_of(model)
    nodes = list(model.graph.node)
    random.shuffle(nodes)  # type: ignore[attr-defined]
    other = copy_of(model)
    del other.graph.node[:]
    other.graph.node.extend(nodes)
    second = context_of(other)
    assert (first is None) == (second is None)
    if first is None or second is None:
        return
    for name, stated in tensors(first).items():
        found = tensors(second)[name]
        assert stated.dtype == found.dtype
        assert stated.shape.rank() == found.shape.rank(), name


@RELAXED
@given(models(), st.integers(0, 20))
def test_moving_the_last_nodes_into_a_branch_changes_nothing(
    model: onnx.ModelProto, kept: int
) -> None:
    """A graph cut in two; the second part reads the values of the first from inside."""
    nodes = list(model.graph.node)
    kept = min(kept, len(nodes) - 1)
    last = nodes[-1].output[0]
    body = helper.make_graph(nodes[kept:], "t", [], [onnx.ValueInfoProto(name=last)])
    other = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["other"])], "e", [], [onnx.ValueInfoProto(name="other")]
    )
    cut = copy_of(model)
    del cut.graph.node[kept:]
    cut.graph.initializer.append(helper.make_tensor("flag", TensorProto.BOOL, [], [1]))
    cut.graph.node.append(
        helper.make_node("If", ["flag"], ["cut"], then_branch=body, else_branch=other)
    )
    cut.graph.output[0].name = "cut"
    first, second = context_of(model), context_of(cut)
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert first.lookup(last) == second.lookup("cut")


@RELAXED
@given(models(), st.sampled_from([(2, 3), (3, 3), (2, 2), (5, 2)]))
def test_sizes_keyed_on_their_value_create_no_false_equality(
    model: onnx.ModelProto, sizes: tuple[int, int]
) -> None:
    """Each input size is a symbol named after its value: what is equal then is equal in numbers."""
    keyed = copy_of(model)
    for value in keyed.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            number = dict(zip("nm", sizes, strict=True)).get(dim.dim_param, dim.dim_value)
            dim.dim_param = f"s{number}"
    named, numbers = (
        context_of(keyed),
        context_of(with_sizes(model, dict(zip("nm", sizes, strict=True)))),
    )
    if named is None or numbers is None:
        return
    known: dict[OptimDim, OptimDim] = {}
    for name, stated in tensors(named).items():
        concrete = tensors(numbers)[name].shape
        if not stated.shape.has_rank() or not concrete.has_rank():
            continue
        for symbolic, number in zip(stated.shape, concrete, strict=True):
            if number.is_int():
                assert known.setdefault(symbolic, number) == number, f"{symbolic} in {name}"


def test_two_symbols_of_different_values_stay_apart() -> None:
    from tests.onnx_optim.running import dims, infer, parse

    context = infer(parse("g (float[s2, s3] x, float[s3, s5] w) => (y) { y = MatMul (x, w) }"))
    assert dims(context, "y") == ["s2", "s5"]
    assert OptimDim("s2") != OptimDim("s3")
