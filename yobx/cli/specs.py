"""Inputs and dynamic axes as written on the command line: ``x:float32[B,4]``, ``x:0=batch``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from yobx.errors import ArgumentError

__all__ = ["DynamicAxis", "InputSpec", "dynamic_shapes", "parse_bindings", "parse_dynamic"]

_INPUT = re.compile(r"(?:(?P<name>[^\[\]]+):)?(?P<dtype>\w+)\[(?P<shape>[^\[\]]*)\]")
_SYMBOL = re.compile(r"[A-Za-z_]\w*")
_DYNAMIC = re.compile(r"(?P<input>.+):(?P<axes>[^:]+)")
_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "string"),
)


@dataclass(frozen=True)
class InputSpec:
    """One input of a model.

    Attributes:
        name: Name of the input, ``""`` when it was not given.
        dtype: Dtype name, for example ``"float32"``.
        shape: One entry an axis: a size, or the name of a dynamic size.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    @classmethod
    def parse(cls, text: str) -> InputSpec:
        """Read ``name:dtype[sizes]``; the name may be left out.

        Args:
            text: For example ``"x:float32[B,4]"``, ``"int32[2,?]"`` or ``"float32[]"``.

        Returns:
            The input; an axis written ``?`` gets a name of its own.

        Raises:
            ArgumentError: If the text has another form, or the dtype is unknown.
        """
        match = _INPUT.fullmatch(text.strip())
        if match is None:
            raise ArgumentError(
                f"An input is written NAME:DTYPE[SIZES]. Received: {text!r}. "
                "Try for example --input 'x:float32[B,4]'; B is a dynamic size, [] a scalar.",
                argument="input",
            )
        name, dtype = match["name"] or "", match["dtype"]
        if dtype not in _DTYPES:
            raise ArgumentError(
                f"The dtype of an input is one of {', '.join(_DTYPES)}. Received: {dtype!r} "
                f"in {text!r}.",
                argument="input",
            )
        sizes = [size.strip() for size in match["shape"].split(",")] if match["shape"] else []
        shape = tuple(_size(size, f"{name or 'input'}_{i}", text) for i, size in enumerate(sizes))
        return cls(name, dtype, shape)

    @property
    def dynamic_axes(self) -> dict[int, str]:
        """Axis -> name of its size, for the axes without a number."""
        return {axis: size for axis, size in enumerate(self.shape) if isinstance(size, str)}


def _size(size: str, anonymous: str, text: str) -> int | str:
    if size.isdecimal():
        return int(size)
    if size == "?":
        return anonymous
    if _SYMBOL.fullmatch(size):
        return size
    raise ArgumentError(
        f"A size is a number, a name or '?'. Received: {size!r} in {text!r}.", argument="input"
    )


@dataclass(frozen=True)
class DynamicAxis:
    """One ``--dynamic`` statement.

    Attributes:
        target: Name of an input, or its position.
        axis: Axis, counted from 0.
        symbol: Name of the size.
    """

    target: str
    axis: int
    symbol: str


def parse_dynamic(texts: Iterable[str]) -> list[DynamicAxis]:
    """Read ``NAME:AXIS=SYMBOL[,AXIS=SYMBOL...]``.

    Args:
        texts: One text an option; the name may be the position of the input.

    Returns:
        The axes, in order.

    Raises:
        ArgumentError: If a text has another form.
    """
    found = []
    for text in texts:
        match = _DYNAMIC.fullmatch(text.strip())
        pairs = [pair.partition("=") for pair in match["axes"].split(",")] if match else []
        if match is None or not all(a.strip().isdecimal() and _is_symbol(s) for a, _, s in pairs):
            raise ArgumentError(
                f"A dynamic axis is written NAME:AXIS=SYMBOL. Received: {text!r}. "
                "Try for example --dynamic x:0=batch, or --dynamic x:0=batch,1=time.",
                argument="dynamic",
            )
        found += [DynamicAxis(match["input"], int(axis), size.strip()) for axis, _, size in pairs]
    return found


def _is_symbol(text: str) -> bool:
    return _SYMBOL.fullmatch(text.strip()) is not None


def dynamic_shapes(
    axes: Sequence[DynamicAxis], names: Sequence[str], base: Sequence[dict[int, str]]
) -> tuple[dict[int, str], ...]:
    """Bring ``--dynamic`` statements into the form that ``to_onnx`` takes.

    Args:
        axes: The statements.
        names: Names of the inputs, in order.
        base: What is dynamic before the statements, one dict an input.

    Returns:
        One ``axis -> symbol`` dict an input.

    Raises:
        ArgumentError: If a statement names no input.
    """
    result = [dict(known) for known in base]
    for statement in axes:
        if statement.target in names:
            index = list(names).index(statement.target)
        elif statement.target.isdecimal() and int(statement.target) < len(names):
            index = int(statement.target)
        else:
            known = ", ".join(names) or "none"
            raise ArgumentError(
                "--dynamic names an input of the model, or its position. "
                f"Received: {statement.target!r}. The inputs are: {known}.",
                argument="dynamic",
            )
        result[index][statement.axis] = statement.symbol
    return tuple(result)


def parse_bindings(texts: Iterable[str]) -> list[dict[str, int]]:
    """Read ``B=7,S=11``: the sizes of one run, one text a run.

    Args:
        texts: The texts.

    Returns:
        One ``symbol -> size`` dict a run.

    Raises:
        ArgumentError: If a text has another form.
    """
    runs = []
    for text in texts:
        pairs = [pair.partition("=") for pair in text.split(",")]
        if not all(_is_symbol(name) and size.strip().isdecimal() for name, _, size in pairs):
            raise ArgumentError(
                f"A binding is written SYMBOL=SIZE,... Received: {text!r}. "
                "Try for example --bind batch=7,time=11.",
                argument="bind",
            )
        runs.append({name.strip(): int(size) for name, _, size in pairs})
    return runs
