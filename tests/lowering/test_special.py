"""Special functions in float64, as exact as their steps allow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special

from tests.lowering.running import run
from yobx.lowering.special import i0e, i1e
from yobx.lowering.special_series import fresnel

WIDE = np.concatenate([np.linspace(-60.0, 60.0, 2001), np.linspace(19.5, 20.5, 501)])
NEAR = np.linspace(-1.5, 1.5, 1001)
FAR = np.linspace(-6.5, 6.5, 2001)


@pytest.mark.parametrize(
    ("build", "exact", "x", "units"),
    [
        (i0e, special.i0e, WIDE, 11),
        (i1e, special.i1e, WIDE, 11),
        (partial(fresnel, cosine=True), lambda x: special.fresnel(x)[1], NEAR, 7),
        (partial(fresnel, cosine=False), lambda x: special.fresnel(x)[0], NEAR, 7),
        # The angle is pi / 2 times a rounded square.
        (partial(fresnel, cosine=True), lambda x: special.fresnel(x)[1], FAR, 100),
        (partial(fresnel, cosine=False), lambda x: special.fresnel(x)[0], FAR, 100),
    ],
)
def test_special_functions(
    build: Callable[..., str], exact: Callable[[Any], Any], x: np.ndarray, units: float
) -> None:
    x = x[x != 0.0]
    (got,) = run(build, x)
    want = exact(x)
    error = np.abs(got - want) / np.spacing(np.abs(want))
    assert error.max() <= units
