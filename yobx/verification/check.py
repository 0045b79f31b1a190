"""One check from end to end: convert, validate, run, compare, prove the shapes, and say where it
differs.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.errors import ArgumentError, ShapeError, TraceError, YobxError
from yobx.verification import tree
from yobx.verification.bindings import Binding, InputAxes, axes_of_inputs, choose_bindings, resized
from yobx.verification.comparison import compare
from yobx.verification.environment import versions
from yobx.verification.localize import Evidence, localize
from yobx.verification.options import BindingRequest, CheckKeywords, CheckOptions, make_options
from yobx.verification.report import (
    BindingReport,
    ConversionReport,
    Outcome,
    OutputReport,
    PhaseReport,
)
from yobx.verification.runner import LoadError, RunError, Session, exposed, input_names
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.shape_proof import Statement, merge, prove, stated
from yobx.verification.sources import NamedArray, Source, find_source, is_onnx, is_tensor
from yobx.verification.tolerances import Tolerances, load_tolerances

__all__ = [
    "CheckResult",
    "PreparedCheck",
    "check_conversion",
    "check_shapes",
    "prepare_check",
    "run_check",
]

_PHASE_OF = {
    "dtype": "structure",
    "missing": "structure",
    "extra": "structure",
    "rank": "shape-match",
}


@dataclass
class BindingRun:
    """Arrays of one binding.

    Attributes:
        binding: The sizes.
        args: Inputs of the source, in its own structure.
        feeds: Inputs of the ONNX model.
        expected: Outputs of the source.
        actual: Outputs of the optimised ONNX model by name.
        values: Every value of the unoptimised model by name, inputs included.
    """

    binding: Binding
    args: tuple[Any, ...]
    feeds: dict[str, NDArray[Any]]
    expected: list[NamedArray]
    actual: dict[str, Any]
    values: dict[str, Any]


@dataclass
class CheckResult:
    """What a check leaves behind, for further assertions.

    Attributes:
        report: The findings.
        model: The converted model, or ``None`` when there is none.
        session: An onnxruntime session of it, or ``None``.
        runs: The arrays of each binding.
        error: The exception that ended a phase, or ``None``.
        source: The original.
    """

    report: ConversionReport
    model: onnx.ModelProto | None = None
    session: Any = None
    runs: list[BindingRun] = field(default_factory=list)
    error: BaseException | None = None
    source: Source | None = None

    @property
    def outputs(self) -> dict[str, Any]:
        """Outputs of the converted model for the first binding that ran."""
        return self.runs[0].actual if self.runs else {}

    @property
    def expected(self) -> dict[str, Any]:
        """Outputs of the source for the first binding, by ONNX name."""
        if not self.runs:
            return {}
        run = self.runs[0]
        return dict(zip(run.actual, (value for _, value in run.expected), strict=False))


class _Stop(Exception):
    """Ends a check whose next phase has nothing to work on."""


def check_conversion(
    model: Any, args: Any = None, **options: Unpack[CheckKeywords]
) -> ConversionReport:
    """Converts a model and compares the result with the original.

    Args:
        model: Keras model or layer, TensorFlow function, module or SavedModel, JAX callable,
            ``.keras`` or ``.onnx`` file, or a `ModelProto` with ``reference=``.
        args: Tuple of inputs, as `yobx.tensorflow.to_onnx` takes them; made from the model's
            signature if `None`.
        **options: Every keyword of `yobx.tensorflow.to_onnx` by the same name, and those of
            `CheckOptions`.

    Returns:
        The findings. Differences raise nothing; ``report.raise_if_failed()`` does.

    Raises:
        ArgumentError: If an option is unknown or wrong.
    """
    return run_check(model, args, **options).report


def run_check(model: Any, args: Any = None, **options: Unpack[CheckKeywords]) -> CheckResult:
    """Does what `check_conversion` does, and keeps the model and the arrays.

    Args:
        model: As for `check_conversion`.
        args: As for `check_conversion`.
        **options: As for `check_conversion`.

    Returns:
        The findings with the model and the arrays.

    Raises:
        ArgumentError: If an option is unknown or wrong.
    """
    prepared = prepare_check(model, args, **options)
    return prepared.run(make_options(options).binding_requests())


def check_shapes(model: Any, args: Any = None, **options: Unpack[CheckKeywords]) -> CheckResult:
    """Compares every stated type and shape with runs of the converted model; no values are
    compared.

    Args:
        model: As for `check_conversion`; a `ModelProto` needs no reference here.
        args: As for `check_conversion`.
        **options: As for `check_conversion`.

    Returns:
        The findings; the phases ``structure`` and ``values`` do not apply.

    Raises:
        ArgumentError: If an option is unknown or wrong.
    """
    if options.get("reference") is None and is_onnx(model):
        options["reference"] = _no_reference
    prepared = prepare_check(model, args, **options)
    return prepared.run(make_options(options).binding_requests(), values=False)


def _no_reference(*inputs: Any) -> tuple[()]:
    return ()


def prepare_check(model: Any, args: Any = None, **options: Unpack[CheckKeywords]) -> PreparedCheck:
    """Converts, validates and loads a model once, so that several bindings can share it.

    Args:
        model: As for `check_conversion`.
        args: As for `check_conversion`.
        **options: As for `check_conversion`; ``bindings`` is left to `PreparedCheck.run`.

    Returns:
        The converted model, ready to run; a failure so far is in its report.

    Raises:
        ArgumentError: If an option is unknown or wrong.
    """
    chosen = make_options(options)
    table = load_tolerances(chosen.tolerances, scale=chosen.tolerance_scale)
    report = ConversionReport(
        provider=chosen.provider, seed=chosen.seed, environment=versions(), rerun=chosen.rerun
    )
    checker = _Checker(CheckResult(report), chosen, table)
    try:
        checker.prepare(model, args)
        checker.validate()
    except _Stop:
        return PreparedCheck(checker, ready=False)
    return PreparedCheck(checker, ready=True)


@dataclass
class PreparedCheck:
    """A converted and loaded model.

    Attributes:
        ready: Whether it can be run.
    """

    _checker: _Checker
    ready: bool
    _used: bool = False

    @property
    def result(self) -> CheckResult:
        """What is known before any run."""
        return self._checker.result

    def run(
        self, bindings: Sequence[BindingRequest] | None = None, *, values: bool = True
    ) -> CheckResult:
        """Runs and compares under some bindings.

        Args:
            bindings: As in `CheckOptions.bindings`.
            values: Whether outputs are compared with the source, or shapes alone are proven.

        Returns:
            A result of its own. The time of the conversion is counted in the first one.
        """
        base = self._checker
        report = copy.deepcopy(base.result.report)
        if self._used:
            for phase in report.phases:
                phase.seconds = 0.0
        self._used = True
        checker = replace(base, result=replace(base.result, report=report, runs=[]))
        if self.ready:
            try:
                checker.run(bindings)
                checker.judge(values=values)
            except _Stop:
                pass
        return checker.result


@dataclass
class _Checker:
    result: CheckResult
    options: CheckOptions
    table: Tolerances
    args: tuple[Any, ...] = ()
    axes: list[InputAxes] = field(default_factory=list)
    inferred: onnx.ModelProto | None = None
    bounds: dict[str, str] = field(default_factory=dict)
    plain: Session | None = None
    everything: Session | None = None
    sensitivity: Sensitivity | None = None

    @property
    def report(self) -> ConversionReport:
        return self.result.report

    @property
    def model(self) -> onnx.ModelProto:
        if self.result.model is None:
            raise _Stop
        return self.result.model

    @contextmanager
    def phase(self, name: str, *, stops: bool = True) -> Iterator[PhaseReport]:
        """Times a phase and records whatever ends it: the one place where any exception is
        caught.
        """
        entry = self.report.phase(name)
        start = time.perf_counter()
        try:
            yield entry
        except (_Stop, KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:
            self.fail(name, str(error) or type(error).__name__, error)
            if stops:
                raise _Stop from error
        finally:
            entry.seconds += time.perf_counter() - start
        if entry.outcome is Outcome.NOT_REACHED:
            entry.outcome = Outcome.PASSED

    def fail(self, name: str, message: str, error: BaseException | None = None) -> None:
        """Marks a phase as failed."""
        entry = self.report.phase(name)
        entry.outcome = Outcome.FAILED
        for line in message.splitlines()[:40]:
            if line not in entry.messages:
                entry.messages.append(line)
        if error is not None:
            entry.error_type = type(error).__name__
            self.result.error = error

    # ---- import, trace, convert
    # --------------------------------------------------------------------------

    def prepare(self, model: Any, args: Any) -> None:
        """Finds the source, its inputs, and converts it."""
        with self.phase("import"):
            source = find_source(model, reference=self.options.reference, name=self.options.name)
            self.result.source = source
            self.report.framework, self.report.model_name = source.framework, source.name
            if args is None:
                args = source.example(self.report.seed)
            if args is None:
                raise ArgumentError(
                    "a model without a declared signature needs inputs. Received: args=None. "
                    "Try args=(array, ...).",
                    argument="args",
                )
            self.args = (
                args
                if type(args) is tuple
                else (args,)
                if not isinstance(args, list)
                else tuple(args)
            )
            self.args = source_arrays(self.args, self.report.seed)
        start = time.perf_counter()
        try:
            self.result.model = source.convert(self.args, self.options.conversion())
        except TraceError as error:
            self.report.phase("trace").seconds = time.perf_counter() - start
            self.fail("trace", str(error), error)
            raise _Stop from error
        except Exception as error:
            self.report.phase("trace").outcome = Outcome.PASSED
            prefix = "" if isinstance(error, YobxError) else f"{type(error).__name__}: "
            self.fail("convert", prefix + str(error), error)
            raise _Stop from error
        finally:
            self.report.phase("convert").seconds = time.perf_counter() - start
        ready = Outcome.NOT_APPLICABLE if source.framework == "onnx" else Outcome.PASSED
        self.report.phase("trace").outcome = self.report.phase("convert").outcome = ready
        self.report.nodes = len(self.model.graph.node)
        self.report.opset = next(
            (o.version for o in self.model.opset_import if o.domain in {"", "ai.onnx"}), 0
        )

    # ---- check, shapes, load
    # -----------------------------------------------------------------------------

    def validate(self) -> None:
        """Runs the onnx checker and shape inference, and loads the model."""
        with self.phase("check", stops=False):
            if self.model.ByteSize() < 2**31 - 2**24:
                onnx.checker.check_model(self.model)
        with self.phase("shapes", stops=False) as entry:
            try:
                self.inferred, self.bounds = _infer(self.model)
            except ShapeError:
                raise
            except YobxError as error:
                entry.outcome = Outcome.WARNING
                entry.messages.append(f"inference gave up: {error}")
        with self.phase("load"):
            session = Session(self.model, provider=self.report.provider)
            self.result.session = session.raw
            self.plain = session
            try:
                self.everything = Session(
                    exposed(self.model), provider=self.report.provider, optimise=False
                )
            except LoadError as error:
                self.report.notes.append(f"intermediate values could not be exposed: {error}")
        self.sensitivity = Sensitivity(
            self.model, self.table, self.report.provider, self.report.seed
        )
        warnings = [*session.warnings, *(self.everything.warnings if self.everything else [])]
        for warning in dict.fromkeys(warnings):
            self.fail("check", f"onnxruntime {warning}")

    # ---- run
    #
    # -----------------------------------------------------------------------------------------------

    def run(self, requests: Sequence[BindingRequest] | None) -> None:
        """Runs source and converted model under every binding."""
        leaves = [leaf for _, leaf in tree.flatten(self.args) if is_tensor(leaf)]
        self.axes = axes_of_inputs(self.model)
        with self.phase("structure"):
            self._check_inputs(leaves)
        self.report.phase("structure").outcome = Outcome.NOT_REACHED
        with self.phase("run"):
            for binding in choose_bindings(self.model, self.axes, leaves, requests):
                self._run_binding(binding, leaves)
            if not self.result.runs and self.report.phase("run").outcome is not Outcome.FAILED:
                self.fail("run", "the source refuses every binding: nothing could be compared")
        if not self.result.runs:
            raise _Stop

    def _check_inputs(self, leaves: list[NDArray[Any]]) -> None:
        names = input_names(self.model)
        if len(names) != len(leaves):
            raise ArgumentError(
                f"the converted model has {len(names)} inputs ({', '.join(names)}), the source was given {len(leaves)}",
                argument="args",
            )

    def _run_binding(self, binding: Binding, leaves: list[NDArray[Any]]) -> None:
        entry = BindingReport(binding.label, dict(binding.sizes))
        self.report.bindings.append(entry)
        source = self.result.source
        assert source is not None
        arrays = resized(self.axes, leaves, binding, self.report.seed)
        args = fill(self.args, arrays)
        try:
            expected = source.run(args)
        except Exception as error:  # noqa: BLE001 - the model may refuse these sizes in any way
            if binding.softer is not None:
                entry.note = f"the source refuses {binding.describe()}; tried again with {binding.softer.describe()}"
                self._run_binding(binding.softer, leaves)
            elif binding.label == "ones":
                entry.note = f"the source refuses {binding.describe()}: {_short(error)}"
            else:
                entry.note = f"the source refuses {binding.describe()}: {_short(error)}"
                self.fail(
                    "run", f"the source fails under {binding.describe()}: {_short(error)}", error
                )
            return
        feeds = dict(zip(input_names(self.model), arrays, strict=True))
        try:
            assert self.plain is not None
            plain = self.plain.run(feeds)
            values: dict[str, Any] = dict(feeds)
            if self.everything is not None:
                every = self.everything.run(feeds)
                values.update(every.values)
                plain.warnings += [w for w in every.warnings if w not in plain.warnings]
            else:
                values.update(plain.values)
        except RunError as error:
            self.fail("run", f"under {binding.describe()}: {error}", error)
            return
        entry.ran = True
        for warning in plain.warnings:
            self.fail("shape-match", f"onnxruntime {warning}, under {binding.describe()}")
        self.result.runs.append(BindingRun(binding, args, feeds, expected, plain.values, values))

    # ---- structure, shapes, values
    # -----------------------------------------------------------------------

    def judge(self, *, values: bool) -> None:
        """Compares structure, shapes and values, and looks for the first difference."""
        if not values:
            for name in ("structure", "values"):
                self.report.phase(name).outcome = Outcome.NOT_APPLICABLE
            with self.phase("shape-match", stops=False):
                self._prove_shapes()
            return
        assert self.sensitivity is not None
        sensitivity = self.sensitivity
        with self.phase("structure", stops=False):
            self._check_structure()
        with self.phase("shape-match", stops=False):
            self._prove_shapes()
        with self.phase("values", stops=False):
            for run in self.result.runs:
                self._compare(run, sensitivity)
            if not self.report.compared:
                self.fail("values", "no output was compared: nothing is proven")
        self._summarise()
        self.report.notes += sensitivity.notes
        if self.options.localize and self.report.phase("values").outcome is Outcome.FAILED:
            with self.phase("values", stops=False):
                self._localize(sensitivity)
        with self.phase("provenance", stops=False) as entry:
            self._check_provenance(entry)

    def _check_structure(self) -> None:
        run = self.result.runs[0]
        have, want = list(run.actual), [name for name, _ in run.expected]
        if len(have) != len(want):
            listed = ", ".join(name or "?" for name in want)
            self.fail(
                "structure",
                f"the converted model has {len(have)} outputs ({', '.join(have)}), the source {len(want)} ({listed})",
            )
            for name in have[len(want) :]:
                self._missing(name, "extra")
            for position, name in enumerate(want[len(have) :], start=len(have)):
                self._missing(name or f"output {position}", "missing")
        for position, (got, wanted) in enumerate(zip(have, want, strict=False)):
            if wanted and got != wanted:
                self.fail(
                    "structure", f"output {position} is called {got!r}, in the source {wanted!r}"
                )

    def _missing(self, name: str, category: str) -> None:
        message = {"missing": "missing from the converted model", "extra": "unknown to the source"}[
            category
        ]
        self.report.outputs.append(
            OutputReport(name, outcome=Outcome.FAILED, category=category, notes=[message])
        )

    def _prove_shapes(self) -> None:
        statements: list[Statement] = stated(self.model, self.inferred)
        for run in self.result.runs:
            one = prove(
                self.model,
                statements,
                run.values,
                binding=run.binding.describe(),
                upper_bounds=self.bounds,
            )
            self.report.shapes = merge(self.report.shapes, one)
        for mismatch in self.report.shapes.mismatches:
            phase = "structure" if "dtype" in mismatch.message else "shape-match"
            self.fail(phase, mismatch.message)

    def _compare(self, run: BindingRun, sensitivity: Sensitivity) -> None:
        pairs = [
            (name, run.actual[name], value)
            for name, (_, value) in zip(run.actual, run.expected, strict=False)
        ]
        allowances = {
            name: sensitivity.strict(
                name, np.asarray(want).dtype if not isinstance(want, list) else np.dtype("O")
            )
            for name, _, want in pairs
        }
        unknown = [name for name, allowance in allowances.items() if allowance is None]
        if unknown:
            allowances.update(sensitivity.measure(run.feeds, run.values, unknown))
        for name, got, want in pairs:
            allowance = allowances[name]
            assert allowance is not None
            output = compare(name, got, want, allowance)
            output.binding = run.binding.describe()
            output.symbolic_shape = _symbolic(self.model, name, run)
            self.report.outputs.append(output)

    def _summarise(self) -> None:
        """Sends what the outputs say to the phases they belong to."""
        for output in self.report.outputs:
            if output.outcome is Outcome.PASSED:
                continue
            phase = _PHASE_OF.get(
                output.category, "shape-match" if output.category == "shape" else "values"
            )
            message = f"{output.name}: {output.notes[0] if output.notes else output.category}"
            if output.failed:
                if phase == "values":
                    message = f"{output.name} {output.symbolic_shape} under {output.binding}: {_count(output)}"
                self.fail(phase, message)
            elif self.report.phase("values").outcome is Outcome.PASSED:
                self.report.phase("values").outcome = Outcome.WARNING
                self.report.phase("values").messages.append(message)
            else:
                self.report.phase("values").messages.append(message)

    def _localize(self, sensitivity: Sensitivity) -> None:
        wrong = next(
            o for o in self.report.outputs if o.failed and o.category not in {"missing", "extra"}
        )
        run = next(
            (r for r in self.result.runs if r.binding.describe() == wrong.binding),
            self.result.runs[0],
        )
        assert self.result.source is not None
        evidence = Evidence(
            model=self.model,
            source=self.result.source,
            args=run.args,
            feeds=run.feeds,
            values=run.values,
            expected=dict(zip(run.actual, (v for _, v in run.expected), strict=False)),
            optimised=run.actual,
            options=self.options.conversion(),
        )
        self.report.localization = localize(evidence, sensitivity, wrong.name)

    def _check_provenance(self, entry: PhaseReport) -> None:
        assert self.result.source is not None
        if self.result.source.framework == "onnx":
            entry.outcome = Outcome.NOT_APPLICABLE
            return
        nodes = self.model.graph.node
        bare = [n for n in nodes if not any(p.key.startswith("yobx.") for p in n.metadata_props)]
        if bare:
            entry.outcome = Outcome.WARNING
            shown = ", ".join(f"{n.op_type} {n.name or n.output[0]}" for n in bare[:4])
            entry.messages.append(
                f"{len(bare)} of {len(nodes)} nodes do not say where they come from: {shown}"
            )


def source_arrays(args: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    """Arguments whose tensors are numpy arrays: descriptions become generated arrays."""
    from yobx.verification.inputs import generate
    from yobx.verification.sources import InputSpec

    leaves = [leaf for _, leaf in tree.flatten(args)]
    specs: dict[int, InputSpec] = {}
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, onnx.ValueInfoProto):
            from yobx.verification.source_onnx import value_spec

            specs[position] = value_spec(leaf)
        elif is_tensor(leaf) and not hasattr(leaf, "__array__"):
            specs[position] = _described(leaf)
    made = dict(zip(specs, generate(list(specs.values()), seed), strict=True))
    ready = [
        made[i] if i in made else np.asarray(leaf) if is_tensor(leaf) else leaf
        for i, leaf in enumerate(leaves)
    ]
    rebuilt = tree.rebuild(args, ready)
    return tuple(rebuilt)


def _described(leaf: Any) -> Any:
    from yobx.verification.sources import InputSpec

    dtype = getattr(leaf.dtype, "as_numpy_dtype", leaf.dtype)
    shape = getattr(leaf.shape, "as_list", lambda: list(leaf.shape))()
    return InputSpec(getattr(leaf, "name", "") or "", np.dtype(dtype), tuple(shape))


def fill(args: tuple[Any, ...], arrays: Sequence[NDArray[Any]]) -> tuple[Any, ...]:
    """Puts resized arrays into the arguments; constants stay."""
    supply = iter(arrays)
    leaves = [next(supply) if is_tensor(leaf) else leaf for _, leaf in tree.flatten(args)]
    return tuple(tree.rebuild(args, leaves))


def _infer(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, str]]:
    from yobx.onnx_optim import infer_shapes

    return infer_shapes(model), {}


def _symbolic(model: onnx.ModelProto, name: str, run: BindingRun) -> str:
    """``[B=7, 768]``."""
    actual = np.shape(run.actual[name]) if not isinstance(run.actual[name], list) else ()
    declared = next((o for o in model.graph.output if o.name == name), None)
    dims = list(declared.type.tensor_type.shape.dim) if declared is not None else []
    if len(dims) != len(actual):
        return "[" + ", ".join(map(str, actual)) + "]"
    cells = [
        f"{d.dim_param}={n}" if d.dim_param else str(n) for d, n in zip(dims, actual, strict=True)
    ]
    return "[" + ", ".join(cells) + "]"


def _count(output: OutputReport) -> str:
    if output.category == "values" and not output.wrong:
        return output.notes[-1] if output.notes else "systematically off"
    kind = {
        "nan": "NaN in other places",
        "inf": "infinities differ",
        "zero sign": "signs of zeros differ",
    }
    what = kind.get(output.category, "elements differ")
    return f"{output.wrong} of {output.elements} elements, {what}"


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) < 200 else f"{text[:200]}…"
