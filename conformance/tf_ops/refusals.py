"""Cases that an opset cannot express, declared by name.

At the usual opset a case says itself what is refused. At another one an operator, an attribute or a
kernel of onnxruntime is missing: which cases that concerns stands in the file beside this module.
``python -m conformance tf-ops --write`` renews it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Declared", "is_declared", "load", "write"]

_FILE = Path(__file__).with_name("refusals.json")


class Declared(NamedTuple):
    """A case at an opset.

    Attributes:
        opset: Target opset.
        subject: Module of the case.
        case: Its name.
    """

    opset: int
    subject: str
    case: str


def load() -> frozenset[Declared]:
    """Return every case that is declared."""
    return _load(_FILE)


@cache
def _load(path: Path) -> frozenset[Declared]:
    data = json.loads(path.read_text(encoding="utf-8"))
    return frozenset(
        Declared(int(opset), subject, case)
        for opset, subjects in data.items()
        for subject, cases in subjects.items()
        for case in cases
    )


def is_declared(opset: int, subject: str, case: str) -> bool:
    """Tell whether a case is declared to be refused at an opset.

    Args:
        opset: Target opset. One newer than all in the file is taken for the newest of them.
        subject: Module of the case.
        case: Its name.
    """
    known = load()
    newest = max((one.opset for one in known), default=opset)
    return Declared(min(opset, newest), subject, case) in known


def write(
    refused: Iterable[Declared], checked: Iterable[Declared] | None = None
) -> tuple[list[str], list[str]]:
    """Renew the file.

    Args:
        refused: Cases that were refused.
        checked: Cases that were converted, the others stay as they are; all cases if not given.

    Returns:
        What is declared now and was not before, and what is no longer.
    """
    before = load()
    kept: frozenset[Declared] = frozenset() if checked is None else before - set(checked)
    after = kept | set(refused)
    rows: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in sorted(after):
        rows[one.opset][one.subject].append(one.case)
    _FILE.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _load.cache_clear()
    return _said(after - before), _said(before - after)


def _said(some: Iterable[Declared]) -> list[str]:
    return [f"tf/{one.subject}/{one.case}[opset {one.opset}]" for one in sorted(some)]
