"""Random programs of integers: contents that are followed through arithmetic and used as sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from conformance.shapes.chooser import Chooser

__all__ = ["value_model"]

OPSET = 18
FLOAT, INT64, BOOL = int(TensorProto.FLOAT), int(TensorProto.INT64), int(TensorProto.BOOL)
KINDS = (*("binary", "unary", "compare", "where", "gather", "slice", "concat", "reduce", "shape"),)


@dataclass
class Program:
    """A growing graph; `vectors` maps value names to their lengths, None for a scalar."""

    choose: Chooser
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    vectors: dict[str, int | None] = field(default_factory=dict)
    flags: dict[str, int | None] = field(default_factory=dict)
    tensors: list[str] = field(default_factory=list)

    def constant(self, values: Any) -> str:
        """An initializer."""
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def add(self, op_type: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        return name

    def model(self) -> onnx.ModelProto:
        """The model; all integers are outputs."""
        outputs = {**dict.fromkeys(self.vectors, INT64), **dict.fromkeys(self.flags, BOOL)}
        outputs |= dict.fromkeys(self.tensors, INT64)
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "g",
            [info("x", FLOAT, ["n", "m", 4]), info("y", FLOAT, ["k"])],
            [info(name, dtype, None) for name, dtype in outputs.items()],
            self.initializers,
        )
        made: onnx.ModelProto = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8
        )
        return made


def joined(left: int | None, right: int | None) -> int | None:
    """Length after broadcasting; None for a scalar."""
    return max(left or 1, right or 1) if left is not None or right is not None else None


def fits(left: int | None, right: int | None) -> bool:
    """Whether two lengths broadcast."""
    return left in (None, 1, right) or right in (None, 1)


def pick(program: Program, allowed: Any = lambda length: True) -> str:
    """Any vector whose length is allowed."""
    names = [name for name, length in program.vectors.items() if allowed(length)]
    return program.choose.one_of(names)


def operand(program: Program, length: int | None) -> tuple[str, int | None]:
    """A value or a constant that broadcasts with a length."""
    if program.choose.flag():
        name = pick(program, lambda other: fits(length, other))
        return name, program.vectors[name]
    size = program.choose.one_of([None, 1, length])
    numbers = [program.choose.integer(-3, 6) for _ in range(size or 1)]
    values: Any = numbers[0] if size is None else numbers
    return program.constant(values), size


def step(program: Program) -> None:
    """One node."""
    kind = program.choose.one_of(KINDS)
    name = pick(program)
    length = program.vectors[name]
    if kind in ("binary", "compare"):
        other, size = operand(program, length)
        pair = [name, other] if program.choose.flag() else [other, name]
        if kind == "binary":
            op_type = program.choose.one_of(["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max"])
            program.vectors[program.add(op_type, pair)] = joined(length, size)
        else:
            op_type = program.choose.one_of(["Equal", "Less", "GreaterOrEqual"])
            program.flags[program.add(op_type, pair)] = joined(length, size)
    elif kind == "unary":
        op_type = program.choose.one_of(["Neg", "Abs", "Sign", "Identity", "Cast"])
        extra = {"to": program.choose.one_of([INT64, BOOL])} if op_type == "Cast" else {}
        result = program.add(op_type, [name], **extra)
        (program.flags if extra.get("to") == BOOL else program.vectors)[result] = length
    elif kind == "where" and program.flags:
        flag = program.choose.one_of(sorted(program.flags))
        if not fits(program.flags[flag], length):
            return
        other, size = operand(program, joined(program.flags[flag], length))
        whole = joined(joined(program.flags[flag], length), size)
        program.vectors[program.add("Where", [flag, name, other])] = whole
    elif kind == "reduce":
        op_type = program.choose.one_of(["ReduceProd", "ReduceSum", "ReduceMin", "ReduceMax"])
        keep = program.choose.integer(0, 1)
        result = program.add(op_type, [name], keepdims=keep)
        program.vectors[result] = 1 if keep and length is not None else None
    elif length is not None:
        move(program, kind, name, length)


def move(program: Program, kind: str, name: str, length: int) -> None:
    """Operators that move the elements of a vector."""
    if kind == "gather":
        places = [
            program.choose.integer(-length, length - 1) for _ in range(program.choose.integer(1, 3))
        ]
        result = program.add("Gather", [name, program.constant(places)])
        program.vectors[result] = len(places)
    elif kind == "slice":
        start, end = program.choose.integer(-4, 4), program.choose.integer(-4, 4)
        count = program.choose.one_of([1, 2])
        size = len(range(length)[start:end:count])
        if size:
            limits = [program.constant([value]) for value in (start, end, 0, count)]
            program.vectors[program.add("Slice", [name, *limits])] = size
    elif kind == "concat":
        other = pick(program, lambda size: size is not None)
        total = length + (program.vectors[other] or 0)
        if total <= 6:
            program.vectors[program.add("Concat", [name, other], axis=0)] = total
    else:
        table = program.add("Unsqueeze", [name, program.constant([program.choose.integer(0, 1)])])
        turned = program.add("Transpose", [table])
        tiled = program.add("Tile", [turned, program.constant([1, 1])])
        program.vectors[program.add("Reshape", [tiled, program.constant([-1])])] = length


def sink(program: Program) -> None:
    """Operators that use a value as shape, limit or count."""
    name = pick(program, lambda length: length is not None and length <= 4)
    sizes = program.add("Abs", [program.add("Mod", [name, program.constant([7])])])
    program.tensors.append(program.add("ConstantOfShape", [sizes]))
    one = program.add("Cast", [program.add("ConstantOfShape", [program.constant([1])])], to=INT64)
    program.tensors.append(program.add("Expand", [one, sizes]))
    scalar = pick(program, lambda length: length is None or length == 1)
    limit = program.add("Reshape", [scalar, program.constant([])])
    small = program.add("Mod", [limit, program.constant(11)])
    delta = program.constant(program.choose.one_of([1, 2, 3, -1, -2]))
    program.tensors.append(
        program.add("Range", [program.constant(program.choose.integer(-2, 2)), small, delta])
    )
    counted = program.tensors[-1]
    start, end = (program.choose.integer(-4, 6) for _ in range(2))
    limits = [program.constant([value]) for value in (start, end)]
    program.tensors.append(program.add("Slice", [counted, *limits]))
    vector = program.add("Reshape", [small, program.constant([1])])
    program.tensors.append(program.add("Slice", [counted, vector, program.constant([2**31])]))
    # ConstantOfShape gives floats; only integers are outputs.
    program.tensors.remove(
        next(n.output[0] for n in program.nodes if n.op_type == "ConstantOfShape")
    )


def value_model(choose: Chooser) -> onnx.ModelProto:
    """A random model; its inputs have the sizes ``n``, ``m``, 4 and ``k``."""
    program = Program(choose)
    first = program.add("Shape", ["x"])
    second = program.add("Shape", ["y"])
    program.vectors |= {first: 3, second: 1}
    for _ in range(choose.integer(2, 10)):
        step(program)
    sink(program)
    return program.model()
