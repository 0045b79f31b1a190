"""What the operator schemas say, read once per (domain, operator, opset) and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import onnx
from onnx.defs import OpSchema

from yobx.errors import GraphError, UnsupportedOpsetError
from yobx.words import similar

__all__ = [
    "Parameter",
    "Signature",
    "attribute_becomes_input",
    "check_opsets",
    "default_opset",
    "has_schemas",
    "newest_opset",
    "signature",
    "since_of_attribute",
]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One formal input or output.

    Attributes:
        name: Name in the schema.
        variable: Type variable (``"T"``) or a fixed type (``"tensor(int64)"``).
        types: Type strings allowed.
        optional: May be omitted.
        variadic: Stands for any number of values.
        homogeneous: All values of a variadic parameter share one type.
    """

    name: str
    variable: str
    types: frozenset[str]
    optional: bool
    variadic: bool
    homogeneous: bool

    @property
    def is_fixed(self) -> bool:
        """Whether the type is written out, not a variable."""
        return "(" in self.variable


@dataclass(frozen=True, slots=True)
class Signature:
    """One operator at one opset.

    Attributes:
        op_type: Operator.
        domain: Its domain, ``""`` for the standard.
        since_version: Opset that introduced this version.
        inputs: Formal inputs.
        outputs: Formal outputs.
        attributes: Attribute types by name, values of ``onnx.AttributeProto.AttributeType``.
        required: Attributes that must be given.
        min_inputs: Least number of inputs.
        max_inputs: Largest number of inputs.
        min_outputs: Least number of outputs.
        max_outputs: Largest number of outputs.
    """

    op_type: str
    domain: str
    since_version: int
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: dict[str, int] = field(hash=False)
    required: frozenset[str]
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int

    def input(self, index: int) -> Parameter | None:
        """Returns the formal input at a position; the last one repeats when it is variadic."""
        if index < len(self.inputs):
            return self.inputs[index]
        return self.inputs[-1] if self.inputs and self.inputs[-1].variadic else None

    def input_index(self, name: str) -> int | None:
        """Returns the position of a formal input that is not variadic, case ignored."""
        for index, parameter in enumerate(self.inputs):
            if parameter.name.lower() == name.lower() and not parameter.variadic:
                return index
        return None

    @property
    def default_outputs(self) -> int:
        """How many outputs a call makes when it does not say."""
        single = sum(not (p.optional or p.variadic) for p in self.outputs)
        return max(single, self.min_outputs, 1)


def _parameters(formal: list[OpSchema.FormalParameter]) -> tuple[Parameter, ...]:
    option = OpSchema.FormalParameterOption
    return tuple(
        Parameter(
            name=item.name,
            variable=item.type_str,
            types=frozenset(item.types),
            optional=item.option == option.Optional,
            variadic=item.option == option.Variadic,
            homogeneous=item.is_homogeneous,
        )
        for item in formal
    )


def _attribute_kind(kind: OpSchema.AttrType) -> int:
    name = str(kind).rpartition(".")[2]
    return int(onnx.AttributeProto.AttributeType.Value(name))


@lru_cache(maxsize=1)
def _history() -> dict[str, dict[str, list[int]]]:
    """Every operator the installed onnx knows: domain -> name -> sorted versions."""
    found: dict[str, dict[str, list[int]]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault(schema.domain, {}).setdefault(schema.name, []).append(schema.since_version)
    for operators in found.values():
        for versions in operators.values():
            versions.sort()
    return found


def has_schemas(domain: str) -> bool:
    """Tells whether the installed onnx describes the operators of a domain."""
    return domain in _history()


def newest_opset() -> int:
    """Returns the newest opset of the standard domain that the installed onnx describes."""
    return int(onnx.defs.onnx_opset_version())


def default_opset(domain: str, standard: int) -> int | None:
    """Returns the opset of another standard domain that was current with a standard opset.

    Args:
        domain: Domain, such as ``ai.onnx.ml``.
        standard: Opset of the standard domain.

    Returns:
        The opset, or ``None`` for a domain that onnx does not describe.
    """
    if not has_schemas(domain):
        return None
    table = onnx.helper.OP_SET_ID_VERSION_MAP
    limit = table.get(("ai.onnx", standard), max(table.values()))
    return max(
        (
            opset
            for (name, opset), ir_version in table.items()
            if name == domain and ir_version <= limit
        ),
        default=None,
    )


@lru_cache(maxsize=4096)
def signature(domain: str, op_type: str, version: int) -> Signature:
    """Reads the schema of an operator.

    Args:
        domain: Operator domain that :func:`has_schemas`.
        op_type: Operator.
        version: Opset of the domain.

    Returns:
        Its signature.

    Raises:
        UnsupportedOpsetError: If the operator is newer than this opset; the message names the
            lowest opset that has it.
        GraphError: If there is no such operator; the message names similar ones.
    """
    operators = _history()[domain]
    label = domain or "ai.onnx"
    versions = operators.get(op_type)
    if versions is None:
        near = _similar(op_type, operators)
        elsewhere = [
            other or "ai.onnx" for other in sorted(_history()) if op_type in _history()[other]
        ]
        where = f" It is in domain {elsewhere[0]!r}." if elsewhere else ""
        raise GraphError(
            f"There is no operator of this name in domain {label!r}. "
            f"Received: op_type={op_type!r}.{where}",
            op_type=op_type,
            hint=near,
        )
    if versions[0] > version:
        raise UnsupportedOpsetError(
            f"The operator does not exist yet in this opset. Received: op_type={op_type!r}, "
            f"opset {version} of {label!r}.",
            since=versions[0],
            op_type=op_type,
            hint=f"Try target_opset={versions[0]} or newer.",
        )
    schema = onnx.defs.get_schema(op_type, version, domain)
    if schema.deprecated:
        raise GraphError(
            f"The operator is withdrawn from this opset. Received: op_type={op_type!r}, "
            f"opset {version} of {label!r}, withdrawn at {schema.since_version}.",
            op_type=op_type,
            hint="Try the operator that its documentation names instead.",
        )
    return Signature(
        op_type=op_type,
        domain=domain,
        since_version=schema.since_version,
        inputs=_parameters(list(schema.inputs)),
        outputs=_parameters(list(schema.outputs)),
        attributes={
            name: _attribute_kind(attribute.type)
            for name, attribute in sorted(schema.attributes.items())
        },
        required=frozenset(n for n, attribute in schema.attributes.items() if attribute.required),
        min_inputs=schema.min_input,
        max_inputs=schema.max_input,
        min_outputs=schema.min_output,
        max_outputs=schema.max_output,
    )


def since_of_attribute(sig: Signature, name: str) -> int | None:
    """Finds the version of an operator that brings an attribute.

    Args:
        sig: An older version of it.
        name: The attribute.

    Returns:
        The first version of the operator after this one that has it, or ``None``.
    """
    for version in _history()[sig.domain][sig.op_type]:
        if version > sig.since_version:
            schema = onnx.defs.get_schema(sig.op_type, version, sig.domain)
            if name in schema.attributes:
                return version
    return None


def _similar(op_type: str, operators: dict[str, list[int]]) -> str:
    found = similar(op_type, operators, n=3)
    return f"Try {' or '.join(found)}." if found else ""


@lru_cache(maxsize=1024)
def attribute_becomes_input(domain: str, op_type: str, index: int) -> str | None:
    """Names the formal input at a position in the newest version of an operator.

    Older versions of many operators have the same thing as an attribute (``axes`` of the
    reductions, ``split``, ``pads``).

    Args:
        domain: Operator domain that :func:`has_schemas`.
        op_type: Operator.
        index: Position of the input.

    Returns:
        The name, or ``None`` if the newest version has no such input.
    """
    newest = signature(domain, op_type, _history()[domain][op_type][-1])
    return newest.inputs[index].name if index < len(newest.inputs) else None


def check_opsets(opsets: Mapping[str, int]) -> None:
    """Refuses opsets of which that of the standard domain is none.

    Args:
        opsets: Version by domain.

    Raises:
        GraphError: If the standard domain has no version, or one that the schemas do not know.
    """
    newest = newest_opset()
    version = opsets.get("")
    if not isinstance(version, int) or not 1 <= version <= newest:
        raise GraphError(
            f"The opset of the standard domain must be between 1 and {newest}. "
            f"Received: target_opset={dict(opsets)!r}.",
            hint="Try target_opset=21.",
        )
