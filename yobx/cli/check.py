"""``yobx check``: convert a model and compare the result with the original."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from yobx.cli.console import Screen
from yobx.cli.files import refuse_unwritable
from yobx.cli.load import companion_of
from yobx.cli.outcome import ExitCode
from yobx.cli.source import is_onnx_to_check, prepare
from yobx.cli.specs import parse_bindings
from yobx.cli.values import describe_value
from yobx.errors import ArgumentError, UnreadableModelError

if TYPE_CHECKING:
    import onnx

    from yobx.verification import CheckResult, ConversionReport

__all__ = ["describe", "exit_code", "run", "tell_open_sizes"]

# Phases before there is a model to compare.
_BEFORE_COMPARISON = {"import", "trace", "convert"}


def run(options: argparse.Namespace, screen: Screen) -> ExitCode:
    """Check one model.

    Args:
        options: The parsed command line.
        screen: Where results and stages are shown.

    Returns:
        The exit code.
    """
    bindings = parse_bindings(options.bind or ())
    for option, name in (("json", options.json), ("html", options.html)):
        if name and name != "-":
            refuse_unwritable(Path(name), option)
    if is_onnx_to_check(options) and _lacks_reference(Path(options.model), screen):
        return ExitCode.USAGE
    with screen.stage(f"loading {options.model}"):
        source = prepare(options)
    from yobx.verification import run_check

    with screen.stage("converting and comparing with the original"):
        result = run_check(
            source.model,
            source.args,
            bindings=bindings or None,
            seed=options.seed,
            **source.options,
        )
    report = result.report
    tell_open_sizes(options, result.model, screen)
    text = json.dumps(report.as_dict(), indent=2)
    if options.json == "-":
        screen.line(text)
    elif options.json:
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.html:
        from pytest_yobx.html import render_page

        Path(options.html).write_text(render_page([report]), encoding="utf-8")
    if options.json != "-":
        describe(result, screen)
    for file in (options.json, options.html):
        if file and file != "-":
            screen.note(f"report written to {file}")
    return exit_code(report)


def _lacks_reference(path: Path, screen: Screen) -> bool:
    """Say what an ONNX model is compared with, and where that is written, if it is not there.

    Raises:
        YobxError: If it is no ONNX model.
    """
    from yobx.onnx_optim.model_io import load_model

    if not load_model(path).HasField("graph"):
        raise UnreadableModelError(
            f"An ONNX file has a graph. Received: {path}, {path.stat().st_size} bytes, without "
            "one. It may be cut off.",
            argument="model",
        )
    if companion_of(path).is_file():
        return False
    screen.error(
        f"{path} has nothing to be compared with",
        f"write {companion_of(path)} with a function reference(*inputs) over numpy arrays, and, if "
        "inputs are not to be made from the signature, inputs() that returns a tuple of them; for "
        f"its shapes alone: yobx infer {path}",
    )
    return True


def tell_open_sizes(
    options: argparse.Namespace, model: onnx.ModelProto | None, screen: Screen
) -> None:
    """Say which sizes ``--static`` could not fix: neither the model nor ``--input`` gives them.

    Args:
        options: The parsed command line.
        model: The converted model, if there is one.
        screen: Where it is said.
    """
    if not options.static or model is None:
        return
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if any(dim.dim_param for dim in dims):
            shown = describe_value(value)
            sizes = ",".join(str(dim.dim_value or 1) for dim in dims)
            example = shown.partition("[")[0].replace(": ", ":")
            screen.note(
                "note: --static cannot fix sizes that neither the model nor --input gives: "
                f'{shown}. Give them, as in --input "{example}[{sizes}]".'
            )


def describe(result: CheckResult, screen: Screen) -> None:
    """Show a report on one screen.

    Args:
        result: What was found.
        screen: Where it is shown.

    Raises:
        ArgumentError: Instead, where what was asked for is wrong: that is told as it is elsewhere.
    """
    if exit_code(result.report) is ExitCode.USAGE and isinstance(result.error, ArgumentError):
        raise result.error
    for line in result.report.text().splitlines():
        screen.line(line)


def exit_code(report: ConversionReport) -> ExitCode:
    """Tell whether a check passed, differed, had nothing to compare or was asked for wrongly.

    Args:
        report: What was found.

    Returns:
        The exit code.
    """
    if report.passed:
        return ExitCode.OK
    if report.internal:
        return ExitCode.INTERNAL
    if report.phase(report.failed_phase).error_type == ArgumentError.__name__:
        return ExitCode.USAGE
    return ExitCode.MODEL if report.failed_phase in _BEFORE_COMPARISON else ExitCode.DIFFERENCE
