"""What a check leaves behind: the model, the arrays of every run, the findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from yobx.errors import YobxError
from yobx.verification.bindings import Binding
from yobx.verification.report import ConversionReport
from yobx.verification.sources import NamedArray, Source, WideRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx
    from numpy.typing import NDArray

    from yobx.verification.findings import OutputReport
    from yobx.verification.shape_proof import Statement

__all__ = ["BindingRun", "CheckResult", "Reduction"]


@dataclass
class BindingRun:
    """Arrays of one binding.

    Attributes:
        binding: The sizes.
        args: Inputs of the source in its own structure; of a JAX function one by one.
        feeds: Inputs of the ONNX model.
        expected: Outputs of the source.
        actual: Outputs of the optimised ONNX model by name.
        values: Every value of the unoptimised model by name, inputs included; empty where no
            output differs, but for the first run.
        turns: Values inside control flow: one array for each time that it was computed; empty as
            `values` is.
        with_factors: Outputs of the source with factors of the model in the place of its own, where
            these are compared; else ``None``.
        in_float64: The source in float64, if it was asked.
    """

    binding: Binding
    args: tuple[Any, ...]
    feeds: dict[str, NDArray[Any]]
    expected: list[NamedArray]
    actual: dict[str, Any]
    values: dict[str, Any]
    turns: dict[str, list[Any]] = field(default_factory=dict)
    with_factors: list[NamedArray] | None = None
    in_float64: WideRun | None = None

    def release(self) -> None:
        """Forgets what nobody looks at when all outputs agree."""
        self.values, self.turns, self.in_float64 = {}, {}, None

    @property
    def wanted(self) -> list[NamedArray]:
        """What outputs are compared with."""
        return self.expected if self.with_factors is None else self.with_factors

    @property
    def wanted_by_name(self) -> dict[str, Any]:
        """What outputs are compared with, under the names of the converted model."""
        return dict(zip(self.actual, (value for _, value in self.wanted), strict=False))

    @property
    def expected_by_name(self) -> dict[str, Any]:
        """Outputs of the source under the names of the converted model."""
        return dict(zip(self.actual, (value for _, value in self.expected), strict=False))


@dataclass(frozen=True)
class Reduction:
    """The smallest piece of a model that still shows a difference.

    Attributes:
        model: The piece.
        feeds: Its inputs, on which both sides agree.
        expected: What the source has for its output.
    """

    model: onnx.ModelProto
    feeds: dict[str, Any]
    expected: dict[str, Any]


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
        reduced: The smallest piece that still fails, or ``None``.
        compared: Intermediate values that were compared with the source, where one was looked for.
        statements: What is stated of types and shapes.
        observed: The model with the bodies of its functions in place of their calls.
    """

    report: ConversionReport
    model: onnx.ModelProto | None = None
    session: Any = None
    runs: list[BindingRun] = field(default_factory=list)
    error: BaseException | None = None
    source: Source | None = None
    reduced: Reduction | None = None
    compared: Mapping[str, OutputReport] = field(default_factory=dict)
    statements: Sequence[Statement] = ()
    observed: onnx.ModelProto | None = None

    @property
    def outputs(self) -> dict[str, Any]:
        """Outputs of the converted model for the first binding that ran."""
        return self.runs[0].actual if self.runs else {}

    @property
    def expected(self) -> dict[str, Any]:
        """Outputs of the source for the first binding, by ONNX name."""
        return self.runs[0].expected_by_name if self.runs else {}

    def run_under(self, binding: str | None) -> BindingRun | None:
        """The arrays of one binding, as it is described; ``None`` where it did not run."""
        return next((run for run in self.runs if run.binding.describe() == binding), None)

    def raise_if_failed(self) -> None:
        """Raises when the check did not pass, chained to what the model or the converter raised.

        Errors of yobx are not chained: their messages stand in the text.

        Raises:
            VerificationError: With the one-screen text as its message.
        """
        __tracebackhide__ = True  # pytest shows the caller's line
        self.report.raise_if_failed(None if isinstance(self.error, YobxError) else self.error)
