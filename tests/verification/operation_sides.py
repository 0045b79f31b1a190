"""Both sides of an operation of a framework, and the truth, for documented exceptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import tensorflow as tf
from jax.scipy import special as jax_special
from numpy.typing import NDArray

from yobx.jax import to_onnx as from_jax
from yobx.tensorflow import to_onnx as from_tensorflow
from yobx.verification.comparison import compare
from yobx.verification.provenance import operation_of
from yobx.verification.runner import Session
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.tolerances import Tolerances

Array = NDArray[Any]


@dataclass
class Measured:
    """An operation on both sides.

    Attributes:
        model: What it is converted to.
        feeds: Its input.
        runtime: Its result in onnxruntime.
        source: That of the framework.
        exact: That of a longer type.
    """

    model: onnx.ModelProto
    feeds: dict[str, Array]
    runtime: Array
    source: Array
    exact: Array

    def refused(self, got: Array, want: Array, table: Tolerances) -> bool:
        """Whether a comparison by a table finds a difference."""
        sensitivity = Sensitivity(self.model, table)
        name = self.model.graph.output[0].name
        allowance = sensitivity.strict(name, got.dtype, self.feeds)
        if allowance is None:
            every = {**self.feeds, name: self.runtime}
            allowance = sensitivity.measure(self.feeds, every, [name])[name]
        return compare(name, got, want, allowance).failed


@dataclass(frozen=True)
class Subject:
    """An operation that an exception is of.

    Attributes:
        function: It, in its framework.
        exact: It, in the arithmetic of its argument.
        values: Arguments that show all it may be off.
        refused: Ends of a range of arguments for which the class alone refuses the difference.
    """

    function: Callable[[Any], Any]
    exact: Callable[[Array], Array]
    values: Callable[[np.random.Generator], list[Array]]
    refused: tuple[float, float]


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> Array:
    return 10.0 ** rng.uniform(low, high, 20_000)


def _both(positive: Array) -> Array:
    return np.concatenate([positive, -positive])


def _inverse_error_function(x: Array) -> Array:
    """By Newton's method, from a series without cancellation."""
    y = np.asarray(x, np.longdouble) * np.sqrt(np.longdouble(np.pi)) / 2
    y = np.where(
        np.abs(x) > 0.7, np.sign(x) * np.sqrt(-np.log(np.minimum((1 - np.abs(x)) * 1.5, 1.0))), y
    )
    root = np.sqrt(np.arctan2(np.longdouble(0), np.longdouble(-1)))
    for _ in range(12):
        square = y * y
        term = total = np.ones_like(y)
        for n in range(1, 60):
            term = term * (2 * square / (2 * n + 1))
            total = total + term
        error = 2 / root * y * np.exp(-square) * total - x
        y = y - error * root / 2 * np.exp(square)
    return y


def _elu(x: Array) -> Array:
    return np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))


_SELU = (
    np.longdouble("1.0507009873554804934193349852946"),
    np.longdouble("1.6732632423543772848170429916717"),
)


def _selu(x: Array) -> Array:
    scale, alpha = _SELU
    return scale * np.where(x > 0.0, x, alpha * np.expm1(np.minimum(x, 0.0)))


#: By framework, operation and dtype.
SUBJECTS: Mapping[tuple[str, str, str], Subject] = {
    ("jax", "log1p", "float64"): Subject(
        jnp.log1p,
        np.log1p,
        lambda rng: [
            np.linspace(-0.9999, 20.0, 400_001),
            np.linspace(-0.42, -0.36, 400_001),
            _both(_log_uniform(rng, -12.0, -0.3)),
        ],
        (-0.4142, -0.37),
    ),
    ("jax", "atanh", "float64"): Subject(
        jnp.arctanh,
        np.arctanh,
        lambda rng: [
            np.linspace(-0.99999, 0.99999, 400_001),
            _both(np.linspace(0.41, 0.415, 200_001)),
            _both(_log_uniform(rng, -12.0, -0.3)),
        ],
        (0.4, 0.4142),
    ),
    ("jax", "sinh", "float64"): Subject(
        jnp.sinh,
        np.sinh,
        lambda rng: [np.linspace(-88.0, 88.0, 800_001), _both(_log_uniform(rng, -12.0, 0.0))],
        (19.3, 19.5),
    ),
    ("jax", "erf_inv", "float64"): Subject(
        jax_special.erfinv,
        _inverse_error_function,
        lambda rng: [
            np.linspace(-0.999, 0.999, 60_001),
            _both(np.linspace(0.6, 0.65, 20_001)),
            _both(_log_uniform(rng, -12.0, -0.3)),
        ],
        (0.63, 0.6435),
    ),
    ("tensorflow", "Elu", "float64"): Subject(
        tf.nn.elu,
        _elu,
        lambda rng: [np.linspace(-40.0, 1.0, 400_001), -_log_uniform(rng, -9.0, 0.0)],
        (-1e-3, -1e-7),
    ),
    ("tensorflow", "Selu", "float64"): Subject(
        tf.nn.selu,
        _selu,
        lambda rng: [np.linspace(-40.0, 1.0, 400_001), -_log_uniform(rng, -9.0, 0.0)],
        (-1e-3, -1e-7),
    ),
}


@cache
def measured(source: str, operation: str, dtype: str, *, refused: bool = False) -> Measured:
    """Computes both sides and the truth.

    Args:
        source: Framework.
        operation: Operation.
        dtype: Dtype.
        refused: Whether only for arguments for which the class refuses the difference.
    """
    assert np.finfo(np.longdouble).eps < 2.0**-62, "no longer type than float64 here"
    subject = SUBJECTS[source, operation, dtype]
    x = np.unique(np.concatenate(subject.values(np.random.default_rng(0))).astype(dtype))
    if refused:
        low, high = subject.refused
        x = x[(x >= low) & (x <= high)]
    if source == "jax":
        with jax.enable_x64(dtype == "float64"):
            model: Any = from_jax(lambda v: subject.function(v), (x,))
            result = np.asarray(subject.function(jnp.asarray(x)))
    else:
        model = from_tensorflow(tf.function(lambda v: subject.function(v)), (x,))
        result = subject.function(x).numpy()
    own = {operation_of(node) for node in model.graph.node}
    assert {one.kind for one in own if one is not None} == {operation}
    feeds = {model.graph.input[0].name: x}
    (runtime,) = Session(model).run(feeds).values.values()
    exact = subject.exact(x.astype(np.longdouble)).astype(dtype)
    return Measured(model, feeds, runtime, result, exact)
