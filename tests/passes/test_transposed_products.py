"""Products of transposed values load in onnxruntime with all optimisations, and are right."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.passes.support import apply, kinds, parse, random_feeds, run
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.transposed_products import keep_transposed_products

HALF, FLOAT = 10, 1
NAMES = {HALF: "float16", FLOAT: "float", 6: "int32"}
LOADED = """
import sys
import numpy as np, onnxruntime
model, feeds, results = sys.argv[1:]
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
np.savez(results, *session.run(None, dict(np.load(feeds))))
"""


def product(
    perm: str, *, kind: int = HALF, to: int | None = None, side: int = 0, weights: str = "3, 3"
) -> onnx.ModelProto:
    """A MatMul of a transposed value and weights, with a Cast between if `to` is given."""
    after = NAMES[kind if to is None else to]
    numbers = np.arange(np.prod([int(size) for size in weights.split(",")])) % 7 - 3
    if after == "float16":
        numbers = numbers.astype(np.float16).view(np.uint16)  # ONNX text has the bits
    rank, other = perm.count(",") + 1, weights.count(",") + 1
    cast = "" if to is None else f"c = Cast <to: int = {to}> (t)"
    value = "t" if to is None else "c"
    operands = f"{value}, w" if side == 0 else f"w, {value}"
    sizes: list[int | str] = [*"nmkj"[:rank]]
    sizes[int(perm.split(",")[-1 - side])] = 3  # what is summed over
    inputs = ", ".join(str(size) for size in sizes)
    outputs = ", ".join("abcde"[: max(rank, other) - (other == 1)])
    return parse(
        f"""g ({NAMES[kind]}[{inputs}] x) => ({after}[{outputs}] y)
            <{after}[{weights}] w = {{{", ".join(str(n) for n in numbers)}}}> {{
            t = Transpose <perm: ints = [{perm}]> (x)
            {cast}
            y = MatMul ({operands})
        }}"""
    )


def kept(before: onnx.ModelProto) -> onnx.ModelProto:
    return apply(before, keep_transposed_products, remove_dead_code)


def optimised(folder: Path, model: onnx.ModelProto, size: int = 3) -> None:
    """Loads and runs a model with all optimisations, in a process that a crash may end."""
    path, given, results = (folder / name for name in ("model.onnx", "given.npz", "results.npz"))
    feeds = random_feeds(model, size, 0)
    onnx.save(model, path)
    np.savez(given, **feeds)
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(path), str(given), str(results)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-500:]
    for got, wanted in zip(np.load(results).values(), run(model, feeds), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("perm", "weights"), [("1, 0, 2", "3, 3"), ("1, 2, 0, 3", "3, 3"), ("1, 0, 2", "3, 5")]
)
def test_the_transpose_moves_behind_a_product_with_a_matrix(
    perm: str, weights: str, tmp_path: Path
) -> None:
    after = kept(product(perm, weights=weights))
    assert [node.op_type for node in after.graph.node] == ["MatMul", "Transpose"]
    optimised(tmp_path, after)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("kind", [HALF, 6])
@pytest.mark.parametrize("perm", ["1, 0, 2", "1, 2, 0"])
def test_a_cast_goes_before_the_transpose(perm: str, kind: int, side: int, tmp_path: Path) -> None:
    after = kept(product(perm, kind=kind, to=FLOAT, side=side))
    assert [node.op_type for node in after.graph.node] == ["Cast", "Transpose", "MatMul"]
    optimised(tmp_path, after)


def test_a_cast_to_float16_stays_before_the_product(tmp_path: Path) -> None:
    after = kept(product("1, 0, 2", kind=6, to=HALF))
    assert [node.op_type for node in after.graph.node] == ["Cast", "MatMul", "Transpose"]
    optimised(tmp_path, after)


@pytest.mark.parametrize(
    ("perm", "side", "weights"),
    [
        ("1, 2, 0", 0, "3, 3"),
        ("1, 0, 2", 1, "3, 3"),
        ("1, 0, 2", 0, "3"),
        ("1, 0, 2", 1, "3"),
        ("1, 0, 2", 0, "2, 1, 3, 3"),
        ("1, 2, 3, 0", 0, "1, 3, 3"),
    ],
)
def test_other_products_are_parted_from_the_transpose(
    perm: str, side: int, weights: str, tmp_path: Path
) -> None:
    after = kept(product(perm, side=side, weights=weights))
    assert kinds(after) == {"Transpose": 1, "Unsqueeze": 1, "Squeeze": 1, "MatMul": 1}
    optimised(tmp_path, after)


@pytest.mark.parametrize(
    ("perm", "kind", "to", "weights"),
    [
        ("1, 0, 2", FLOAT, None, "3, 3"),
        ("1, 0, 2", HALF, None, "1, 3, 3"),
        ("1, 0, 2", HALF, FLOAT, "1, 3, 3"),
        ("0, 2, 1", HALF, None, "3, 3"),
        ("2, 0, 1", HALF, FLOAT, "3, 3"),
        ("1, 0", HALF, None, "3, 3"),
        ("0, 2, 1, 3", HALF, None, "3, 3"),
        ("1, 0, 2, 3", HALF, None, "3, 3"),
    ],
)
def test_what_onnxruntime_loads_is_left_alone(
    perm: str, kind: int, to: int | None, weights: str, tmp_path: Path
) -> None:
    before = product(perm, kind=kind, to=to, weights=weights)
    after = kept(before)
    assert [node.op_type for node in after.graph.node] == [n.op_type for n in before.graph.node]
    optimised(tmp_path, after)


def test_products_in_a_row_and_a_transpose_that_others_read(tmp_path: Path) -> None:
    before = parse(
        """g (float16[n, m, 3] x) => (float16[a, b, c] y, float16[d, e, f] z)
            <float16[3, 3] w = {15360, 0, 15360, 0, 16384, 0, 15360, 0, 0}> {
            t = Transpose <perm: ints = [1, 0, 2]> (x)
            z = Tanh (t)
            u = MatMul (t, w)
            y = MatMul (u, w)
        }"""
    )
    after = kept(before)
    assert kinds(after) == {"Transpose": 2, "Tanh": 1, "MatMul": 2}
    optimised(tmp_path, after)


def test_a_transpose_outside_of_the_branch_is_left_alone() -> None:
    before = parse(
        """g (float16[n, m, 3] x, bool b) => (float16[a, c, d] y)
            <float16[3, 3] w = {15360, 0, 15360, 0, 16384, 0, 15360, 0, 0}> {
            t = Transpose <perm: ints = [1, 0, 2]> (x)
            y = If (b) <
                then_branch = yes () => (float16[e, f, g] p) { p = MatMul (t, w) },
                else_branch = no () => (float16[h, i, j] q) { q = Identity (t) }
            >
        }"""
    )
    assert kinds(kept(before)) == {"Transpose": 1, "If": 1}
