"""The 40 architectures of ``keras.applications``, converted and compared with themselves.

Fresh weights prove little: batch normalisation is the identity, and the output of a deep random
network hardly depends on its input, or amplifies rounding without bound. So every kernel is scaled
by its fan-in, biases, scales and offsets are random, and the statistics of every batch
normalisation are those of the data that reach it. How far the outputs move when the inputs move by
one part in a million says what float32 can be asked for.

Run ``python -m conformance.applications`` for all of them, or name some.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ARCHITECTURES", "Outcome", "build", "check", "settle_statistics"]

#: Name -> smallest image side that all its stages accept.
ARCHITECTURES: dict[str, int] = {
    "ConvNeXtBase": 32,
    "ConvNeXtLarge": 32,
    "ConvNeXtSmall": 32,
    "ConvNeXtTiny": 32,
    "ConvNeXtXLarge": 32,
    "DenseNet121": 64,
    "DenseNet169": 64,
    "DenseNet201": 64,
    "EfficientNetB0": 64,
    "EfficientNetB1": 64,
    "EfficientNetB2": 64,
    "EfficientNetB3": 64,
    "EfficientNetB4": 64,
    "EfficientNetB5": 64,
    "EfficientNetB6": 64,
    "EfficientNetB7": 64,
    "EfficientNetV2B0": 64,
    "EfficientNetV2B1": 64,
    "EfficientNetV2B2": 64,
    "EfficientNetV2B3": 64,
    "EfficientNetV2L": 64,
    "EfficientNetV2M": 64,
    "EfficientNetV2S": 64,
    "InceptionResNetV2": 96,
    "InceptionV3": 96,
    "MobileNet": 64,
    "MobileNetV2": 64,
    "MobileNetV3Large": 64,
    "MobileNetV3Small": 64,
    "NASNetLarge": 96,
    "NASNetMobile": 96,
    "ResNet101": 64,
    "ResNet101V2": 64,
    "ResNet152": 64,
    "ResNet152V2": 64,
    "ResNet50": 64,
    "ResNet50V2": 64,
    "VGG16": 32,
    "VGG19": 32,
    "Xception": 72,
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
    """

    name: str
    status: str
    max_abs: float = float("nan")
    max_rel: float = float("nan")
    sensitivity: float = float("nan")
    nodes: int = 0
    seconds: float = float("nan")
    message: str = ""


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
        return Outcome(name, type(error).__name__, message=str(error))
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
            return Outcome(name, "differs", message=f"{got.dtype}{got.shape}", seconds=seconds)
        worst_abs = max(worst_abs, float(np.abs(got - want).max()))
        worst_rel = max(worst_rel, _relative(got, want))
    allowed = max(_FLOOR, _HEADROOM * sensitivity)
    status = "pass" if worst_rel <= allowed else "differs"
    spread = float(wanted.std(axis=0).max() / np.abs(wanted).max())
    if sensitivity > _CHAOTIC or spread < _DULL:
        status = "proves nothing"
    message = ""
    if thorough and status == "pass":
        message = _refutation(model, data)
        status = "refuted" if message else status
    nodes = len(onx.graph.node)
    return Outcome(name, status, worst_abs, worst_rel, sensitivity, nodes, seconds, message)


def _refutation(model: Any, data: np.ndarray[Any, Any]) -> str:
    """Returns what a full check finds wrong, ``""`` if nothing."""
    from yobx.errors import VerificationError
    from yobx.verification import check_conversion

    report = check_conversion(model, (data,))
    try:
        report.raise_if_failed()
    except VerificationError as error:
        return str(error)
    return ""


def _relative(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> float:
    scale = np.abs(want).max(axis=-1, keepdims=True)
    return float((np.abs(got.astype(np.float64) - want) / scale).max())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the architectures named on the command line, all by default, and prints a table."""
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(
        prog="python -m conformance.applications", description=main.__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="architectures, by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--thorough", action="store_true", help="also compare every shape, at more batch sizes"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in ARCHITECTURES]
    if unknown:
        parser.error(f"no such architecture: {', '.join(unknown)}")
    console = Console()
    columns = ("architecture", "status", "max abs", "max rel", "1e-6 moves", "nodes", "seconds")
    table = Table(*columns)
    outcomes = []
    for name in options.names or ARCHITECTURES:
        outcome = check(name, seed=options.seed, thorough=options.thorough)
        outcomes.append(outcome)
        console.print(f"{name}: {outcome.status} {outcome.message[:300]}", highlight=False)
        table.add_row(
            name,
            outcome.status,
            f"{outcome.max_abs:.1e}",
            f"{outcome.max_rel:.1e}",
            f"{outcome.sensitivity:.1e}",
            str(outcome.nodes),
            f"{outcome.seconds:.2f}",
        )
    console.print(table)
    passed = sum(outcome.status == "pass" for outcome in outcomes)
    console.print(f"{passed} of {len(outcomes)} pass")
    return 0 if passed == len(outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
