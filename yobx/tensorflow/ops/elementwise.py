"""Operations that are one ONNX operator, element by element: two tables and two functions."""

from __future__ import annotations

from typing import Any

from yobx.lowering.legalise import legal
from yobx.tensorflow.ops import _complex, _complex_math
from yobx.tensorflow.ops._complex import COMPLEX, by_parts, with_complex
from yobx.tensorflow.ops._op import (
    ALL,
    BOOL,
    FLOATS,
    INTS,
    MOVABLE,
    NUMBERS,
    STRING,
    UINTS,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

#: TensorFlow op -> (ONNX op, dtypes).
UNARY: dict[str, tuple[str, tuple[str, ...]]] = {
    "Abs": ("Abs", (*FLOATS, *INTS)),
    "Ceil": ("Ceil", FLOATS),
    "Floor": ("Floor", FLOATS),
    "Invert": ("BitwiseNot", (*INTS, *UINTS)),
    "IsInf": ("IsInf", (*FLOATS, *BOOL)),
    "IsNan": ("IsNaN", (*FLOATS, *BOOL)),
    "LogicalNot": ("Not", BOOL),
    "Rint": ("Round", FLOATS),  # 16 bits are for XLA: TensorFlow has no CPU kernel
    "Round": ("Round", FLOATS),
}

BINARY: dict[str, tuple[str, tuple[str, ...]]] = {
    "BitwiseAnd": ("BitwiseAnd", (*INTS, *UINTS)),
    "BitwiseOr": ("BitwiseOr", (*INTS, *UINTS)),
    "BitwiseXor": ("BitwiseXor", (*INTS, *UINTS)),
    "Greater": ("Greater", MOVABLE),
    "GreaterEqual": ("GreaterOrEqual", MOVABLE),
    "Less": ("Less", MOVABLE),
    "LessEqual": ("LessOrEqual", MOVABLE),
    "LogicalAnd": ("And", BOOL),
    "LogicalOr": ("Or", BOOL),
    "Maximum": ("Max", NUMBERS),
    "Minimum": ("Min", NUMBERS),
}


def convert_unary(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """One ONNX operator on one tensor."""
    emit = getattr(legal(g), UNARY[op.type][0])
    return str(emit(op.inputs[0].name, outputs=outputs[:1], name=op.name))


def convert_binary(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """One ONNX operator on two tensors that broadcast."""
    emit = getattr(legal(g), BINARY[op.type][0])
    return str(emit(op.inputs[0].name, op.inputs[1].name, outputs=outputs[:1], name=op.name))


for _name, (_, _dtypes) in UNARY.items():
    register_tf_op_converter(_name, dtypes=_dtypes)(convert_unary)
for _name, (_, _dtypes) in BINARY.items():
    register_tf_op_converter(_name, dtypes=_dtypes)(convert_binary)


#: The same for operations that also have a complex form.
WITH_COMPLEX = {
    "Cos": ("Cos", FLOATS, _complex_math.unary),
    "Exp": ("Exp", FLOATS, _complex_math.unary),
    "Log": ("Log", FLOATS, _complex_math.unary),
    "Neg": ("Neg", (*FLOATS, *INTS), _complex.negate),
    "RealDiv": ("Div", FLOATS, _complex_math.binary),
    "Sigmoid": ("Sigmoid", FLOATS, _complex_math.unary),
    "Sin": ("Sin", FLOATS, _complex_math.unary),
    "Sqrt": ("Sqrt", FLOATS, _complex_math.unary),
    "Sub": ("Sub", NUMBERS, _complex.add),
    "Tanh": ("Tanh", FLOATS, _complex_math.unary),
}


def convert_with_complex(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """One ONNX operator on the inputs."""
    emit = getattr(legal(g), WITH_COMPLEX[op.type][0])
    return str(emit(*(i.name for i in op.inputs), outputs=outputs[:1], name=op.name))


for _name, (_, _dtypes, _form) in WITH_COMPLEX.items():
    register_tf_op_converter(_name, dtypes=(*_dtypes, *COMPLEX))(
        with_complex(_form)(convert_with_complex)
    )


@register_tf_op_converter(("Add", "AddV2"), dtypes=(*NUMBERS, *STRING, *COMPLEX))
@with_complex(_complex.add)
def convert_add(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum of two tensors; of strings, their concatenation."""
    x, y = (i.name for i in op.inputs)
    emit = g.op.StringConcat if op.inputs[0].dtype.name == "string" else legal(g).Add
    return str(emit(x, y, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Equal", dtypes=(*ALL, *COMPLEX))
@with_complex(_complex_math.equal)
def convert_equal(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Equality of two tensors that broadcast."""
    x, y = (i.name for i in op.inputs)
    return str(legal(g).Equal(x, y, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("NotEqual", dtypes=(*ALL, *COMPLEX))
@with_complex(_complex_math.equal)
def convert_not_equal(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Negated equality."""
    x, y = (i.name for i in op.inputs)
    return str(g.op.Not(legal(g).Equal(x, y), outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("AddN", "AccumulateNV2"), dtypes=(*NUMBERS, *COMPLEX))
@by_parts
def convert_add_n(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum of several tensors of one shape, from left to right."""
    total = op.inputs[0].name
    for tensor in op.inputs[1:-1]:
        total = legal(g).Add(total, tensor.name)
    if len(op.inputs) == 1:
        return str(g.op.Identity(total, outputs=outputs[:1], name=op.name))
    return str(legal(g).Add(total, op.inputs[-1].name, outputs=outputs[:1], name=op.name))
