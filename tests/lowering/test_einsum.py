"""Einstein sums against numpy, empty tensors included."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lowering.running import run
from yobx.lowering.einsum import einsum

CASES = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("bij,bjk->bik", (0, 2, 3), (0, 3, 4)),
    ("aecd,abcd->acbe", (2, 5, 3, 4), (2, 6, 3, 4)),
    ("acbe,aecd->abcd", (2, 3, 6, 5), (2, 5, 3, 4)),
    ("abc,cde->abde", (2, 3, 4), (4, 5, 6)),
    ("abcd,cde->abe", (2, 3, 4, 5), (4, 5, 6)),
    ("ab,ab->", (2, 3), (2, 3)),
    ("ab,cd->ac", (2, 3), (4, 5)),
    ("a,b->ab", (2,), (3,)),
    ("...a,ab->...b", (2, 5, 3), (3, 4)),
    ("ab,bc", (2, 3), (3, 4)),
    ("ba,bc", (2, 3), (2, 4)),
    ("abc->cb", (2, 3, 4)),
    ("a,ab,b->", (2,), (2, 3), (3,)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
    ("ii->i", (3, 3)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_einsum(case: tuple[str, *tuple[tuple[int, ...], ...]]) -> None:
    equation, *shapes = case
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, s).astype(np.float32) for s in shapes]
    (got,) = run(lambda g, *names: einsum(g, names, equation), *arrays)
    np.testing.assert_array_equal(got, np.einsum(equation, *arrays))
