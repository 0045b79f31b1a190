"""The findings of a check as JSON data (schema 1), as a text, and as an exception."""

from __future__ import annotations

import enum
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from yobx.errors import VerificationError
from yobx.verification.findings import (
    BindingReport,
    Cause,
    Findings,
    Localization,
    Outcome,
    OutputReport,
    PhaseReport,
    ShapeMismatch,
    ShapeReport,
    ShapeRow,
)
from yobx.verification.text import render

__all__ = ["SCHEMA", "ConversionReport"]

SCHEMA = 1


@dataclass
class ConversionReport(Findings):
    """Everything one check found; `Findings` lists the fields."""

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON data of schema 1; NaN and infinities become strings."""
        data = _plain(asdict(self))
        summary = {
            "passed": self.passed,
            "failed_phase": self.failed_phase,
            "internal": self.internal,
        }
        return {"schema": SCHEMA, **summary, "seconds": self.seconds, **data}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ConversionReport:
        """Rebuilds a report from its JSON form.

        Raises:
            ValueError: If the schema number is not the one this version writes.
        """
        if data.get("schema") != SCHEMA:
            message = (
                f"a report of schema {SCHEMA} is expected. Received: schema={data.get('schema')!r}."
            )
            raise ValueError(message)
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        values["phases"] = [
            PhaseReport(**{**p, "outcome": Outcome(p["outcome"])}) for p in values["phases"]
        ]
        values["bindings"] = [BindingReport(**b) for b in values["bindings"]]
        values["outputs"] = [_output_from(o) for o in values["outputs"]]
        shapes = values["shapes"]
        mismatches = [ShapeMismatch(**m) for m in shapes["mismatches"]]
        rows = [ShapeRow(**row) for row in shapes.get("rows", [])]
        values["shapes"] = ShapeReport(**{**shapes, "mismatches": mismatches, "rows": rows})
        where = values["localization"]
        if where is not None:
            difference = where["difference"]
            difference = None if difference is None else _output_from(difference)
            values["localization"] = Localization(**{**where, "difference": difference})
        values["cause"] = Cause(**values["cause"]) if values.get("cause") else None
        return cls(**values)

    def text(self) -> str:
        """The report on one screen."""
        return render(self)

    def __str__(self) -> str:
        return self.text()

    def raise_if_failed(self, cause: BaseException | None = None) -> None:
        """Raises when the check did not pass.

        Args:
            cause: What the model or the converter raised, if it did.

        Raises:
            VerificationError: With the one-screen text as its message.
        """
        __tracebackhide__ = True  # pytest shows the caller's line
        if not self.passed:
            raise VerificationError(self.text()) from cause


_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_NUMBERS = ("max_abs", "max_rel", "rms", "allowed_rms", "budget_used", "relative_budget")


def _output_from(data: dict[str, Any]) -> OutputReport:
    values = dict(data)
    values["outcome"] = Outcome(values["outcome"])
    values["shape"] = tuple(values["shape"])
    for key in ("first_index", "max_abs_index"):
        values[key] = None if values[key] is None else tuple(values[key])
    for key in _NUMBERS:
        values[key] = _NON_FINITE.get(values[key], values[key])
    if values["ulp"] is not None:
        values["ulp"] = tuple(_NON_FINITE.get(u, u) for u in values["ulp"])
    values["histogram"] = [(label, count) for label, count in values["histogram"]]
    return OutputReport(**values)


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, enum.Enum):
        return value.value
    return value
