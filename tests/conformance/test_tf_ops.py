"""Cells of single TensorFlow operations: names, verdicts, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from conformance import jobs
from conformance.cells import Cell, Verdict
from conformance.tf_ops import matrix, refusals, subject_cases
from conformance.tf_ops import results as tf_results
from conformance.tf_ops.attributes import missing
from conformance.tf_ops.cases import Arg, Case
from conformance.tf_ops.contents import content_of
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

X = Arg("float32", ("n", 3))
FINE = Case("fine", lambda x: tf.nn.relu(x), (X,), op_type="Relu")
PERTURBED = Row(
    "TridiagonalSolve",
    {"diagonals": Arg("float32", (3, 4), 1, 3), "rhs": Arg("float32", (4, 2))},
    {"perturb_singular": True},
).case("")


def only_traced(x: Any) -> Any:
    return x + (0.0 if tf.executing_eagerly() else 1e-3)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Cell]:
    """Make the cell of one case."""

    def make(case: Case, mode: str = "static", opset: int = 21) -> Cell:
        monkeypatch.setattr(matrix, "_by_name", lambda subject: {case.name: case})
        return matrix.cell_of(f"tf/made/{case.name}[{mode},opset {opset}]")

    return make


def test_names_and_back() -> None:
    said = matrix.CellName("text", "replace-\n[1]", "static", 18)
    assert matrix.parse(str(said)) == said
    with pytest.raises(ValueError, match="subject/case"):
        matrix.parse("tf/text/lower")


def test_names_are_unique_and_of_every_opset() -> None:
    names = list(matrix.names((18, 21, 21), ("casts", "spectral")))
    assert len(names) == len(set(names))
    assert {matrix.parse(name).opset for name in names} == {18, 21}
    assert {matrix.parse(name).mode for name in names} == {"static", "dynamic"}


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_what_agrees_passes(cell: Callable[..., Cell], mode: str) -> None:
    found = cell(FINE, mode)
    assert (found.verdict, found.group) == (Verdict.PASS, "tf/Relu")


def test_what_differs_is_wrong(cell: Callable[..., Cell]) -> None:
    found = cell(replace(FINE, function=only_traced))
    assert found.verdict is Verdict.WRONG
    assert "differ" in found.message


def test_a_refusal_is_declared(cell: Callable[..., Cell]) -> None:
    assert cell(PERTURBED).verdict is Verdict.BROKEN
    assert cell(replace(PERTURBED, refused="not perturbed")).verdict is Verdict.UNSUPPORTED
    assert cell(replace(PERTURBED, refused="another reason")).verdict is Verdict.BROKEN


def test_a_declared_refusal_that_does_not_come_is_broken(cell: Callable[..., Cell]) -> None:
    found = cell(replace(FINE, refused="never"))
    assert found.verdict is Verdict.BROKEN
    assert "passes" in found.message


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Declare cases of the module ``made`` to be refused at opset 18."""

    def write(*cases: str) -> Path:
        path = tmp_path / f"refusals-{len(cases)}.json"
        path.write_text(json.dumps({"18": {"made": cases}}), encoding="utf-8")
        monkeypatch.setattr(refusals, "_FILE", path)
        return path

    return write


JOINED = Case("joined", lambda x: x + "!", (Arg("string", (3,)),))


def test_what_an_old_opset_lacks_is_declared(
    cell: Callable[..., Cell], declare: Callable[..., Path]
) -> None:
    declare()
    assert cell(JOINED, opset=18).verdict is Verdict.BROKEN
    assert cell(JOINED).verdict is Verdict.PASS
    declare("joined")
    assert cell(JOINED, opset=18).verdict is Verdict.UNSUPPORTED
    assert cell(JOINED).verdict is Verdict.PASS


def test_what_is_declared_and_passes_is_broken(
    cell: Callable[..., Cell], declare: Callable[..., Path]
) -> None:
    declare("fine")
    found = cell(FINE, opset=18)
    assert (found.verdict, found.phase) == (Verdict.BROKEN, "not refused")


def test_no_declaration_excuses_another_error(
    cell: Callable[..., Cell], declare: Callable[..., Path]
) -> None:
    declare("fine")
    assert cell(replace(FINE, function=only_traced), opset=18).verdict is Verdict.WRONG
    failing = replace(FINE, function=lambda x: x.no_such_attribute)
    assert cell(failing, opset=18).verdict is Verdict.BROKEN


def test_declarations_are_renewed(cell: Callable[..., Cell], declare: Callable[..., Path]) -> None:
    path = declare("fine", "unchecked")
    made = [cell(FINE, opset=18), cell(JOINED, opset=18), cell(JOINED)]
    settled, more, fewer = matrix.settle(made, whole=False)
    assert [one.verdict for one in settled] == [Verdict.PASS, Verdict.UNSUPPORTED, Verdict.PASS]
    assert (more, fewer) == (["tf/made/joined[opset 18]"], ["tf/made/fine[opset 18]"])
    assert json.loads(path.read_text()) == {"18": {"made": ["joined", "unchecked"]}}
    assert cell(JOINED, opset=18).verdict is Verdict.UNSUPPORTED
    assert matrix.settle(made[1:], whole=True)[1:] == ([], ["tf/made/unchecked[opset 18]"])


def test_the_newest_declared_opset_stands_for_newer_ones(declare: Callable[..., Path]) -> None:
    declare("joined")
    assert refusals.is_declared(18, "made", "joined")
    assert refusals.is_declared(30, "made", "joined")
    assert not refusals.is_declared(17, "made", "joined")


def test_declared_cases_exist() -> None:
    for one in refusals.load():
        assert one.case in {case.name for case in subject_cases(one.subject)}, one


def test_every_value_gets_a_case() -> None:
    row = Row("TopKV2", {"input": X, "k": 2}, only=())
    made = [case.name for case in cases_of([row])]
    assert made == ["TopKV2"]
    row = Row("Max", {"input": X, "axis": [1]}, only=())
    assert [case.name for case in cases_of([row])] == ["Max", "Max-keep_dims-True"]
    assert [case.name for case in cases_of([replace(row, vary=())])] == ["Max"]


def test_what_lacks_a_case() -> None:
    assert missing("Max", {("keep_dims", "False")}) == [("keep_dims", "True")]
    assert missing("Max", {("keep_dims", "False"), ("keep_dims", "True")}) == []
    assert missing("LeakyRelu", {("alpha", "0.2")}) == [("alpha", "another value")]


def test_content_is_that_of_the_graph() -> None:
    content = content_of(Case("max", lambda x: tf.reduce_max(x, 1, keepdims=True), (X,)))
    assert ("T", "float32") in content.dtypes["Max"]
    assert content.values["Max"] == {("keep_dims", "True")}


def test_cells_count_for_every_operation_they_hold() -> None:
    case = next(case for case in subject_cases("spectral") if case.name == "mul")
    made = [
        Cell(f"tf/spectral/{case.name}[static,opset {opset}]", "tf/spectral", verdict)
        for opset, verdict in ((18, Verdict.UNSUPPORTED), (21, Verdict.PASS))
    ]
    found = tf_results.results(made)
    assert {"Complex", "Mul", "Pack"} <= set(found)
    assert found["Mul"]["cells"] == {"21": {"pass": 1}}
    assert "complex64" in found["Mul"]["dtypes"]


def test_results_of_new_operations_are_added(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    monkeypatch.setattr(tf_results, "RESULTS", path)
    made = [Cell("tf/spectral/mul[static,opset 21]", "tf/spectral", Verdict.PASS)]
    tf_results.write(made, {"onnx": "1"})
    data = json.loads(path.read_text())
    assert data["cells"] == {"21": {"pass": 1}}
    mul = data["ops"].pop("Mul")
    data["ops"]["Pack"]["refused"] = ["kept"]
    path.write_text(json.dumps(data))
    assert tf_results.add(made) == ["Mul"]
    again = json.loads(path.read_text())
    assert again["ops"]["Mul"] == mul
    assert again["ops"]["Pack"]["refused"] == ["kept"]
    assert again["versions"] == {"onnx": "1"}


def test_the_sample_holds_some() -> None:
    names = [name for name, _ in jobs.sample() if name.startswith("tf/")]
    assert len(names) == len(set(names)) == 60
    assert {matrix.parse(name).mode for name in names} == {"static", "dynamic"}
