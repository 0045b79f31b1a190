"""Results by op type, which ``yobx ops --tf`` and the documentation show."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yobx.tensorflow
from conformance.cells import Cell, Verdict
from conformance.tf_ops import NIGHTLY, SUBJECTS, subject_cases
from conformance.tf_ops.attributes import Value, choices
from conformance.tf_ops.contents import Content, content_of
from conformance.tf_ops.matrix import parse
from yobx.lowering.opsets import DEFAULT_OPSET
from yobx.tensorflow.ops import register
from yobx.tensorflow.register import get_tf_op_registrations

__all__ = ["RESULTS", "add", "results", "write"]

#: Beside the registry, because the command line shows both.
RESULTS = Path(yobx.tensorflow.__file__).with_name("op_results.json")


@dataclass
class _Row:
    """What is known of one op type, by opset."""

    counts: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    dtypes: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    run: set[Value] = field(default_factory=set)
    refused: set[Value] = field(default_factory=set)

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON data."""
        usual = self.dtypes[DEFAULT_OPSET]
        lacking = {str(o): sorted(usual - self.dtypes[o]) for o in sorted(self.counts)}
        return {
            "cells": {str(o): dict(sorted(self.counts[o].items())) for o in sorted(self.counts)},
            "dtypes": sorted(usual),
            "without": {opset: dtypes for opset, dtypes in lacking.items() if dtypes},
            "refused": sorted("=".join(value) for value in self.refused - self.run),
        }


def results(cells: Iterable[Cell]) -> dict[str, dict[str, Any]]:
    """Count by op type: a cell counts for every op type in its graph.

    A refusal counts for the op type that the case is about only, as do the values it is for.

    Args:
        cells: Results of all cells.

    Returns:
        For every registered op type that a cell holds: cells by opset and verdict, dtypes that
        pass at the usual opset, those of them that do not at another one, and refused values of
        attributes.
    """
    register()
    known = get_tf_op_registrations()
    contents = {
        (s, c.name): (c.op_type, content_of(c))
        for s in (*SUBJECTS, *NIGHTLY)
        for c in subject_cases(s)
    }
    rows: dict[str, _Row] = {name: _Row() for name in sorted(known)}
    for cell in cells:
        said = parse(cell.name)
        about, content = contents[said.subject, said.case]
        for op_type in content.dtypes:
            if op_type in rows and (cell.verdict is Verdict.PASS or op_type == about):
                _count(rows[op_type], op_type, cell, said.opset, content)
    return {name: row.as_dict() for name, row in rows.items() if row.counts}


def _count(row: _Row, op_type: str, cell: Cell, opset: int, content: Content) -> None:
    row.counts[opset][cell.verdict.value] += 1
    pairs = content.dtypes[op_type]
    if cell.verdict is Verdict.PASS:
        row.dtypes[opset] |= {dtype for _, dtype in pairs}
        row.run |= content.values[op_type] | pairs
    elif opset == DEFAULT_OPSET:
        listed = choices(op_type)
        row.refused |= {value for value in content.values[op_type] if value[0] in listed} | pairs


def write(cells: Iterable[Cell], versions: Mapping[str, str]) -> None:
    """Write the results.

    Args:
        cells: Results of all cells.
        versions: Versions of what they were made with.
    """
    every = list(cells)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for cell in every:
        counts[str(parse(cell.name).opset)][cell.verdict.value] += 1
    totals = {opset: dict(sorted(counts[opset].items())) for opset in sorted(counts)}
    _write({"cells": totals, "schema": 1, "versions": dict(versions)}, results(every))


def add(cells: Iterable[Cell]) -> list[str]:
    """Add the op types that the file does not have; the others stay as they are.

    Args:
        cells: Results of the cells that hold the new op types.

    Returns:
        The op types that were added.
    """
    head = json.loads(RESULTS.read_text(encoding="utf-8"))
    known = head.pop("ops")
    new = {name: row for name, row in results(cells).items() if name not in known}
    _write(head, known | new)
    return list(new)


def _write(head: Mapping[str, Any], ops: Mapping[str, Any]) -> None:
    # An operation is a line, so that a change of one is a change of one line.
    rows = [f"  {json.dumps(k)}: {json.dumps(ops[k])}" for k in sorted(ops)]
    lines = [f" {json.dumps(k)}: {json.dumps(value)}," for k, value in head.items()]
    text = "\n".join(["{", *lines, ' "ops": {', ",\n".join(rows), " }", "}"])
    RESULTS.write_text(text + "\n", encoding="utf-8")
