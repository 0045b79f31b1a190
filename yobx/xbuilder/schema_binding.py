"""Binds what a caller passes to what the schema of this opset wants.

An operator that moved a parameter from attribute to input (or is older than that move) is called
the same way in both cases; the binding puts the value where the target opset has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.errors import GraphError, UnsupportedOpsetError
from yobx.onnx_optim.tensor_type import TensorType
from yobx.words import nearest
from yobx.xbuilder.dtypes import element_type
from yobx.xbuilder.schema import (
    Parameter,
    Signature,
    attribute_becomes_input,
    since_of_attribute,
)

__all__ = ["check_outputs", "check_types", "place_parameters", "scalar_type"]

_KEYWORD_SYNONYMS = {("Pad", "value"): "constant_value", ("Upsample", "scale"): "scales"}
# Keyword parameters that ONNX wants as a 1-D tensor even for one number.
_VECTORS = frozenset(
    {"axes", "pads", "starts", "ends", "steps", "k", "repeats", "shape", "sizes", "scales"}
)


def place_parameters(
    sig: Signature,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    constant_of: Callable[[Any], npt.NDArray[np.generic] | None],
) -> tuple[list[Any], dict[str, Any]]:
    """Moves parameters to where this opset has them and checks names and arity.

    Args:
        sig: Signature at the target opset.
        inputs: Values as the caller gave them, ``None`` for an omitted one.
        attributes: Keywords as the caller gave them; a ``None`` means not given.
        constant_of: Value of an input known while building, or ``None``.

    Returns:
        Inputs without trailing ``None``, and attributes in the order given.

    Raises:
        GraphError: For an unknown or missing attribute, or a wrong number of inputs.
    """
    placed = list(inputs)
    kept: dict[str, Any] = {}
    for name, value in attributes.items():
        if value is None:
            continue
        if name in sig.attributes:
            kept[name] = value
            continue
        synonym = _KEYWORD_SYNONYMS.get((sig.op_type, name), name)
        index = sig.input_index(synonym)
        if index is None:
            raise _unknown_attribute(sig, name, value)
        _set_input(sig, placed, index, name, value)
    _extra_inputs_to_attributes(sig, placed, kept, constant_of)
    while placed and placed[-1] is None and len(placed) > sig.min_inputs:
        placed.pop()
    _check_arity(sig, placed)
    missing = sorted(sig.required - kept.keys())
    if missing:
        raise GraphError(
            f"An attribute is required. Received: {sig.op_type} without {', '.join(missing)}.",
            op_type=sig.op_type,
            hint=f"Try {sig.op_type}(..., {missing[0]}=...).",
        )
    return placed, kept


def _set_input(sig: Signature, placed: list[Any], index: int, name: str, value: Any) -> None:
    if index < len(placed) and placed[index] is not None:
        raise GraphError(
            f"A parameter was given twice. Received: {sig.op_type} input {index} "
            f"({sig.inputs[index].name}) and keyword {name}={value!r}.",
            op_type=sig.op_type,
            hint="Try one of them.",
        )
    placed.extend([None] * (index + 1 - len(placed)))
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    placed[index] = [value] if is_number and name.lower() in _VECTORS else value


def _extra_inputs_to_attributes(
    sig: Signature,
    placed: list[Any],
    kept: dict[str, Any],
    constant_of: Callable[[Any], npt.NDArray[np.generic] | None],
) -> None:
    while len(placed) > sig.max_inputs:
        index = len(placed) - 1
        value = placed.pop()
        if value is None:
            continue
        name = attribute_becomes_input(sig.domain, sig.op_type, index)
        if name is None or name not in sig.attributes:
            placed.append(value)
            return  # the arity check words the error
        constant = constant_of(value)
        if constant is None:
            raise GraphError(
                "At this opset the parameter is an attribute, so its value must be known while "
                f"building. Received: {sig.op_type} input {index} ({name}) = {value!r}.",
                op_type=sig.op_type,
                hint="Try a constant, or a newer target_opset.",
            )
        kept[name] = constant.tolist()


def _unknown_attribute(sig: Signature, name: str, value: Any) -> GraphError:
    known = [*sig.attributes, *(p.name for p in sig.inputs)]
    advice = nearest(name, known) or (
        f"its attributes are: {', '.join(sig.attributes)}."
        if sig.attributes
        else "it has no attributes."
    )
    text = repr(value)
    since = since_of_attribute(sig, name)
    if since is not None:
        return UnsupportedOpsetError(
            "The operator has no attribute of this name in this opset yet. Received: "
            f"{sig.op_type}-{sig.since_version}({name}={text[:60]}).",
            since=since,
            op_type=sig.op_type,
            hint=f"Try target_opset={since} or newer.",
        )
    return GraphError(
        f"The operator has no attribute of this name at this opset. Received: "
        f"{sig.op_type}-{sig.since_version}({name}={text[:60]}); {advice}",
        op_type=sig.op_type,
    )


def _check_arity(sig: Signature, placed: Sequence[Any]) -> None:
    if not sig.min_inputs <= len(placed) <= sig.max_inputs:
        bounds = (
            str(sig.min_inputs)
            if sig.min_inputs == sig.max_inputs
            else f"at least {sig.min_inputs}"
            if sig.max_inputs > 1000
            else f"{sig.min_inputs} to {sig.max_inputs}"
        )
        formal = ", ".join(p.name + ("?" if p.optional else "") for p in sig.inputs)
        raise GraphError(
            f"Wrong number of inputs. Received: {len(placed)} for {sig.op_type}-"
            f"{sig.since_version}, which takes {bounds}: ({formal}).",
            op_type=sig.op_type,
        )
    for index, value in enumerate(placed):
        parameter = sig.input(index)
        if value is None and parameter is not None and not parameter.optional:
            raise GraphError(
                f"This input cannot be omitted. Received: None for input {index} "
                f"({parameter.name}) of {sig.op_type}-{sig.since_version}.",
                op_type=sig.op_type,
            )


def check_outputs(sig: Signature, count: int) -> None:
    """Checks the number of outputs.

    Args:
        sig: Signature at the target opset.
        count: Number of outputs asked for.

    Raises:
        GraphError: If the operator cannot have that many.
    """
    if not max(sig.min_outputs, 1) <= count <= sig.max_outputs:
        raise GraphError(
            f"Wrong number of outputs. Received: {count} for {sig.op_type}-{sig.since_version}, "
            f"which has {max(sig.min_outputs, 1)} to {sig.max_outputs}.",
            op_type=sig.op_type,
        )


def scalar_type(
    sig: Signature, index: int, value: Any, known: Sequence[TensorType]
) -> TensorType | None:
    """Chooses the element type of a Python number (or list of numbers) used as an input.

    Args:
        sig: Signature at the target opset.
        index: Position of the input.
        value: The number or list.
        known: Element type of each input, ``kUndefined`` where unknown or still a number.

    Returns:
        The type that the schema forces or a sibling input has; otherwise the type of the first
        input if the number fits it, and ``None`` for the default of the Python type.
    """
    parameter = sig.input(index)
    if parameter is None:
        return None
    fixed = _fixed_type(parameter)
    if fixed is not None:
        return fixed
    if not parameter.is_fixed and (parameter.homogeneous or not parameter.variadic):
        for position, dtype in enumerate(known):
            sibling = sig.input(position)
            if (
                position != index
                and dtype != TensorType.kUndefined
                and sibling is not None
                and sibling.variable == parameter.variable
            ):
                return dtype
    kind = np.asarray(value).dtype.kind
    first = known[0] if known else TensorType.kUndefined
    if (
        kind in "if"
        and first not in (TensorType.kUndefined, TensorType.kBool, TensorType.kString)
        and first.onnx_text() in parameter.types
        and (kind == "i" or "float" in first.onnx_text() or "double" in first.onnx_text())
    ):
        return first
    default = {"b": TensorType.kBool, "i": TensorType.kInt64, "f": TensorType.kFloat}.get(kind)
    if default is not None and default.onnx_text() not in parameter.types and kind == "i":
        return TensorType.kFloat if TensorType.kFloat.onnx_text() in parameter.types else None
    return default


def _fixed_type(parameter: Parameter) -> TensorType | None:
    if len(parameter.types) != 1:
        return None
    (text,) = parameter.types
    if not text.startswith("tensor("):
        return None
    name = text.removeprefix("tensor(").removesuffix(")")
    return element_type(name.upper())


def check_types(
    sig: Signature,
    names: Sequence[str],
    types: Sequence[TensorType],
) -> None:
    """Checks the element types of all inputs against the schema.

    Args:
        sig: Signature at the target opset.
        names: Input names, ``""`` for an omitted one.
        types: Their element types, ``kUndefined`` where unknown.

    Raises:
        GraphError: If a type is not allowed, or two inputs that must agree do not.
    """
    bound: dict[str, tuple[str, TensorType]] = {}
    for index, (name, dtype) in enumerate(zip(names, types, strict=True)):
        parameter = sig.input(index)
        if parameter is None or not name or dtype == TensorType.kUndefined:
            continue
        text = dtype.onnx_text()
        if text not in parameter.types:
            allowed = ", ".join(sorted(parameter.types))
            raise GraphError(
                f"The operator does not take this element type. Received: {sig.op_type}-"
                f"{sig.since_version} input {parameter.name}={name!r} of {text}. "
                f"Allowed: {allowed}.",
                op_type=sig.op_type,
                value=name,
                hint="Try a Cast first.",
            )
        if parameter.is_fixed or (parameter.variadic and not parameter.homogeneous):
            continue
        other = bound.setdefault(parameter.variable, (name, dtype))
        if other[1] != dtype:
            raise GraphError(
                f"These inputs must have one element type ({parameter.variable}). Received: "
                f"{sig.op_type}-{sig.since_version} with {other[0]!r} of {other[1].onnx_text()} "
                f"and {name!r} of {text}.",
                op_type=sig.op_type,
                value=name,
                hint="Try a Cast of one of them.",
            )
