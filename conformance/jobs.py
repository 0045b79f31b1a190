"""The cells of a run by name, and what makes each."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator, Sequence

from conformance.cells import Cell, Verdict

__all__ = [
    "Job",
    "application",
    "check",
    "hub_models",
    "jax_cases",
    "jax_models",
    "kind_of",
    "names",
    "sample",
    "tf_ops",
]

_SAMPLE = 90
_TF_SAMPLE = 60
_ARCHITECTURES = ("MobileNetV2", "EfficientNetB0", "ConvNeXtTiny")

Job = tuple[str, Callable[[], Cell]]


def kind_of(*, symbolic: bool, x64: bool) -> str:
    """Name of a set of cells: all that there are, or JAX's cases in another way."""
    return " ".join(["symbolic"] * symbolic + ["x64"] * x64) or "all"


def names(kind: str) -> list[str]:
    """Names of the cells of a set, in the order of a run."""
    return [*_jobs(kind), *(tf_ops() if kind == "all" else ())]


def check(kind: str, name: str) -> Cell:
    """Make one cell of a set."""
    if name.startswith("tf/"):  # only the cases of its subject are made
        from conformance.tf_ops import matrix

        return matrix.cell_of(name)
    return _jobs(kind)[name]()


@functools.cache
def _jobs(kind: str) -> dict[str, Callable[[], Cell]]:
    if kind != "all":
        words = kind.split()
        return dict(jax_cases(symbolic="symbolic" in words, x64="x64" in words))
    from conformance import census
    from conformance.applications import ARCHITECTURES
    from conformance.entries import MODES

    found: list[Job] = [(f"keras.applications/{n}", application(n)) for n in ARCHITECTURES]
    found += census.jobs(census.entries(), MODES)
    found += [*jax_models(), *hub_models(), *jax_cases()]
    return dict(found)


def jax_cases(*, symbolic: bool = False, x64: bool = False) -> Iterator[Job]:
    """JAX's own cases."""
    from conformance.jax_harnesses import check, harnesses, source

    for harness in harnesses(x64=x64):
        job = functools.partial(check, harness, symbolic=symbolic, x64=x64)
        yield f"{source(symbolic=symbolic, x64=x64)}/{harness.fullname}", job


def sample() -> Iterator[Job]:
    """A few cells of everything, the same every time."""
    from conformance.jax_harnesses import check, sample

    for name in _ARCHITECTURES:
        yield f"keras.applications/{name}", application(name)
    for harness in sample(_SAMPLE):
        yield f"jax/{harness.fullname}", functools.partial(check, harness)
    yield from _tf_sample()


def tf_ops(search: str = "", opsets: Sequence[int] = ()) -> list[str]:
    """Names of the cells of single TensorFlow operations.

    Args:
        search: Only those with it in the name.
        opsets: Target opsets; the oldest, the usual and the newest one if none.
    """
    from conformance.tf_ops import matrix

    return [name for name in matrix.names(opsets or matrix.opsets()) if search in name]


def _tf_sample() -> Iterator[Job]:
    from conformance.tf_ops import matrix

    names = matrix.names(matrix.opsets()[1:2], ("elementwise", "rows_attributes"))
    for name in sorted(names, key=lambda name: zlib.crc32(name.encode()))[:_TF_SAMPLE]:
        yield name, functools.partial(matrix.cell_of, name)


def jax_models() -> Iterator[Job]:
    """Models of Flax, Equinox and plain functions."""
    from conformance.jax_models import check, models

    for one in models():
        yield f"jax-models/{one.name}", functools.partial(check, one)


def hub_models() -> Iterator[Job]:
    """Small models of KerasHub."""
    from conformance.hub_models import check, models

    for name, make in models().items():
        yield f"keras-hub/{name}", functools.partial(check, name, make)


def application(name: str) -> Callable[[], Cell]:
    """The check of one architecture of ``keras.applications``."""

    def check() -> Cell:
        from conformance import applications

        outcome = applications.check(name)
        full = f"keras.applications/{name}"
        verdict = Verdict.PASS if outcome.status == "pass" else Verdict.WRONG
        if outcome.status.endswith("Error"):
            verdict = Verdict.UNSUPPORTED
        message = "" if outcome.status == "pass" else f"{outcome.status} {outcome.message[:300]}"
        return Cell(full, "keras.applications", verdict, "", message, outcome.seconds)

    return check
