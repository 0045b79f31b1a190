"""One check from end to end, as functions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from yobx.verification.environment import versions
from yobx.verification.evidence import CheckResult
from yobx.verification.judgement import judge
from yobx.verification.options import BindingRequest, CheckKeywords, make_options
from yobx.verification.phases import PhaseLog
from yobx.verification.preparation import Prepared, prepare
from yobx.verification.report import ConversionReport
from yobx.verification.sources import is_onnx
from yobx.verification.tolerances import load_tolerances

__all__ = [
    "PreparedCheck",
    "check_conversion",
    "check_shapes",
    "failed_import",
    "prepare_check",
    "run_check",
]


def check_conversion(
    model: Any, args: Any = None, **options: Unpack[CheckKeywords]
) -> ConversionReport:
    """Converts a model and compares the result with the original.

    Args:
        model: Keras model or layer, TensorFlow function, module or SavedModel, JAX callable,
            ``.keras`` or ``.onnx`` file, or a `ModelProto` with ``reference=``.
        args: Tuple of inputs, as `yobx.tensorflow.to_onnx` takes them; made from the model's
            signature if ``None``.
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


def failed_import(name: str, message: str) -> ConversionReport:
    """The report of a model that there is not, because what makes it raised.

    Args:
        name: Name of the model.
        message: What was raised.

    Returns:
        A report whose phase ``import`` failed.
    """
    report = ConversionReport(model_name=name, environment=versions())
    PhaseLog(CheckResult(report)).fail("import", message)
    return report


def check_shapes(model: Any, args: Any = None, **options: Unpack[CheckKeywords]) -> CheckResult:
    """Compares every stated type and shape with runs of the converted model.

    No values are compared, and the source is not run.

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
        precision=chosen.precision,
        provider=chosen.provider,
        seed=chosen.seed,
        environment=versions(),
        rerun=chosen.rerun,
    )
    result = CheckResult(report)
    return PreparedCheck(result, prepare(model, args, chosen, table, result))


@dataclass
class PreparedCheck:
    """A converted and loaded model.

    Attributes:
        result: What is known before any run.
    """

    result: CheckResult
    _prepared: Prepared | None
    _used: bool = False

    @property
    def ready(self) -> bool:
        """Whether the model can be run."""
        return self._prepared is not None

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
        report = copy.deepcopy(self.result.report)
        if self._used:
            for phase in report.phases:
                phase.seconds = 0.0
        self._used = True
        result = replace(self.result, report=report, runs=[])
        if self._prepared is not None:
            judge(self._prepared, result, bindings, values=values)
        return result
