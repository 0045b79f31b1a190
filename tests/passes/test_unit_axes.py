import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes import default_passes
from yobx.passes.unit_axes import transpose_outside_unit_axes

CONSTANTS = "<int64[1] axis = {1}, int64[2] two = {-1, 0}>"


@pytest.mark.parametrize(
    ("shape", "body", "expected"),
    [
        (
            "n, 6, 4",
            "a = Unsqueeze (x, axis)\n y = Transpose <perm = [0, 3, 1, 2]> (a)",
            ["Transpose", "Unsqueeze"],
        ),
        (
            "n, 4, 1, 6",
            "a = Transpose <perm = [0, 2, 3, 1]> (x)\n y = Squeeze (a, axis)",
            ["Squeeze", "Transpose"],
        ),
        ("n, 6", "a = Unsqueeze (x, two)\n y = Transpose (a)", ["Transpose", "Unsqueeze"]),
        ("n, 6", "a = Unsqueeze (x, axis)\n y = Transpose <perm = [1, 0, 2]> (a)", ["Unsqueeze"]),
    ],
)
def test_the_transpose_goes_outside(shape: str, body: str, expected: list[str]) -> None:
    before = parse(f"g (float[{shape}] x) => (float[b] y) {CONSTANTS} {{ {body} }}")
    del before.graph.output[0].type.tensor_type.shape.dim[:]
    found = [v for v in before.graph.value_info if v.name == "y"]
    assert not found
    from yobx.onnx_optim import infer_shapes

    before.graph.output[0].type.tensor_type.ClearField("shape")
    after = apply(infer_shapes(before), transpose_outside_unit_axes, _drop_dead)
    assert [n.op_type for n in after.graph.node] == expected


def _drop_dead(model: object) -> None:
    from yobx.passes.dead_code import remove_dead_code

    remove_dead_code(model)  # type: ignore[arg-type]


def test_another_user_keeps_the_order() -> None:
    before = parse(
        f"""g (float[n, 4, 1, 6] x) => (float[n, 6, 4] y, float[n, 1, 6, 4] z) {CONSTANTS} {{
            a = Transpose <perm = [0, 2, 3, 1]> (x)
            y = Squeeze (a, axis)
            z = Relu (a)
        }}"""
    )
    after = apply(before, transpose_outside_unit_axes)
    assert [n.op_type for n in after.graph.node] == ["Transpose", "Squeeze", "Relu"]


def test_two_convolutions_of_sequences() -> None:
    before = parse(
        """g (float[n, 16, 4] x) => (float[n, 12, 2] y)
        <int64[1] axis = {1}, float[4, 4, 1, 3] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,
         19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48},
         float[4] b = {1, 2, 3, 4}, float[2, 4, 1, 3] v = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,
         17,18,19,20,21,22,23,24}> {
            a = Unsqueeze (x, axis)
            c = Transpose <perm = [0, 3, 1, 2]> (a)
            d = Conv (c, w)
            e = Transpose <perm = [0, 2, 3, 1]> (d)
            f = Squeeze (e, axis)
            h = Add (f, b)
            i = Relu (h)
            j = Unsqueeze (i, axis)
            k = Transpose <perm = [0, 3, 1, 2]> (j)
            l = Conv (k, v)
            m = Transpose <perm = [0, 2, 3, 1]> (l)
            y = Squeeze (m, axis)
        }"""
    )
    after = apply(before, *default_passes(), rtol=1e-4)
    assert kinds(after)["Transpose"] == 2
    assert kinds(after)["Conv"] == 2
