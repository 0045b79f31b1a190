"""The options of one check: those of a conversion, and those of the comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypedDict

from yobx.errors import ArgumentError
from yobx.words import did_you_mean

__all__ = ["CONVERSION", "BindingRequest", "CheckKeywords", "CheckOptions", "make_options"]

BindingRequest = str | Mapping[str, int]

PRECISIONS = ("source", "float16", "bfloat16", "float32", "float64")
TOLERANCE_CLASSES = ("auto", "exact", "rounded", "transcendental", "measured")

#: Options that are handed to the conversion as they are.
CONVERSION = (
    "kwargs",
    "input_names",
    "dynamic_shapes",
    "target_opset",
    "extra_converters",
    "verbose",
    "filename",
    "passes",
    "signature",
    "tag",
    "allow_unsafe",
    "constraints",
)


class CheckKeywords(TypedDict, total=False):
    """Keyword arguments of `check_conversion`; see `CheckOptions` for their meaning."""

    kwargs: Mapping[str, Any] | None
    input_names: Sequence[str] | None
    dynamic_shapes: Any
    target_opset: int | Mapping[str, int] | None
    extra_converters: Mapping[str, Callable[..., Any]] | None
    verbose: int
    filename: str | Path | None
    passes: Sequence[Callable[[Any], Any]] | None
    signature: str | None
    tag: str | Sequence[str] | None
    allow_unsafe: bool
    constraints: Sequence[str]
    reference: Any
    name: str
    bindings: Sequence[BindingRequest] | BindingRequest | None
    seed: int
    precision: str
    provider: str
    tolerance_class: str
    tolerance_scale: float
    tolerances: str | Path | None
    localize: bool
    rerun: str


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """How a model is converted and compared.

    Attributes:
        kwargs: As for `yobx.tensorflow.to_onnx`, like the following ones.
        input_names: One name an input.
        dynamic_shapes: Which axes are dynamic.
        target_opset: Opset of the converted model.
        extra_converters: Converters of your own.
        verbose: Verbosity of the conversion.
        filename: Where the conversion writes the model.
        passes: Graph passes of the conversion.
        signature: Signature of a SavedModel.
        tag: Tag of a SavedModel.
        allow_unsafe: Whether a Keras archive may run code that it contains.
        constraints: For JAX: what holds between symbolic sizes.
        reference: For a ready ONNX model: a callable over numpy arrays, or another ONNX model.
        name: Name of the model in the report.
        bindings: Sizes of the dynamic axes to try: ``primes``, ``primes2``, ``ones``, ``zeros``,
            ``sample``, or dicts symbol -> size. By default the first three.
        seed: Seed of generated and resized inputs and of the measurement of rounding.
        precision: Dtype the float inputs are given in, or ``source`` for the dtype they have.
        provider: onnxruntime execution provider.
        tolerance_class: Rule for float outputs: ``auto`` for that of their operators, ``exact``,
            ``rounded`` or ``transcendental`` for so many units in the last place, ``measured`` for
            what rounding explains.
        tolerance_scale: Factor on every float allowance.
        tolerances: Another tolerance table.
        localize: Whether the first differing value is looked for when something differs.
        rerun: Command that repeats this check, for the report.
    """

    kwargs: Mapping[str, Any] | None = None
    input_names: Sequence[str] | None = None
    dynamic_shapes: Any = None
    target_opset: int | Mapping[str, int] | None = None
    extra_converters: Mapping[str, Callable[..., Any]] | None = None
    verbose: int = 0
    filename: str | Path | None = None
    passes: Sequence[Callable[[Any], Any]] | None = None
    signature: str | None = None
    tag: str | Sequence[str] | None = None
    allow_unsafe: bool = False
    constraints: Sequence[str] = ()
    reference: Any = None
    name: str = ""
    bindings: Sequence[BindingRequest] | BindingRequest | None = None
    seed: int = 0
    precision: str = "source"
    provider: str = "CPUExecutionProvider"
    tolerance_class: str = "auto"
    tolerance_scale: float = 1.0
    tolerances: str | Path | None = None
    localize: bool = True
    rerun: str = ""

    def __post_init__(self) -> None:
        """Checks what is not checked where it is used.

        Raises:
            ArgumentError: If the seed, precision or tolerance class is not one, or if there is no
                binding.
        """
        for name, choices in (("precision", PRECISIONS), ("tolerance_class", TOLERANCE_CLASSES)):
            if getattr(self, name) not in choices:
                raise ArgumentError(
                    f"{name} is one of {', '.join(choices)}. Received: {getattr(self, name)!r}.",
                    argument=name,
                )
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            raise ArgumentError(
                f"a seed is an integer, 0 or more. Received: seed={self.seed!r}.", argument="seed"
            )

        self._check_bindings(self.bindings)

    @staticmethod
    def _check_bindings(asked: object) -> None:
        if asked is None or isinstance(asked, (str, Mapping)):
            return
        if not isinstance(asked, Sequence) or not all(isinstance(a, (str, Mapping)) for a in asked):
            raise ArgumentError(
                "bindings is a list of names of choices and of dicts symbol -> size. Received: "
                f"bindings={asked!r}.",
                argument="bindings",
                hint="Try bindings=['primes', {'batch': 7}].",
            )
        if not asked:
            raise ArgumentError(
                "at least one binding is needed to run a model. Received: bindings=[].",
                argument="bindings",
                hint="Leave it out for those of the default.",
            )

    def conversion(self) -> dict[str, Any]:
        """The options that differ from their default, for ``to_onnx``."""
        defaults = {f.name: f.default for f in fields(self)}
        values = {key: getattr(self, key) for key in CONVERSION}
        return {key: value for key, value in values.items() if value is not defaults[key]}

    def binding_requests(self) -> Sequence[BindingRequest] | None:
        """The bindings as a sequence; ``None`` for the automatic ones."""
        if self.bindings is None:
            return None
        return [self.bindings] if isinstance(self.bindings, (str, Mapping)) else list(self.bindings)


def make_options(keywords: Mapping[str, Any]) -> CheckOptions:
    """Makes options of keyword arguments.

    Args:
        keywords: Keyword arguments.

    Returns:
        The options.

    Raises:
        ArgumentError: If a keyword is unknown; the valid ones are listed.
    """
    valid = [f.name for f in fields(CheckOptions)]
    unknown = [key for key in keywords if key not in valid]
    if unknown:
        near = did_you_mean(unknown[0], valid, shown=str)
        raise ArgumentError(
            f"unknown option {unknown[0]!r}.",
            argument=unknown[0],
            hint=f"{near}{' ' * bool(near)}The options are: {', '.join(valid)}.",
        )
    return CheckOptions(**keywords)
