"""What a failing check leaves: every value, and a text to file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.verification.models import network, node_of
from yobx.verification import run_check
from yobx.verification.artifacts import write_artifacts

X = np.random.default_rng(11).standard_normal((4, 16)).astype(np.float32)


def failing(tmp_path: Path) -> Path:
    bad = network()
    attribute = next(a for a in node_of(bad, "bn1").attribute if a.name == "epsilon")
    attribute.f = 1e-5
    result = run_check(bad, (X,), reference=network(), bindings="primes", name="tower")
    write_artifacts(result, tmp_path)
    return tmp_path


def test_every_value_with_its_error(tmp_path: Path) -> None:
    lines = (failing(tmp_path) / "values.jsonl").read_text().splitlines()
    rows = {row["value"]: row for row in map(json.loads, lines)}
    assert len(rows) == 10
    assert rows["d0"]["compared"] == rows["d1"]["compared"] == "agrees"
    assert rows["n1"]["compared"] == "differs"
    assert rows["n1"]["stated"] == "[B, 16]"
    assert rows["n1"]["shape"] == [5, 16]
    assert rows["n1"]["wrong"] > 0
    assert rows["n1"]["max_abs"] > 1e-4 > rows["d1"]["max_abs"]


def test_a_text_to_file(tmp_path: Path) -> None:
    text = (failing(tmp_path) / "issue.md").read_text()
    assert text.startswith("# BatchNormalization: values differ in tower (the converter)\n")
    assert "yobx: VALUES differ" in text
    assert "* `reduced.onnx`" in text
    assert "python repro.py reduced" in text
    assert "holds the weights" in text
    assert f"* numpy {np.__version__}\n" in text


def test_a_model_without_conversion_leaves_a_text_too(tmp_path: Path) -> None:
    result = run_check(str(tmp_path / "absent.keras"))
    write_artifacts(result, tmp_path / "artifacts")
    text = (tmp_path / "artifacts" / "issue.md").read_text()
    assert text.startswith("# import fails for ")
    assert "no converted model" in text
    assert not (tmp_path / "artifacts" / "values.jsonl").exists()


def test_a_passing_check_has_nothing_to_file(tmp_path: Path) -> None:
    result = run_check(network(), (X,), reference=network(), bindings="primes")
    assert "issue.md" not in write_artifacts(result, tmp_path)
