import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.batch_norm import affine_to_batch_norm

CONSTANTS = """<float[3, 1, 1] scale = {1.5, 2, -3}, float[1, 3, 1, 1] offset = {1, 0, -1},
    float[5] columns = {1, 2, 3, 4, 5}, float one = {1}>"""


@pytest.mark.parametrize("body", ["a = Mul (scale, x)\n y = Add (a, offset)"])
def test_scale_and_offset(body: str) -> None:
    before = parse(f"g (float[n, 3, 4, 5] x) => (float[n, 3, 4, 5] y) {CONSTANTS} {{ {body} }}")
    assert kinds(apply(before, affine_to_batch_norm)) == {"BatchNormalization": 1}


@pytest.mark.parametrize(
    "body",
    [
        "a = Mul (x, columns)\n y = Add (a, offset)",
        "a = Mul (x, scale)\n y = Add (a, one)",
        "a = Mul (x, scale)\n b = Add (a, offset)\n y = Add (a, b)",
        "a = Mul (x, scale)\n y = Relu (a)",
    ],
)
def test_kept(body: str) -> None:
    before = parse(f"g (float[n, 3, 4, 5] x) => (float[n, 3, 4, 5] y) {CONSTANTS} {{ {body} }}")
    assert "BatchNormalization" not in kinds(apply(before, affine_to_batch_norm))


def test_a_single_channel_does_not_grow() -> None:
    before = parse(
        f"""g (float[n, 1, 4, 5] x) => (float[n, 3, 4, 5] y) {CONSTANTS} {{
            a = Mul (x, scale)
            y = Add (a, offset)
        }}"""
    )
    assert "BatchNormalization" not in kinds(apply(before, affine_to_batch_norm))
