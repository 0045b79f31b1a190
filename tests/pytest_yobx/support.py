"""A small model repository without any framework: its models are fake ones with an adapter."""

from __future__ import annotations

CONFTEST = """
import fake_framework
fake_framework.install()
"""

FAKE_FRAMEWORK = '''
"""A framework of one class: its models convert to ONNX, and can be told to convert wrongly."""
import numpy as np
import onnx
from onnx import helper, numpy_helper


class Model:
    def __init__(self, fault="", name="fake", shape=("B", 4)):
        self.fault, self.name, self.shape = fault, name, shape
        rng = np.random.default_rng(0)
        self.w = rng.standard_normal((4, 3)).astype(np.float32)
        self.conversions = 0

    def onnx(self, right=False, opset=21):
        fault = "" if right else self.fault
        w = self.w + np.float32(0.01) if fault == "values" else self.w
        out = ["S", "B"] if fault == "shapes" else ["B", 3]
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="dense"),
            helper.make_node("Tanh", ["h"], ["y"], name="gate"),
        ]
        for node in nodes:
            for key, value in (("op", "FakeOp"), ("layer", f"net/{node.name}")):
                node.metadata_props.add(key=f"yobx.{key}", value=value)
        graph = helper.make_graph(
            nodes, "fake",
            [helper.make_tensor_value_info("x", 1, list(self.shape))],
            [helper.make_tensor_value_info("y", 1, out)],
            [numpy_helper.from_array(w, "w")],
        )
        opsets = [helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


X = np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)


class Source:
    framework = "fake"

    def __init__(self, model, extra):
        self.model, self.name = model, extra["name"] or model.name

    def convert(self, args, options):
        from yobx.errors import TraceError, UnsupportedOpError
        self.model.conversions += 1
        self.model.options = dict(options)
        if self.model.fault == "trace":
            raise TraceError("the fake model cannot be traced")
        if self.model.fault == "convert":
            raise UnsupportedOpError("no converter for FakeOp <b>&")
        if self.model.fault == "crash":
            import os
            os._exit(9)
        return self.model.onnx(opset=options.get("target_opset", 21))

    def run(self, args, keywords=None):
        return [("y", np.tanh(args[0] @ self.model.w))]

    def example(self, seed, options):
        return (np.random.default_rng(seed).standard_normal((2, 4)).astype(np.float32),)

    def intermediates(self, args, names, options):
        h = args[0] @ self.model.w
        return {"h": h, "y": np.tanh(h)}


def install():
    from yobx.verification import register_source
    register_source("fake", lambda model: isinstance(model, Model), Source)
'''

ZOO = """
from fake_framework import Model, X

def good():
    return Model(), (X,)

def alone():
    return Model(name="alone")

def wrong():
    return Model("values", name="wrong"), (X,)

def shapes():
    return Model("shapes"), (X,)

def convert():
    return Model("convert", name="<script>alert(1)</script>"), (X,)

def crash():
    return Model("crash"), (X,)

def raising():
    raise OSError("no weights here")

def nothing():
    return None

def misspelled():
    return Model(), (X,), {"sead": 3}

ready = Model(name="ready")
"""


def write_repository(pytester, models, ini=""):
    """Writes the repository; `models` are the names in the zoo."""
    pytester.makepyfile(fake_framework=FAKE_FRAMEWORK, zoo=ZOO)
    pytester.makeconftest(CONFTEST)
    entries = ", ".join(f'"{name if "/" in name else f"zoo:{name}"}"' for name in models)
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\nyobx_models = [{entries}]\n{ini}\n")


def run(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)
