import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.clips import merge_clips
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.hard_sigmoid import merge_hard_sigmoid

CONSTANTS = """<float three = {3}, float six = {6}, float sixth = {0.16666667}, float zero = {0},
    float[3] many = {1, 2, 3}, float five = {5}>"""


def merge(body: str) -> dict[str, int]:
    before = parse(f"g (float[n, 3] x) => (float[n, 3] y) {CONSTANTS} {{ {body} }}")
    return kinds(apply(before, merge_clips, merge_hard_sigmoid, remove_dead_code))


@pytest.mark.parametrize(
    "body",
    [
        "a = Add (x, three)\n b = Relu (a)\n c = Min (b, six)\n y = Div (c, six)",
        "b = Clip (x, zero, six)\n y = Mul (sixth, b)",
        "a = Add (three, x)\n b = Clip (a, zero, six)\n y = Mul (sixth, b)",
    ],
)
def test_merged(body: str) -> None:
    assert merge(body) == {"HardSigmoid": 1}


@pytest.mark.parametrize(
    "body",
    [
        "b = Clip (x, zero, six)\n y = Div (b, many)",
        "a = Add (x, three)\n b = Clip (a, zero, six)\n y = Div (b, five)",
        "a = Add (x, three)\n b = Clip (a, zero, six)\n y = Div (six, b)",
        "b = Clip (x, three, six)\n y = Div (b, six)",
    ],
)
def test_kept(body: str) -> None:
    assert "HardSigmoid" not in merge(body)


def test_float64_is_kept() -> None:
    """A factor of float32 is another one."""
    before = parse(
        """g (double[n, 3] x) => (double[n, 3] y) <double six = {6}, double zero = {0}> {
            b = Clip (x, zero, six)
            y = Div (b, six)
        }"""
    )
    assert kinds(apply(before, merge_clips, merge_hard_sigmoid)) == {"Clip": 1, "Div": 1}
