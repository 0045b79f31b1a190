"""``python -m conformance``: a fixed sample, parts of everything, their matrix, random models."""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from conformance import jobs, parts
from conformance.applications import declare
from conformance.applications import run as run_applications
from conformance.cells import Cell, Verdict, judge, load_known
from yobx.verification.environment import versions

__all__ = ["main"]

_MINIMUM = Path(__file__).with_name("minimum.json")


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
    run.add_argument("--search", default="", metavar="TEXT", help="cells with it in the name")
    run.add_argument("--symbolic", action="store_true", help="JAX's cases with a symbolic size")
    run.add_argument("--x64", action="store_true", help="JAX's cases with jax_enable_x64")
    run.add_argument(
        "--again",
        action="append",
        default=[],
        choices=list(Verdict),
        help="compute cells of that verdict once more",
    )
    merge = commands.add_parser("merge", help="the matrix of all parts")
    merge.add_argument("results", type=Path, metavar="DIR")
    merge.add_argument("--output", type=Path, required=True, metavar="DIR")
    merge.add_argument(
        "--write", action="store_true", help="write what the documentation shows of JAX's cases"
    )
    declare(commands.add_parser("applications", help="the architectures of keras.applications"))
    layers = commands.add_parser("layers", help="every Keras layer and function of keras.ops")
    layers.add_argument("--search", default="", metavar="TEXT", help="entries with it in the name")
    layers.add_argument("--mode", choices=("static", "dynamic"), help="one of the two checks")
    layers.add_argument("--shard", default="1/1", metavar="I/N")
    layers.add_argument("--write", action="store_true", help="write what the documentation shows")
    tf_ops = commands.add_parser("tf-ops", help="single TensorFlow operations")
    tf_ops.add_argument("--search", default="", metavar="TEXT", help="cells with it in the name")
    tf_ops.add_argument(
        "--opsets", default="", metavar="18,21,newest", help="all three if not given"
    )
    tf_ops.add_argument("--write", action="store_true", help="write what `yobx ops` shows")
    commands.add_parser("jax-models", help="models of Flax, Equinox and plain functions")
    commands.add_parser("hub-models", help="small models of KerasHub, if it is installed")
    shapes = commands.add_parser("shapes", help="random models against shape inference")
    shapes.add_argument("--graphs", type=int, default=20_000, metavar="N")
    shapes.add_argument("--seed", type=int, default=0, metavar="N")
    shapes.add_argument("--start", type=int, default=0, metavar="N", help="number of the first one")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    sets = {
        "sample": jobs.sample,
        "jax-models": jobs.jax_models,
        "hub-models": jobs.hub_models,
    }
    if options.command in sets:
        return _verdict(_work(sets[options.command](), console), console)
    commands_run = {
        "applications": run_applications,
        "layers": _layers,
        "merge": _merge,
        "run": _run,
        "shapes": _shapes,
        "tf-ops": _tf_ops,
    }
    return commands_run[options.command](options, console)


def _shapes(options: argparse.Namespace, console: Console) -> int:
    from conformance.shapes.campaign import report, run_campaign

    found = run_campaign(console, seed=options.seed, graphs=options.graphs, start=options.start)
    return report(found, options.seed, console)


def _shard(options: argparse.Namespace) -> tuple[int, int]:
    """Which part of how many."""
    index, _, count = options.shard.partition("/")
    return int(index), int(count)


def _layers(options: argparse.Namespace, console: Console) -> int:
    from conformance import census
    from conformance.entries import MODES

    modes = (options.mode,) if options.mode else MODES
    chosen = [entry for entry in census.entries() if options.search in entry.full_name]
    index, count = _shard(options)
    cells = _work(census.jobs(chosen, modes)[index - 1 :: count], console)
    if options.write:
        census.write(cells, versions())
    return _verdict(cells, console)


def _tf_ops(options: argparse.Namespace, console: Console) -> int:
    from conformance.tf_ops import matrix

    newest = matrix.opsets()[-1]
    words = options.opsets.split(",") if options.opsets else ()
    opsets = [newest if word == "newest" else int(word) for word in words]
    if options.write and opsets:
        console.print("--write needs every opset: without --opsets")
        return 2
    names = jobs.tf_ops(options.search, opsets)
    cells = parts.compute(names, functools.partial(jobs.check, "all"), console)
    if options.write:
        from conformance.tf_ops import results

        settled, more, fewer = matrix.settle(cells, whole=not options.search)
        for label, cases in (("declared", more), ("no longer declared", fewer)):
            for case in cases:
                console.print(f"{label} as refused: {case}")
        if options.search:
            console.print(f"added: {', '.join(results.add(settled)) or 'nothing'}")
        else:
            results.write(settled, versions())
    return _verdict(cells, console)


def _work(work: Iterable[jobs.Job], console: Console) -> list[Cell]:
    work = list(work)
    reporter = parts.Reporter(console, len(work))
    cells = []
    for _, job in work:
        cells.append(job())
        reporter.add(cells[-1])
    return cells


def _verdict(cells: Sequence[Cell], console: Console) -> int:
    surprises = judge(cells, load_known())
    for line in surprises:
        console.print(f"not as declared: {line[:300]}")
    console.print(
        f"conformance: {len(cells)} cells, {parts.counts(cells)}, {len(surprises)} surprises"
    )
    if not cells:
        return 2
    return 1 if surprises else 0


def _run(options: argparse.Namespace, console: Console) -> int:
    kind = jobs.kind_of(symbolic=options.symbolic, x64=options.x64)
    index, count = _shard(options)
    chosen = [name for name in jobs.names(kind) if options.search in name]
    attendance = chosen[index - 1 :: count]
    plan = parts.Plan(kind, options.search, (index, count), versions(), attendance)
    try:
        part = parts.Part.begin(options.results, plan)
        check = functools.partial(jobs.check, kind)
        cells = parts.run(part, check, console, [Verdict(text) for text in options.again])
    except parts.PartError as error:
        console.print(str(error))
        return 2
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here")
        return 130
    return _verdict(cells, console)


def _merge(options: argparse.Namespace, console: Console) -> int:
    output: Path = options.output
    found = parts.load_parts(options.results)
    cells = [cell for part in found for cell in part.cells.values()]
    problems = parts.problems(found, json.loads(_MINIMUM.read_text(encoding="utf-8")))
    for problem in problems:
        console.print(f"incomplete: {problem}")
    output.mkdir(parents=True, exist_ok=True)
    data = {"schema": 1, "complete": not problems, "cells": [cell.as_dict() for cell in cells]}
    (output / "matrix.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (output / "matrix.md").write_text(_table(cells), encoding="utf-8")
    if options.write:
        from conformance import jax_results

        jax_results.write(cells, load_known(), found[0].plan.versions)
    return max(_verdict(cells, console), 1 if problems else 0)


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
