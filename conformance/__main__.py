"""``python -m conformance``: a fixed sample, parts of everything, their matrix, random models."""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from conformance.applications import declare
from conformance.applications import run as run_applications
from conformance.cells import Cell, Verdict, judge, load_known

__all__ = ["main"]

_SAMPLE = 90
_ARCHITECTURES = ("MobileNetV2", "EfficientNetB0", "ConvNeXtTiny")
_MINIMUM = Path(__file__).with_name("minimum.json")

Job = tuple[str, Callable[[], Cell]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Command line; that of the process when omitted.

    Returns:
        0 if everything is as declared, 1 if not, 2 if there was nothing to run.
    """
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("sample", help="the same few cases every time, for a pull request")
    run = commands.add_parser("run", help="a part of all cases, for the night")
    run.add_argument("--shard", default="1/1", metavar="I/N")
    run.add_argument("--results", type=Path, required=True, metavar="DIR")
    run.add_argument("--symbolic", action="store_true", help="JAX's cases with a symbolic size")
    merge = commands.add_parser("merge", help="the matrix of all parts")
    merge.add_argument("results", type=Path, metavar="DIR")
    merge.add_argument("--output", type=Path, required=True, metavar="DIR")
    declare(commands.add_parser("applications", help="the architectures of keras.applications"))
    layers = commands.add_parser("layers", help="every Keras layer and function of keras.ops")
    layers.add_argument("--search", default="", metavar="TEXT", help="entries with it in the name")
    layers.add_argument("--mode", choices=("static", "dynamic"), help="one of the two checks")
    layers.add_argument("--shard", default="1/1", metavar="I/N")
    layers.add_argument("--write", action="store_true", help="write what the documentation shows")
    commands.add_parser("jax-models", help="models of Flax, Equinox and plain functions")
    commands.add_parser("hub-models", help="small models of KerasHub, if it is installed")
    shapes = commands.add_parser("shapes", help="random models against shape inference")
    shapes.add_argument("--graphs", type=int, default=20_000, metavar="N")
    shapes.add_argument("--seed", type=int, default=0, metavar="N")
    shapes.add_argument("--start", type=int, default=0, metavar="N", help="number of the first one")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    sets = {"sample": _sample_jobs, "jax-models": _jax_model_jobs, "hub-models": _hub_model_jobs}
    if options.command in sets:
        return _verdict(_work(sets[options.command](), console), console)
    if options.command == "applications":
        return run_applications(options, console)
    if options.command == "layers":
        return _layers(options, console)
    if options.command == "shapes":
        from conformance.shapes.campaign import report, run_campaign

        found = run_campaign(console, seed=options.seed, graphs=options.graphs, start=options.start)
        return report(found, options.seed, console)
    if options.command == "run":
        index, count = _shard(options)
        jobs = _symbolic_jobs() if options.symbolic else _all_jobs()
        return _run(jobs, index, count, folder=options.results, console=console)
    return _merge(options.results, options.output, console)


def _shard(options: argparse.Namespace) -> tuple[int, int]:
    """Which part of how many."""
    index, _, count = options.shard.partition("/")
    return int(index), int(count)


def _layers(options: argparse.Namespace, console: Console) -> int:
    from conformance import census
    from conformance.entries import MODES
    from yobx.verification.environment import versions

    modes = (options.mode,) if options.mode else MODES
    chosen = [entry for entry in census.entries() if options.search in entry.full_name]
    index, count = _shard(options)
    cells = _work(census.jobs(chosen, modes)[index - 1 :: count], console)
    if options.write:
        census.write(cells, versions())
    return _verdict(cells, console)


def _sample_jobs() -> list[Job]:
    from conformance.jax_harnesses import check, sample

    jobs: list[Job] = [(f"keras.applications/{n}", _application(n)) for n in _ARCHITECTURES]
    return jobs + [(f"jax/{h.fullname}", lambda h=h: check(h)) for h in sample(_SAMPLE)]


def _all_jobs() -> list[Job]:
    from conformance import census
    from conformance.applications import ARCHITECTURES
    from conformance.entries import MODES
    from conformance.jax_harnesses import check, harnesses

    jobs: list[Job] = [(f"keras.applications/{n}", _application(n)) for n in ARCHITECTURES]
    jobs += census.jobs(census.entries(), MODES)
    jobs += _jax_model_jobs() + _hub_model_jobs()
    return jobs + [(f"jax/{h.fullname}", lambda h=h: check(h)) for h in harnesses()]


def _jax_model_jobs() -> list[Job]:
    from conformance.jax_models import check, models

    return [(f"jax-models/{one.name}", functools.partial(check, one)) for one in models()]


def _hub_model_jobs() -> list[Job]:
    from conformance.hub_models import check, models

    return [
        (f"keras-hub/{name}", functools.partial(check, name, make))
        for name, make in models().items()
    ]


def _symbolic_jobs() -> list[Job]:
    from conformance.jax_harnesses import check, harnesses

    jobs: list[Job] = []
    for harness in harnesses():
        job = functools.partial(check, harness, symbolic=True)
        jobs.append((f"jax-symbolic/{harness.fullname}", job))
    return jobs


def _application(name: str) -> Callable[[], Cell]:
    def check() -> Cell:
        from conformance import applications

        outcome = applications.check(name)
        full = f"keras.applications/{name}"
        verdict = Verdict.PASS if outcome.status == "pass" else Verdict.WRONG
        if outcome.status.endswith("Error"):
            verdict = Verdict.UNSUPPORTED
        message = "" if outcome.status == "pass" else f"{outcome.status} {outcome.message[:300]}"
        return Cell(full, "keras.applications", verdict, "", message, outcome.seconds)

    return check


def _work(jobs: Sequence[Job], console: Console) -> list[Cell]:
    cells = []
    for number, (name, job) in enumerate(jobs, 1):
        cell = job()
        cells.append(cell)
        if cell.verdict is not Verdict.PASS:
            console.print(
                f"{number}/{len(jobs)} {cell.verdict:11} {name[:90]} {cell.message[:160]}"
            )
    return cells


def _verdict(cells: Sequence[Cell], console: Console) -> int:
    surprises = judge(cells, load_known())
    for line in surprises:
        console.print(f"not as declared: {line[:300]}")
    console.print(f"conformance: {len(cells)} cells, {_counts(cells)}, {len(surprises)} surprises")
    if not cells:
        return 2
    return 1 if surprises else 0


def _counts(cells: Iterable[Cell]) -> str:
    counts = Counter(cell.verdict for cell in cells)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)


def _run(jobs: Sequence[Job], index: int, count: int, *, folder: Path, console: Console) -> int:
    jobs = jobs[index - 1 :: count]
    folder.mkdir(parents=True, exist_ok=True)
    cells = _work(jobs, console)
    part = {
        "shard": [index, count],
        "attendance": [name for name, _ in jobs],
        "cells": [cell.as_dict() for cell in cells],
    }
    path = folder / f"part-{index}-of-{count}.json"
    path.write_text(json.dumps(part, indent=1) + "\n", encoding="utf-8")
    return _verdict(cells, console)


def _merge(folder: Path, output: Path, console: Console) -> int:
    parts = [json.loads(path.read_text()) for path in sorted(folder.rglob("part-*-of-*.json"))]
    cells = [Cell.from_dict(data) for part in parts for data in part["cells"]]
    problems = _attendance(parts, cells)
    for problem in problems:
        console.print(f"incomplete: {problem}")
    output.mkdir(parents=True, exist_ok=True)
    data = {"schema": 1, "complete": not problems, "cells": [cell.as_dict() for cell in cells]}
    (output / "matrix.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (output / "matrix.md").write_text(_table(cells), encoding="utf-8")
    return max(_verdict(cells, console), 1 if problems else 0)


def _attendance(parts: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> list[str]:
    """Say which shards or cells are missing, and whether there are fewer than there were."""
    problems = []
    shards: set[tuple[int, int]] = {tuple(part["shard"]) for part in parts}
    counts = {count for _, count in shards}
    if len(counts) != 1:
        problems.append(f"shards of different runs, or none: {sorted(shards)}")
    else:
        missing = {(i, n) for n in counts for i in range(1, n + 1)} - shards
        problems += [f"shard {i}/{n} is missing" for i, n in sorted(missing)]
    expected = {name for part in parts for name in part["attendance"]}
    problems += [f"{name} has no result" for name in sorted(expected - {c.name for c in cells})]
    if len({cell.name for cell in cells}) != len(cells):
        problems.append("a cell has two results")
    least = json.loads(_MINIMUM.read_text(encoding="utf-8"))["cells"]
    if len(cells) < least:
        problems.append(f"{len(cells)} cells, and there were {least}")
    return problems


def _table(cells: Iterable[Cell]) -> str:
    groups: dict[str, Counter[Verdict]] = {}
    for cell in cells:
        groups.setdefault(cell.group, Counter())[cell.verdict] += 1
    lines = ["| group | " + " | ".join(Verdict) + " |", "|---|" + "---|" * len(Verdict)]
    lines += [
        f"| {name} | " + " | ".join(str(groups[name][v]) for v in Verdict) + " |"
        for name in sorted(groups)
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
