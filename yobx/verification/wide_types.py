"""Which types stand for narrower ones where a source is computed in float64, and what rounds there.

What is rounded on purpose stays so: a conversion to a narrower type, a constant, and each result
where that is asked for. What lies outside the range of the narrower type becomes infinite, as it
does there. Types are told by name: TensorFlow and JAX run the same rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["keeps_all", "wide_name", "within_range"]

_WIDE = {
    "float32": "float64",
    "float16": "float64",
    "bfloat16": "float64",
    "complex64": "complex128",
}
# The type of the parts of a complex number.
_PARTS = {"complex64": "float32"}


def wide_name(name: str) -> str:
    """The type that stands for another one, which is itself where it has as many bits."""
    return _WIDE.get(name, name)


def keeps_all(source: str, to: str) -> bool:
    """Whether a conversion from one narrow type to another rounds nothing."""
    if source not in _WIDE or to not in _WIDE:
        return False
    return _PARTS.get(to, to) in {_PARTS.get(source, source), "float32"}


def within_range(
    value: Any,
    types: tuple[Any, Any],
    *,
    rounded: bool,
    ends: Any,
    cast: Callable[[Any, Any], Any],
    with_infinities: Callable[[Any, Any], Any],
) -> Any:
    """A value in the dtype in which it is computed with, in the range of its own.

    Args:
        value: The value, in either dtype.
        types: Its dtype in the source, and the one that stands for it.
        rounded: Whether each result is rounded to its own type.
        ends: The dtype whose range counts.
        cast: Converts an array to a dtype.
        with_infinities: The first array with the infinities of the second one.
    """
    own, wide = types
    if value.dtype != wide:
        return cast(value, wide)
    if rounded:
        return cast(cast(value, own), wide)
    return value if "complex" in str(wide) else with_infinities(value, cast(value, ends))
