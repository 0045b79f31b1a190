"""A StableHLO module as plain Python objects, detached from the MLIR context it was read from.

Values are compared by identity. Shapes hold an ``int``, or ``None`` for a dynamic dimension;
element types are numpy dtypes (with those of ``ml_dtypes``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "BROADCASTS",
    "Block",
    "Function",
    "Location",
    "Module",
    "Operation",
    "TensorType",
    "Value",
]

#: Operations that repeat an operand along new axes.
BROADCASTS = ("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")


@dataclass(frozen=True, slots=True)
class TensorType:
    """Type of a ranked tensor.

    Attributes:
        shape: Dimensions, ``None`` where dynamic.
        dtype: Element type.
    """

    shape: tuple[int | None, ...]
    dtype: np.dtype[Any]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self.dtype.kind == "c"

    def static_shape(self) -> tuple[int, ...] | None:
        """The shape when no dimension is dynamic, else ``None``."""
        known = tuple(d for d in self.shape if d is not None)
        return known if len(known) == len(self.shape) else None

    def __str__(self) -> str:
        dims = ", ".join("?" if d is None else str(d) for d in self.shape)
        return f"{self.dtype.name}[{dims}]"


@dataclass(frozen=True, slots=True)
class Location:
    """Where an operation comes from.

    Attributes:
        name_stack: JAX's name stack, such as ``jit(f)/relu/max``, or ``""``.
        source: Innermost frame of the call stack as ``function (file:line)``, or ``""``.
    """

    name_stack: str = ""
    source: str = ""

    def __str__(self) -> str:
        return " at ".join(part for part in (self.name_stack, self.source) if part)


@dataclass(eq=False, slots=True)
class Value:
    """A result of an operation or an argument of a block.

    Attributes:
        type: Its type; ``None`` for a token, a tuple or another non-tensor.
        owner: The operation that makes it; ``None`` for a block argument.
        index: Position among the results or the arguments.
    """

    type: TensorType | None
    owner: Operation | None = None
    index: int = 0

    @property
    def tensor(self) -> TensorType:
        """Its type, which must be a tensor."""
        if self.type is None:
            raise TypeError("this value is a token or a tuple, not a tensor")
        return self.type


@dataclass(eq=False, slots=True)
class Operation:
    """One operation.

    Attributes:
        name: Full name, such as ``stablehlo.add``.
        operands: Values it reads.
        results: Values it makes.
        attributes: Decoded attributes.
        regions: Its regions, each of one block.
        location: Where it comes from.
    """

    name: str
    operands: list[Value]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    regions: Sequence[Block] = ()
    location: Location = Location()
    results: list[Value] = field(default_factory=list)

    def add_result(self, kind: TensorType | None) -> Value:
        """Append a result of this type and return it."""
        value = Value(kind, self, len(self.results))
        self.results.append(value)
        return value


@dataclass(eq=False, slots=True)
class Block:
    """A list of operations; the last one is the terminator (``return``).

    Attributes:
        arguments: Values the block receives.
        operations: Its operations in order.
    """

    arguments: list[Value]
    operations: list[Operation]

    @property
    def outputs(self) -> list[Value]:
        """Operands of the terminator."""
        return self.operations[-1].operands

    def live(self) -> tuple[list[Operation], set[Value]]:
        """Operations whose results are needed, in order and without the terminator; the values."""
        needed = set(self.outputs)
        kept = []
        for operation in reversed(self.operations[:-1]):
            if any(result in needed for result in operation.results):
                kept.append(operation)
                needed.update(operation.operands)
                for region in operation.regions:
                    for inner in region.walk():
                        needed.update(inner.operands)
        return kept[::-1], needed

    def walk(self) -> Iterator[Operation]:
        """Every operation, those of nested regions too, outer before inner."""
        for operation in self.operations:
            yield operation
            for region in operation.regions:
                yield from region.walk()


@dataclass(eq=False, slots=True)
class Function:
    """A function of the module.

    Attributes:
        name: Symbol name.
        body: Its only block.
        argument_attributes: Decoded attributes of each argument.
        result_attributes: Decoded attributes of each result.
    """

    name: str
    body: Block
    argument_attributes: Sequence[Mapping[str, Any]] = ()
    result_attributes: Sequence[Mapping[str, Any]] = ()


@dataclass(eq=False, slots=True)
class Module:
    """All functions of a module by name; conversion starts at ``main``.

    Attributes:
        functions: The functions.
        is_prepared: Whether loops and patterns have been recognised in it.
    """

    functions: dict[str, Function]
    is_prepared: bool = False

    @property
    def main(self) -> Function:
        """The entry function."""
        return self.functions["main"]
