"""Pages read at build time: supported operations and layers, JAX's cases, the command line."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


def _cell(content: nodes.Node) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", content))


def _table(columns: list[str], rows: list[list[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup(cols=len(columns))
    group += [nodes.colspec(colwidth=1) for _ in columns]
    head = nodes.row()
    head += [_cell(nodes.Text(column)) for column in columns]
    group += nodes.thead("", head)
    body = nodes.tbody()
    for row in rows:
        line = nodes.row()
        line += [_cell(cell) for cell in row]
        body += line
    group += body
    table = nodes.table()
    table += group
    return table


class SupportedOps(SphinxDirective):
    """``yobx-ops:: tensorflow``: a table of the live registry."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the registry."""
        from yobx.cli.ops import checked, tables

        rows = tables()[self.arguments[0]]
        count = nodes.paragraph("", f"{len(rows)} entries, read when this page was built.")
        cells = [
            [nodes.literal("", name), nodes.Text(kinds), nodes.literal("", place)]
            for name, kinds, place in rows
        ]
        columns = ["operation", "dtypes or versions", "written in"]
        if self.arguments[0] == "tensorflow":
            results = checked()
            for row, (name, _, _) in zip(cells, rows, strict=True):
                passed, limits = results.get(name, (0, ""))
                row += [nodes.Text(str(passed)), nodes.Text(limits)]
            columns += ["checks passed", "limits"]
        return [count, _table(columns, cells)]


class WithoutRule(SphinxDirective):
    """``yobx-without-rule::``: operators of the installed onnx without a shape rule."""

    def run(self) -> list[nodes.Node]:
        """Compare the schemas with the registry."""
        from yobx.onnx_optim.registry import operators_without_rule

        missing, total = operators_without_rule()
        text = f"{len(missing)} of the {total} operators of the onnx release this was built with"
        found: list[nodes.Node] = [nodes.paragraph("", f"{text}{':' if missing else '.'}")]
        if missing:
            items = [
                nodes.list_item("", nodes.paragraph("", "", nodes.literal("", m))) for m in missing
            ]
            found.append(nodes.bullet_list("", *items))
        return found


class RefusedOps(SphinxDirective):
    """``yobx-refused-ops::``: the op types of TensorFlow without a converter, by class."""

    def run(self) -> list[nodes.Node]:
        """Compare TensorFlow's op types with the registry."""
        import tensorflow as tf

        from yobx.cli.ops import tables
        from yobx.tensorflow.refused_ops import by_class

        known = {name for name, _, _ in tables()["tensorflow"]}
        names = [n for n in dir(tf.raw_ops) if n[0].isupper() and n not in known]
        found: list[nodes.Node] = [nodes.paragraph("", f"{len(names)} op types.")]
        for refused, members in by_class(names).items():
            title = nodes.strong("", f"{refused.title} ({len(members)})")
            found.append(nodes.paragraph("", "", title, nodes.Text(f". {refused.reason}")))
            found.append(nodes.paragraph("", "", nodes.literal("", " ".join(members))))
        return found


class KerasResults(SphinxDirective):
    """``yobx-keras:: layers``: what became of the entries about each class or function."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the results in the repository."""
        from conformance.census import RESULTS

        data = json.loads(RESULTS.read_text(encoding="utf-8"))
        prefix = f"keras.{self.arguments[0]}."
        rows = {n: row for n, row in data["subjects"].items() if n.startswith(prefix)}
        total = sum(row.get("pass", 0) for row in rows.values())
        made = ", ".join(f"{n} {data['versions'][n]}" for n in ("keras", "tensorflow"))
        text = f"{len(rows)} names, {total} checks passed, made with {made}."
        cells = [
            [
                nodes.literal("", name),
                nodes.Text(str(row.get("pass", 0))),
                nodes.Text(str(sum(row.get(k, 0) for k in ("unsupported", "source")) or "")),
                nodes.Text("; ".join(row["reasons"])),
            ]
            for name, row in rows.items()
        ]
        columns = ["name", "checks passed", "refused", "why"]
        return [nodes.paragraph("", text), _table(columns, cells)]


class JaxResults(SphinxDirective):
    """``yobx-jax::``: what became of JAX's cases about each primitive."""

    def run(self) -> list[nodes.Node]:
        """Read the results in the repository."""
        from conformance.jax_results import KINDS, OUTCOMES, RESULTS

        data = json.loads(RESULTS.read_text(encoding="utf-8"))
        rows: dict[str, dict[str, Any]] = data["primitives"]
        totals = {kind: _sum(row.get(kind, {}) for row in rows.values()) for kind in KINDS}
        every = [(name, [row.get(kind, {}) for kind in KINDS], row) for name, row in rows.items()]
        lines = [("all", list(totals.values()), {"reasons": []}), *every]
        cells = [
            [
                nodes.literal("", name),
                *(nodes.Text(_shown(counts, OUTCOMES)) for counts in columns),
                nodes.Text("; ".join(row["reasons"])),
            ]
            for name, columns, row in lines
        ]
        text = f"{len(rows)} primitives, made with JAX {data['versions']['jax']}."
        return [nodes.paragraph("", text), _table(["primitive", *KINDS, "why"], cells)]


def _sum(counts: Iterable[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total


def _shown(counts: Mapping[str, int], outcomes: Sequence[str]) -> str:
    """``12 pass, 1 refused``."""
    return ", ".join(f"{counts[name]} {name}" for name in outcomes if counts.get(name))


class CommandLine(SphinxDirective):
    """``yobx-cli::``: the help of every command, as the terminal shows it."""

    def run(self) -> list[nodes.Node]:
        """Ask the parser."""
        from yobx.cli.parser import build_parser

        parser = build_parser()
        actions = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        commands: dict[str, Any] = dict(next(actions).choices)
        found: list[nodes.Node] = [_help(parser)]
        for name, command in commands.items():
            section = nodes.section(ids=[f"yobx-{name}"])
            section += [nodes.title("", f"yobx {name}"), _help(command)]
            found.append(section)
        return found


def _help(parser: argparse.ArgumentParser) -> nodes.literal_block:
    text = parser.format_help()
    block = nodes.literal_block(text, text)
    block["language"] = "text"
    return block


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("yobx-ops", SupportedOps)
    app.add_directive("yobx-without-rule", WithoutRule)
    app.add_directive("yobx-refused-ops", RefusedOps)
    app.add_directive("yobx-keras", KerasResults)
    app.add_directive("yobx-jax", JaxResults)
    app.add_directive("yobx-cli", CommandLine)
    return {"parallel_read_safe": True}
