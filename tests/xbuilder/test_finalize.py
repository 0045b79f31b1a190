import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
import pytest

from tests.xbuilder.support import builder, run
from yobx.errors import GraphError
from yobx.passes import default_passes
from yobx.xbuilder import GraphBuilder, finalize

ROOT = Path(__file__).resolve().parents[2]


def test_dead_nodes_go_and_inputs_stay() -> None:
    g = builder()
    g.make_tensor_input("U", np.int64, ("m",))
    g.make_initializer("W", np.zeros(3, dtype=np.float32))
    g.op.Neg("X")
    g.make_tensor_output("Y", source=g.op.Relu("X"))
    graph = g.to_onnx().graph
    assert [n.op_type for n in graph.node] == ["Relu"]
    assert [i.name for i in graph.input] == ["X", "U"]
    assert not graph.initializer


def test_every_value_is_described() -> None:
    g = builder()
    y = g.op.Concat("X", g.op.Relu("X"), axis=0)
    g.make_tensor_output("Y", source=g.op.Neg(y))
    graph = g.to_onnx().graph
    described = {info.name: info for info in graph.value_info}
    assert {"Relu", "Concat"} <= described.keys()
    assert graph.output[0].type.tensor_type.shape.dim[0].dim_param == "2*n"


@pytest.mark.parametrize(("opset", "ir_version"), [(18, 8), (19, 9), (21, 10), (23, 11)])
def test_ir_version_is_the_lowest(opset: int, ir_version: int) -> None:
    g = builder(opset)
    g.make_tensor_output("Y", source=g.op.Relu("X"))
    assert g.to_onnx().ir_version == ir_version


def test_passes_are_called_in_order() -> None:
    g = builder()
    g.make_tensor_output("Y", source=g.op.Identity(g.op.Relu("X")))
    calls: list[str] = []

    def mutate(model: onnx_ir.Model) -> None:
        calls.append("mutate")

    def give_back(model: onnx_ir.Model) -> onnx_ir.Model:
        calls.append("give back")
        return model

    elimination = onnx_ir.passes.common.IdentityEliminationPass()
    model = g.to_onnx(passes=[mutate, elimination, give_back])
    assert calls == ["mutate", "give back"]
    assert [n.op_type for n in model.graph.node] == ["Relu"]


def test_a_pass_that_breaks_the_model_is_found_out() -> None:
    g = builder()
    g.make_tensor_output("Y", source=g.op.Relu("X"))

    def vandal(model: onnx_ir.Model) -> None:
        model.graph[0].op_type = "NoSuchOperator"

    with pytest.raises(GraphError):
        g.to_onnx(passes=[vandal])


def test_sizes_that_onnx_gets_wrong_are_no_reason_to_refuse() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("X", np.float32, (1, 1, 1, 5))
    y = g.op.MaxPool("X", kernel_shape=[1, 1], strides=[1, 4], ceil_mode=1)
    g.make_tensor_output("Y", source=g.op.Concat(y, y, axis=3))
    result = run(g.to_onnx(), X=np.zeros((1, 1, 1, 5), dtype=np.float32))[0]
    assert list(result.shape) == [d.as_int() for d in g.get_shape("Y")]


def test_no_outputs() -> None:
    with pytest.raises(GraphError, match="needs outputs"):
        builder().to_onnx()


def test_too_large_for_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finalize, "PROTO_LIMIT", 1000)
    g = builder()
    g.make_tensor_output("Y", source=g.op.MatMul("X", np.zeros((4, 300), dtype=np.float32)))
    with pytest.raises(GraphError, match="Try filename="):
        g.to_onnx()


BUILD = """
import hashlib, numpy as np
from tests.passes.networks import NETWORKS, Net
from yobx.passes import default_passes
from yobx.xbuilder import GraphBuilder
for name in sorted(NETWORKS):
    for passes in ((), default_passes()):
        g = GraphBuilder(21)
        x = g.make_tensor_input("X", np.float32, ("N", 16, 16, 3))
        g.make_tensor_output("Y", source=NETWORKS[name][0](Net(g), x))
        print(name, hashlib.sha256(g.to_onnx(passes=passes).SerializeToString()).hexdigest())
"""


def test_two_processes_build_the_same_bytes() -> None:
    texts = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", BUILD],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        texts.append(done.stdout)
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 16


MEASURE = """
import numpy as np, threading, time
from yobx.passes import default_passes
from yobx.xbuilder import GraphBuilder

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

weights = [np.full((2000, 2000), 0.5 + i, dtype=np.float32) for i in range(7)]
size = sum(w.nbytes for w in weights)
start, peak, stop = resident(), [0], threading.Event()
def watch():
    while not stop.wait(0.002):
        peak[0] = max(peak[0], resident())
watcher = threading.Thread(target=watch)
watcher.start()
g = GraphBuilder(21)
y = g.make_tensor_input("X", np.float32, ("n", 2000))
for w in weights:
    y = g.op.MatMul(y, w)
g.make_tensor_output("Y", source=y)
model = g.to_onnx(passes=default_passes())
stop.set(); watcher.join()
print((max(peak[0], resident()) - start) / size)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_memory_for_100_megabytes_of_weights() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], check=True, capture_output=True, text=True
    )
    assert float(done.stdout) < 2.0


def test_model_runs() -> None:
    g = builder()
    g.make_tensor_output("Y", source=g.op.Softmax("X", axis=-1))
    model = g.to_onnx()
    onnx.checker.check_model(model, full_check=True)
    result = run(model, X=np.zeros((2, 4), dtype=np.float32))[0]
    np.testing.assert_allclose(result, 0.25)


def test_value_info_describes_what_nodes_make_only() -> None:
    g = builder()
    x = g.make_tensor_input("X64", "float32", ("n", 64))
    weights = g.make_initializer("W", np.ones((64, 64), dtype=np.float32))
    bias = g.make_initializer("b", np.ones(64, dtype=np.float32))
    g.make_tensor_output("Y", source=g.op.Relu(g.op.Add(g.op.MatMul(x, weights), bias)))
    for passes in ((), default_passes()):
        graph = g.to_onnx(passes=passes).graph
        made = {name for node in graph.node for name in node.output} - {"Y"}
        assert {tensor.name for tensor in graph.initializer} == {"W", "b"}
        assert {info.name for info in graph.value_info} == made
