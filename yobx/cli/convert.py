"""``yobx convert``: write a model as ONNX."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from yobx.cli.check import describe, exit_code, tell_open_sizes
from yobx.cli.console import Screen
from yobx.cli.files import refuse_unwritable
from yobx.cli.outcome import ExitCode
from yobx.cli.source import as_options, prepare
from yobx.cli.values import describe_value
from yobx.errors import ArgumentError
from yobx.words import counted

if TYPE_CHECKING:
    import onnx

__all__ = ["run"]


def run(options: argparse.Namespace, screen: Screen) -> ExitCode:
    """Convert, and compare if asked to.

    Args:
        options: The parsed command line.
        screen: Where results and stages are shown.

    Returns:
        The exit code.
    """
    output = Path(options.output)
    refuse_unwritable(output, "output")
    layout = {
        name: [item.strip() for item in getattr(options, name).split(",")]
        for name in ("inputs_as_nchw", "outputs_as_nchw")
        if getattr(options, name)
    }
    if layout and options.check:
        raise ArgumentError(
            "--check compares values in the order of the model. Received: "
            f"{as_options(layout)} with --check. Check first, without it.",
            argument="check",
        )
    with screen.stage(f"loading {options.model}"):
        source = prepare(options)
    if options.check:
        from yobx.verification import run_check

        with screen.stage("converting and comparing with the original"):
            result = run_check(source.model, source.args, filename=str(output), **source.options)
        describe(result, screen)
        tell_open_sizes(options, result.model, screen)
        if result.model is not None and output.is_file():
            _show_model(result.model, output, screen)
        return exit_code(result.report)
    if layout and options.jax:
        raise ArgumentError(f"{as_options(layout)} and --jax exclude each other.", argument="jax")
    to_onnx = _converter(is_jax=options.jax)
    # The converter shows its own stages and a bar: they tell more than one spinner.
    options_for_it = {"verbose": 0 if options.quiet else 1, **layout, **source.options}
    model = to_onnx(source.model, source.args, filename=str(output), **options_for_it)
    _show_model(model, output, screen)
    tell_open_sizes(options, model, screen)
    return ExitCode.OK


def _converter(*, is_jax: bool) -> Callable[..., onnx.ModelProto]:
    if is_jax:
        from yobx.jax import to_onnx as convert_jax

        return convert_jax
    from yobx.tensorflow import to_onnx as convert_any

    return convert_any


def _show_model(model: onnx.ModelProto, output: Path, screen: Screen) -> None:
    graph = model.graph
    screen.line(f"{output}: {counted(len(graph.node), 'node')}, {_size(output)}")
    for kind, values in (("input", graph.input), ("output", graph.output)):
        for value in values:
            screen.line(f"  {kind} {describe_value(value)}")


def _size(path: Path) -> str:
    """Size of the model on disk, with the external data beside it."""
    total = sum(p.stat().st_size for p in path.parent.glob(f"{path.name}*") if p.is_file())
    return f"{total / 1e6:.1f} MB" if total >= 100_000 else f"{total / 1e3:.1f} kB"
