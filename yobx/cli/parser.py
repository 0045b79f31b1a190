"""The options of every command. Only ``argparse`` is loaded here, so that help is instant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from yobx import __version__
from yobx.words import similar

__all__ = ["COMMANDS", "build_parser", "parse"]

_EXAMPLES = """\
examples:
  yobx convert model.keras -o model.onnx
  yobx convert model.keras -o model.onnx --dynamic image:0=batch --check
  yobx convert saved_model/ -o model.onnx --signature serving_default
  yobx convert package.module:model -o model.onnx
  yobx convert --graphdef frozen.pb --graph-outputs scores:0 -o model.onnx
  yobx convert --jax package.module:function --input "x:float32[B,4]" -o model.onnx
  yobx check model.keras --html report.html
  yobx infer model.onnx --explain logits
  yobx ops --tf --search resize

exit codes:
  0  done, and every requested check agreed
  1  a check found a difference, or --strict a contradiction
  2  wrong options, arguments or names of files, or a file that cannot be written
  3  the model cannot be loaded, traced, converted or inferred
  4  a fault of yobx itself: please report it
  130  interrupted
  141  the output was cut off, as by `| head`
"""

_MODEL = """\
MODEL is one of
  model.keras, model.h5     a Keras archive, loaded in Keras's safe mode
  folder/                   a SavedModel
  frozen.pb                 a frozen graph of TensorFlow 1
  module:attribute          a model, a tf.function, or a function without parameters that returns
                            a model, (model, args) or (model, args, options)
  file.py:attribute         the same, from a file
  function.bin              with --jax, what jax.export.Exported.serialize() returned
"""
_ONNX_MODEL = """\
  model.onnx                an ONNX model, with model_reference.py beside it that defines
                            reference(*inputs) over numpy arrays
"""


COMMANDS = ("convert", "check", "infer", "ops")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line: the options are in the help."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2 and the reason."""
        more = "" if "--help" in message else f". All options: {self.prog} --help"
        self.exit(2, f"{self.prog}: error: {message}{more}\n")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; a name that does not exist ends in one that does.

    Args:
        arguments: The command line without the name of the program.

    Returns:
        What was asked for.

    Raises:
        SystemExit: With code 2 and the reason on the error stream, if it cannot be read.
    """
    parser, commands = _build()
    first = arguments[0] if arguments else ""
    if first[:1] not in {"", "-"} and first not in commands:
        parser.error(
            f"there is no command {first!r}.{_nearest(first, COMMANDS)} "
            f"Commands: {', '.join(COMMANDS)}; yobx --help"
        )
    command = commands.get(first, parser)
    known = re.findall(r"(?<![\w-])--[a-z][a-z-]+", command.format_help())
    for name in (text.partition("=")[0] for text in arguments if text.startswith("--")):
        if name not in {*known, "--"}:  # before argparse misses what was meant by it
            hint = _nearest(name, known)
            having = [c for c, p in commands.items() if name in p._option_string_actions]
            if having and not hint:
                hint = f" yobx {having[0]} has it."
            command.error(f"unknown option {name}.{hint} All options: {command.prog} --help")
    options, more = parser.parse_known_args(arguments)
    if more:
        command.error(f"one argument too many: {more[0]}. All options: {command.prog} --help")
    return options


def _nearest(name: str, known: Sequence[str]) -> str:
    longer = [word for word in known if word.startswith(name)]
    words = {word.lstrip("-"): word for word in known}  # what all share makes nothing similar
    near = longer or [words[word] for word in similar(name.lstrip("-"), words)]
    return f" Did you mean {near[0]}?" if near else ""


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of ``yobx``.

    Returns:
        A parser whose result has ``command``: the name of the command, or ``None``.
    """
    return _build()[0]


def _build() -> tuple[_Parser, dict[str, _Parser]]:
    """The parser, and that of each command."""
    parser = _Parser(
        prog="yobx",
        description="Convert Keras, TensorFlow and JAX models to ONNX, and check the result.",
        epilog=_EXAMPLES,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"yobx {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_convert(commands)
    _add_check(commands)
    _add_infer(commands)
    _add_ops(commands)
    return parser, dict(commands.choices)


_Commands = argparse._SubParsersAction  # the type has no public name


def _command(commands: _Commands[_Parser], name: str, summary: str, epilog: str = "") -> _Parser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        allow_abbrev=False,  # the start of an option would be another one in a later version
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--traceback", action="store_true", help="show where an error was raised")
    shown.add_argument("-q", "--quiet", action="store_true", help="show results and errors only")
    return parser


def _add_source(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which model, and which inputs, ``to_onnx`` receives."""
    parser.add_argument("model", metavar="MODEL", help="what to convert, see below")
    source = parser.add_argument_group("the model")
    source.add_argument(
        "--jax", action="store_true", help="MODEL is a JAX function, or a file of one"
    )
    source.add_argument(
        "--graphdef", action="store_true", help="MODEL is a frozen graph of TensorFlow 1 (.pb)"
    )
    source.add_argument(
        "--graph-inputs", metavar="A,B", help="tensors of a frozen graph that are its inputs"
    )
    source.add_argument(
        "--graph-outputs", metavar="A,B", help="tensors of a frozen graph that are its outputs"
    )
    source.add_argument("--signature", metavar="NAME", help="signature of a SavedModel")
    source.add_argument("--tag", metavar="TAG", action="append", help="tag of a SavedModel")
    source.add_argument(
        "--allow-unsafe",
        action="store_true",
        help="leave Keras's safe mode: code inside the archive will run; trusted files only",
    )
    inputs = parser.add_argument_group("its inputs")
    inputs.add_argument(
        "--input",
        metavar="SPEC",
        action="append",
        help='an input as NAME:DTYPE[SIZES], for example "x:float32[B,4]"; once per input, in '
        "order; needed only where the model does not say",
    )
    inputs.add_argument(
        "--input-names", metavar="A,B", help="names of the inputs in the ONNX model"
    )
    inputs.add_argument(
        "--dynamic",
        metavar="NAME:AXIS=SYMBOL",
        action="append",
        help="an axis whose size may vary, and the name of that size; may be given repeatedly "
        "(default: every axis that the model leaves open; with sizes in --input, the named ones)",
    )
    inputs.add_argument(
        "--static", action="store_true", help="fix every size that the model or --input gives"
    )
    parser.add_argument(
        "--opset",
        "--target-opset",
        metavar="N[,DOMAIN=N]",
        dest="opset",
        help="opset of the ONNX model, and of other domains that it may use, for example "
        "21,com.microsoft=1 (default: 21)",
    )


def _add_convert(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "convert", "write a model as ONNX", _MODEL)
    _add_source(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")
    layout = parser.add_argument_group("its layout")
    for side in ("inputs", "outputs"):
        layout.add_argument(
            f"--{side}-as-nchw",
            metavar="A,B",
            help=f"{side} of the ONNX model that get their channels before height and width",
        )
    parser.add_argument(
        "--check", action="store_true", help="run the result and compare it with the original"
    )


def _add_check(commands: _Commands[_Parser]) -> None:
    parser = _command(
        commands,
        "check",
        "convert a model and compare the result with the original",
        _MODEL + _ONNX_MODEL,
    )
    _add_source(parser)
    runs = parser.add_argument_group("the runs")
    runs.add_argument(
        "--bind",
        metavar="B=7,S=11",
        action="append",
        help="sizes of the dynamic axes in one run; may be given repeatedly "
        "(default: distinct primes, then 1)",
    )
    runs.add_argument(
        "--seed", type=int, default=0, help="seed of the generated inputs (default: 0)"
    )
    report = parser.add_argument_group("the report")
    report.add_argument("--json", metavar="FILE", help="write the report as JSON ('-': print it)")
    report.add_argument("--html", metavar="FILE", help="write the report as one HTML page")


def _add_infer(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "infer", "infer the type and shape of every value of an ONNX model")
    parser.add_argument("model", metavar="MODEL.onnx", help="file to read; weights stay on disk")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the model with its shapes")
    parser.add_argument("--json", action="store_true", help="print the values as JSON")
    parser.add_argument(
        "--strict", action="store_true", help="stop at a declared shape that cannot be true"
    )
    parser.add_argument(
        "--explain", metavar="NAME", help="tell why the shape of a value is what it is"
    )


def _add_ops(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "ops", "list what is supported, from the live registries")
    parser.add_argument("--tf", action="store_true", help="TensorFlow operations with a converter")
    parser.add_argument("--jax", action="store_true", help="StableHLO operations with a converter")
    parser.add_argument("--onnx", action="store_true", help="ONNX operators with a shape rule")
    parser.add_argument("--search", metavar="TEXT", help="only names that contain TEXT")
