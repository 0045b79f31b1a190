"""Every dtype together with every value of a flag or an enumeration, for the night."""

from __future__ import annotations

from conformance.tf_ops import rows_attributes, rows_functions, rows_moves, rows_numbers, rows_rare
from conformance.tf_ops.cases import Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import crossed

_TABLES = (rows_attributes, rows_functions, rows_moves, rows_numbers, rows_rare)
#: Op types whose values are about numbers that do not survive rounding alike in each dtype.
_EXCEPT = {
    "Cast": "what lies outside of the range of integers is left to the hardware",
    "ImageProjectiveTransformV3": "a rounded sum is cut off to an integer",
}


def _rows() -> list[Row]:
    first: dict[str, Row] = {}
    for row in (row for table in _TABLES for row in table.ROWS):
        if row.vary is None and row.op_type not in _EXCEPT:
            first.setdefault(row.op_type, row)
    return list(first.values())


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [case for row in _rows() for case in crossed(row)]
