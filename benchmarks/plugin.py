"""What a check costs beside the conversion: of a right and a wrong model, localised or not."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import in_turn, median, table, worker

CONTENDERS = ("convert", "pass", "pass, no localisation", "fail", "fail, no localisation")
# One convolution, the third, is off by a twentieth.
_WHICH, _FAULT = 3, 1.05


def measure(name: str, rounds: int, seed: int) -> list[dict[str, Any]]:
    """Measures one architecture in this process: every contender in turn."""
    from conformance.applications import ARCHITECTURES, build, images

    model = build(name, seed=seed)
    side = ARCHITECTURES[name]
    data = images(3, side, seed=seed + 7)
    _convert(model, data)  # what a process pays once belongs to no contender
    rows = []
    for contender in in_turn(CONTENDERS, rounds):
        wall, spent = time.perf_counter(), time.process_time()
        told = _CALLS[contender.partition(",")[0]](model, data, "no localisation" not in contender)
        spent, wall = time.process_time() - spent, time.perf_counter() - wall
        row = {"name": name, "side": side, "seed": seed, "contender": contender}
        rows.append({**row, "seconds": wall, "cpu": spent, **told})
    return rows


def _convert(model: Any, data: Any, _localize: bool = True) -> dict[str, Any]:
    from yobx.tensorflow import to_onnx

    return {"nodes": len(to_onnx(model, (data,)).graph.node)}


def _check(model: Any, data: Any, localize: bool, **options: Any) -> dict[str, Any]:
    from yobx.verification import check_conversion

    report = check_conversion(model, (data,), localize=localize, **options)
    place = report.localization
    left = place.reduced_nodes if place else 0
    return {"phase": report.failed_phase, "left": left, "place": place.source_name if place else ""}


def _wrong(model: Any, data: Any, localize: bool) -> dict[str, Any]:
    import numpy as np

    from yobx.tensorflow import ops
    from yobx.tensorflow.register import TF_OP_CONVERTERS

    ops.register()
    right = TF_OP_CONVERTERS["Conv2D"]
    converted: list[str] = []

    def convert(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
        converted.append(op.name)
        if len(converted) != _WHICH:
            return right(g, sts, outputs, op)
        made = right(g, sts, [g.unique_name("right")], op)
        return g.op.Mul(made, np.float32(_FAULT), outputs=outputs)

    told = _check(model, data, localize, extra_converters={"Conv2D": convert})
    return {**told, "wrong": converted[_WHICH - 1]}


_CALLS: dict[str, Callable[[Any, Any, bool], dict[str, Any]]] = {
    "convert": _convert,
    "pass": _check,
    "fail": _wrong,
}


def main() -> None:
    """Measures what the file of results does not have yet, and prints the table of all it has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="of keras.applications; all without any"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--results", type=Path, help="file of JSON lines: an interrupted run goes on"
    )
    parser.add_argument("--quick", action="store_true", help="MobileNetV3Small alone")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.names[0], options.rounds, options.seed)))
        return
    from conformance.applications import ARCHITECTURES

    names = ["MobileNetV3Small"] if options.quick else options.names or list(ARCHITECTURES)
    rows = _read(options.results)
    for name in names:
        if not any(row["name"] == name for row in rows):
            rows += _measured(name, options)
    _print([row for row in rows if row["name"] in names])


def _measured(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    import sys

    counts = "--rounds", str(options.rounds), "--seed", str(options.seed)
    found: Any = worker(sys.executable, __file__, "--worker", name, *counts)
    rows = found if isinstance(found, list) else [{"name": name, **found}]
    if options.results is not None:
        with options.results.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return rows


def _read(path: Path | None) -> list[dict[str, Any]]:
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _print(rows: list[dict[str, Any]]) -> None:
    """One line an architecture: seconds of CPU for the conversion, and multiples of them."""
    lines = []
    for name in dict.fromkeys(row["name"] for row in rows):
        own = [row for row in rows if row["name"] == name]
        if "error" in own[0]:
            lines.append([name, own[0]["error"]])
            continue
        cells = {c: [row for row in own if row["contender"] == c] for c in CONTENDERS}
        cpu, wall = ({c: median(cells[c], key) for c in CONTENDERS} for key in ("cpu", "seconds"))
        alone = cpu["pass, no localisation"], cpu["fail, no localisation"]
        right = all(not row["phase"] for row in own if row["contender"].startswith("pass"))
        left = max(row["left"] for row in cells["fail"])
        faulty = {row["phase"] for row in own if row["contender"].startswith("fail")}
        lines.append(
            [
                name,
                str(own[0]["side"]),
                str(own[0]["nodes"]),
                *(f"{cpu[c]:.1f}" for c in ("convert", "pass", "fail")),
                *(f"{wall[c]:.1f}" for c in ("convert", "pass", "fail")),
                f"{cpu['pass'] / cpu['convert']:.1f}",
                f"{cpu['pass'] / alone[0]:.2f}",
                f"{cpu['fail'] / alone[1]:.2f}",
                "passes" if right else "FALSE ALARM",
                f"{left} nodes left" if faulty == {"values"} else f"MISSED {faulty}",
            ]
        )
    head = ["", "side", "nodes", *(f"{kind} {c}" for kind in ("CPU", "wall") for c in _CALLS)]
    head += ["check / convert", "localised: pass", "localised: fail", "right model", "wrong one"]
    table(head, [[*line, *[""] * (len(head) - len(line))] for line in lines])


if __name__ == "__main__":
    main()
