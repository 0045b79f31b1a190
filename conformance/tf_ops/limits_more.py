"""Integers near the limits of the types that take the same path as others."""

from __future__ import annotations

from conformance.tf_ops.cases import Case
from conformance.tf_ops.limits import integers


def cases() -> list[Case]:
    """Every case of this module."""
    return integers("int8", "int64", "uint8", "uint16", "uint32")
