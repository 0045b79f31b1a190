"""Functions keep their results, and their special functions, when they are exported."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

from yobx.stablehlo.markers import keep_whole, marker_name


def everywhere(x: jax.Array) -> dict[str, Any]:
    """The error function in a loop, a branch, a scan, a custom rule and a plain call."""
    looped = lax.fori_loop(0, 3, lambda i, c: lax.erf(c) + i, x)
    branched = lax.cond(looped.sum() > 0, lax.erf, lambda v: v, looped)
    scanned = lax.scan(lambda c, r: (c, lax.erf(r)), 0.0, x)
    return {
        "branched": branched,
        "scanned": scanned,
        "custom": jax.nn.softplus(lax.erf(x)),
        "remat": jax.checkpoint(lambda v: jnp.sinh(v))(x),
        "jit": jax.jit(lambda v: lax.erf(v) * 2)(x),
    }


def test_results_do_not_change() -> None:
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    wanted, got = everywhere(x), jax.jit(keep_whole(everywhere))(x)
    assert jax.tree.structure(wanted) == jax.tree.structure(got)
    for one, other in zip(jax.tree.leaves(wanted), jax.tree.leaves(got), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("shape", ["(5,)", "(n,)"])
def test_markers_survive_the_export(shape: str) -> None:
    spec = jax.ShapeDtypeStruct(export.symbolic_shape(shape), jnp.float32)
    text = export.export(jax.jit(keep_whole(everywhere)))(spec).mlir_module()
    name = marker_name("erf")
    assert text.count(f"call @{name}") >= 5
    assert f"call @{marker_name('sinh')}" in text


def test_a_function_without_special_functions_is_left_alone() -> None:
    calls = []

    def plain(x: jax.Array) -> jax.Array:
        calls.append(1)
        return x * 2

    text = export.export(jax.jit(keep_whole(plain)))(jax.ShapeDtypeStruct((2,), jnp.float32))
    assert "yobx_" not in text.mlir_module()
    assert len(calls) == 2


def test_keyword_arguments() -> None:
    function = keep_whole(lambda x, *, scale: lax.erf(x) * scale)
    x = np.ones(3, np.float32)
    np.testing.assert_allclose(jax.jit(function)(x, scale=2.0), lax.erf(x) * 2, rtol=1e-6)
