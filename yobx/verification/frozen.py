"""Sizes that a number in the model keeps fixed: which, to what, and in which line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from yobx.places import innermost_user_line, line_that_raised
from yobx.verification.arguments import fill, from_pairs, tensors_of
from yobx.verification.bindings import Binding, axes_of_inputs, choose_bindings, resized
from yobx.verification.boundary import Attempt
from yobx.verification.preparation import Prepared
from yobx.verification.provenance import facts_of
from yobx.verification.runner import RunError, input_names
from yobx.verification.shape_proof import describe_node
from yobx.verification.sources import GraphSource, Origin, TracedSource

__all__ = ["FrozenSizes"]

# How TensorFlow writes the lines that made an operation, and onnxruntime the node that failed.
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_NODE = re.compile(r"Name:'([^']+)'")


class FrozenSizes:
    """Asks which sizes of the sample a failing side needs.

    Args:
        prepared: The converted model.
        leaves: The sample, one array a graph input.
        seed: Seed of resized inputs.
    """

    def __init__(self, prepared: Prepared, leaves: Sequence[NDArray[Any]], seed: int) -> None:
        self._prepared = prepared
        self._leaves = list(leaves)
        self._seed = seed
        self._axes = axes_of_inputs(prepared.model)

    def of_source(self, failing: Mapping[str, int], error: BaseException) -> str:
        """What to say of a source that failed.

        Args:
            failing: The sizes it failed with.
            error: What it raised.

        Returns:
            The user's line and the sizes that are fixed, or ``""``.
        """
        frames = ((name, int(number)) for name, number in _FRAME.findall(str(error)))
        line = line_that_raised(error) or innermost_user_line(frames)
        fixed = self._fixed(failing, self._source_runs)
        told = " and ".join(f"{name} is fixed to {size}" for name, size in fixed.items())
        told += f"{' ' * bool(told)}at {line}" if line else ""
        return f" ({told})" if told else ""

    def of_model(self, failing: Mapping[str, int], error: RunError) -> str:
        """What to say of a converted model that failed where its source did not.

        Args:
            failing: The sizes it failed with.
            error: What onnxruntime said.

        Returns:
            The sizes that were fixed when the model was traced and where, or ``""``.
        """
        fixed = self._fixed(failing, self._model_runs)
        if not fixed:
            return ""
        told = " and ".join(f"{name} was fixed to {size}" for name, size in fixed.items())
        advice = ""
        if isinstance(self._prepared.source, GraphSource):
            from yobx.tensorflow.tracing import SIZES_OF_A_RUN

            advice = f"; write {SIZES_OF_A_RUN}"
        return f" ({told} when the model was traced{self._place(failing, error)}{advice})"

    def _fixed(self, failing: Mapping[str, int], runs: Callable[[Binding], bool]) -> dict[str, int]:
        """The sizes of the sample that must be kept; none if the sample fails too."""
        (sample,) = choose_bindings(self._prepared.model, self._axes, self._leaves, ["sample"])
        other = [name for name, size in failing.items() if sample.sizes.get(name) != size]
        if not other or not runs(sample):
            return {}
        alone = [
            name
            for name in other
            if not runs(Binding("sample", {**sample.sizes, name: failing[name]}))
        ]
        fixed = {name: sample.sizes[name] for name in alone or other}
        # Sizes of the failing run may be wrong for themselves, as 1 where something becomes empty.
        one_more = {name: size + 1 for name, size in fixed.items()}
        doubled = {name: 2 * size for name, size in fixed.items()}
        others = ({**sample.sizes, **sizes} for sizes in (one_more, doubled))
        if any(runs(Binding("sample", sizes)) for sizes in others):
            return {}
        return fixed

    def _arrays(self, binding: Binding) -> list[NDArray[Any]]:
        return resized(self._axes, self._leaves, binding, self._seed)

    def _source_runs(self, binding: Binding) -> bool:
        with Attempt() as attempt:
            originals = tensors_of(self._prepared.args)
            pairs = zip(self._arrays(binding), originals, strict=True)
            own = [from_pairs(array, original.dtype) for array, original in pairs]
            self._prepared.source.run(fill(self._prepared.args, own))
        return attempt.error is None

    def _feeds(self, binding: Binding) -> dict[str, NDArray[Any]]:
        return dict(zip(input_names(self._prepared.model), self._arrays(binding), strict=True))

    def _model_runs(self, binding: Binding) -> bool:
        with Attempt() as attempt:
            self._prepared.plain.run(self._feeds(binding))
        return attempt.error is None

    def _place(self, failing: Mapping[str, int], error: RunError) -> str:
        """The node that failed, and the user's line where it was made."""
        texts = [str(error)]
        if self._prepared.everything is not None:  # its nodes are those of the model
            with Attempt() as attempt:
                self._prepared.everything.run(self._feeds(Binding("failing", failing)))
            texts.insert(0, str(attempt.error or ""))
        names = [name for text in texts for name in _NODE.findall(text)]
        model = self._prepared.observed
        found = (n for name in names for n in model.graph.node if n.name == name and n.output)
        node = next(found, None)
        if node is None:
            return ""
        facts = facts_of(node)
        line = facts.get("line", facts.get("location", ""))
        source, options = self._prepared.source, self._prepared.options.conversion()
        if not line and facts.get("name") and isinstance(source, TracedSource):
            origin = Origin(node.output[0], facts["name"])
            with Attempt():  # a line is a help, not a finding
                line = source.user_line(origin, self._prepared.args, options)
        where = describe_node(model, node.output[0])
        layer = f' of layer "{facts["layer"]}"' if facts.get("layer") else ""
        return f", in node {where}{layer}{f', {line}' if line else ''}"
