"""Seconds and peak memory of a conversion, beside tracing alone and beside tf2onnx."""

from __future__ import annotations

import argparse
import json
import sys

import models
from measure import PeakMemory, in_turn, median, table, time_of, with_peer, worker

CONTENDERS = {
    "trace": models.trace_only,
    "yobx": models.convert_with_yobx,
    "tf2onnx": models.convert_with_tf2onnx,
}


def measure(contender: str, name: str, size: int) -> dict[str, float]:
    """Measure one conversion in this process."""
    model, image = models.build(name, size)
    model(image, training=False)
    # What a process pays once (imports, tables) is not part of a conversion, for any contender.
    CONTENDERS[contender](*models.smallest())
    with PeakMemory() as memory:
        seconds, result = time_of(lambda: CONTENDERS[contender](model, image))
    nodes = len(result.graph.node) if hasattr(result, "graph") and contender != "trace" else 0
    return {
        "seconds": seconds,
        "memory": memory.growth / models.weight_bytes(model),
        "weights": models.weight_bytes(model),
        "nodes": nodes,
    }


def main() -> None:
    """Compare, or measure one contender when called as a worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=224, help="height and width of the images")
    parser.add_argument("--models", default="ResNet50", help=f"of {', '.join(models.NAMES)}")
    parser.add_argument("--peer", default=sys.executable, help="interpreter that has tf2onnx")
    parser.add_argument("--quick", action="store_true", help="one round, MobileNetV2, 96 pixels")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker, options.models, options.size)))
        return
    if options.quick:
        options.rounds, options.size, options.models = 1, 96, "MobileNetV2"
    contenders = with_peer(["trace", "yobx"], "tf2onnx", options.peer)
    for name in options.models.split(","):
        compare(name, contenders, options)


def compare(name: str, contenders: list[str], options: argparse.Namespace) -> None:
    """Print the table of one model."""
    rows: dict[str, list[dict[str, float]]] = {contender: [] for contender in contenders}
    errors: dict[str, str] = {}
    for contender in in_turn(contenders, options.rounds):
        python = options.peer if contender == "tf2onnx" else sys.executable
        size = str(options.size)
        row = worker(python, __file__, "--worker", contender, "--models", name, "--size", size)
        if "error" in row:
            errors[contender] = row["error"]
        else:
            rows[contender].append(row)
    print(f"\n{name} at {options.size}, {options.rounds} rounds")
    lines = []
    floor = median(rows["trace"], "seconds")
    ours = median(rows["yobx"], "seconds") if rows["yobx"] else float("nan")
    for contender in contenders:
        if not rows[contender]:
            lines.append([contender, errors[contender], "", "", "", ""])
            continue
        seconds = median(rows[contender], "seconds")
        lines.append(
            [
                contender,
                f"{seconds:.2f} s",
                f"{seconds / floor:.2f}",
                f"{seconds / ours:.2f}",
                f"{median(rows[contender], 'memory'):.2f}",
                f"{median(rows[contender], 'nodes'):.0f}",
            ]
        )
    table(["", "seconds", "x tracing", "x yobx", "memory / weights", "nodes"], lines)


if __name__ == "__main__":
    main()
