"""Which values of an attribute need a case, besides the dtypes: all that change a result.

Every value of an enumeration and of a flag, two values of anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from tensorflow.python.framework import op_def_registry

__all__ = ["CHOICES", "IRRELEVANT", "Value", "choices", "given_values", "missing", "values_of"]

#: Attribute and its value, as :func:`label_of` writes it.
Value = tuple[str, str]

#: Attributes that change no result, by name or as ``OpType.name``, and why.
IRRELEVANT = {
    "Assert.summarize": "how much an error shows",
    "ExtractGlimpseV2.uniform_noise": "how noise is drawn; only noise='zero' is none",
    "FractionalAvgPool.deterministic": "whether the seeds are used: otherwise regions are drawn",
    "FractionalMaxPool.deterministic": "whether the seeds are used: otherwise regions are drawn",
    "Empty.init": "content without it is whatever was there",
    "MatrixSolveLs.fast": "the algorithm",
    "RaggedGather.OUTPUT_RAGGED_RANK": "the number of outputs",
    "TopK.sorted": "without it the order is not defined; that of values is as good",
    "TopKV2.sorted": "without it the order is not defined; that of values is as good",
    "a_is_sparse": "a hint about content",
    "b_is_sparse": "a hint about content",
    "body": "a function: its content is what cases are about",
    "branches": "functions: their content is what cases are about",
    "container": "where a table is kept",
    "cond": "a function: its content is what cases are about",
    "else_branch": "a function: its content is what cases are about",
    "grad_a": "which gradient the product belongs to",
    "grad_b": "which gradient the product belongs to",
    "grad_x": "which gradient the product belongs to",
    "grad_y": "which gradient the product belongs to",
    "message": "the text of an error",
    "output_shapes": "what is known of shapes",
    "parallel_iterations": "how many turns may run at a time",
    "seed": "which random values are drawn",
    "seed2": "which random values are drawn",
    "shared_name": "which other graphs see a table",
    "sparse_gradient": "how a gradient is stored",
    "then_branch": "a function: its content is what cases are about",
    "use_cudnn_on_gpu": "a hint about a device",
    "use_node_name_sharing": "which other graphs see a table",
    "validate_indices": "whether a kernel looks at all indices",
    "AccumulateNV2.shape": "what is known of the shape",
    "PlaceholderWithDefault.shape": "what is known of the shape",
    "TensorListConcat.element_shape": "what is known of shapes",
}
#: Where a name of `IRRELEVANT` matters nevertheless.
RELEVANT = frozenset(
    f"{op_type}.{name}"
    for op_type in ("FractionalAvgPool", "FractionalMaxPool")
    for name in ("seed", "seed2")
)
_POLICIES = ("", "ERROR", "IGNORE")
#: Values that TensorFlow's kernels know where its definition of the attribute lists none.
CHOICES: dict[str, tuple[str, ...]] = {
    "ExtractGlimpseV2.noise": ("zero", "gaussian", "uniform"),
    "ImageProjectiveTransformV2.fill_mode": ("CONSTANT", "REFLECT", "WRAP", "NEAREST"),
    "ImageProjectiveTransformV2.interpolation": ("NEAREST", "BILINEAR"),
    "ImageProjectiveTransformV3.fill_mode": ("CONSTANT", "REFLECT", "WRAP", "NEAREST"),
    "ImageProjectiveTransformV3.interpolation": ("NEAREST", "BILINEAR"),
    "QuantizeAndDequantizeV2.round_mode": ("HALF_TO_EVEN", "HALF_UP"),
    "QuantizeAndDequantizeV4.round_mode": ("HALF_TO_EVEN", "HALF_UP"),
    "ScaleAndTranslate.kernel_type": (
        *("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle"),
        *("keyscubic", "mitchellcubic"),
    ),
    "StringLower.encoding": ("", "utf-8"),
    "StringUpper.encoding": ("", "utf-8"),
    **{
        f"{op_type}.bad_indices_policy": _POLICIES
        for op_type in (
            *("GatherNd", "ScatterNd", "ScatterNdNonAliasingAdd"),
            *(f"TensorScatter{kind}" for kind in ("Add", "Max", "Min", "Sub", "Update")),
        )
    },
}


@cache
def _definitions(op_type: str) -> dict[str, Any]:
    """Return the attributes that may need cases: neither dtypes nor numbers of inputs."""
    op_def = op_def_registry.get(op_type)
    counts = {a.number_attr for a in op_def.input_arg}
    found = {}
    for attribute in op_def.attr:
        full = f"{op_type}.{attribute.name}"
        if attribute.type in ("type", "list(type)") or attribute.name in counts:
            continue
        if full in RELEVANT or not {full, attribute.name} & set(IRRELEVANT):
            found[attribute.name] = attribute
    return found


@cache
def choices(op_type: str) -> dict[str, tuple[Any, ...]]:
    """Return the attributes of which every value needs a case, with these values."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, definition in _definitions(op_type).items():
        listed = tuple(value.decode() for value in definition.allowed_values.list.s)
        known = CHOICES.get(f"{op_type}.{name}", listed)
        if known or definition.type == "bool":
            found[name] = known or (False, True)
    return found


def label_of(value: Any) -> str:
    """Return the value of an attribute of a node as text."""
    kind = value.WhichOneof("value")
    if kind is None:
        return ""
    content = getattr(value, kind)
    if kind == "s":
        return str(content.decode("utf-8", "replace"))
    return " ".join(str(content).split())


def given_values(nodes: Iterable[Any]) -> Iterator[tuple[str, Value]]:
    """Yield the op type of each node with each of its attributes that may need cases."""
    for node in nodes:
        if op_def_registry.get(node.op) is not None:
            for name in _definitions(node.op):
                yield node.op, (name, label_of(node.attr[name]))


def values_of(op_type: str) -> dict[str, set[str]]:
    """Return what a case must show of each attribute: labels, or an empty set for any two."""
    every = choices(op_type)
    return {name: {str(v) for v in every.get(name, ())} for name in _definitions(op_type)}


def missing(op_type: str, given: Iterable[Value]) -> list[Value]:
    """Say which values no case shows.

    Args:
        op_type: TensorFlow op type.
        given: What cases show, are refused for, or what TensorFlow itself does not run.

    Returns:
        Attribute and value; ``"another value"`` where any would do.
    """
    shown: dict[str, set[str]] = {}
    for name, label in given:
        shown.setdefault(name, set()).add(label)
    lacking: list[Value] = []
    for name, wanted in values_of(op_type).items():
        has = shown.get(name, set())
        lacking += [(name, label) for label in sorted(wanted - has)]
        if not wanted and len(has) < 2:
            lacking.append((name, "another value"))
    return lacking
