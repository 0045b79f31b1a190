"""``yobx infer``: the type and shape of every value of an ONNX model."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from yobx.cli.console import Screen
from yobx.cli.files import refuse_unwritable
from yobx.cli.outcome import ExitCode
from yobx.cli.values import ValueRow, rows
from yobx.errors import ArgumentError, ShapeContradictionError, ShapeError
from yobx.words import counted, did_you_mean

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["run"]


def run(options: argparse.Namespace, screen: Screen) -> ExitCode:
    """Infer, show, and write if asked to.

    Args:
        options: The parsed command line.
        screen: Where results and stages are shown.

    Returns:
        The exit code.
    """
    path = Path(options.model)
    _refuse_other(path)
    if options.output:
        refuse_unwritable(Path(options.output), "output")
    if options.explain is not None:
        return _explain(path, options.explain, screen)
    from yobx.onnx_optim import infer_shapes

    with screen.stage(f"inferring {path}"):
        try:
            model = infer_shapes(path, policy="strict" if options.strict else "check")
        except ShapeContradictionError as error:
            screen.error(error.said, error.hint)
            return ExitCode.DIFFERENCE
    found = list(rows(model))
    if options.json:
        screen.line(json.dumps([asdict(row) for row in found], indent=2))
    else:
        screen.table(
            ["value", "type", "made by"], [[row.name, row.type, row.producer] for row in found]
        )
    _summarise(found, screen)
    if options.output:
        _write(model, path, Path(options.output), screen)
    return ExitCode.OK


def _refuse_other(path: Path) -> None:
    """Refuse what is no ONNX file by its name; a model of another kind is converted first."""
    is_saved = (path / "saved_model.pb").is_file()
    if is_saved or (path.is_file() and path.suffix in {".keras", ".h5", ".hdf5", ".pb"}):
        raise ArgumentError(
            f"{path} is no ONNX model. Convert it first: yobx convert {path} -o model.onnx",
            argument="model",
        )
    if not path.is_file():
        what = "An ONNX model is a file, not a folder" if path.is_dir() else "No such file"
        raise ArgumentError(f"{what}: {path}.", argument="model")


def _write(model: ModelProto, source: Path, target: Path, screen: Screen) -> None:
    """Write the model; weights in other files are found from its folder, so it must stay there."""
    from onnx import save_model

    from yobx.onnx_optim.model_io import external_tensors

    external = external_tensors(model)
    if external and source.resolve().parent != target.resolve().parent:
        raise ArgumentError(
            "A model whose weights are in other files is written next to them. Received: "
            f"--output {target}, and {source} has {counted(len(external), 'such weight')}.",
            argument="output",
            hint=f"Try --output {source.parent / target.name}",
        )
    save_model(model, target)
    screen.note(f"written: {target}")


def _summarise(found: list[ValueRow], screen: Screen) -> None:
    unknown = [row.name for row in found if not row.is_known]
    screen.note(
        f"{counted(len(found), 'value')}, {len(found) - len(unknown)} with every size known or "
        "named"
    )
    if unknown:
        screen.note(f"ask why with --explain {unknown[0]}")


def _explain(path: Path, name: str, screen: Screen) -> ExitCode:
    from yobx.onnx_optim import ShapesContext, infer_shapes

    context = ShapesContext()
    with screen.stage(f"inferring {path}"):
        model = infer_shapes(path, context=context)
    try:
        explanation = context.explain(name)
    except ShapeError as error:
        near = did_you_mean(name, (row.name for row in rows(model)), n=3, cutoff=0.5)
        raise ArgumentError(
            f"{path} has no value of that name. Received: --explain {name}.",
            argument="explain",
            hint=f"{near}{' ' * bool(near)}List the names with: yobx infer {path}",
        ) from error
    for line in str(explanation).splitlines():
        screen.line(line)
    return ExitCode.OK
