import cProfile

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.passes.networks import NETWORKS, Net
from tests.passes.support import compare, kinds
from yobx.passes import default_passes
from yobx.xbuilder import GraphBuilder


def network(name: str) -> GraphBuilder:
    g = GraphBuilder(21)
    x = g.make_tensor_input("X", np.float32, ("N", 16, 16, 3))
    g.make_tensor_output("Y", source=NETWORKS[name][0](Net(g), x))
    return g


@pytest.mark.parametrize("name", NETWORKS)
def test_a_second_round_changes_nothing_but_names(name: str) -> None:
    first = network(name).to_onnx(passes=default_passes())
    second = network(name).to_onnx(passes=[*default_passes(), *default_passes()])
    assert kinds(first) == kinds(second)
    compare(first, second)


@pytest.mark.parametrize("opset", [13, 17, 18, 21, 23])
def test_every_opset(opset: int) -> None:
    models: list[onnx.ModelProto] = []
    for passes in ((), default_passes()):
        g = GraphBuilder(opset)
        x = g.make_tensor_input("X", np.float32, ("N", 8, 8, 3))
        net = Net(g)
        y = net.relu6(net.norm(net.conv(x, 3, 4), 4))
        y = net.classifier(net.op.Add(y, net.dense_excite(y, 4)), 4)
        g.make_tensor_output("Y", source=y)
        models.append(g.to_onnx(passes=passes))
    compare(models[0], models[1], rtol=1e-4)
    assert kinds(models[1])["Transpose"] == 1


def deep(blocks: int) -> ir.Model:
    g = GraphBuilder(21)
    y = g.make_tensor_input("X", np.float32, ("N", 8, 8, 4))
    net = Net(g)
    for _ in range(blocks):
        z = net.relu6(net.norm(net.conv(y, 4, 4, 1), 4))
        y = g.op.Add(y, net.squeeze_excite(z, 4))
    g.make_tensor_output("Y", source=y)
    return g.to_ir()


def calls(blocks: int) -> int:
    """Functions called by all passes: a measure of their work that no other process disturbs."""
    model = deep(blocks)
    profile = cProfile.Profile()
    profile.enable()
    for one in default_passes():
        one(model)
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def test_work_grows_with_the_number_of_nodes_only() -> None:
    small, large = calls(25), calls(100)  # 625 and 2,500 nodes
    # 4 times the nodes; the square of that would be 16 times the work.
    assert large < 6 * small
