"""``yobx ops``: what is supported, read from the live registries."""

from __future__ import annotations

import argparse

from yobx.cli.console import Screen
from yobx.cli.outcome import ExitCode
from yobx.words import similar

__all__ = ["checked", "run", "tables"]

Row = tuple[str, str, str]


def tables(*, tf: bool = True, jax: bool = True, onnx: bool = True) -> dict[str, list[Row]]:
    """Read the registries.

    Args:
        tf: Include the TensorFlow operations.
        jax: Include the StableHLO operations, to which JAX lowers.
        onnx: Include the ONNX operators with a shape rule.

    Returns:
        For each of the frameworks asked for, its rows: name, dtypes or versions, where.
    """
    found: dict[str, list[Row]] = {}
    if tf:
        found["tensorflow"] = _tensorflow()
    if jax:
        found["stablehlo"] = _stablehlo()
    if onnx:
        found["onnx"] = _onnx()
    return found


def checked() -> dict[str, tuple[int, str]]:
    """Read what checks of the TensorFlow operations found.

    Returns:
        For each operation how many checks passed, and what does not work, in words.
    """
    from yobx.tensorflow.op_results import load_op_results

    return {
        name: (sum(result.passed.values()), result.limits())
        for name, result in load_op_results().ops.items()
    }


def run(options: argparse.Namespace, screen: Screen) -> ExitCode:
    """List the operations.

    Args:
        options: The parsed command line.
        screen: Where they are shown.

    Returns:
        The exit code.
    """
    everything = not (options.tf or options.jax or options.onnx)
    found = tables(
        tf=options.tf or everything, jax=options.jax or everything, onnx=options.onnx or everything
    )
    wanted = (options.search or "").lower()
    results = checked() if "tensorflow" in found else {}
    shown = [
        (kind, *row, *_texts(results.get(row[0]) if kind == "tensorflow" else None))
        for kind, group in found.items()
        for row in group
        if wanted in row[0].lower()
    ]
    if not shown:
        known = [row[0] for group in found.values() for row in group]
        near = similar(wanted, known, n=3, cutoff=0.7)
        hint = f"Similar: {', '.join(near)}" if near else ""
        screen.error(f"no supported operation has {options.search!r} in its name", hint)
        return ExitCode.USAGE
    columns = ["from", "operation", "dtypes or versions", "written in", "checks passed", "limits"]
    screen.table(columns if results else columns[:4], [r[: 6 if results else 4] for r in shown])
    for kind, group in found.items():
        matching = sum(row[0] == kind for row in shown)
        screen.note(f"{kind}: {matching} of {len(group)}")
    return ExitCode.OK


def _texts(result: tuple[int, str] | None) -> tuple[str, str]:
    return (str(result[0]), result[1]) if result else ("", "")


def _dtypes(declared: frozenset[str] | None) -> str:
    return "any" if declared is None else ", ".join(sorted(declared))


def _tensorflow() -> list[Row]:
    from yobx.tensorflow import ops
    from yobx.tensorflow.register import get_tf_op_registrations

    ops.register()
    return [
        (name, _dtypes(entry.dtypes), entry.converter.__module__)
        for name, entry in sorted(get_tf_op_registrations().items())
    ]


def _stablehlo() -> list[Row]:
    from yobx.stablehlo import ops
    from yobx.stablehlo.registry import get_stablehlo_op_registrations

    ops.register()
    return [
        (entry.name, _dtypes(entry.dtypes), entry.converter.__module__)
        for entry in get_stablehlo_op_registrations()
        if entry.complex_parts != "pair"  # the same operation, once more for complex values
    ]


def _onnx() -> list[Row]:
    from yobx.onnx_optim.registry import load_rules

    return sorted(
        (
            f"{rule.domain}::{rule.op_type}" if rule.domain else rule.op_type,
            f"since {rule.since_version}",
            rule.function.__module__,
        )
        for rule in load_rules()
    )
