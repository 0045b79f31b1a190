"""JAX networks: seconds of a first and a second conversion, nodes, and latency in onnxruntime."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax_networks
import numpy as np
import onnx
from latency import latencies, session
from measure import in_turn, median, table, time_of, with_peer, worker


def convert_with_yobx(function: Any, x: np.ndarray[Any, Any]) -> Any:
    """Convert with yobx, batch dynamic."""
    from yobx.jax import to_onnx

    return to_onnx(function, (x,), dynamic_shapes=({0: "batch"},))


def convert_with_jax2onnx(function: Any, x: np.ndarray[Any, Any]) -> Any:
    """Convert with jax2onnx, batch dynamic, to the same opset."""
    from jax2onnx import to_onnx

    return to_onnx(function, [("batch", *x.shape[1:])], opset=21)


CONVERTERS = {"yobx": convert_with_yobx, "jax2onnx": convert_with_jax2onnx}


def measure(contender: str, name: str, target: str) -> dict[str, float]:
    """Convert twice in this process, and keep the model, its input and its expected output."""
    function, x = jax_networks.build(name)
    first, _ = time_of(lambda: CONVERTERS[contender](function, x))
    second, model = time_of(lambda: CONVERTERS[contender](function, x))
    onnx.save(model, target)
    np.savez(f"{target}.npz", x=x, expected=np.asarray(function(x)))
    return {"first": first, "second": second, "nodes": count(model.graph)}


def count(graph: onnx.GraphProto) -> int:
    """Nodes of a graph and of the graphs in it."""
    inner = [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    return len(graph.node) + sum(count(one) for one in inner)


def compare(name: str, contenders: list[str], options: argparse.Namespace) -> None:
    """Print the table of one network."""
    rows: dict[str, list[dict[str, float]]] = {contender: [] for contender in contenders}
    errors: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for contender in in_turn(contenders, options.rounds):
            python = options.peer if contender == "jax2onnx" else sys.executable
            target = f"{folder}/{contender}.onnx"
            row = worker(
                python, __file__, "--worker", contender, "--networks", name, "--target", target
            )
            if "error" in row:
                errors[contender] = row["error"]
            else:
                rows[contender].append(row)
        found = [contender for contender in contenders if rows[contender]]
        sessions = {one: session(Path(folder) / f"{one}.onnx") for one in found}
        times, differences = latencies(sessions, folder, options.blocks, 10)
    lines = [[contender, text, "", "", "", "", ""] for contender, text in errors.items()]
    for contender in found:
        middle = statistics.median(times[contender])
        lines.append(
            [
                contender,
                f"{median(rows[contender], 'first'):.2f} s",
                f"{median(rows[contender], 'second'):.2f} s",
                f"{median(rows[contender], 'nodes'):.0f}",
                f"{1e3 * middle:.2f} ms",
                f"{middle / statistics.median(times[found[0]]):.3f}",
                f"{differences[contender]:.1e}",
            ]
        )
    print(f"\n{name}, {options.rounds} rounds")
    table(["", "first", "second", "nodes", "latency", "x first", "largest error"], lines)


def main() -> None:
    """Compare, or measure one contender when called as a worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=10, help="blocks of 10 runs, in turn")
    parser.add_argument("--networks", default=",".join(jax_networks.NAMES))
    parser.add_argument("--peer", default=sys.executable, help="interpreter that has jax2onnx")
    parser.add_argument("--quick", action="store_true", help="one round, one network")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker, options.networks, options.target)))
        return
    if options.quick:
        options.rounds, options.blocks, options.networks = 1, 1, "scan_rnn"
    contenders = with_peer(["yobx"], "jax2onnx", options.peer)
    for name in options.networks.split(","):
        compare(name, contenders, options)


if __name__ == "__main__":
    main()
