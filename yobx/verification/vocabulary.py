"""Generated inputs that a model's lookup tables know.

Words that nobody put into a table are all the same to it: a lookup that is wrong would agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from yobx.onnx_optim.model_io import subgraphs
from yobx.verification import tree
from yobx.verification.arguments import is_description
from yobx.verification.runner import input_names
from yobx.verification.sources import is_tensor

__all__ = ["with_known_keys"]


def with_known_keys(
    args: tuple[Any, ...], declared: tuple[Any, ...], model: onnx.ModelProto, seed: int
) -> tuple[Any, ...]:
    """Puts keys of the tables of a model into arrays that were generated.

    Args:
        args: Arrays and constants, nested.
        declared: The same structure, with descriptions where arrays were generated.
        model: What the source was converted to.
        seed: Seed of the choice.

    Returns:
        The structure of `args`. Where an input reaches a table of its type, half of the elements
        are keys; of strings some are two of them with a space between.
    """
    keys = _keys_by_input(model)
    if not keys:
        return args
    rng = np.random.default_rng(seed)
    names = iter(input_names(model))
    leaves = []
    for (_, array), (_, leaf) in zip(tree.flatten(args), tree.flatten(declared), strict=True):
        known = keys.get(next(names, "")) if is_tensor(leaf) else None
        if known is None or not is_description(leaf):
            leaves.append(array)
        else:
            leaves.append(_mixed(array, known, rng))
    return tuple(tree.rebuild(args, leaves))


def _mixed(array: NDArray[Any], keys: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """An array with keys in half of its places, rounded up, and as many of them as there are."""
    result = array.copy()
    places = rng.permutation(array.size)[: (array.size + 1) // 2]
    chosen = keys[np.resize(rng.permutation(len(keys)), len(places))]
    if array.dtype.kind in "OSU":
        chosen[2::2] = chosen[2::2] + " " + chosen[1:-1:2]
    result.reshape(-1)[places] = chosen
    return result


def _keys_by_input(model: onnx.ModelProto) -> Mapping[str, NDArray[Any]]:
    """Keys of the tables that an input reaches, of its own type, by its name."""
    kinds = {v.name: v.type.tensor_type.elem_type for v in model.graph.input}
    reached: dict[str, set[str]] = {name: {name} for name in kinds}
    found: dict[str, list[Any]] = {}
    for node in model.graph.node:
        sources = set().union(*(reached.get(name, set()) for name in _reads(node)))
        for name in node.output:
            reached[name] = sources
        for keys in _tables(node):
            for name in sources:
                wanted = helper.tensor_dtype_to_np_dtype(kinds[name]).kind
                if (wanted in "OSU") == (keys.dtype.kind == "O") and wanted in "OSUiu":
                    found.setdefault(name, []).extend(keys.tolist())
    return {name: np.array(keys, dtype=object) for name, keys in found.items() if keys}


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for graph in subgraphs([attribute.g]):
                for inner in graph.node:
                    yield from inner.input


def _tables(node: onnx.NodeProto) -> Iterator[NDArray[Any]]:
    """The keys of a table that a node, or one in its bodies, looks up."""
    bodies = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    for inner in (node, *(n for graph in subgraphs(bodies) for n in graph.node)):
        if inner.op_type != "LabelEncoder":
            continue
        for attribute in inner.attribute:
            if attribute.name == "keys_strings":
                yield np.array([key.decode() for key in attribute.strings], dtype=object)
            elif attribute.name == "keys_int64s":
                yield np.array(attribute.ints, dtype=np.int64)
            elif attribute.name == "keys_tensor":
                yield numpy_helper.to_array(attribute.t).reshape(-1)
