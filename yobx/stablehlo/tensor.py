"""What stands in ONNX for a StableHLO value.

ONNX broadcasts implicitly, StableHLO explicitly. A :class:`Tensor` therefore keeps a *compact* ONNX
value that broadcasts to the full shape, and makes the full one only for an operation that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yobx.errors import InternalError
from yobx.lowering.legalise import legal
from yobx.xbuilder import GraphBuilder

from .dims import shape_vector
from .ir import TensorType

__all__ = ["Tensor", "full_tensor"]

_FOLDED = 1024
"""A repeated constant of up to this many elements is written out instead of expanded."""


@dataclass(eq=False, slots=True)
class Tensor:
    """One ONNX value, with the broadcast that is still to be made.

    Attributes:
        compact: Name of an ONNX value that broadcasts to the full shape.
        type: Type of the StableHLO value (of one real part if that is complex).
        covered: Per axis, whether ``compact`` has the full size there.
        shape: Name of an integer vector with the full shape; ``None`` if the type is static.
    """

    compact: str
    type: TensorType
    covered: tuple[bool, ...]
    shape: str | None = None
    _made: list[tuple[GraphBuilder, str]] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Whether ``compact`` has the full shape."""
        return all(self.covered)

    def full(self, g: GraphBuilder, lineage: Sequence[GraphBuilder]) -> str:
        """Name of the ONNX value of full shape.

        Args:
            g: Builder to emit the broadcast into, if one is needed.
            lineage: ``g`` and the builders around it, whose values ``g`` may read.

        Returns:
            The name.
        """
        missing = self.type.rank - (g.get_rank(self.compact) or 0)
        if self.is_full and missing <= 0:
            return self.compact
        for builder, name in self._made:
            if any(builder is outer for outer in lineage):
                return name
        name = self._materialise(g, missing, lineage)
        self._made.append((g, name))
        return name

    def _materialise(self, g: GraphBuilder, missing: int, lineage: Sequence[GraphBuilder]) -> str:
        constant, shape = g.get_constant(self.compact), self.type.static_shape()
        if constant is not None and shape is not None and np.prod(shape) <= _FOLDED:
            return str(g.make_initializer(None, np.broadcast_to(constant, shape).copy()))
        if self.is_full:
            return str(g.op.Unsqueeze(self.compact, np.arange(missing)))
        return str(legal(g).Expand(self.compact, self._target(g, lineage)))

    def _target(self, g: GraphBuilder, lineage: Sequence[GraphBuilder]) -> Any:
        # Expand broadcasts both ways, so an axis that is covered already may be given as 1.
        pairs = list(zip(self.type.shape, self.covered, strict=True))
        if all(dim is not None or done for dim, done in pairs):
            return np.array([1 if done else dim for dim, done in pairs], dtype=np.int64)
        if self.shape is None:
            raise InternalError(f"A dynamic shape is a value. Received: {self.type} without one.")
        return shape_vector(g, self.shape, lineage)


def full_tensor(name: str, kind: TensorType) -> Tensor:
    """A tensor whose ONNX value has the full shape already."""
    return Tensor(name, kind, (True,) * kind.rank)
