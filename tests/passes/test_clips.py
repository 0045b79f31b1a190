import pytest

from tests.passes.support import apply, kinds, parse
from yobx.passes.clips import merge_clips
from yobx.passes.dead_code import remove_dead_code

CONSTANTS = "<float zero = {0}, float six = {6}, float two = {2}, float[3] many = {1, 2, 3}>"


def merge(body: str) -> dict[str, int]:
    before = parse(f"g (float[n, 3] x) => (float[n, 3] y) {CONSTANTS} {{ {body} }}")
    return kinds(apply(before, merge_clips, remove_dead_code))


@pytest.mark.parametrize(
    "body",
    [
        "a = Relu (x)\n y = Min (a, six)",
        "a = Relu (x)\n y = Min (six, a)",
        "a = Min (x, six)\n y = Max (zero, a)",
        "a = Clip (x, , six)\n y = Relu (a)",
        "a = Clip (x, zero, six)\n y = Clip (a, two)",
    ],
)
def test_merged(body: str) -> None:
    assert merge(body) == {"Clip": 1}


def test_relu_stays_relu() -> None:
    assert merge("a = Relu (x)\n y = Max (a, zero)") == {"Relu": 1}


@pytest.mark.parametrize(
    "body",
    [
        "a = Relu (x)\n y = Min (a, many)",
        "a = Relu (x)\n b = Min (a, six)\n y = Add (a, b)",
        "a = Min (x, two)\n y = Max (a, six)",
    ],
)
def test_kept(body: str) -> None:
    assert "Clip" not in merge(body)
