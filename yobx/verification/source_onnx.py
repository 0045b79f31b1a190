"""A ready ONNX model, compared with a reference callable or with another ONNX model."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.errors import ArgumentError, UnreadableModelError
from yobx.verification import tree
from yobx.verification.boundary import Attempt
from yobx.verification.called_functions import inlined
from yobx.verification.findings import Cause
from yobx.verification.inner_values import collector
from yobx.verification.runner import LoadError, RunError, Session, exposed, input_names
from yobx.verification.sources import InputSpec, NamedArray, value_spec
from yobx.verification.weights import light
from yobx.words import counted

__all__ = ["OnnxSource", "model_inputs"]

_LOG = logging.getLogger("yobx.verification")
_OTHER_ARGUMENTS = "the REFERENCE takes other arguments than the model has inputs"


def model_inputs(model: onnx.ModelProto) -> list[InputSpec]:
    """What an ONNX model declares of the inputs a caller must feed."""
    wanted = set(input_names(model))
    return [value_spec(value) for value in model.graph.input if value.name in wanted]


def _read(path: Path) -> onnx.ModelProto:
    if not path.is_file():
        raise ArgumentError(f"no such file. Received: model={str(path)!r}.", argument="model")
    with Attempt() as attempt:
        model = onnx.load(str(path))
        if model.HasField("graph"):
            return model
    why = f": {attempt.error}" if attempt.error is not None else ", which has no graph"
    raise UnreadableModelError(
        f"a file must hold a whole ONNX model. Received: {str(path)!r}{why}.", argument="model"
    ) from attempt.error


class OnnxSource:
    """A model that needs no conversion.

    Args:
        model: The model, or its file.
        reference: A callable that takes the inputs as numpy arrays, in order, and returns an
            array, or a tuple, list or dict of arrays; or an ONNX model with the same inputs.
        name: Name for the report.

    Raises:
        ArgumentError: If there is no reference, or no such file.
        UnreadableModelError: If the file holds no ONNX model.
    """

    framework = "onnx"

    def __init__(
        self, model: onnx.ModelProto | str | Path, reference: Any, *, name: str = ""
    ) -> None:
        if not isinstance(model, onnx.ModelProto):
            path = Path(model)
            model = _read(path)
            name = name or path.stem
        if reference is None or not (callable(reference) or isinstance(reference, onnx.ModelProto)):
            raise ArgumentError(
                "an ONNX model is compared with its original: give reference=callable over numpy "
                "arrays, or "
                f"reference=another ModelProto. Received: reference={reference!r}.",
                argument="reference",
            )
        self.model = model
        self.reference: Callable[..., Any] | onnx.ModelProto = reference
        self.name = name or model.graph.name or "onnx model"
        self._sessions: dict[bool, Session] = {}

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Returns the model as it is.

        Raises:
            ArgumentError: If an option of a conversion is given, which would be ignored.
        """
        given = [key for key, value in options.items() if value]
        if given:
            raise ArgumentError(
                f"a ready ONNX model is not converted, so {', '.join(given)} cannot apply.",
                argument=given[0],
            )
        return self.model

    def wrong_reference(self, args: tuple[Any, ...]) -> Cause | None:
        """Arguments of the reference that are not the inputs of the model: no run could mend it.

        Args:
            args: What the reference is called with.

        Returns:
            Both, or ``None`` if they fit, or if the inputs themselves do not.
        """
        names, leaves = input_names(self.model), tree.flatten(args)
        if len(leaves) != len(names):
            return None
        model = f"a model of {counted(len(names), 'input')} ({', '.join(names)})"
        if isinstance(self.reference, onnx.ModelProto):
            known = input_names(self.reference)
            said = f"a reference of {counted(len(known), 'input')} ({', '.join(known)}) for {model}"
            return Cause(_OTHER_ARGUMENTS, said) if len(known) != len(names) else None
        try:
            signature = inspect.signature(self.reference)
        except (TypeError, ValueError):  # of some that are written in C nothing is known
            return None
        try:
            signature.bind(*args)
        except TypeError as error:
            bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
            return Cause(
                _OTHER_ARGUMENTS,
                f"reference{inspect.Signature(bare)} for {model}: {error}",
                "it is called with one array for each input, in their order",
            )
        return None

    def run(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray]:
        """Runs the reference, which takes no keyword arguments."""
        arrays = [leaf for _, leaf in tree.flatten(args)]
        if isinstance(self.reference, onnx.ModelProto):
            session = self._session(self.reference, intermediates=False)
            feeds = dict(zip(input_names(self.reference), arrays, strict=True))
            return list(session.run(feeds).values.items())
        result = self.reference(*args)
        if isinstance(result, dict):
            return [(name, value) for name, value in result.items()]
        several = result if isinstance(result, (tuple, list)) else [result]
        # A sequence is a list; an optional value that is not there is None.
        return [("", v if v is None or isinstance(v, list) else np.asarray(v)) for v in several]

    def example(self, seed: int, options: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The graph's inputs, as it declares them."""
        names = set(input_names(self.model))
        return tuple(value for value in self.model.graph.input if value.name in names)

    def intermediates(
        self, args: tuple[Any, ...], names: Sequence[str], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Values of the reference model that go by the same name; turns of those in bodies."""
        if not isinstance(self.reference, onnx.ModelProto):
            return {}
        session = self._session(self.reference, intermediates=True)
        known = set(session.outputs)
        arrays = [leaf for _, leaf in tree.flatten(args)]
        feeds = dict(zip(input_names(self.reference), arrays, strict=True))
        main = session.run(feeds, [name for name in dict.fromkeys(names) if name in known]).values
        return {**self._turns(self.reference, feeds, names), **main}

    def _turns(
        self, reference: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]], names: Sequence[str]
    ) -> dict[str, list[Any]]:
        """Values inside control flow, one array for each turn; none where they cannot be had."""
        whole = inlined(reference)
        found = collector(whole)
        if found is None:
            return {}
        try:
            session = Session(found.model, weights=whole, optimise=False)
            turns = found.turns(session.run(feeds).values)
        except (LoadError, RunError) as error:
            _LOG.warning("values inside control flow of the reference cannot be had: %s", error)
            return {}
        return {name: turns[name] for name in names if name in turns}

    def _session(self, reference: onnx.ModelProto, *, intermediates: bool) -> Session:
        if intermediates not in self._sessions:
            whole = inlined(reference) if intermediates else reference
            self._sessions[intermediates] = (
                Session(exposed(light(whole), inplace=True), weights=whole, optimise=False)
                if intermediates
                else Session(whole)
            )
        return self._sessions[intermediates]
