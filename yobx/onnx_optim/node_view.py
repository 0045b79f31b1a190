"""What a shape rule sees of a node, and the few things it may say besides its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import onnx

from yobx.errors import ShapeContradictionError, ShapeError
from yobx.onnx_optim.attributes import attribute_value
from yobx.onnx_optim.optim_dim import DimLike, OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_shape import UNKNOWN_SHAPE, OptimShape
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.tensor_type import TensorType

if TYPE_CHECKING:
    from yobx.onnx_optim.context import ShapesContext

__all__ = ["NodeView"]

MAX_OWNERS = 6


class NodeView:
    """A node with the descriptors of its inputs.

    Attributes:
        context: Context the node is inferred in.
        proto: The node itself.
        index: Position in its graph.
        op_type: Operator.
        domain: Domain, ``""`` for the default one.
        version: Opset version of the domain.
        inputs: One descriptor per input; ``None`` for an omitted one.
        reasons: Why an output is unknown, as far as the rule said.
    """

    __slots__ = (
        "_attributes",
        "context",
        "domain",
        "index",
        "inputs",
        "op_type",
        "proto",
        "reasons",
        "tainted",
        "used_constraints",
        "version",
    )

    def __init__(
        self,
        context: ShapesContext,
        proto: onnx.NodeProto,
        inputs: tuple[Descriptor | None, ...],
        *,
        index: int = -1,
        version: int | None = None,
    ) -> None:
        self.context = context
        self.proto = proto
        self.index = index
        self.op_type = proto.op_type
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self.version = context.opset_version(self.domain) if version is None else version
        self.inputs = inputs
        self.reasons: list[str] = []
        self.tainted = False
        self.used_constraints = False
        self._attributes: dict[str, onnx.AttributeProto] | None = None

    # -- inputs and outputs

    @property
    def n_inputs(self) -> int:
        """Number of inputs written, omitted ones counted."""
        return len(self.inputs)

    @property
    def n_outputs(self) -> int:
        """Number of outputs written, omitted ones counted."""
        return len(self.proto.output)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs; ``""`` for an omitted one."""
        return tuple(self.proto.output)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs; ``""`` for an omitted one."""
        return tuple(self.proto.input)

    def has(self, i: int) -> bool:
        """True when input ``i`` is given."""
        return i < len(self.inputs) and self.inputs[i] is not None

    def tensor(self, i: int) -> OptimTensor:
        """Descriptor of input ``i``; an unknown tensor when it is omitted.

        Raises:
            ShapeError: The input is a sequence or an optional.
        """
        found = self.inputs[i] if i < len(self.inputs) else None
        if found is None:
            return UNKNOWN_TENSOR
        if not isinstance(found, OptimTensor):
            self.fail(f"input {i} must be a tensor, it is {found!r}")
        return found

    # -- attributes

    def _table(self) -> dict[str, onnx.AttributeProto]:
        if self._attributes is None:
            self._attributes = self.context.resolve_attributes(self.proto)
        return self._attributes

    def has_attr(self, name: str) -> bool:
        """True when the attribute is given."""
        return name in self._table()

    def attr_proto(self, name: str) -> onnx.AttributeProto | None:
        """The attribute as stored, function references resolved, or ``None``."""
        return self._table().get(name)

    def attr(self, name: str, default: Any = None) -> Any:
        """Attribute as a Python value, array, ``GraphProto`` or ``TypeProto``."""
        found = self._table().get(name)
        return default if found is None else attribute_value(found)

    # -- statements

    def fresh(
        self, axis: int, reason: str, *, output: int = 0, upper: DimLike | None = None
    ) -> OptimDim:
        """A new symbol for the size of ``axis`` of an output, its origin and bound recorded."""
        self.tainted = True
        names = self.proto.output
        value = names[output] if output < len(names) else ""
        try:
            return self.context.fresh_symbol(
                f"{self.op_type}_{value}_d{axis}",
                reason=reason,
                node=self,
                value=value,
                axis=axis,
                upper=upper,
            )
        except ShapeContradictionError as error:
            self.fail(str(error), ShapeContradictionError)

    def equal(self, a: DimLike, b: DimLike) -> bool:
        """State that two dimensions are equal in every run in which this node succeeds."""
        self.used_constraints = True
        left, right = OptimDim(a), OptimDim(b)
        if left is right or left == right:
            return False
        try:
            news = self.context.add_constraint(left, right)
        except ShapeContradictionError as error:
            self.fail(str(error), ShapeContradictionError)
        self.tainted = self.tainted or news
        return news

    def at_most(self, a: DimLike, b: DimLike) -> bool:
        """State that ``a <= b`` in every run in which this node succeeds."""
        self.used_constraints = True
        try:
            news = self.context.add_less_equal_constraint(a, b)
        except ShapeContradictionError as error:
            self.fail(str(error), ShapeContradictionError)
        self.tainted = self.tainted or news
        return news

    def is_at_most(self, a: DimLike, b: DimLike) -> bool:
        """Tell whether some node has stated exactly that ``a <= b``."""
        self.used_constraints = True
        return self.context.has_less_equal_constraint(a, b)

    def simplify(self, dim: DimLike) -> OptimDim:
        """``dim`` rewritten with the equalities known."""
        self.used_constraints = True
        return self.context.simplify(dim)

    def unknown(
        self,
        reason: str,
        *,
        dtype: TensorType | int = TensorType.kUndefined,
        rank: int | None = None,
        output: int = 0,
    ) -> OptimTensor:
        """An output that is not known (its rank may be), with the reason."""
        self.reasons.append(reason)
        if rank is None:
            return OptimTensor(dtype, UNKNOWN_SHAPE)
        dims = [self.fresh(axis, reason, output=output) for axis in range(rank)]
        return OptimTensor(dtype, OptimShape(dims))

    def fail(self, message: str, kind: type[ShapeError] = ShapeError) -> NoReturn:
        """Refuse the node as malformed or contradictory.

        Raises:
            ShapeError: Always; it names the node, its place and what it was given.
        """
        shown = ", ".join("omitted" if d is None else repr(d) for d in self.inputs)
        names = ", ".join(repr(n) for n in self.proto.input)
        raise kind(
            f"{message}. Received: inputs ({names}) = ({shown}). Where: {self.describe()}.",
            node=self.describe(),
            value=self.proto.output[0] if self.proto.output else "",
        )

    def describe(self) -> str:
        """Words that find the node: operator, name, position, outputs."""
        name = f" {self.proto.name!r}" if self.proto.name else ""
        place = f" at index {self.index}" if self.index >= 0 else ""
        owners = self.context.owners(MAX_OWNERS)
        inside = "".join(f", inside {attr!r} of node {i}" for i, attr in owners)
        domain = f"{self.domain}:" if self.domain else ""
        return f"{domain}{self.op_type}{name}{place} -> {', '.join(self.proto.output)}{inside}"
