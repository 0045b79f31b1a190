import numpy as np
from onnx import helper

from tests.verification.models import model, value
from yobx.verification import check_conversion


def test_random_nodes_of_the_model_are_named() -> None:
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["r"], name="noise"),
        helper.make_node("Add", ["x", "r"], ["y"]),
    ]
    network = model(nodes, [value("x", ("B", 3))], [value("y", ("B", 3))])
    x = np.ones((4, 3), np.float32)
    report = check_conversion(network, (x,), reference=lambda x: x)
    assert report.failed_phase == "values"
    assert 'draws random numbers of its own, in RandomNormalLike #0 "noise"' in report.text()


def test_a_wrong_model_without_random_nodes_is_plainly_wrong() -> None:
    network = model(
        [helper.make_node("Neg", ["x"], ["y"])], [value("x", ("B", 3))], [value("y", ("B", 3))]
    )
    report = check_conversion(network, (np.ones((4, 3), np.float32),), reference=lambda x: x)
    assert report.failed_phase == "values"
    assert "random" not in report.text()
