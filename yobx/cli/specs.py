"""Inputs and dynamic axes as written on the command line: ``x:float32[B,4]``, ``x:0=batch``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yobx.errors import ArgumentError
from yobx.words import did_you_mean

if TYPE_CHECKING:
    from onnx import ValueInfoProto

__all__ = ["DTYPES", "InputSpec", "parse_bindings", "parse_dynamic", "parse_opset"]

_INPUT = re.compile(r"(?:(?P<name>[^\[\]]+):)?(?P<dtype>\w+)\[(?P<shape>[^\[\]]*)\]")
_SYMBOL = re.compile(r"[A-Za-z_]\w*")
_DYNAMIC = re.compile(r"(?P<input>.+):(?P<axes>[^:]+)")

#: Dtype as written -> name of the ONNX element type.
DTYPES = {
    **{name: name.upper() for name in ("bool", "int8", "int16", "int32", "int64", "string")},
    **{name: name.upper() for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: name.upper() for name in ("float16", "bfloat16", "complex64", "complex128")},
    "float32": "FLOAT",
    "float64": "DOUBLE",
}


@dataclass(frozen=True)
class InputSpec:
    """One input of a model.

    Attributes:
        name: Name of the input, ``""`` when it was not given.
        dtype: Dtype name, for example ``"float32"``.
        shape: One entry an axis: a size, the name of a dynamic size, or ``None`` for one without
            a name.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]

    @classmethod
    def parse(cls, text: str) -> InputSpec:
        """Read ``name:dtype[sizes]``; the name may be left out.

        Args:
            text: For example ``"x:float32[B,4]"``, ``"int32[2,?]"`` or ``"float32[]"``.

        Returns:
            The input.

        Raises:
            ArgumentError: If the text has another form, or the dtype is unknown.
        """
        match = _INPUT.fullmatch(text.strip())
        if match is None:
            raise ArgumentError(
                f"An input is written NAME:DTYPE[SIZES]. Received: {text!r}.",
                argument="input",
                hint="Try for example --input 'x:float32[B,4]'; B is a dynamic size, [] a scalar.",
            )
        if match["dtype"] not in DTYPES:
            near = did_you_mean(match["dtype"], DTYPES, shown=str)
            raise ArgumentError(
                f"The dtype of an input is one of {', '.join(DTYPES)}. "
                f"Received: {match['dtype']!r} in {text!r}.",
                argument="input",
                hint=near,
            )
        sizes = match["shape"].split(",") if match["shape"].strip() else []
        shape = tuple(_size(size.strip(), text) for size in sizes)
        return cls((match["name"] or "").strip(), match["dtype"], shape)

    def value_info(self, position: int) -> ValueInfoProto:
        """Describe the input in the form that ``to_onnx`` takes.

        Args:
            position: Position of the input, which names it when nothing else does.

        Returns:
            A tensor with named, fixed and open sizes.
        """
        from onnx import TensorProto, helper

        return helper.make_tensor_value_info(
            self.name or f"input_{position}",
            TensorProto.DataType.Value(DTYPES[self.dtype]),
            self.shape,
        )


def _size(size: str, text: str) -> int | str | None:
    if size.isdecimal():
        return int(size)
    if size == "?":
        return None
    if _is_size(size):
        return size
    raise ArgumentError(
        f"A size is a number, a name, an expression of names as 2*H, or '?'. Received: {size!r} in "
        f"{text!r}.",
        argument="input",
    )


def parse_dynamic(texts: Iterable[str]) -> dict[str, dict[int, str]]:
    """Read ``NAME:AXIS=SYMBOL[,AXIS=SYMBOL...]``.

    Args:
        texts: One text an option.

    Returns:
        For each input named, ``axis -> symbol``: the form that ``to_onnx`` takes.

    Raises:
        ArgumentError: If a text has another form.
    """
    found: dict[str, dict[int, str]] = {}
    for text in texts:
        match = _DYNAMIC.fullmatch(text.strip())
        pairs = [pair.partition("=") for pair in match["axes"].split(",")] if match else []
        if match is None or not all(a.strip().isdecimal() and _is_size(s) for a, _, s in pairs):
            bare = re.fullmatch(r"\s*(.+:\d+)\s*", text)
            axis = bare[1] if bare else "x:0"
            raise ArgumentError(
                f"A dynamic axis is written NAME:AXIS=SYMBOL. Received: {text!r}.",
                argument="dynamic",
                hint=f"Try for example --dynamic {axis}=batch, or --dynamic x:0=batch,1=time.",
            )
        axes = found.setdefault(match["input"], {})
        axes.update({int(axis): symbol.strip() for axis, _, symbol in pairs})
    return found


def _is_size(text: str) -> bool:
    """Whether a text names a size: an identifier, or an expression of identifiers."""
    if _is_symbol(text):
        return True
    from yobx.onnx_optim.sizes import named_size

    return named_size(text.strip()) is not None


def _is_symbol(text: str) -> bool:
    return _SYMBOL.fullmatch(text.strip()) is not None


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
                f"A binding is written SYMBOL=SIZE,... Received: {text!r}.",
                argument="bind",
                hint="Try for example --bind batch=7,time=11.",
            )
        runs.append({name.strip(): int(size) for name, _, size in pairs})
    return runs


def parse_opset(text: str) -> int | dict[str, int]:
    """Read ``--opset``: a version, versions of other domains, or both.

    Args:
        text: For example ``"21"`` or ``"21,com.microsoft=1"``.

    Returns:
        The version if there is only one, else domain -> version, ``""`` being the standard one.

    Raises:
        ArgumentError: If the text has another form, or names a domain twice.
    """
    opsets: dict[str, int] = {}
    for part in text.split(","):
        domain, _, version = part.strip().rpartition("=")
        if not version.strip().isdecimal() or domain.strip() in opsets or part.startswith("="):
            raise ArgumentError(
                "--opset is a version, and domain=version for each further domain. Received: "
                f"--opset {text!r}.",
                argument="target_opset",
                hint="Try --opset 21 or --opset 21,com.microsoft=1.",
            )
        opsets[domain.strip()] = int(version)
    return opsets[""] if set(opsets) == {""} else opsets
