"""The whole registry: coverage, documentation, and calm when nothing is known."""

import itertools

import onnx
import pytest
from onnx import defs, helper

from yobx.errors import ShapeError
from yobx.onnx_optim import (
    OptimOptional,
    OptimSequence,
    OptimShape,
    OptimTensor,
    ShapesContext,
    TensorType,
    compute_shapes,
)
from yobx.onnx_optim.registry import load_rules, operators_without_rule

RULES = sorted(load_rules(), key=lambda rule: (rule.domain, rule.op_type, rule.since_version))
NAMES = sorted({(rule.domain, rule.op_type) for rule in RULES})
SUBGRAPHS = {("", name) for name in ("If", "Loop", "Scan", "SequenceMap")}
PLAIN = sorted(set(NAMES) - SUBGRAPHS)


def test_every_standard_operator_has_a_rule():
    wanted = {(schema.domain, schema.name) for schema in defs.get_all_schemas()}
    assert not wanted - set(NAMES)


def test_every_rule_says_what_it_does():
    for rule in RULES:
        assert rule.function.__doc__, rule


UNKNOWN = OptimTensor(TensorType.kUndefined, OptimShape(None))
INPUTS = {
    "unknown": UNKNOWN,
    "dtype": OptimTensor(TensorType.kFloat, OptimShape(None)),
    "vector": OptimTensor(TensorType.kInt64, ["n"]),
    "scalar": OptimTensor(TensorType.kFloat, []),
    "empty": OptimTensor(TensorType.kInt64, [0], value=()),
    "matrix": OptimTensor(TensorType.kFloat, ["n", 3]),
    "image": OptimTensor(TensorType.kFloat, ["n", 4, "h", 6]),
    "value": OptimTensor(TensorType.kInt64, [2], value=["n", None]),
    "cube": OptimTensor(TensorType.kFloat, ["n", "m", 8]),
    "wide": OptimTensor(TensorType.kFloat, [8, 24]),
    "sequence": OptimSequence(TensorType.kFloat),
    "optional": OptimOptional(UNKNOWN),
}


def _node(domain: str, op_type: str, count: int, outputs: int, omit: bool) -> onnx.NodeProto:
    names = ["" if omit and index else f"i{index}" for index in range(count)]
    node = helper.make_node(op_type, names, [f"o{i}" for i in range(outputs)], domain=domain)
    try:
        schema = defs.get_schema(op_type, domain=domain)
    except defs.SchemaError:
        if op_type.endswith("Pool"):
            node.attribute.append(helper.make_attribute("kernel_shape", [1, 1]))
        return node
    samples = {
        defs.OpSchema.AttrType.INT: 1,
        defs.OpSchema.AttrType.INTS: [1],
        defs.OpSchema.AttrType.FLOAT: 1.0,
        defs.OpSchema.AttrType.FLOATS: [1.0],
        defs.OpSchema.AttrType.STRING: "ij,jk->ik" if op_type == "Einsum" else "a",
        defs.OpSchema.AttrType.STRINGS: ["a"],
    }
    if op_type == "MaxRoiPool":
        samples[defs.OpSchema.AttrType.INTS] = [1, 1]
    for attribute in schema.attributes.values():
        if attribute.required and attribute.type in samples:
            value = samples[attribute.type]
            node.attribute.append(helper.make_attribute(attribute.name, value))
    return node


@pytest.mark.parametrize(("domain", "op_type"), PLAIN)
def test_whatever_is_given_no_rule_breaks(domain, op_type):
    """A node may be refused as malformed; it never ends in an internal error."""
    answers = 0
    for kinds in [
        *((kind,) * 8 for kind in INPUTS),
        ("image", "vector"),
        ("matrix", "value", "vector"),
    ]:
        for count, outputs, omit in itertools.product((1, 2, 3, 5, 6), (1, 2), (False, True)):
            context = ShapesContext({"": 25, domain: 25 if not domain else 1})
            for index in range(count):
                context.set_value(f"i{index}", INPUTS[kinds[index % len(kinds)]])
            try:
                compute_shapes(context, _node(domain, op_type, count, outputs, omit))
            except ShapeError:
                continue
            answers += 1
            assert context.lookup("o0") is not None
    assert answers or op_type in ("Constant",), f"{op_type} refuses everything"


@pytest.mark.parametrize(("domain", "op_type"), PLAIN)
def test_without_inputs_no_rule_breaks(domain, op_type):
    context = ShapesContext({"": 9, domain: 9 if not domain else 1})
    message = ""
    try:
        compute_shapes(context, helper.make_node(op_type, [], ["o0", "o1"], domain=domain))
    except ShapeError as error:
        message = str(error)
    assert op_type in message if message else context.lookup("o0") is not None


ODD_VALUES = {
    defs.OpSchema.AttrType.INT: [0, -3, 100],
    defs.OpSchema.AttrType.INTS: [[0], [-1], [1, 1], [3] * 7],
    defs.OpSchema.AttrType.FLOAT: [0.0, -1.0],
    defs.OpSchema.AttrType.STRING: ["", "zz", "->", "SAME_UPPER", "ij,jk->iz"],
}
KINDS = [("image",), ("matrix", "matrix", "value"), ("cube",), ("cube", "wide", "vector")]


@pytest.mark.parametrize(("domain", "op_type"), PLAIN)
def test_odd_attribute_values_are_refused_or_harmless(domain, op_type):
    """A malformed node is a `ShapeError`; it is never taken for a fault of ours."""
    try:
        attributes = defs.get_schema(op_type, domain=domain).attributes.values()
    except defs.SchemaError:
        names = ("num_heads", "kv_num_heads", "axis", "size", "step", "blocksize", "N")
        odd = [(name, number) for name in names for number in (0, -3, 100)]
    else:
        odd = [(item.name, value) for item in attributes for value in ODD_VALUES.get(item.type, [])]
    for (name, value), kinds, count in itertools.product(odd, KINDS, (1, 2, 3)):
        node = _node(domain, op_type, count, 1, omit=False)
        kept = [item for item in node.attribute if item.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])
        context = ShapesContext({"": 25, domain: 25 if not domain else 1})
        for index in range(count):
            context.set_value(f"i{index}", INPUTS[kinds[index % len(kinds)]])
        try:
            compute_shapes(context, node)
        except ShapeError:
            continue
        assert context.lookup("o0") is not None


def test_operators_without_a_rule_are_listed(monkeypatch):
    missing, total = operators_without_rule()
    assert missing == []
    assert total > 200
    rules = {key: value for key, value in load_rules()._rules.items() if key != ("", "Relu")}
    monkeypatch.setattr(load_rules(), "_rules", rules)
    assert operators_without_rule() == (["ai.onnx::Relu"], total)
