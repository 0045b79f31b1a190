"""A JAX function with arguments of a chosen size, converted and compared with JAX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import onnx
import onnxruntime

from yobx.jax import to_onnx

Arrays = tuple[Any, ...]
# relative and absolute tolerance; a few units in the last place of the type
TOLERANCE = {
    "float16": (4e-3, 2e-3),
    "float32": (4e-6, 1e-6),
    "float64": (1e-13, 1e-14),
}
STATIC_SIZE, SYMBOLIC_SIZES = 5, (7, 1)


@dataclass(frozen=True)
class Case:
    """One function.

    Attributes:
        name: What it shows.
        function: The function.
        make: Arguments for a size.
        dynamic: Symbolic axes by input; ``None`` when the function needs static sizes.
        tolerance: Replaces that of the element type.
        has: ONNX operators that the static model must hold; with ``only``, no others.
        only: Whether ``has`` is the whole list.
    """

    name: str
    function: Callable[..., Any]
    make: Callable[[int], Arrays]
    dynamic: Sequence[dict[int, str]] | None = None
    tolerance: tuple[float, float] | None = None
    has: Sequence[str] = ()
    only: bool = False

    def __str__(self) -> str:
        return self.name


def operators(model: onnx.ModelProto) -> list[str]:
    """Operators of the outermost graph, in order."""
    return [node.op_type for node in model.graph.node]


def run(model: onnx.ModelProto, args: Arrays) -> list[np.ndarray[Any, Any]]:
    """Run a model on its inputs, in order; a complex array goes in as two real ones."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds = {}
    for info, value in zip(session.get_inputs(), jax.tree.leaves(args), strict=True):
        array = np.asarray(value)
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag], -1)
        feeds[info.name] = array
    return [np.asarray(result) for result in session.run(None, feeds)]


def agree(case: Case, got: Sequence[np.ndarray[Any, Any]], args: Arrays) -> None:
    """Compare with JAX: integers and bool bit for bit, floats within the tolerance."""
    wanted = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(case.function)(*args))]
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        if other.dtype.kind == "c":
            one = (one[..., 0] + 1j * one[..., 1]).astype(other.dtype)  # noqa: PLW2901
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if other.dtype.kind in "iub":
            np.testing.assert_array_equal(one, other)
            continue
        real = (
            "float64" if other.dtype.itemsize // (1 + (other.dtype.kind == "c")) == 8 else "float32"
        )
        known = TOLERANCE["float16" if other.dtype == np.float16 else real]
        rtol, atol = case.tolerance or known
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def check_static(case: Case) -> None:
    """Every size is a number."""
    args = case.make(STATIC_SIZE)
    model = to_onnx(case.function, args, dynamic_shapes={})
    agree(case, run(model, args), args)
    found = operators(model)
    missing = Counter(case.has) - Counter(found)
    assert not missing, f"{list(missing)} not among {found}"
    if case.only:
        assert sorted(found) == sorted(case.has)


def check_symbolic(case: Case) -> None:
    """Some sizes are names; one model for several sizes."""
    model = to_onnx(case.function, case.make(STATIC_SIZE), dynamic_shapes=tuple(case.dynamic or ()))
    for size in SYMBOLIC_SIZES:
        args = case.make(size)
        agree(case, run(model, args), args)


def symbolic(cases: Sequence[Case]) -> list[Case]:
    """Those that can have a symbolic size."""
    return [case for case in cases if case.dynamic is not None]


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Numbers around zero."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def whole(*shape: int, low: int = -9, high: int = 9, dtype: Any = np.int32) -> Any:
    """Integers from a range, the same every time."""
    return np.random.default_rng(3).integers(low, high, size=shape).astype(dtype)
