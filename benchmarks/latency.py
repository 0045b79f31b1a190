"""Latency in onnxruntime of models converted by yobx and by tf2onnx, A B A B."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import models
import numpy as np
from measure import in_turn, table, time_of, with_peer, worker

CONVERTERS = {"yobx": models.convert_with_yobx, "tf2onnx": models.convert_with_tf2onnx}


def write(contender: str, name: str, size: int, target: str) -> dict[str, int]:
    """Convert one model in this process, and keep its input and expected output beside it."""
    model, image = models.build(name, size)
    CONVERTERS[contender](model, image, target)
    more = [value.name for value in session(Path(target)).get_inputs()[1:]]
    if more:
        raise RuntimeError(f"the model asks for more inputs than the original: {', '.join(more)}")
    np.savez(f"{target}.npz", x=image, expected=np.asarray(model(image, training=False)))
    return {"bytes": Path(target).stat().st_size}


def session(path: Path) -> Any:
    """Load a model for one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def latencies(
    sessions: dict[str, Any], folder: str, rounds: int, block: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of a run, block by block in turn, and the largest error, by contender.

    The input and the expected output of each lie beside its model in the folder.
    """
    times: dict[str, list[float]] = {contender: [] for contender in sessions}
    differences: dict[str, float] = {}
    for contender in in_turn(list(sessions), rounds + 1):
        runner, data = sessions[contender], np.load(f"{folder}/{contender}.onnx.npz")
        feeds = {runner.get_inputs()[0].name: data["x"]}
        runs = [time_of(lambda r=runner, f=feeds: r.run(None, f)) for _ in range(block)]
        if contender in differences:  # the first block warms up
            times[contender].append(statistics.median(seconds for seconds, _ in runs))
        differences[contender] = float(np.abs(runs[0][1][0] - data["expected"]).max())
    return times, differences


def compare(name: str, contenders: list[str], options: argparse.Namespace) -> None:
    """Print the table of one model."""
    with tempfile.TemporaryDirectory() as folder:
        sessions: dict[str, Any] = {}
        lines = []
        for contender in contenders:
            target = str(Path(folder) / f"{contender}.onnx")
            python = options.peer if contender == "tf2onnx" else sys.executable
            size = str(options.size)
            row = worker(
                python, __file__, "--worker", contender, "--models", name, "--size", size,
                "--target", target,
            )  # fmt: skip
            if "error" in row:
                lines.append([contender, row["error"], "", ""])
            else:
                sessions[contender] = session(Path(target))
        times, differences = latencies(sessions, folder, options.rounds, options.block)
    first = statistics.median(times[next(iter(times))]) if times else float("nan")
    for contender, found in times.items():
        middle = statistics.median(found)
        spread = (max(found) - min(found)) / middle
        lines.append(
            [
                contender,
                f"{1e3 * middle:.2f} ms (spread {spread:.0%})",
                f"{middle / first:.3f}",
                f"{differences[contender]:.1e}",
            ]
        )
    print(f"\n{name} at {options.size}, {options.rounds} blocks of {options.block}")
    table(["", "latency", "x first", "largest error"], lines)


def main() -> None:
    """Compare, or convert one model when called as a worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="blocks for each contender")
    parser.add_argument("--block", type=int, default=20, help="runs in a block")
    parser.add_argument("--size", type=int, default=224, help="height and width of the images")
    parser.add_argument("--models", default=",".join(models.NAMES))
    parser.add_argument("--peer", default=sys.executable, help="interpreter that has tf2onnx")
    parser.add_argument("--quick", action="store_true", help="a few runs, MobileNetV2, 96 pixels")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(write(options.worker, options.models, options.size, options.target)))
        return
    if options.quick:
        options.rounds, options.block, options.size, options.models = 2, 3, 96, "MobileNetV2"
    contenders = with_peer(["yobx"], "tf2onnx", options.peer)
    for name in options.models.split(","):
        compare(name, contenders, options)


if __name__ == "__main__":
    main()
