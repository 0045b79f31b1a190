"""What one check found, as plain data.

Every phase is listed with its outcome, also those that were not reached: a check that was not made
is visible.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from yobx.errors import InternalError
from yobx.phases import PHASES

__all__ = [
    "RANDOM",
    "UNDECIDED",
    "BindingReport",
    "Cause",
    "Findings",
    "Localization",
    "Outcome",
    "OutputReport",
    "PhaseReport",
    "ShapeMismatch",
    "ShapeReport",
    "ShapeRow",
]


RANDOM = "random"
"""Category of an output that is another one each time the source is called."""

UNDECIDED = "undecided"
"""Category of an output that agrees, where rounding alone could explain any other one too."""


class Outcome(enum.StrEnum):
    """What became of a phase."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"
    NOT_REACHED = "not reached"
    NOT_APPLICABLE = "not applicable"


@dataclass
class Cause:
    """What is behind a failure, where that is known: told before anything else.

    Attributes:
        title: What it is, for a headline.
        text: Which value, size or line, in one sentence.
        hint: What to do, or ``""``.
    """

    title: str
    text: str
    hint: str = ""


@dataclass
class PhaseReport:
    """One phase.

    Attributes:
        name: One of `PHASES`.
        outcome: What became of it.
        seconds: Wall time.
        messages: What failed, or what was left out and why.
        error_type: Class name of the exception that ended the phase, or ``""``.
    """

    name: str
    outcome: Outcome = Outcome.NOT_REACHED
    seconds: float = 0.0
    messages: list[str] = field(default_factory=list)
    error_type: str = ""


@dataclass
class OutputReport:
    """Statistics of one compared output under one binding.

    Attributes:
        name: ONNX output name.
        binding: Label of the binding.
        dtype: Dtype of the expected array.
        shape: Concrete shape.
        symbolic_shape: Declared shape, with the values of the symbols: ``[B=7, 768]``.
        outcome: Passed, warning (compared, but the comparison proves little) or failed.
        category: What differs: ``""``, ``dtype``, ``rank``, ``shape``, ``values``, ``nan``,
            ``inf``, ``zero sign``, ``missing``, ``extra``, ``random`` (another one in each call),
            ``undecided`` (no element is off, but rounding alone could explain anything).
        rule: The rule applied, in words.
        elements: Number of elements; 0 means the comparison is vacuous.
        wrong: Number of elements outside their allowance.
        first_index: Index of the first wrong element.
        got: Its value in the converted model.
        want: Its value in the source.
        max_abs: Largest absolute error (float64) and `max_abs_index` where.
        max_rel: Largest relative error.
        ulp: Percentiles 50, 99 and the maximum of the error in units in the last place.
        rms: Root mean square of the error.
        allowed_rms: Root mean square of the error float32 rounding explains, if it was measured.
        budget_used: Largest error divided by its allowance; above 1 is a failure.
        relative_budget: Allowance relative to the spread of the output: how much this comparison
            can see.
        histogram: Pairs (label, count) of absolute errors.
        notes: Anything a reader must know.
        vacuous: Whether there was nothing to compare but dtype, shape and the places of NaN.
    """

    name: str
    binding: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    symbolic_shape: str = ""
    outcome: Outcome = Outcome.PASSED
    category: str = ""
    rule: str = ""
    elements: int = 0
    wrong: int = 0
    first_index: tuple[int, ...] | None = None
    got: str = ""
    want: str = ""
    max_abs: float | None = None
    max_abs_index: tuple[int, ...] | None = None
    max_rel: float | None = None
    ulp: tuple[float, float, float] | None = None
    rms: float | None = None
    allowed_rms: float | None = None
    budget_used: float | None = None
    relative_budget: float | None = None
    histogram: list[tuple[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    vacuous: bool = False

    @property
    def failed(self) -> bool:
        """Whether this output is wrong."""
        return self.outcome is Outcome.FAILED

    @property
    def undecided(self) -> bool:
        """Whether all that fails is that rounding alone could explain the output."""
        return self.failed and self.category == UNDECIDED and not self.wrong

    @property
    def within_rounding(self) -> bool:
        """Whether nothing differs by more than rounding explains."""
        return not self.failed or self.undecided


@dataclass
class ShapeMismatch:
    """One statement about a type or shape that a run refuted.

    Attributes:
        value: Name of the value.
        node: Description of its producer.
        static: What was stated.
        runtime: What came out.
        binding: Label and sizes of the binding.
        message: The whole sentence, naming the dimension.
        kind: ``dtype``, ``rank``, ``shape`` or ``constraint``.
    """

    value: str
    node: str
    static: str
    runtime: str
    binding: str
    message: str
    kind: str = "shape"


@dataclass
class ShapeRow:
    """One value of the table of shapes.

    Attributes:
        value: Its name.
        node: Description of its producer.
        stated: What is stated of it: ``float32 [B, 3]``.
        runtime: What came out, one entry for each binding that gave another.
        state: ``checked``, ``partial``, ``unknown`` or ``refuted``.
    """

    value: str
    node: str
    stated: str
    runtime: list[str]
    state: str


@dataclass
class ShapeReport:
    """How many stated types and shapes were compared with a run.

    Attributes:
        values: Values observed at run time.
        checked: Values whose whole statement (type, rank, every dimension) was confirmed.
        partial: Values with at least one unknown dimension; the known part was confirmed.
        unknown: Values without any statement.
        unobserved: Values inside subgraphs, which a run cannot show.
        mismatches: Refuted statements.
        unknown_values: Names of the values counted in `partial` and `unknown`, the first ones.
        rows: The table in topological order; of a large model those that are not confirmed, and
            the first of the others.
    """

    values: int = 0
    checked: int = 0
    partial: int = 0
    unknown: int = 0
    unobserved: int = 0
    mismatches: list[ShapeMismatch] = field(default_factory=list)
    unknown_values: list[str] = field(default_factory=list)
    rows: list[ShapeRow] = field(default_factory=list)


@dataclass
class BindingReport:
    """One assignment of sizes to the dynamic dimensions.

    Attributes:
        label: ``primes``, ``primes2``, ``ones``, ``sample`` or the user's name.
        sizes: Size of every symbol.
        ran: Whether source and converted model were both run.
        note: Why not, or what was changed.
        told: Whether the phase ``run`` failed for what the note says.
    """

    label: str
    sizes: dict[str, int] = field(default_factory=dict)
    ran: bool = False
    note: str = ""
    told: bool = False


@dataclass
class Localization:
    """The first value that differs, told in the words of the model.

    Attributes:
        value: ONNX value name.
        node: ``#41 Sigmoid "gate"``.
        op_type: ONNX operator.
        source_op: Source operation, or ``""``.
        source_name: Its name in the source graph.
        layer: Layer path, or ``""``.
        user_line: The user's file and line, or ``""``.
        inputs_agree: Whether the inputs of that node still agree; ``None`` when not comparable.
        verdict: ``converter``, ``runtime``, ``source``, ``ill-conditioned`` (each side follows from
            its own inputs, which differ by rounding), ``undecided``.
        reason: The verdict in words.
        compared: How many intermediate values could be compared.
        method: How the values of the source were obtained.
        difference: Statistics of the differing value.
        inputs: Names of the inputs of the node with their state.
        reduced_nodes: Size of the smallest piece that still fails, 0 when none was made.
    """

    value: str = ""
    node: str = ""
    op_type: str = ""
    source_op: str = ""
    source_name: str = ""
    layer: str = ""
    user_line: str = ""
    inputs_agree: bool | None = None
    verdict: str = "undecided"
    reason: str = ""
    compared: int = 0
    method: str = ""
    difference: OutputReport | None = None
    inputs: list[str] = field(default_factory=list)
    reduced_nodes: int = 0


@dataclass
class Findings:
    """Everything one check found.

    Attributes:
        model_name: Name of the model.
        framework: ``keras``, ``tensorflow``, ``jax``, ``onnx`` or an adapter's own name.
        opset: Target opset of the main domain.
        precision: ``source`` or the precision asked for.
        provider: onnxruntime execution provider.
        seed: Seed of generated and resized inputs.
        phases: One entry for each of `PHASES`, in order.
        bindings: The bindings tried.
        outputs: One entry for each output and binding.
        shapes: The shape proof.
        localization: The first differing value, when something differs.
        environment: Versions of the packages that matter.
        nodes: Number of ONNX nodes.
        cause: What is behind the failure, where that is known.
        rerun: Command that repeats the check, when known.
        artifacts: Folder with the model and the arrays, when written.
        notes: Further remarks.
    """

    model_name: str = ""
    framework: str = ""
    opset: int = 0
    precision: str = "source"
    provider: str = "CPUExecutionProvider"
    seed: int = 0
    phases: list[PhaseReport] = field(default_factory=lambda: [PhaseReport(p) for p in PHASES])
    bindings: list[BindingReport] = field(default_factory=list)
    outputs: list[OutputReport] = field(default_factory=list)
    shapes: ShapeReport = field(default_factory=ShapeReport)
    localization: Localization | None = None
    environment: dict[str, str] = field(default_factory=dict)
    nodes: int = 0
    cause: Cause | None = None
    rerun: str = ""
    artifacts: str = ""
    notes: list[str] = field(default_factory=list)

    def phase(self, name: str) -> PhaseReport:
        """The entry of one phase."""
        return self.phases[PHASES.index(name)]

    @property
    def failed_phase(self) -> str:
        """Name of the first failed phase, or ``""``."""
        return next((p.name for p in self.phases if p.outcome is Outcome.FAILED), "")

    @property
    def internal(self) -> bool:
        """Whether the first failed phase was ended by a fault of yobx, not of the model."""
        failed = self.failed_phase
        return bool(failed) and self.phase(failed).error_type == InternalError.__name__

    @property
    def compared(self) -> bool:
        """Whether at least one output was compared with the source."""
        return any(output.category not in {"missing", "extra"} for output in self.outputs)

    @property
    def passed(self) -> bool:
        """Whether no phase failed and something was compared (shapes, if only those apply)."""
        if self.failed_phase:
            return False
        if self.phase("values").outcome is Outcome.NOT_APPLICABLE:
            return self.shapes.values > 0
        return self.compared

    @property
    def seconds(self) -> float:
        """Wall time of all phases."""
        return sum(phase.seconds for phase in self.phases)
