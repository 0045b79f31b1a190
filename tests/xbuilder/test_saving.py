from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.xbuilder.support import builder, run
from yobx.errors import ArgumentError, GraphError
from yobx.xbuilder import GraphBuilder, saving

X = np.ones((2, 4), dtype=np.float32)


def network() -> tuple[GraphBuilder, np.ndarray]:
    g = builder()
    rng = np.random.default_rng(0)
    first = rng.standard_normal((4, 2000)).astype(np.float32)
    second = rng.standard_normal((2000, 3)).astype(np.float32)
    y = g.op.MatMul(g.op.Relu(g.op.MatMul("X", first)), second)
    g.make_tensor_output("Y", source=g.op.Add(y, 1.0))
    return g, np.maximum(X @ first, 0) @ second + 1


def test_one_file(tmp_path: Path) -> None:
    g, expected = network()
    path = tmp_path / "model.onnx"
    model = g.to_onnx(filename=path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert onnx.load(path).SerializeToString(deterministic=True) == model.SerializeToString(
        deterministic=True
    )
    np.testing.assert_allclose(run(model, X=X)[0], expected, rtol=1e-4)


def test_external_data(tmp_path: Path) -> None:
    g, expected = network()
    path = tmp_path / "model.onnx"
    model = g.to_onnx(filename=str(path), external_threshold=1000)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    external = [t.name for t in model.graph.initializer if t.external_data]
    assert len(external) == 2
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": X})[0], expected, rtol=1e-4)
    onnx.checker.check_model(str(path), full_check=True)


def test_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    g, _ = network()
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")

    def full_disk(*args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(saving, "_stream", full_disk)
    with pytest.raises(OSError, match="no space left"):
        g.to_onnx(filename=path, external_threshold=1000)
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert path.read_bytes() == b"before"


def test_an_invalid_model_is_not_written(tmp_path: Path) -> None:
    g = builder()
    g.make_tensor_input("U", np.float32, None)
    g.make_tensor_output("Y", source=g.op.Relu("U"))
    with pytest.raises(GraphError, match="unknown rank"):
        g.to_onnx(filename=tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_the_folder_must_exist(tmp_path: Path) -> None:
    g, _ = network()
    with pytest.raises(ArgumentError, match="folder of the file must exist") as caught:
        g.to_onnx(filename=tmp_path / "missing" / "model.onnx")
    assert caught.value.argument == "filename"


def test_strings_among_the_weights(tmp_path: Path) -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("X", np.str_, (2000,))
    g.make_tensor_output("Y", source=g.op.StringConcat("X", np.array(["é"] * 2000)))
    path = tmp_path / "model.onnx"
    g.to_onnx(filename=path, external_threshold=10)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    result = session.run(None, {"X": np.array(["a"] * 2000, dtype=object)})[0]
    assert set(result) == {"aé"}
