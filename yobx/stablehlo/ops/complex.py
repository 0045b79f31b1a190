"""Complex numbers as pairs of real tensors: arithmetic, functions, products, Fourier transforms.

Operations that only move elements are registered with ``complex_parts="each"`` where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from yobx.lowering import complex as packed
from yobx.lowering import complex_parts as pairs
from yobx.lowering.casts import cast
from yobx.lowering.trigonometric import atan2
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor, full_tensor
from yobx.xbuilder import GraphBuilder

from .broadcasting import convert_get_dimension_size, convert_iota
from .conversion import convert
from .convolution import convert_convolution
from .dots import convert_dot_general

#: What a converter of pairs returns: for each result its parts.
Results = list[tuple[Tensor | str, ...]]


class _Elements:
    """The operands of an element-wise operation: parts that broadcast alike.

    Attributes:
        parts: Names of the parts of each operand.
        view: The operation with one part of each operand.
    """

    def __init__(self, op: Op) -> None:
        aligned = [_aligned(op, parts) for parts in op.parts]
        self.parts = [tuple(part.compact for part in parts) for parts in aligned]
        self.view = Op(op.source, op.scope, [parts[0] for parts in aligned], aligned)

    def pair(self, index: int) -> pairs.Pair:
        """Both parts of a complex operand."""
        real, imaginary = self.parts[index]
        return real, imaginary

    def result(self, *names: str) -> Results:
        """The only result, of one or two parts."""
        return [tuple(self.view.elementwise(name) for name in names)]


def _aligned(op: Op, parts: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The parts of one operand, made full if one of them lacks another broadcast than the other."""
    if len({part.covered for part in parts}) == 1:
        return tuple(parts)
    lineage = op.scope.lineage
    return tuple(full_tensor(part.full(op.g, lineage), part.type) for part in parts)


def _function_of(name: str) -> Callable[[GraphBuilder, Op], Results]:
    def converted(g: GraphBuilder, op: Op) -> Results:
        elements = _Elements(op)
        return elements.result(*pairs.FUNCTIONS[name](g, elements.pair(0)))

    converted.__doc__ = f"``{name}`` of complex numbers."
    return converted


for _name in pairs.FUNCTIONS:
    register_stablehlo_op_converter(_name, complex_parts="pair")(_function_of(_name))
register_stablehlo_op_converter("chlo.tan", complex_parts="pair")(_function_of("tan"))


@register_stablehlo_op_converter(("stablehlo.add", "stablehlo.subtract"), complex_parts="pair")
def convert_complex_sum(g: GraphBuilder, op: Op) -> Results:
    """Sum or difference of the parts."""
    elements = _Elements(op)
    emit = g.op.Add if op.source.name == "stablehlo.add" else g.op.Sub
    columns = zip(elements.pair(0), elements.pair(1), strict=True)
    return elements.result(*(emit(x, y) for x, y in columns))


@register_stablehlo_op_converter("stablehlo.negate", complex_parts="pair")
def convert_complex_negate(g: GraphBuilder, op: Op) -> Results:
    """``-x``."""
    elements = _Elements(op)
    return elements.result(*(g.op.Neg(part) for part in elements.pair(0)))


@register_stablehlo_op_converter("stablehlo.multiply", complex_parts="pair")
def convert_complex_multiply(g: GraphBuilder, op: Op) -> Results:
    """``x * y``."""
    elements = _Elements(op)
    return elements.result(*pairs.multiply(g, elements.pair(0), elements.pair(1)))


@register_stablehlo_op_converter("stablehlo.divide", complex_parts="pair")
def convert_complex_divide(g: GraphBuilder, op: Op) -> Results:
    """``x / y``."""
    elements = _Elements(op)
    return elements.result(*pairs.divide(g, elements.pair(0), elements.pair(1)))


@register_stablehlo_op_converter("stablehlo.power", complex_parts="pair")
def convert_complex_power(g: GraphBuilder, op: Op) -> Results:
    """``x ** y`` with the principal logarithm of ``x``; its rounding grows with the exponent."""
    elements = _Elements(op)
    x, y = (tuple(cast(g, part, np.float64) for part in elements.pair(i)) for i in (0, 1))
    made = pairs.power(g, (x[0], x[1]), (y[0], y[1]), atan2)
    return elements.result(*(cast(g, part, op.out_dtype()) for part in made))


@register_stablehlo_op_converter("stablehlo.log", complex_parts="pair")
def convert_complex_log(g: GraphBuilder, op: Op) -> Results:
    """Principal logarithm."""
    elements = _Elements(op)
    return elements.result(*pairs.logarithm(g, elements.pair(0), atan2))


@register_stablehlo_op_converter("stablehlo.log_plus_one", complex_parts="pair")
def convert_complex_log_plus_one(g: GraphBuilder, op: Op) -> Results:
    """``log(1 + x)``."""
    elements = _Elements(op)
    return elements.result(*pairs.log_one_plus(g, elements.pair(0), atan2))


@register_stablehlo_op_converter("stablehlo.abs", complex_parts="pair")
def convert_complex_abs(g: GraphBuilder, op: Op) -> Results:
    """Length."""
    elements = _Elements(op)
    return elements.result(pairs.absolute(g, elements.pair(0)))


@register_stablehlo_op_converter("stablehlo.real", complex_parts="pair")
def convert_real(g: GraphBuilder, op: Op) -> Results:
    """The real part."""
    return [(op.parts[0][0],)]


@register_stablehlo_op_converter("stablehlo.imag", complex_parts="pair")
def convert_imag(g: GraphBuilder, op: Op) -> Results:
    """The imaginary part."""
    return [(op.parts[0][1],)]


@register_stablehlo_op_converter("stablehlo.complex", complex_parts="pair")
def convert_complex(g: GraphBuilder, op: Op) -> Results:
    """A complex number of its parts."""
    return [(op.parts[0][0], op.parts[1][0])]


@register_stablehlo_op_converter("stablehlo.convert", complex_parts="pair")
def convert_complex_convert(g: GraphBuilder, op: Op) -> Results:
    """Another precision, from or to a real type; towards a real one the real part is kept."""
    wanted, source = op.out_dtype(), op.parts[0][0].type.dtype
    elements = _Elements(op)
    kept = elements.parts[0][: 1 + op.source.results[0].tensor.is_complex]
    (changed,) = elements.result(
        *(p if source == wanted else convert(op, p, source, wanted) for p in kept)
    )
    if len(changed) == 1 and op.source.results[0].tensor.is_complex:
        return [(*changed, _zero_like(op))]
    return [changed]


def _zero_like(op: Op) -> Tensor:
    """0, of the result's shape."""
    g, kind = op.g, op.out_type()
    zero = g.make_initializer(None, np.array(0, kind.dtype))
    if kind.static_shape() is not None:
        return Tensor(zero, kind, tuple(size == 1 for size in kind.shape))
    return full_tensor(str(op.emit.Expand(zero, g.op.Shape(op.x()))), kind)


@register_stablehlo_op_converter("stablehlo.compare", complex_parts="pair")
def convert_complex_compare(g: GraphBuilder, op: Op) -> Results:
    """Equality; complex numbers have no order."""
    direction = op.attr("comparison_direction")
    if direction not in ("EQ", "NE"):
        raise op.unsupported(f"{direction} of complex numbers", "Compare real and imaginary parts.")
    elements = _Elements(op)
    columns = zip(elements.pair(0), elements.pair(1), strict=True)
    same = g.op.And(*(g.op.Equal(x, y) for x, y in columns))
    return elements.result(same if direction == "EQ" else g.op.Not(same))


@register_stablehlo_op_converter("stablehlo.clamp", complex_parts="pair")
def convert_complex_clamp(g: GraphBuilder, op: Op) -> Results:
    """``min(max(x, low), high)`` by the real parts alone, as XLA compares on CPU."""
    elements = _Elements(op)
    low, x, high = (elements.pair(i) for i in range(3))

    def chosen(keep: str, one: pairs.Pair, other: pairs.Pair) -> pairs.Pair:
        real, imaginary = (g.op.Where(keep, a, b) for a, b in zip(one, other, strict=True))
        return str(real), str(imaginary)

    raised = chosen(g.op.LessOrEqual(x[0], low[0]), low, x)
    return elements.result(*chosen(g.op.Less(high[0], raised[0]), high, raised))


@register_stablehlo_op_converter("stablehlo.bitcast_convert", complex_parts="pair")
def convert_complex_bitcast(g: GraphBuilder, op: Op) -> Results:
    """The operand: the bits of a complex number are those of one of its own type only."""
    return [op.parts[0]]


@register_stablehlo_op_converter(("stablehlo.iota", "stablehlo.dynamic_iota"), complex_parts="pair")
def convert_complex_iota(g: GraphBuilder, op: Op) -> Results:
    """Positions along an axis; the imaginary part is 0."""
    real = convert_iota(g, op)
    zero = g.make_initializer(None, np.array(0, op.out_dtype()))
    covered = tuple(size == 1 for size in op.out_type().shape)
    return [(real, Tensor(zero, op.out_type(), covered, real.shape))]


@register_stablehlo_op_converter("stablehlo.get_dimension_size", complex_parts="pair")
def convert_size(g: GraphBuilder, op: Op) -> Results:
    """One size of the operand."""
    return [(convert_get_dimension_size(g, op),)]


def _bilinear(op: Op, real_product: Callable[[GraphBuilder, Op], Any]) -> Results:
    """A product of complex tensors by four of real ones."""
    g = op.g

    def product(i: int, j: int) -> str:
        return str(real_product(g, Op(op.source, op.scope, [op.parts[0][i], op.parts[1][j]])))

    real = op.emit.Sub(product(0, 0), product(1, 1))
    return [(real, op.emit.Add(product(0, 1), product(1, 0)))]


@register_stablehlo_op_converter(("stablehlo.dot_general", "stablehlo.dot"), complex_parts="pair")
def convert_complex_dot_general(g: GraphBuilder, op: Op) -> Results:
    """Product over contracted axes."""
    return _bilinear(op, convert_dot_general)


@register_stablehlo_op_converter("stablehlo.convolution", complex_parts="pair")
def convert_complex_convolution(g: GraphBuilder, op: Op) -> Results:
    """Convolution of complex tensors."""
    return _bilinear(op, convert_convolution)


@register_stablehlo_op_converter("stablehlo.fft", complex_parts="pair")
def convert_fft(g: GraphBuilder, op: Op) -> Results:
    """Fourier transforms over the last axes, by ``DFT``."""
    kind, lengths = op.attr("fft_type"), op.ints("fft_length")
    lineage = op.scope.lineage
    real, *rest = (part.full(g, lineage) for part in op.parts[0])
    if kind == "RFFT":
        return [packed.parts(g, packed.rfft(g, real, lengths))]
    both = packed.pack(g, real, rest[0])
    if kind == "IRFFT":
        return [(packed.irfft(g, both, lengths),)]
    axes = [-1 - i for i in range(len(lengths))]
    return [packed.parts(g, packed.fft(g, both, axes, inverse=kind == "IFFT"))]
