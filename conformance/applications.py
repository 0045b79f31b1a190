"""The 40 architectures of ``keras.applications``, converted and compared with themselves.

Fresh weights prove little: batch normalisation is the identity, and the output of a deep random
network hardly depends on its input, or amplifies rounding without bound. So every kernel is scaled
by its fan-in, biases, scales and offsets are random, and the statistics of every batch
normalisation are those of the data that reach it. How far the outputs move when the inputs move by
one part in a million says what float32 can be asked for.

Run ``python -m conformance applications`` for all of them, or name some; ``--thorough`` for the
full check, ``--seeds`` for several sets of weights and images. Each architecture gets a process of
its own when several are run, so that its memory is given back.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.processes import Ended, outcomes

if TYPE_CHECKING:
    from rich.console import Console

    from yobx.verification import ConversionReport

__all__ = ["ARCHITECTURES", "Outcome", "build", "check", "settle_statistics"]

#: Name -> smallest image side that all its stages accept; the smallest architectures first.
ARCHITECTURES: dict[str, int] = {
    "MobileNetV3Small": 64,
    "MobileNetV2": 64,
    "MobileNet": 64,
    "MobileNetV3Large": 64,
    "NASNetMobile": 96,
    "EfficientNetB0": 64,
    "EfficientNetV2B0": 64,
    "DenseNet121": 64,
    "EfficientNetB1": 64,
    "EfficientNetV2B1": 64,
    "EfficientNetB2": 64,
    "EfficientNetV2B2": 64,
    "EfficientNetB3": 64,
    "DenseNet169": 64,
    "EfficientNetV2B3": 64,
    "EfficientNetB4": 64,
    "DenseNet201": 64,
    "EfficientNetV2S": 64,
    "Xception": 72,
    "InceptionV3": 96,
    "ResNet50": 64,
    "ResNet50V2": 64,
    "ConvNeXtTiny": 32,
    "EfficientNetB5": 64,
    "VGG16": 32,
    "VGG19": 32,
    "EfficientNetB6": 64,
    "ResNet101": 64,
    "ResNet101V2": 64,
    "ConvNeXtSmall": 32,
    "EfficientNetV2M": 64,
    "InceptionResNetV2": 96,
    "ResNet152": 64,
    "ResNet152V2": 64,
    "EfficientNetB7": 64,
    "NASNetLarge": 96,
    "ConvNeXtBase": 32,
    "EfficientNetV2L": 64,
    "ConvNeXtLarge": 32,
    "ConvNeXtXLarge": 32,
}

#: Outputs may differ by this many times what rounding of the inputs alone makes them differ.
_HEADROOM = 8.0
_FLOOR = 1e-5
#: Images behind the statistics.
_SAMPLES = 64
#: Beyond this the model amplifies rounding so much that agreement would be chance.
_CHAOTIC = 1e-3
#: Below this the outputs of different images are alike, and agreement would say little.
_DULL = 1e-2


@dataclass(frozen=True)
class Outcome:
    """What became of one architecture.

    Attributes:
        name: Name in ``keras.applications``.
        status: ``"pass"``, ``"differs"``, ``"proves nothing"`` (the model amplifies rounding too
            much, or ignores its input), ``"refuted"`` (by the thorough check), or the
            class of the error.
        max_abs: Greatest absolute difference.
        max_rel: Greatest difference, relative to the greatest output of its row.
        sensitivity: ``max_rel`` of the model with itself when its inputs move by 1e-6.
        nodes: Number of ONNX nodes.
        seconds: Seconds for tracing and converting.
        message: What went wrong, or ``""``.
        seed: Seed of weights, images and noise.
        check_seconds: Seconds of the thorough check, of all its phases.
        budget_used: Greatest error of the thorough check, as a share of its allowance.
        rms_used: Greatest root mean square error, as a share of its allowance.
        relative_budget: Greatest allowance, as a share of the output's own spread.
    """

    name: str
    status: str
    max_abs: float = float("nan")
    max_rel: float = float("nan")
    sensitivity: float = float("nan")
    nodes: int = 0
    seconds: float = float("nan")
    message: str = ""
    seed: int = 0
    check_seconds: float = float("nan")
    budget_used: float = float("nan")
    rms_used: float = float("nan")
    relative_budget: float = float("nan")


def build(name: str, *, seed: int = 0, side: int | None = None) -> Any:
    """Builds an architecture with random weights and matching statistics.

    Args:
        name: Name in ``keras.applications``.
        seed: Seed of the weights and of the images behind the statistics.
        side: Image side; by default the smallest that the architecture accepts.

    Returns:
        The Keras model, with 10 classes and no final activation.
    """
    import keras

    side = side or ARCHITECTURES[name]
    maker: Callable[..., Any] = getattr(keras.applications, name)
    model = maker(
        weights=None,
        input_shape=(side, side, 3),
        classes=10,
        classifier_activation=None,
    )
    rng = np.random.default_rng(seed)
    additions = sum(isinstance(layer, keras.layers.Add) for layer in model.layers)
    # All residual branches together weigh as much as what they are added to; otherwise a hundred of
    # them amplify rounding beyond all measure.
    branch = 1 / np.sqrt(max(additions, 1))
    for layer in _layers(model):
        for variable in layer.weights:
            variable.assign(_random(layer, variable, rng, branch))
    settle_statistics(model, images(_SAMPLES, side, seed=seed + 1))
    return model


def images(count: int, side: int, *, seed: int) -> np.ndarray[Any, Any]:
    """Makes images of shape ``(count, side, side, 3)`` whose means do not average out.

    Args:
        count: How many.
        side: Image side.
        seed: Seed.
    """
    rng = np.random.default_rng(seed)
    base = rng.uniform(0, 255, size=(count, 1, 1, 3))
    coarse = rng.uniform(-60, 60, size=(count, side // 8 + 1, side // 8 + 1, 3))
    coarse = coarse.repeat(8, axis=1).repeat(8, axis=2)[:, :side, :side]
    fine = rng.normal(scale=15, size=(count, side, side, 3))
    return np.clip(base + coarse + fine, 0, 255).astype(np.float32)


def _layers(model: Any) -> list[Any]:
    """Lists the layers that hold weights themselves, in order."""
    import keras

    found: list[Any] = []
    for layer in model.layers:
        found.extend(_layers(layer) if isinstance(layer, keras.Model) else [layer])
    return found


def _random(
    layer: Any, variable: Any, rng: np.random.Generator, branch: float
) -> np.ndarray[Any, Any]:
    shape = tuple(variable.shape)
    name = variable.name
    if "variance" in name or "gamma" in name:
        # Layer scale (ConvNeXt) has a gamma too.
        return rng.uniform(0.6, 1.4, size=shape) * (branch if _feeds_addition(layer) else 1.0)
    if "kernel" in name and len(shape) > 1:
        depthwise = "depthwise" in name or "Depthwise" in type(layer).__name__
        fan_in = int(np.prod(shape[:-2] if depthwise else shape[:-1]))
        return rng.normal(scale=np.sqrt(1.6 / fan_in), size=shape)
    return rng.normal(scale=0.1, size=shape)


def _feeds_addition(layer: Any) -> bool:
    """Tells whether a layer is the last one with weights of a residual branch."""
    import keras

    users = [node.operation for node in layer._outbound_nodes]
    return any(
        isinstance(user, keras.layers.Add)
        or (isinstance(user, keras.layers.Dropout) and _feeds_addition(user))
        for user in users
    )


def settle_statistics(model: Any, data: np.ndarray[Any, Any]) -> None:
    """Sets the statistics of every normalisation to those of the data that reach it.

    One pass in training mode with momentum 0 puts the batch's own mean and variance there; each
    layer sees what the layers before it make with the same statistics. Dropout is off meanwhile:
    at inference nothing is dropped.

    Args:
        model: A Functional model, changed in place.
        data: A batch of inputs.
    """
    import keras

    for layer in _layers(model):
        if isinstance(layer, keras.layers.Normalization):
            # It comes after the rescaling of pixels to 0..1.
            layer.mean = layer.mean * 0.0 + 0.5
            layer.variance = layer.variance * 0.0 + 0.06
    normalisations = [
        layer for layer in _layers(model) if isinstance(layer, keras.layers.BatchNormalization)
    ]
    dropouts = [layer for layer in _layers(model) if isinstance(layer, keras.layers.Dropout)]
    momenta = [layer.momentum for layer in normalisations]
    rates = [layer.rate for layer in dropouts]
    for layer in normalisations:
        layer.momentum = 0.0
    for layer in dropouts:
        layer.rate = 0.0
    model(data, training=True)
    for layer, rate in zip(dropouts, rates, strict=True):
        layer.rate = rate
    for layer, momentum in zip(normalisations, momenta, strict=True):
        layer.momentum = momentum
        # A sample varies a little less than what it is a sample of, which a hundred layers make a
        # factor of a hundred; and a channel that hardly varies here would be amplified without
        # bound for other images.
        variance = np.asarray(layer.moving_variance) * 1.1
        layer.moving_variance.assign(np.maximum(variance, 0.1 * variance.mean() + 1e-6))


def check(name: str, *, seed: int = 0, thorough: bool = False) -> Outcome:
    """Converts one architecture and compares it at two batch sizes.

    Args:
        name: Name in ``keras.applications``.
        seed: Seed of weights and data.
        thorough: Also run :func:`yobx.verification.check_conversion`, which compares the inferred
            type and shape of every value with those of a run, at several batch sizes.

    Returns:
        What became of it; it raises nothing that the conversion or the run raises.
    """
    import keras
    import onnxruntime

    from yobx.errors import YobxError
    from yobx.tensorflow import to_onnx

    keras.backend.clear_session()
    model = build(name, seed=seed)
    side = ARCHITECTURES[name]
    data = images(3, side, seed=seed + 7)
    start = time.perf_counter()
    try:
        onx = to_onnx(model, (data,))
    except YobxError as error:
        return Outcome(name, type(error).__name__, message=str(error), seed=seed)
    seconds = time.perf_counter() - start
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        onx.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    feed = onx.graph.input[0].name
    noise = 1 + 1e-6 * np.sign(np.random.default_rng(seed).normal(size=data.shape))
    moved = model(data * noise.astype(np.float32), training=False).numpy()
    wanted = model(data, training=False).numpy()
    sensitivity = _relative(moved, wanted)
    worst_abs = worst_rel = 0.0
    for batch in (data, data[:1]):
        got = session.run(None, {feed: batch})[0]
        want = wanted[: len(batch)]
        if got.shape != want.shape or got.dtype != want.dtype:
            shown = f"{got.dtype}{got.shape}"
            return Outcome(name, "differs", message=shown, seconds=seconds, seed=seed)
        worst_abs = max(worst_abs, float(np.abs(got - want).max()))
        worst_rel = max(worst_rel, _relative(got, want))
    allowed = max(_FLOOR, _HEADROOM * sensitivity)
    status = "pass" if worst_rel <= allowed else "differs"
    spread = float(wanted.std(axis=0).max() / np.abs(wanted).max())
    if sensitivity > _CHAOTIC or spread < _DULL:
        status = "proves nothing"
    outcome = Outcome(
        name,
        status,
        worst_abs,
        worst_rel,
        sensitivity,
        len(onx.graph.node),
        seconds,
        seed=seed,
    )
    return _thorough(outcome, model, data) if thorough and status == "pass" else outcome


def _thorough(outcome: Outcome, model: Any, data: np.ndarray[Any, Any]) -> Outcome:
    """Adds what a full check says."""
    from yobx.verification import check_conversion

    start = time.perf_counter()
    report = check_conversion(model, (data,), seed=outcome.seed)
    elapsed = time.perf_counter() - start
    return replace(
        outcome,
        status=outcome.status if report.passed else "refuted",
        message="" if report.passed else report.text(),
        check_seconds=elapsed,
        budget_used=_greatest(report, lambda o: o.budget_used),
        rms_used=_greatest(report, lambda o: (o.rms or 0.0) / (o.allowed_rms or np.inf)),
        relative_budget=_greatest(report, lambda o: o.relative_budget),
    )


def _greatest(report: ConversionReport, read: Callable[[Any], float | None]) -> float:
    return max((read(output) or 0.0 for output in report.outputs), default=float("nan"))


def _relative(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> float:
    scale = np.abs(want).max(axis=-1, keepdims=True)
    return float((np.abs(got.astype(np.float64) - want) / scale).max())


def outcomes_of(
    names: Sequence[str], seeds: Sequence[int], *, thorough: bool
) -> Iterator[list[Outcome]]:
    """Runs architectures, each in a process of its own when there are several.

    Args:
        names: Names in ``keras.applications``.
        seeds: Seeds of weights, images and noise.
        thorough: As for :func:`check`.

    Yields:
        The outcomes of one architecture, one a seed.
    """
    if len(names) == 1:
        yield [check(names[0], seed=seed, thorough=thorough) for seed in seeds]
        return
    work = functools.partial(_check, thorough=thorough)
    pairs = [(name, seed) for name in names for seed in seeds]
    results = outcomes(work, pairs, life=len(seeds))
    for name in names:
        found = [result for _, result in itertools.islice(results, len(seeds))]
        yield [
            Outcome(name, "crash", message=f"exit code {one.code}", seed=seed)
            if isinstance(one, Ended)
            else one
            for one, seed in zip(found, seeds, strict=True)
        ]


def _check(case: tuple[str, int], *, thorough: bool) -> Outcome:
    name, seed = case
    return check(name, seed=seed, thorough=thorough)


def declare(parser: argparse.ArgumentParser) -> None:
    """Declares the command line."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="architectures, by default all")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the first seed")
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="sets of weights and images for each"
    )
    parser.add_argument(
        "--thorough", action="store_true", help="also compare every shape, at more batch sizes"
    )
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="append one JSON line for each outcome"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Runs the architectures of a command line, all by default, and prints a table.

    Args:
        options: As :func:`declare` declares them.
        console: Where to print.

    Returns:
        0 if all pass, 1 if one does not, 2 if one is unknown.
    """
    unknown = [name for name in options.names if name not in ARCHITECTURES]
    if unknown:
        console.print(f"no such architecture: {', '.join(unknown)}")
        return 2
    seeds = range(options.seed, options.seed + options.seeds)
    found: list[Outcome] = []
    names = options.names or list(ARCHITECTURES)
    for some in outcomes_of(names, seeds, thorough=options.thorough):
        found += some
        for outcome in some:
            console.print(
                f"{outcome.name} seed {outcome.seed}: {outcome.status} {outcome.message[:300]}"
            )
        if options.results is not None:
            with options.results.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(outcome)) + "\n" for outcome in some)
    console.print(_table(found))
    passed = sum(outcome.status == "pass" for outcome in found)
    console.print(f"{passed} of {len(found)} pass")
    return 0 if passed == len(found) else 1


def _table(outcomes: Sequence[Outcome]) -> Any:
    from rich.table import Table

    table = Table(
        "architecture",
        "seed",
        "status",
        "max abs",
        "max rel",
        "1e-6 moves",
        "nodes",
        "seconds",
        "check",
        "budget",
        "rms",
    )
    for outcome in outcomes:
        table.add_row(
            outcome.name,
            str(outcome.seed),
            outcome.status,
            f"{outcome.max_abs:.1e}",
            f"{outcome.max_rel:.1e}",
            f"{outcome.sensitivity:.1e}",
            str(outcome.nodes),
            f"{outcome.seconds:.2f}",
            f"{outcome.check_seconds:.1f}",
            f"{outcome.budget_used:.0%}",
            f"{outcome.rms_used:.0%}",
        )
    return table
