"""Registry of converters, one per StableHLO operation.

A converter has the signature ``(g, op) -> result``: ``g`` is the graph builder, ``op`` an
:class:`~yobx.stablehlo.op.Op`; it emits ONNX nodes and returns the ONNX name (or
:class:`~yobx.stablehlo.tensor.Tensor`) of each result, a tuple if there are several, ``None`` if
there is none. Calls, composites and custom calls are registered under ``call.<function>``,
``composite.<name>`` and ``custom_call.<target>``. JAX is not imported here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from yobx.xbuilder.converters import misfit_of

__all__ = [
    "PARAMETERS",
    "StablehloRegistration",
    "get_stablehlo_op_converter",
    "get_stablehlo_op_registrations",
    "register_stablehlo_op_converter",
]

Converter = Callable[..., Any]
_F = TypeVar("_F", bound=Converter)
#: What a converter is given.
PARAMETERS = ("g", "op")


@dataclass(frozen=True)
class StablehloRegistration:
    """What is known of one registered operation.

    Attributes:
        name: Operation, for example ``stablehlo.add``.
        converter: The converter function.
        dtypes: Numpy names of the element types of operands and results that it takes; ``None``
            means every type ONNX has.
        complex_parts: How complex values are taken: ``""`` not at all, ``"each"`` by running the
            converter on real and imaginary part in turn, ``"pair"`` by a converter that reads both,
            ``"any"`` by one that takes values of one part and of two.
        place: ``module.function`` of the converter.
    """

    name: str
    converter: Converter
    dtypes: frozenset[str] | None
    complex_parts: str
    place: str


_REAL: dict[str, StablehloRegistration] = {}
_PAIRS: dict[str, StablehloRegistration] = {}


def register_stablehlo_op_converter(
    names: str | tuple[str, ...],
    *,
    dtypes: Iterable[str] | None = None,
    complex_parts: str = "",
) -> Callable[[_F], _F]:
    """Registers the decorated function for one or several operations.

    Args:
        names: Operation name, or a tuple of them; ``stablehlo.`` may be left out of a plain word.
        dtypes: Numpy names of the element types it takes.
        complex_parts: ``"each"`` when the operation only moves elements, so that it also converts
            complex values part by part; ``"pair"`` when this converter is the one for complex
            values, beside another for real ones; ``"any"`` when it is the one for both kinds.

    Returns:
        The decorator; it returns the function unchanged.

    Raises:
        TypeError: If an operation already has a converter, the names are not text, or the function
            cannot be called as ``(g, op)``.
    """
    wanted = (names,) if isinstance(names, str) else names
    if not isinstance(wanted, tuple) or not all(isinstance(n, str) and n for n in wanted):
        raise TypeError(
            "register_stablehlo_op_converter takes a name or a tuple of names, "
            f"received names={names!r}. Write e.g. ('stablehlo.add', 'chlo.erf')."
        )
    declared = None if dtypes is None else frozenset(dtypes)
    table = _PAIRS if complex_parts == "pair" else _REAL

    def decorate(function: _F) -> _F:
        why = misfit_of(function, PARAMETERS)
        if why:
            raise TypeError(
                f"{why}, registered for {', '.join(map(repr, wanted))}. Try def convert(g, op): ..."
            )
        inner = inspect.unwrap(function)
        place = f"{inner.__module__}.{inner.__qualname__}"
        for short in wanted:
            name = short if "." in short else f"stablehlo.{short}"
            if name in table:
                raise TypeError(
                    f"An operation has one converter. {name!r} is registered by "
                    f"{table[name].place} and again by {place}. Remove one of them."
                )
            table[name] = StablehloRegistration(name, function, declared, complex_parts, place)
        return function

    return decorate


def get_stablehlo_op_converter(
    name: str, *, is_complex: bool = False
) -> StablehloRegistration | None:
    """Returns the registration for an operation on real or on complex values, or ``None``."""
    if not is_complex:
        return _REAL.get(name)
    found = _PAIRS.get(name) or _REAL.get(name)
    return found if found is not None and found.complex_parts else None


def get_stablehlo_op_registrations() -> tuple[StablehloRegistration, ...]:
    """Returns every registration, by name, those for real values first."""
    return (*sorted(_REAL.values(), key=_by_name), *sorted(_PAIRS.values(), key=_by_name))


def _by_name(registration: StablehloRegistration) -> str:
    return registration.name
