"""Declared types against inferred ones: what fits, what completes, what contradicts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import onnx

from yobx.errors import ArgumentError, ShapeContradictionError, ShapeError
from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor, OptimOptional, OptimSequence
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.tensor_type import TensorType, stored_type
from yobx.onnx_optim.type_protos import descriptor_of_type, dims_of_proto, field_of_type

__all__ = ["Contradiction", "Declarations", "DeclaredPolicy", "counter_example", "settle_doubts"]

DeclaredPolicy = Literal["ignore", "check", "strict"]
POLICIES: tuple[DeclaredPolicy, ...] = ("ignore", "check", "strict")

_LOG = logging.getLogger("yobx.onnx_optim")
_PROBES = (1, 2, 3, 5, 0, 7)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A declaration that a run refutes.

    Attributes:
        value: Name of the value.
        declared: What the model declares.
        inferred: What its nodes compute.
        declared_by: ``"value_info"`` or ``"output"``, and of which graph.
        inferred_by: The node that computes the value.
        axis: Axis of the size, or ``None`` when type or rank differ.
        counter_example: Sizes of the symbols for which both differ.
    """

    value: str
    declared: str
    inferred: str
    declared_by: str
    inferred_by: str
    axis: int | None = None
    counter_example: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        where = f" on axis {self.axis}" if self.axis is not None else ""
        text = (
            f"A declared type must be what the nodes compute. Received: {self.value!r} declared as "
            f"{self.declared} by {self.declared_by}, inferred as {self.inferred}{where}. Where: "
            f"{self.inferred_by}."
        )
        if self.counter_example:
            shown = ", ".join(f"{k} = {v}" for k, v in self.counter_example.items())
            text += f" They differ for {shown}."
        return text


class DeclarationError(ShapeContradictionError):
    """A declared type is wrong, and the policy is strict.

    Unlike other contradictions inside a branch or a loop body it does not mean that the branch is
    never taken, so it always reaches the caller.
    """


def check_policy(policy: str) -> DeclaredPolicy:
    """The policy, validated.

    Raises:
        ArgumentError: There is no such policy.
    """
    for known in POLICIES:
        if policy == known:
            return known
    raise ArgumentError(
        f"The policy for declared shapes is one of {', '.join(POLICIES)}. Received: {policy!r}.",
        argument="policy",
    )


def counter_example(
    a: OptimDim, b: OptimDim, equal: Iterable[tuple[OptimDim, OptimDim]] = ()
) -> dict[str, int] | None:
    """Values of the symbols for which two sizes differ; ``None`` when none was found.

    Args:
        a: A size.
        b: Another.
        equal: Equations that the values must satisfy, as far as they are about the same symbols.
    """
    names = sorted(a.symbols() | b.symbols())
    known = [pair for pair in equal if pair[0].symbols() | pair[1].symbols() <= set(names)]
    if not names:
        return None if a == b else {}
    grid: Iterable[tuple[int, ...]] = itertools.product(_PROBES, repeat=min(len(names), 3))
    extra = (4,) * max(0, len(names) - 3)
    for point in grid:
        values = dict(zip(names, (*point, *extra), strict=True))
        try:
            if any(x.evaluate(values) != y.evaluate(values) for x, y in known):
                continue
            if a.evaluate(values) != b.evaluate(values):
                return values
        except ShapeError:  # a divisor is zero there
            continue
    return None


def settle_doubts(context: ShapesContext) -> None:
    """Judge the declarations that were doubted, with everything the nodes say about sizes.

    Raises:
        DeclarationError: The policy is strict and one of them is wrong.
    """
    doubts = context.session.doubts[:]
    context.session.doubts.clear()
    for judge in doubts:
        judge()


class Declarations:
    """The declared types of the values of one graph.

    Args:
        graph: The graph; ``None`` when declarations mean nothing.
        strict: Raise at the first contradiction instead of reporting it.
    """

    def __init__(self, graph: onnx.GraphProto | None, *, strict: bool = False) -> None:
        self.strict = strict
        self.types: dict[str, tuple[onnx.TypeProto, str]] = {}
        if graph is None:
            return
        place = f"graph {graph.name!r}"
        for value in graph.value_info:
            self.types[value.name] = (value.type, f"the value_info of {place}")
        for value in graph.output:
            self.types[value.name] = (value.type, f"the outputs of {place}")

    def apply(self, context: ShapesContext, name: str, inferred_by: Callable[[], str]) -> None:
        """Compare a value just inferred with its declaration, and complete it from there."""
        found = self.types.get(name)
        inferred = context.values.get(name)
        if found is None or inferred is None:
            return
        proto, by = found
        if isinstance(inferred, OptimTensor) and inferred.wire == field_of_type(proto):
            return  # declared is what would be written
        merged: Descriptor
        if isinstance(inferred, OptimTensor) and proto.WhichOneof("value") == "tensor_type":
            merged = _Comparison(self, context, name, by, inferred_by).tensor(inferred, proto)
        else:
            merged = self._other(_Comparison(self, context, name, by, inferred_by), inferred, proto)
        if merged is not inferred:
            context.values[name] = merged

    def report(self, context: ShapesContext, item: Contradiction) -> None:
        """Keep a contradiction, once; raise it when strict.

        Raises:
            DeclarationError: The policy is strict.
        """
        if self.strict:
            raise DeclarationError(str(item), node=item.inferred_by, value=item.value)
        if item not in context.session.contradictions:
            context.session.contradictions.append(item)
            _LOG.warning("%s", item)

    def _other(self, place: _Comparison, inferred: Descriptor, proto: onnx.TypeProto) -> Descriptor:
        if proto.WhichOneof("value") is None:
            return inferred
        declared = descriptor_of_type(proto, place.new_dim)
        if isinstance(inferred, OptimTensor) and inferred.is_unknown():
            return declared
        same_kind = type(declared) is type(inferred)
        if (
            same_kind
            and isinstance(declared, OptimSequence)
            and isinstance(inferred, OptimSequence)
        ):
            if not inferred.has_elem_dtype():
                return OptimSequence(
                    declared.elem_dtype,
                    inferred.elem_shapes,
                    length=inferred.length,
                    elem_dims=None if inferred.elem_shapes is not None else inferred.elem_dims,
                )
            same_kind = declared.elem_dtype in (TensorType.kUndefined, inferred.elem_dtype)
        is_map = isinstance(inferred, OptimTensor) and inferred.dtype.is_map
        if not same_kind and not is_map and not isinstance(inferred, OptimOptional):
            place.differ(repr(declared), repr(inferred))
        return inferred


@dataclass
class _Comparison:
    """One tensor against its declaration."""

    owner: Declarations
    context: ShapesContext
    name: str
    declared_by: str
    inferred_by: Callable[[], str]

    def new_dim(self, axis: int) -> OptimDim:
        """A symbol for a size that the declaration leaves open too."""
        return self.context.fresh_symbol(
            f"{self.name}_d{axis}",
            reason="neither inferred nor declared",
            value=self.name,
            axis=axis,
        )

    def tensor(self, inferred: OptimTensor, proto: onnx.TypeProto) -> OptimTensor:
        stated = proto.tensor_type
        dtype = inferred.dtype
        if dtype == TensorType.kUndefined:
            dtype = stored_type(stated.elem_type)
        elif stated.elem_type not in (0, dtype):
            self.differ(stored_type(stated.elem_type).name, dtype.name)
        if not stated.HasField("shape"):
            return inferred if dtype is inferred.dtype else inferred.replace(dtype=dtype)
        declared = dims_of_proto(stated.shape)
        if not inferred.shape.has_rank():
            named = [self.new_dim(a) if d is None else d for a, d in enumerate(declared)]
            return OptimTensor(dtype, OptimShape(named), source="declared")
        if len(declared) != len(inferred.shape):
            self.differ(f"rank {len(declared)}", f"rank {len(inferred.shape)}")
            return inferred
        dims = [
            self._dim(axis, d, i)
            for axis, (d, i) in enumerate(zip(declared, inferred.shape, strict=True))
        ]
        if dtype == inferred.dtype and all(
            a is b for a, b in zip(dims, inferred.shape, strict=True)
        ):
            return inferred
        return OptimTensor(
            dtype,
            OptimShape(dims),
            value=inferred.value,
            constant=inferred.constant,
            minimum=inferred.minimum,
            maximum=inferred.maximum,
        )

    def _dim(self, axis: int, declared: OptimDim | None, inferred: OptimDim) -> OptimDim:
        """The size to keep for one axis."""
        if declared is None or declared == inferred:
            return inferred
        context = self.context
        left, right = context.simplify(declared), context.simplify(inferred)
        session = context.session
        unseen = left.symbols() - session.input_symbols
        if left == right or (left.is_symbol() and unseen and not _is_generated(context, right)):
            return inferred  # the same, or just a name for something that is known better
        if _is_generated(context, right) and unseen == left.symbols():
            # A size nobody could compute: the declaration gives it a value or a name. It may not
            # claim that a data-dependent size and one of an input agree.
            return self._named(axis, left, right, inferred)
        example = counter_example(left, right)
        from_inputs = (left.symbols() | right.symbols()) <= session.input_symbols
        names = left.is_symbol() and right.is_symbol()
        refuted = from_inputs and not names and example is not None
        if refuted and example:
            session.doubts.append(lambda: self._judge(axis, declared, inferred))
        elif refuted or _always_greater(left, right) or _always_greater(right, left):
            self.differ(str(declared), str(inferred), axis, example)
        elif left.is_int() and not right.symbols() & session.input_symbols:
            return self._named(axis, left, right, inferred)  # a sum of sizes nobody could compute
        else:
            self.assume(axis, declared, inferred)
        return inferred

    def _judge(self, axis: int, declared: OptimDim, inferred: OptimDim) -> None:
        """Decides a doubt: a later node may fail wherever the two sizes differ."""
        left, right = self.context.simplify(declared), self.context.simplify(inferred)
        example = counter_example(left, right, self.context.constraints_store.known_equalities())
        if example is None:
            self.assume(axis, declared, inferred)
        else:
            self.differ(str(declared), str(inferred), axis, example)

    def _named(
        self, axis: int, declared: OptimDim, known: OptimDim, inferred: OptimDim
    ) -> OptimDim:
        upper = self.context.constraints_store.upper_bound_of(known)
        if upper is not None and _always_greater(declared, upper):
            self.differ(str(declared), f"at most {upper}", axis)
            return inferred
        names = self.context.session.declared_names
        free = declared.is_int() or (
            declared.is_symbol() and names.setdefault(str(declared), known) == known
        )
        if not free:  # one name for two data-dependent sizes would claim that they agree
            self.assume(axis, declared, inferred)
            return inferred
        self.context.constraints_store.add(known, declared)
        return declared

    def assume(self, axis: int, declared: OptimDim, inferred: OptimDim) -> None:
        text = f"{self.name} axis {axis}: {declared} == {inferred}"
        if text not in self.context.session.assumptions:
            self.context.session.assumptions.append(text)

    def differ(
        self,
        declared: str,
        inferred: str,
        axis: int | None = None,
        example: Mapping[str, int] | None = None,
    ) -> None:
        self.owner.report(
            self.context,
            Contradiction(
                self.name,
                declared,
                inferred,
                self.declared_by,
                self.inferred_by(),
                axis,
                example or {},
            ),
        )


def _is_generated(context: ShapesContext, dim: OptimDim) -> bool:
    return dim.is_symbol() and context.session.is_generated(str(dim))


def _always_greater(a: OptimDim, b: OptimDim) -> bool:
    low = (a - b).bounds()[0]
    return low is not None and low > 0
