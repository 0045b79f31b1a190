"""Cases of single TensorFlow operations: every dtype and every value of every attribute."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.tf_ops.cases import Case

__all__ = ["NIGHTLY", "SUBJECTS", "subject_cases"]

#: Modules with cases.
SUBJECTS = (
    "casts",
    "complex_matrices",
    "complex_numbers",
    "contractions",
    "control_flow",
    "drawn",
    "elementwise",
    "empty_batches",
    "frames",
    "gradients",
    "grouping",
    "limits",
    "linalg",
    "quantized",
    "rearranging",
    "recurrent",
    "special",
    "spectral",
    "state",
    "tables",
    "text",
    "rows_attributes",
    "rows_edges",
    "rows_functions",
    "rows_moves",
    "rows_numbers",
    "rows_gradients",
    "rows_rare",
    "rows_sets",
)

#: Modules whose cases are many, and take paths of their own only by chance: for the night.
NIGHTLY = ("limits_more", "rows_crossed")


@cache
def subject_cases(subject: str) -> tuple[Case, ...]:
    """Every case of one module.

    Args:
        subject: One of `SUBJECTS` or `NIGHTLY`.
    """
    module = import_module(f"{__name__}.{subject}")
    return tuple(module.cases())
