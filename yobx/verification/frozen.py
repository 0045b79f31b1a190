"""Sizes that a number in the model keeps fixed: which, to what, and in which line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from yobx.advice import FIX_THE_SIZE, sizes_of_a_run
from yobx.places import innermost_user_line, line_that_raised
from yobx.verification.arguments import fill, from_pairs, tensors_of
from yobx.verification.bindings import Binding, axes_of_inputs, choose_bindings, resized
from yobx.verification.boundary import Attempt
from yobx.verification.evidence import BindingRun
from yobx.verification.findings import Cause
from yobx.verification.preparation import Prepared
from yobx.verification.provenance import facts_of
from yobx.verification.runner import RunError, input_names
from yobx.verification.shape_proof import describe_node
from yobx.verification.sources import GraphSource, Origin, TracedSource

__all__ = ["FROZEN", "FrozenSizes", "Looked", "frozen_sizes"]

#: Title of a failure whose cause is a size that is a number in the converted model.
FROZEN = "a SIZE was FROZEN while the model was traced"
# What to do where a model takes other inputs than those that were generated.
_OWN_INPUTS = (
    "give inputs that the model takes: (model, (array, ...)) from a factory, args=(array, ...) to "
    "a check, inputs() beside the reference(...) of an .onnx file; inputs_for(...) of "
    "pytest_yobx.strategies draws them in a test of your own"
)

# How TensorFlow writes the lines that made an operation, and onnxruntime the node that failed.
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_NODE = re.compile(r"Name:'([^']+)'")


def _hint_for(framework: str) -> str:
    """What to do where a size is a number, in the words of a framework."""
    instead = sizes_of_a_run(framework)
    return f"write {instead}; or {FIX_THE_SIZE}" if instead else ""


def frozen_sizes(prepared: Prepared, run: BindingRun, names: Sequence[str]) -> Cause:
    """What is behind wrong values of a model that was traced without its sizes.

    Args:
        prepared: The converted model.
        run: A run in which the values are wrong.
        names: The sizes with which its trace gives what it gives when it is called.
    """
    sizes = {name: run.binding.sizes[name] for name in names}
    source, where = prepared.source, ""
    with Attempt():  # a place is a help, not a finding
        if isinstance(source, GraphSource):
            where = source.frozen_at(run.args, prepared.options.conversion(), sizes)
    are = "is a number" if len(sizes) == 1 else "are numbers"
    place = f"{', '.join(sizes)} {are} in {where}: " if where else ""
    dynamic = " or ".join(sizes)
    traced = " or ".join(f"{name}={size}" for name, size in sizes.items())
    return Cause(
        FROZEN,
        f"{place}traced with {traced} it gives what it gives when it is called, traced with a "
        f"dynamic {dynamic} it gives what the converted model gives",
        _hint_for(source.framework),
    )


@dataclass(frozen=True)
class Looked:
    """What came of looking for fixed sizes where a side fails.

    Attributes:
        told: What to say of it in a message, or ``""``.
        cause: What is behind the failure, if that is known.
    """

    told: str = ""
    cause: Cause | None = None


class FrozenSizes:
    """Asks which sizes of the sample a failing side needs.

    Args:
        prepared: The converted model.
        leaves: The sample, one array a graph input.
        seed: Of the arrays in other sizes.
    """

    def __init__(self, prepared: Prepared, leaves: Sequence[NDArray[Any]], seed: int) -> None:
        self._prepared = prepared
        self._leaves = list(leaves)
        self._seed = seed
        self._axes = axes_of_inputs(prepared.model)

    def of_source(self, failing: Mapping[str, int], error: BaseException) -> Looked:
        """What to say of a source that failed.

        Args:
            failing: The sizes it failed with.
            error: What it raised.

        Returns:
            The user's line and the sizes that are fixed, as far as they are known.
        """
        frames = ((name, int(number)) for name, number in _FRAME.findall(str(error)))
        line = line_that_raised(error) or innermost_user_line(frames)
        fixed = self._fixed(failing, self._source_runs)
        told = " and ".join(f"{name} is fixed to {size}" for name, size in fixed.items())
        told += f"{' ' * bool(told)}at {line}" if line else ""
        cause = self._generated()
        if fixed:
            cause = self._cause("a SIZE is FIXED in the model itself", told)
        return Looked(f" ({told})" if told else "", cause)

    def of_model(self, failing: Mapping[str, int], error: RunError) -> Looked:
        """What to say of a converted model that failed where its source did not.

        Args:
            failing: The sizes it failed with.
            error: What onnxruntime said.

        Returns:
            The sizes that were fixed when the model was traced and where, if there are any.
        """
        fixed = self._fixed(failing, self._model_runs)
        if not fixed:
            return Looked()
        told = " and ".join(f"{name} was fixed to {size}" for name, size in fixed.items())
        told += f" when the model was traced{self._place(failing, error)}"
        return Looked(f" ({told})", self._cause(FROZEN, told))

    def _cause(self, title: str, text: str) -> Cause:
        return Cause(title, text, _hint_for(self._prepared.source.framework))

    def _generated(self) -> Cause | None:
        """That nobody gave the inputs which the source refuses, if so."""
        if not self._prepared.generated:
            return None
        made = "; ".join(self._prepared.generated)
        return Cause(
            "the model refuses GENERATED inputs",
            f"no inputs were given, so yobx made some up, seed {self._seed}: {made}",
            _OWN_INPUTS,
        )

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
