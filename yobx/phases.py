"""The phases of a check, in order. Nothing is imported, so that a plugin can name them for free."""

__all__ = ["PHASES"]

PHASES = (
    "import",
    "trace",
    "convert",
    "check",
    "shapes",
    "load",
    "run",
    "structure",
    "shape-match",
    "values",
    "provenance",
)
