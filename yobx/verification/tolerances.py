"""The tolerance table, read from ``tolerances.toml`` and checked when it is read."""

from __future__ import annotations

import functools
import math
import numbers
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from onnx import NodeProto, defs, helper

from yobx.errors import ArgumentError
from yobx.verification.provenance import Operation, operation_of

__all__ = ["CLASSES", "Tolerance", "ToleranceException", "Tolerances", "load_tolerances"]

# From the strictest to the loosest; the class of a value is the loosest among its ancestors.
CLASSES = ("exact", "rounded", "transcendental", "composite", "contraction")


@dataclass(frozen=True)
class ToleranceException:
    """One documented exception to the class of an operator.

    Attributes:
        op: ONNX operator, ``""`` for an exception of an operation of the source.
        dtype: Dtype it applies to.
        provider: Execution provider it applies to.
        side: Which side is less exact than the class of the operator: ``runtime``,
            ``source`` or ``both``.
        source: The only source it applies to, ``""`` for all.
        versions: Package -> version that it was measured with.
        absolute: Absolute error allowed on the operator's direct result.
        ulp: Units in the last place allowed there, where that is more than its class allows.
        rms: Root mean square of that error, which the noise of a model adds; of an operation of the
            source with `ulp` that of the relative error, in machine epsilons.
        reason: Why.
        attributes: Attributes that the operator has to have.
        inputs_from: Magnitude that the largest element of the operator's input has to reach.
        operation: Operation of the source, the type of one of TensorFlow or a primitive of JAX.
    """

    op: str
    dtype: str
    provider: str
    side: str
    source: str
    versions: Mapping[str, str]
    absolute: float
    ulp: float
    rms: float
    reason: str
    attributes: Mapping[str, object] = field(default_factory=dict)
    inputs_from: float = 0.0
    operation: str = ""

    @property
    def subject(self) -> str:
        """What it is an exception of, in words."""
        return self.operation or self.op

    def tells_of(self, node: NodeProto, dtype: str, largest: float | None) -> bool:
        """Whether an operator is such a one; its largest input may be unknown."""
        if (self.op, self.dtype) != (node.op_type, dtype) or node.domain not in {"", "ai.onnx"}:
            return False
        if largest is not None and largest < self.inputs_from:
            return False
        return all(_attribute(node, name) == value for name, value in self.attributes.items())


@dataclass(frozen=True)
class Tolerance:
    """A relative and an absolute tolerance.

    Attributes:
        rtol: Times the magnitude of the expected value.
        atol: Absolute part.
    """

    rtol: float
    atol: float


@dataclass(frozen=True)
class Tolerances:
    """The table.

    Attributes:
        ulp: ULP allowed by class.
        narrow: The same for dtypes that have a row of their own.
        factor: Factor of the contraction bound.
        factorisation: What a factorisation may be off when it is put together again, times size,
            machine epsilon and Frobenius norm of the matrix.
        near: ULP by dtype that a source may be off itself, computed in float64.
        apart: Allowances that two runs of a source may be apart, for a model to lie between them.
        resemblance: Share of a magnitude that two runs of one source may be apart.
        nearer: Share of the other side's distance to float64 below which a side is right.
        shown: Share of a difference above which a piece of a graph still shows it.
        noise: Noise amplitude by class, in `u`.
        narrow_noise: The same in types of 16 bits, of those classes where it differs.
        narrow_sums: Operations of the source that add up in the 16 bits they are given.
        one_function: Operations of the source that are one function, whatever stands for them.
        runs: Noisy runs for each binding.
        again: Noisy runs where a few elements are off.
        few: Share of the elements of an output that is a few.
        elementwise: Measured standard deviations allowed for an element.
        inside: Factor on it for values that only tell where a fault is.
        rms: Measured standard deviations allowed for the root mean square.
        rms_of_few: The same by number of elements, from one, where it is measured again.
        unlike: Ratio of the typical deviation and that of an element itself, above which the first
            says nothing of the second.
        some: Elements of which a median says what is typical.
        rare: Share of elements that move, below which those that stand still are unlike them.
        bent: Ratio of deviations under noise about as small as rounding, and under larger noise
            scaled back, above which a value does not move in proportion.
        weak: Share of the output's spread above which an allowance proves little.
        blind: Share above which it proves nothing.
        same_ulp: Units in the last place within which both sides are one value all the same.
        same_share: The same, as a share of how far the elements typically are from their median.
        turns: Turns that a loop of a noisy run may take, where the model itself takes no more.
        fallback: Tolerances by dtype when nothing can be measured.
        exceptions: Documented exceptions.
        classes: Class of every listed operator.
        scattered: Class of a scatter by its reduction; one that is not listed is exact.
        zero_sign_free: Operators that leave the sign of a zero open.
        scale: Factor the user asked for; multiplies every float allowance.
    """

    ulp: Mapping[str, float]
    narrow: Mapping[str, Mapping[str, float]]
    factor: float
    factorisation: float
    near: Mapping[str, float]
    apart: float
    resemblance: float
    nearer: float
    shown: float
    noise: Mapping[str, float]
    narrow_noise: Mapping[str, float]
    narrow_sums: frozenset[str]
    one_function: frozenset[str]
    runs: int
    again: int
    few: float
    elementwise: float
    inside: float
    rms: float
    rms_of_few: tuple[float, ...]
    unlike: float
    some: int
    rare: float
    bent: float
    weak: float
    blind: float
    same_ulp: float
    same_share: float
    turns: int
    fallback: Mapping[str, Tolerance]
    exceptions: tuple[ToleranceException, ...]
    classes: Mapping[str, str]
    scattered: Mapping[str, str]
    zero_sign_free: frozenset[str]
    scale: float = 1.0

    def rms_limit(self, elements: int, runs: int) -> float:
        """Deviations that the root mean square of an output may be off, from that many runs."""
        if runs >= self.again and 0 < elements <= len(self.rms_of_few):
            return self.rms_of_few[elements - 1]
        return self.rms

    def class_of(self, domain: str, op_type: str) -> str:
        """Class of an operator; one that is not listed is transcendental."""
        if domain not in {"", "ai.onnx"}:
            return "transcendental"
        return self.classes.get(op_type, "transcendental")

    def is_listed(self, domain: str, op_type: str) -> bool:
        """Whether the table names the operator."""
        return domain in {"", "ai.onnx"} and op_type in self.classes

    def units(
        self,
        label: str,
        dtype: str,
        node: NodeProto | None = None,
        largest: float | None = None,
    ) -> float:
        """Units in the last place that a class, or an exception of an operator, allows.

        Args:
            label: The class.
            dtype: Dtype of the result.
            node: The operator, for its exceptions.
            largest: The largest magnitude of its input, if that is known.
        """
        usual = self.narrow.get(label, {}).get(dtype, self.ulp[label])
        return max((usual, *(e.ulp for e in self._told(node, dtype, largest)))) * self.scale

    def absolute(self, node: NodeProto | None, dtype: str, largest: float | None) -> float:
        """Absolute error a documented exception allows on the operator's direct result, else 0."""
        return max((e.absolute for e in self._told(node, dtype, largest)), default=0.0)

    def deviation(self, node: NodeProto, dtype: str, largest: float | None) -> float:
        """Root mean square of the error of a documented exception, else 0."""
        return max((e.rms for e in self._told(node, dtype, largest)), default=0.0)

    def of_operation(self, operation: Operation | None, dtype: str) -> list[ToleranceException]:
        """The exceptions of an operation of the source whose results have that dtype."""
        kind = operation.kind if operation is not None else ""
        return [e for e in self.exceptions if kind and (e.operation, e.dtype) == (kind, dtype)]

    def _told(
        self, node: NodeProto | None, dtype: str, largest: float | None
    ) -> list[ToleranceException]:
        if node is None:
            return []
        return [e for e in self.exceptions if e.tells_of(node, dtype, largest)]

    def applying(self, provider: str, framework: str) -> Tolerances:
        """The same table with those exceptions alone that apply to a provider and a source."""
        source = "tensorflow" if framework == "keras" else framework
        kept = (e for e in self.exceptions if e.provider == provider)
        return replace(self, exceptions=tuple(e for e in kept if e.source in {"", source}))

    def outdated(self, nodes: Iterable[NodeProto], versions: Mapping[str, str]) -> list[str]:
        """Sentences on exceptions for some operators that other versions were measured with."""
        nodes = list(nodes)
        met = {node.op_type for node in nodes}
        operations = {own.kind for own in map(operation_of, nodes) if own is not None}
        found = (
            f"the documented exception of {e.subject} in {e.dtype} was measured with {package} "
            f"{measured}; here is {versions.get(package, 'none')}"
            for e in self.exceptions
            for package, measured in e.versions.items()
            if (e.op in met or e.operation in operations) and versions.get(package) != measured
        )
        return list(dict.fromkeys(found))

    def scaled(self, scale: object) -> Tolerances:
        """The same table with every float allowance multiplied.

        Raises:
            ArgumentError: If `scale` is not a positive finite number.
        """
        factor = float(scale) if isinstance(scale, numbers.Real) else math.nan
        if not 0 < factor < math.inf:
            raise ArgumentError(
                f"a tolerance scale is a positive number. Received: tolerance_scale={scale!r}.",
                argument="tolerance_scale",
            )
        return replace(self, scale=factor)


def load_tolerances(path: str | Path | None = None, *, scale: float = 1.0) -> Tolerances:
    """Reads the table.

    Args:
        path: A file of the same layout; the shipped one by default.
        scale: Factor on every float allowance.

    Returns:
        The table.

    Raises:
        ArgumentError: If the file cannot be read or is not such a table.
    """
    if path is None:
        return _shipped().scaled(scale)
    try:
        text = Path(path).read_text(encoding="utf-8")
        return _parse(tomllib.loads(text)).scaled(scale)
    except OSError as error:
        raise ArgumentError(
            f"a tolerance file can be read. Received: tolerances={str(path)!r}: {error.strerror}.",
            argument="tolerances",
        ) from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        message = (
            "a tolerance file must have the layout of yobx/verification/tolerances.toml. "
            f"Received: {path}: {error!r}."
        )
        raise ArgumentError(message, argument="tolerances") from error


def _attribute(node: NodeProto, name: str) -> object:
    """An attribute of an operator of ONNX, its default where the node has none."""
    default = defs.get_schema(node.op_type).attributes[name].default_value
    found = next((a for a in node.attribute if a.name == name), default)
    value = helper.get_attribute_value(found)
    return value.decode() if isinstance(value, bytes) else value


@functools.cache
def _shipped() -> Tolerances:
    text = files("yobx.verification").joinpath("tolerances.toml").read_text(encoding="utf-8")
    return _parse(tomllib.loads(text))


def _exception(row: Mapping[str, Any]) -> ToleranceException:
    subject = f"exception of {row.get('operation') or row['op']}"
    of_source = "operation" in row
    if row["side"] not in {"runtime", "source", "both"}:
        raise KeyError(f"{subject}: side is runtime, source or both")
    if ("source" in row) != (of_source or row["side"] == "source"):
        raise KeyError(f"{subject}: the name of a source goes with side = source or an operation")
    if of_source and not row.keys().isdisjoint({"op", "attributes", "inputs_from"}):
        raise KeyError(f"{subject}: an operation of the source is told without an operator of ONNX")
    for name in row.get("attributes", {}):
        if not defs.has(row["op"]) or name not in defs.get_schema(row["op"]).attributes:
            raise KeyError(f"{subject}: it has no attribute {name}")
    return ToleranceException(
        op=row.get("op", ""),
        dtype=row["dtype"],
        provider=row["provider"],
        side=row["side"],
        source=row.get("source", ""),
        versions=dict(row["versions"]),
        absolute=float(row.get("absolute", 0.0)),
        ulp=float(row.get("ulp", 0.0)),
        rms=float(row.get("rms", 0.0)),
        reason=row["reason"],
        attributes=dict(row.get("attributes", {})),
        inputs_from=float(row.get("inputs_from", 0.0)),
        operation=row.get("operation", ""),
    )


_NOISES = (
    "rounded",
    "transcendental",
    "contraction",
    "sums",
    "weights",
    "composite",
    "inputs",
    "factor",
)


def _parse(data: Mapping[str, Any]) -> Tolerances:
    classes: dict[str, str] = {}
    for label in ("exact", "rounded", "composite", "contraction"):
        for op_type in data["operators"][label]:
            if op_type in classes:
                raise KeyError(f"{op_type} is listed twice")
            classes[op_type] = label
    model = data["model"]
    for name in _NOISES:
        if name not in model["noise"]:
            raise KeyError(f"model.noise.{name}")
    exceptions = tuple(map(_exception, data.get("exception", ())))
    return Tolerances(
        ulp={name: float(row["ulp"]) for name, row in data["class"].items() if "ulp" in row},
        narrow={
            name: {dtype: float(ulp) for dtype, ulp in row.get("narrow", {}).items()}
            for name, row in data["class"].items()
        },
        factor=float(data["class"]["contraction"]["factor"]),
        factorisation=float(data["factorisation"]["factor"]),
        near={dtype: float(ulp) for dtype, ulp in data["wide_source"]["near"].items()},
        apart=float(data["wide_source"]["apart"]),
        resemblance=float(data["resemblance"]["share"]),
        nearer=float(data["verdict"]["nearer"]),
        shown=float(data["verdict"]["shown"]),
        noise={
            name: float(value)
            for name, value in model["noise"].items()
            if name not in {"narrow", "narrow_sums", "one_function"}
        },
        narrow_noise={k: float(value) for k, value in model["noise"]["narrow"].items()},
        narrow_sums=frozenset(model["noise"]["narrow_sums"]["operations"]),
        one_function=frozenset(model["noise"]["one_function"]["operations"]),
        runs=int(model["runs"]),
        again=int(model["again"]),
        few=float(model["few"]),
        elementwise=float(model["elementwise"]),
        inside=float(model["inside"]),
        rms=float(model["rms"]),
        rms_of_few=tuple(float(value) for value in model["rms_of_few"]),
        unlike=float(model["unlike"]),
        some=int(model["some"]),
        rare=float(model["rare"]),
        bent=float(model["bent"]),
        weak=float(model["weak"]),
        blind=float(model["blind"]),
        same_ulp=float(model["same_ulp"]),
        same_share=float(model["same_share"]),
        turns=int(model["turns"]),
        fallback={
            name: Tolerance(float(row["rtol"]), float(row["atol"]))
            for name, row in data["fallback"].items()
            if name != "reason"
        },
        exceptions=exceptions,
        classes=classes,
        scattered=dict(data["operators"]["scattered"]),
        zero_sign_free=frozenset(data["operators"]["zero_sign_free"]),
    )
