"""Small models on which shape engines are known to state something false, each against runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx_optim.running import check_model, dims, floats, infer, parse

SIZES = (0, 1, 2, 5, 6)
END = 9223372036854775807


def sliced(start: int, end: int, step: int = 1) -> str:
    return f"""
        g (float[n, 4] x) => (y) {{
          a = Constant <value_ints = [{start}]> ()  b = Constant <value_ints = [{end}]> ()
          z = Constant <value_ints = [0]> ()  k = Constant <value_ints = [{step}]> ()
          y = Slice (x, a, b, z, k)
        }}"""


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        *((0, 5, 1), (1, END, 1), (-3, END, 1), (1, -1, 1), (-2, -1, 1), (5, 2, 1), (0, -7, 1)),
        *((-1, -END, -1), (2, 0, -1), (0, END, 2), (1, 4, 3), (END, 0, -2)),
    ],
)
def test_slices_are_clamped(start: int, end: int, step: int) -> None:
    check_model(parse(sliced(start, end, step)), [{"x": floats(n, 4)} for n in SIZES])


def test_values_broadcast_from_the_right() -> None:
    model = parse("""
        g (float[n, c] x) => (y) {
          s = Shape (x)  two = Constant <value_ints = [2]> ()
          t = Add (s, two)  y = ConstantOfShape (t)
        }""")
    context = check_model(model, [{"x": floats(n, 3)} for n in SIZES])
    assert dims(context, "y") == ["n + 2", "c + 2"]


def test_two_unknown_reshapes_share_no_symbol() -> None:
    model = parse("""
        g (float[n, 4] x, int64[2] s, int64[2] t) => (y, z) {
          y = Reshape (x, s)  z = Reshape (x, t)
        }""")
    feeds = [
        {"x": floats(2, 4), "s": np.array([4, 2]), "t": np.array([8, 1])},
        {"x": floats(3, 4), "s": np.array([-1, 2]), "t": np.array([0, -1])},
    ]
    context = check_model(model, feeds)
    first, second = dims(context, "y"), dims(context, "z")
    assert first is not None
    assert second is not None
    assert not set(first) & set(second)


@pytest.mark.parametrize("pair", [(1, 4), (4, 1), (4, 4), (0, 1), (1, 0), (1, 1)])
def test_two_symbols_broadcast(pair: tuple[int, int]) -> None:
    model = parse("g (float[n, 2] x, float[m, 2] w) => (y) { y = Add (x, w) }")
    check_model(model, [{"x": floats(pair[0], 2), "w": floats(pair[1], 2)}])


@pytest.mark.parametrize("n", [1, 5])
def test_a_symbol_broadcasts_with_a_number(n: int) -> None:
    model = parse("g (float[n, 2] x, float[5, 2] w) => (y) { y = Add (x, w) }")
    context = check_model(model, [{"x": floats(n, 2), "w": floats(5, 2)}])
    assert dims(context, "y") == [5, 2]


def test_element_of_a_sequence_of_different_shapes_is_no_scalar() -> None:
    model = parse("""
        g (float[n, 4] x, float[m, 4] w, int64 i) => (y) {
          s = SequenceConstruct (x, w)  y = SequenceAt (s, i)
        }""")
    feeds = [{"x": floats(1, 4), "w": floats(3, 4), "i": np.array(i)} for i in (0, 1, -1)]
    found = dims(check_model(model, feeds), "y")
    assert found is None or found[1] == 4


def test_outputs_declared_without_a_shape_have_no_rank_zero() -> None:
    model = parse("g (float[n, 4] x, int64[k] s) => (y) { y = Reshape (x, s) }")
    model.graph.output[0].type.tensor_type.elem_type = 1
    assert dims(infer(model, policy="check"), "y") is None


@pytest.mark.parametrize(("start", "step"), [(0, 2), (1, 3), (7, 2), (3, -2)])
def test_range_rounds_up_and_stops_at_zero(start: int, step: int) -> None:
    model = parse(f"""
        g (float[n, 4] x) => (y) {{
          s = Shape (x)  z = Constant <value_int = 0> ()  n = Gather (s, z)
          a = Constant <value_int = {start}> ()  k = Constant <value_int = {step}> ()
          y = Range (a, n, k)
        }}""")
    context = check_model(model, [{"x": floats(n, 4)} for n in SIZES])
    assert dims(context, "y") is not None


def test_unique_inverse_has_all_elements() -> None:
    model = parse("g (float[n, 4] x) => (y, a, b, c) { y, a, b, c = Unique (x) }")
    context = check_model(model, [{"x": floats(n, 4)} for n in (0, 1, 3)])
    assert dims(context, "b") == ["4*n"]
    assert dims(context, "y") == dims(context, "a") == dims(context, "c")


def test_topk_with_a_constant() -> None:
    model = parse("""
        g (float[n, 9] x) => (y, i) {
          k = Constant <value_ints = [3]> ()  y, i = TopK (x, k)
        }""")
    assert dims(check_model(model, [{"x": floats(2, 9)}]), "y") == ["n", 3]


def test_the_expand_pattern_of_exporters() -> None:
    model = parse("""
        g (float[n, 1] x) => (y) {
          k = Constant <value_ints = [-1, 7]> ()  m = Constant <value_ints = [-1]> ()
          e = Equal (k, m)  o = Constant <value_ints = [1, 1]> ()
          s = Where (e, o, k)  y = Expand (x, s)
        }""")
    assert dims(check_model(model, [{"x": floats(n, 1)} for n in SIZES]), "y") == ["n", 7]


@pytest.mark.parametrize(
    ("op", "feed"),
    [("Slice", {"x": floats(5, 4)}), ("Unsqueeze", {"x": floats(5, 4)})],
)
def test_attribute_forms_of_old_opsets(op: str, feed: dict[str, Any]) -> None:
    attributes = "starts = [1], ends = [3], axes = [0]" if op == "Slice" else "axes = [0, 3]"
    model = parse(f"""<ir_version: 7, opset_import: ["" : 9]>
        g (float[n, 4] x) => (y) {{ y = {op} <{attributes}> (x) }}""")
    assert dims(check_model(model, [feed]), "y") is not None


def test_concatenation_of_a_sequence_sums() -> None:
    model = parse("""
        g (float[n, 4] x, float[m, 4] w) => (y) {
          s = SequenceConstruct (x, w, x)  y = ConcatFromSequence <axis = 0> (s)
        }""")
    context = check_model(model, [{"x": floats(1, 4), "w": floats(3, 4)}])
    assert dims(context, "y") == ["m + 2*n", 4]
