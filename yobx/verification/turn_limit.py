"""Ends the loops of a noisy twin that noise keeps turning.

A loop that turns until nothing moves does not end where noise moves it. Turns are counted, by the
graph itself: a run that is ended by the clock gives another result on another machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from yobx.onnx_optim.model_io import subgraphs as all_graphs
from yobx.verification.runner import RunError, Session
from yobx.verification.weights import light

__all__ = ["end_after", "is_ended", "turns_enough"]

# Node that fails where there are more turns; onnxruntime names it.
_LIMIT = "turn__limit"
_MORE = 10


def end_after(body: onnx.GraphProto, most: int) -> None:
    """Lets a run fail in which the body of a loop is run more often.

    Args:
        body: The body, which is changed.
        most: Number of turns.
    """
    condition = body.output[0].name
    stem = f"{condition}__limit"
    names = {key: f"{stem}_{key}" for key in ("last", "over", "place", "scalar", "flat", "yes")}
    turns = numpy_helper.from_array(np.array(most, np.int64))
    scalar = numpy_helper.from_array(np.array([], np.int64))
    yes = numpy_helper.from_array(np.array([True]))
    body.node.extend(
        [
            helper.make_node("Constant", [], [names["last"]], value=turns),
            helper.make_node("Constant", [], [names["scalar"]], value=scalar),
            helper.make_node("Constant", [], [names["yes"]], value=yes),
            helper.make_node("Less", [body.input[0].name, names["last"]], [names["over"]]),
            helper.make_node("Not", [names["over"]], [f"{stem}_not"]),
            helper.make_node("Cast", [f"{stem}_not"], [names["place"]], to=TensorProto.INT64),
            helper.make_node("Reshape", [names["place"], names["scalar"]], [names["flat"]]),
            # There is no element after the first.
            helper.make_node("Gather", [names["yes"], names["flat"]], [f"{stem}_go"], name=_LIMIT),
            helper.make_node("And", [condition, f"{stem}_go"], [stem]),
        ]
    )
    body.output[0].name = stem


def is_ended(error: Exception) -> bool:
    """Whether a run was ended by the number of turns."""
    return _LIMIT in str(error.__cause__)


def turns_enough(
    model: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]], most: int, provider: str
) -> int:
    """A number of turns that is enough for all loops of a model.

    Args:
        model: The model, which runs with these inputs.
        feeds: Its inputs.
        most: Where to begin.
        provider: Execution provider.

    Returns:
        That number, or it times a power of ten.

    Raises:
        LoadError: If onnxruntime refuses the model with the limit.
        RunError: If it fails for another reason.
    """
    while True:
        limited = light(model)
        for graph in all_graphs([limited.graph]):
            for node in graph.node:
                if node.op_type == "Loop":
                    end_after(next(a.g for a in node.attribute if a.name == "body"), most)
        session = Session(limited, weights=model, provider=provider, optimise=False)
        try:
            session.run(feeds)
        except RunError as error:
            if not is_ended(error):
                raise
            most *= _MORE
        else:
            return most
