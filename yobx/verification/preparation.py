"""From a model to sessions: recognise, convert, validate, infer shapes, load."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from yobx.advice import factory_hint
from yobx.errors import ArgumentError, ShapeError, TraceError, YobxError
from yobx.onnx_optim import ShapesContext, infer_shapes
from yobx.onnx_optim.model_io import subgraphs as all_graphs
from yobx.places import line_that_raised
from yobx.verification import tree
from yobx.verification.arguments import (
    as_tuple,
    in_precision,
    is_description,
    source_arrays,
    strings_that_are_constants,
    tensors_of,
    with_descriptions,
    with_string_arrays,
)
from yobx.verification.boundary import Attempt, told, with_place
from yobx.verification.called_functions import inlined
from yobx.verification.environment import versions
from yobx.verification.evidence import CheckResult
from yobx.verification.findings import Cause, Outcome
from yobx.verification.inner_values import Collector, collector
from yobx.verification.keywords import KeywordSource
from yobx.verification.narrow_casts import narrowing_casts
from yobx.verification.options import CheckOptions
from yobx.verification.phases import EndOfCheckError, PhaseLog
from yobx.verification.pytrees import FlatSource
from yobx.verification.recognition import find_source
from yobx.verification.runner import LoadError, Session, exposed, fits_in_memory, input_names
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.shape_proof import Constraint, Form
from yobx.verification.shared_sizes import shared_by_default
from yobx.verification.source_jax import JaxSource, as_jax_takes
from yobx.verification.source_onnx import OnnxSource
from yobx.verification.sources import NarrowSource, Source, is_tensor
from yobx.verification.tolerances import Tolerances
from yobx.verification.unused_converters import Watched
from yobx.verification.vocabulary import with_known_keys
from yobx.verification.weights import light

__all__ = ["NEEDED", "Prepared", "prepare"]

#: Title of a failure of a model that can be traced where its sizes are numbers.
NEEDED = "a dynamic SIZE is needed as a NUMBER while the model is traced"


@dataclass
class Prepared:
    """A converted model, ready to run.

    Attributes:
        source: The original.
        model: The converted model.
        observed: The model with the bodies of its functions in place of their calls: what is
            looked into. It is the model itself where it calls none.
        args: Sample inputs, every tensor an array.
        options: Options of the check.
        plain: Session as users have it.
        everything: Session without optimisation whose outputs are all values, or ``None``.
        forms: What is stated of the values of `model`, and of those of `observed` if that differs.
        sensitivity: Allowances of the model.
        inner: What collects the values inside control flow, with its session, or ``None``.
        generated: Inputs that nobody gave, in words.
    """

    source: Source
    model: onnx.ModelProto
    observed: onnx.ModelProto
    args: tuple[Any, ...]
    options: CheckOptions
    plain: Session
    everything: Session | None
    forms: tuple[Form, ...]
    sensitivity: Sensitivity
    inner: tuple[Collector, Session] | None = None
    generated: tuple[str, ...] = ()


def prepare(
    model: Any, args: Any, options: CheckOptions, tolerances: Tolerances, result: CheckResult
) -> Prepared | None:
    """Does everything before the first run.

    Args:
        model: The model.
        args: Its inputs, or ``None``.
        options: Options of the check.
        tolerances: The tolerance table.
        result: Where findings are written.

    Returns:
        What is needed to run, or ``None`` when a phase failed before.
    """
    phases = PhaseLog(result)
    with Attempt() as attempt:
        source, arrays, declared = _import(model, args, options, phases)
        converted = _convert(source, declared, options, phases)
        shared = shared_by_default(source.framework, declared, converted, options)
        result.report.notes += filter(None, (shared, strings_that_are_constants(declared)))
        arrays = with_known_keys(arrays, declared, converted, options.seed)
        if source.framework == "jax":
            arrays = as_jax_takes(arrays)
        prepared = _load(source, arrays, options, tolerances, phases)
        prepared.generated = _generated(arrays, declared, converted)
        return prepared
    if not isinstance(attempt.error, EndOfCheckError) and attempt.error is not None:
        raise attempt.error
    return None


def _generated(
    args: tuple[Any, ...], declared: tuple[Any, ...], model: onnx.ModelProto
) -> tuple[str, ...]:
    """Inputs that nobody gave, in words: ``ids int32 [7, 6] from 0 to 9``."""
    pairs = zip(tree.flatten(args), tree.flatten(declared), strict=True)
    tensors = [(array, leaf) for (_, array), (_, leaf) in pairs if is_tensor(leaf)]
    made = []
    for name, (array, leaf) in zip(input_names(model), tensors, strict=False):
        dtype = "string" if array.dtype.kind in "SUO" else array.dtype
        counts = array.dtype.kind in "iu" and array.size
        span = f" from {array.min()} to {array.max()}" if counts else ""
        if is_description(leaf):
            made.append(f"{name} {dtype} {list(array.shape)}{span}")
    return tuple(made)


def _import(
    model: Any, args: Any, options: CheckOptions, phases: PhaseLog
) -> tuple[Source, tuple[Any, ...], tuple[Any, ...]]:
    """Finds the source, arrays to run it with, and what its conversion is given.

    The two differ where inputs are described: an array has one size where a description leaves it
    open, and the model that is checked must be the one that `to_onnx` would make.
    """
    report = phases.result.report
    report.model_name = options.name or (str(model) if isinstance(model, str | Path) else "")
    with phases.phase("import"):
        inputs = (args, options.kwargs)
        source = find_source(model, reference=options.reference, name=options.name, args=inputs)
        phases.result.source = source
        report.framework, report.model_name = source.framework, source.name
        if args is None:
            args = source.example(options.seed, options.conversion())
        if args is None:
            raise ArgumentError(
                "a model without a declared signature needs inputs. Received: args=None.",
                argument="args",
                hint=f"Try args=(array, ...). {factory_hint(model)}".rstrip(),
            )
        declared = as_tuple(with_string_arrays(args))
        given = (dict(options.kwargs or {}),)
        if isinstance(source, JaxSource):
            source = phases.result.source = FlatSource(source, declared, *given)
            declared, given = source.leaves, ({},)
        arrays = source_arrays(declared, options.seed)
        keywords = source_arrays(given, options.seed)
        if tensors_of(keywords):
            source = KeywordSource(source)
            phases.result.source = source
            arrays, declared = (*arrays, *keywords), (*declared, *given)
        arrays = in_precision(arrays, options.precision)
        report.cause = source.wrong_reference(arrays) if isinstance(source, OnnxSource) else None
        if report.cause is not None:
            raise ArgumentError(report.cause.title, argument="reference")
        return source, arrays, with_descriptions(arrays, declared)
    raise EndOfCheckError


def _convert(
    source: Source, declared: tuple[Any, ...], options: CheckOptions, phases: PhaseLog
) -> onnx.ModelProto:
    report = phases.result.report
    start = time.perf_counter()
    model: onnx.ModelProto | None = None
    watched = Watched(options.conversion())
    with Attempt() as attempt:
        model = source.convert(declared, watched.options)
    seconds = time.perf_counter() - start
    report.framework = source.framework
    if attempt.error is not None and source.framework != "onnx":
        report.opset = _asked_opset(options)  # of no model, but a failure belongs to it
    if isinstance(attempt.error, TraceError):
        report.phase("trace").seconds = seconds
        if attempt.error.sizes:
            report.cause = Cause(NEEDED, attempt.error.sizes, attempt.error.instead)
        phases.fail("trace", told(attempt.error), attempt.error)
        raise EndOfCheckError from attempt.error
    report.phase("convert").seconds = seconds
    outcome = Outcome.NOT_APPLICABLE if source.framework == "onnx" else Outcome.PASSED
    report.phase("trace").outcome = outcome
    if attempt.error is not None or model is None:
        error = attempt.error or TypeError("the conversion returned no model")
        text = told(error) if isinstance(error, YobxError) else with_place(error)
        place = line_that_raised(error)  # of a converter of the user
        if place and isinstance(error, YobxError):
            text += f"\nRaised under {place}."
        phases.fail("convert", text, error)
        raise EndOfCheckError from error
    report.phase("convert").outcome = outcome
    for sentence in watched.unused(model):
        phases.warn("convert", sentence)
    phases.result.model = model
    report.nodes = len(model.graph.node)
    main = (o.version for o in model.opset_import if o.domain in {"", "ai.onnx"})
    report.opset = next(main, 0)
    return model


def _asked_opset(options: CheckOptions) -> int:
    """The opset that a conversion was asked for, 0 for what is none."""
    from yobx.tensorflow import to_onnx

    asked: Any = options.target_opset
    if isinstance(asked, Mapping):
        asked = asked.get("", asked.get("ai.onnx"))
    if asked is None:
        asked = inspect.signature(to_onnx).parameters["target_opset"].default
    return asked if isinstance(asked, int) else 0


def _load(
    source: Source,
    args: tuple[Any, ...],
    options: CheckOptions,
    tolerances: Tolerances,
    phases: PhaseLog,
) -> Prepared:
    model = phases.result.model
    if model is None:
        raise EndOfCheckError
    report = phases.result.report
    with phases.phase("check", stops=False) as entry:
        if fits_in_memory(model):
            onnx.checker.check_model(model)
        else:
            entry.messages.append("the onnx checker was left out: the model is over 2 GB")
            entry.outcome = Outcome.WARNING
    observed = phases.result.observed = inlined(model)
    forms = [_infer(model, phases)]
    if observed is not model:
        forms.append(_infer(observed, phases))
    everything: Session | None = None
    with phases.phase("load"):
        plain = Session(model, provider=options.provider)
        phases.result.session = plain.raw
        try:
            everything = Session(
                exposed(light(observed), inplace=True),
                weights=observed,
                provider=options.provider,
                optimise=False,
            )
        except LoadError as error:
            report.notes.append(f"intermediate values could not be exposed: {error}")
        exposed_warnings = everything.warnings if everything is not None else []
        for warning in dict.fromkeys([*plain.warnings, *exposed_warnings]):
            phases.fail("check", f"onnxruntime {warning}")
        narrow: frozenset[str] = frozenset()
        casts = narrowing_casts(observed)
        if isinstance(source, NarrowSource) and casts:
            narrow = source.narrow_values(args, options.conversion(), casts)
        table = tolerances.applying(options.provider, source.framework)
        report.notes += table.outdated(_nodes(observed), versions())
        sensitivity = Sensitivity(observed, table, options.provider, options.seed, narrow)
        return Prepared(
            source=source,
            model=model,
            observed=observed,
            args=args,
            options=options,
            plain=plain,
            everything=everything,
            forms=tuple(forms),
            sensitivity=sensitivity,
            inner=_inner(observed, options, phases),
        )
    raise EndOfCheckError


def _nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for graph in all_graphs([model.graph]) for node in graph.node]


def _inner(
    model: onnx.ModelProto, options: CheckOptions, phases: PhaseLog
) -> tuple[Collector, Session] | None:
    """What collects the values inside control flow; what it cannot is counted as not observable."""
    found = collector(model)
    if found is None:
        return None
    try:
        session = Session(found.model, weights=model, provider=options.provider, optimise=False)
        return found, session
    except LoadError as error:
        report = phases.result.report
        report.notes.append(f"values inside control flow could not be collected: {error}")
        return None


def _infer(model: onnx.ModelProto, phases: PhaseLog) -> Form:
    """Shape inference; a contradiction is a finding, giving up is a warning."""
    context = ShapesContext()
    inferred: onnx.ModelProto | None = None
    with phases.phase("shapes", stops=False):
        try:
            inferred = infer_shapes(model, context=context)
        except ShapeError:
            raise
        except YobxError as error:
            phases.warn("shapes", f"inference gave up: {error}")
        for contradiction in context.contradictions:
            phases.fail("shapes", str(contradiction))
    if inferred is None:
        return Form(model)
    kept = onnx.ModelProto()  # what it states: the memory of weights goes with the whole message
    del inferred.graph.initializer[:]
    kept.CopyFrom(inferred)
    bounds = [Constraint(a, "<=", b) for a, b in context.less_equal_constraints()]
    equal = [Constraint(a, "==", b) for a, b in context.constraints()]
    return Form(model, kept, (*bounds, *equal))
