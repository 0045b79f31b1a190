"""Shape inference on growing chains of transformer blocks: time per node, growth, what is known.

With ``--stress`` also very long and very deep models: time and peak memory of yobx.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from measure import PeakMemory, has_module, in_turn, table, time_of, worker

WIDTH = 64
HEADS = 8


def block_text(index: int) -> str:
    """One block: projection, split into heads by sizes read from Shape, attention, residual."""
    p, x = f"b{index}_", f"b{index - 1}_out" if index else "x"
    return f"""
        {p}h = MatMul({x}, {p}w)
        {p}s = Shape({p}h)
        {p}n = Slice({p}s, zero, two)
        {p}split = Concat<axis = 0>({p}n, heads)
        {p}parts = Reshape({p}h, {p}split)
        {p}q = Transpose<perm = [0, 2, 1, 3]>({p}parts)
        {p}k = Transpose<perm = [0, 2, 3, 1]>({p}parts)
        {p}a = MatMul({p}q, {p}k)
        {p}p = Softmax<axis = -1>({p}a)
        {p}m = MatMul({p}p, {p}q)
        {p}t = Transpose<perm = [0, 2, 1, 3]>({p}m)
        {p}joined = Concat<axis = 0>({p}n, width)
        {p}r = Reshape({p}t, {p}joined)
        {p}out = Add({p}r, {x})
    """


def chain(blocks: int, megabytes: int = 0) -> onnx.ModelProto:
    """A chain of blocks; ``megabytes`` of weights are added to the graph as a whole."""
    body = "".join(block_text(index) for index in range(blocks))
    model = onnx.parser.parse_model(
        f"""
        <ir_version: 10, opset_import: ["" : 21]>
        chain (float[batch, time, {WIDTH}] x) => (float[a, b, c] b{blocks - 1}_out)
        <int64[1] zero = {{0}}, int64[1] two = {{2}},
         int64[2] heads = {{{HEADS}, {WIDTH // HEADS}}}, int64[1] width = {{{WIDTH}}}>
        {{ {body} }}
        """
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    weight = np.random.default_rng(0).normal(size=(WIDTH, WIDTH)).astype(np.float32)
    for index in range(blocks):
        tensor = onnx.numpy_helper.from_array(weight, f"b{index}_w")
        model.graph.initializer.append(tensor)
    for index in range(megabytes // 4):
        tensor = onnx.numpy_helper.from_array(np.zeros((1 << 20,), np.float32), f"big_{index}")
        model.graph.initializer.append(tensor)
        out = f"b{blocks - 1}_out"
        model.graph.node.append(onnx.helper.make_node("Size", [f"big_{index}"], [f"{out}_{index}"]))
    return model


def long(nodes: int) -> onnx.ModelProto:
    """A chain whose symbolic size grows for 2,000 nodes, then starts again."""
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]>
        long (float[n, 4] x) => (y) { }"""
    )
    graph, last = model.graph, "x"
    for index in range(nodes // 4):
        joined, shown = f"j{index}", f"r{index}"
        graph.node.add(op_type="Concat", input=[last, "x"], output=[joined]).attribute.append(
            onnx.helper.make_attribute("axis", 0)
        )
        graph.node.add(op_type="Relu", input=[joined], output=[shown])
        graph.node.add(op_type="Shape", input=[shown], output=[f"s{index}"])
        graph.node.add(op_type="Transpose", input=[shown], output=[f"t{index}"])
        last = shown if index % 500 else "x"
    graph.node.add(op_type="Identity", input=[last], output=["y"])
    return model


def deep(levels: int) -> onnx.ModelProto:
    """`If` nodes inside each other, the innermost reads the graph's input."""
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]>
        deep (bool c, float[n, 4] x) => (y) { }"""
    )
    graph: onnx.GraphProto = model.graph
    output = "y"
    for level in range(levels):
        node = graph.node.add(op_type="If", input=["c"], output=[output])
        other = onnx.helper.make_graph(
            [onnx.helper.make_node("Relu", ["x"], [f"e{level}"])],
            "else",
            [],
            [onnx.ValueInfoProto(name=f"e{level}")],
        )
        node.attribute.append(onnx.helper.make_attribute("else_branch", other))
        node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        graph = node.attribute[-1].g
        output = f"t{level}"
        graph.name = f"level{level}"
        graph.output.add(name=output)
    graph.node.add(op_type="Neg", input=["x"], output=[output])
    return model


STRESS: dict[str, Callable[[int], onnx.ModelProto]] = {"nodes": long, "nested Ifs": deep}


def with_yobx(model: onnx.ModelProto) -> onnx.ModelProto:
    """This project."""
    from yobx.onnx_optim import infer_shapes

    return infer_shapes(model)


def with_yobx_in_place(model: onnx.ModelProto) -> onnx.ModelProto:
    """This project, without the copy of the model, which big weights are most of."""
    from yobx.onnx_optim import infer_shapes

    return infer_shapes(model, inplace=True)


def with_onnx(model: onnx.ModelProto) -> onnx.ModelProto:
    """The C++ inference of the onnx package, with its data propagation."""
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def with_onnxruntime(model: onnx.ModelProto) -> onnx.ModelProto:
    """The symbolic inference script of onnxruntime."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    found: onnx.ModelProto = SymbolicShapeInference.infer_shapes(model, auto_merge=True)
    return found


def with_onnx_shape_inference(model: onnx.ModelProto) -> onnx.ModelProto:
    """The onnx-shape-inference package."""
    import onnx_ir
    import onnx_shape_inference

    ir = onnx_ir.from_proto(model)
    onnx_shape_inference.infer_symbolic_shapes(ir)
    return onnx_ir.to_proto(ir)


ENGINES: dict[str, tuple[str, Callable[[onnx.ModelProto], onnx.ModelProto]]] = {
    "yobx": ("yobx", with_yobx),
    "yobx in place": ("yobx", with_yobx_in_place),
    "onnx": ("onnx", with_onnx),
    "onnxruntime": ("sympy", with_onnxruntime),
    "onnx-shape-inference": ("onnx_shape_inference", with_onnx_shape_inference),
}


def known(model: onnx.ModelProto) -> int:
    """Number of node outputs whose sizes are all known or named."""
    types = {v.name: v.type.tensor_type for v in (*model.graph.value_info, *model.graph.output)}
    shapes = [types[name] for node in model.graph.node for name in node.output if name in types]
    return sum(
        tensor.HasField("shape")
        and all(dim.WhichOneof("value") is not None for dim in tensor.shape.dim)
        for tensor in shapes
    )


def measure(engine: str, blocks: int, megabytes: int) -> dict[str, Any]:
    """Infer one model in this process; the second run counts, the first one loads the engine."""
    infer = ENGINES[engine][1]
    infer(chain(2))
    model = chain(blocks, megabytes)
    seconds, result = time_of(lambda: infer(model))
    return {"seconds": seconds, "nodes": len(model.graph.node), "known": known(result)}


def endure(kind: str, size: int) -> dict[str, Any]:
    """Infer one extreme model in this process, in place: writing a copy is not what is measured."""
    from yobx.onnx_optim import infer_shapes

    infer_shapes(chain(2))
    model = STRESS[kind](size)
    with PeakMemory() as memory:
        seconds, _ = time_of(lambda: infer_shapes(model, inplace=True))
    return {"seconds": seconds, "megabytes": memory.growth / 1e6}


def main() -> None:
    """Compare, or measure one engine when called as a worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", default="20,200,2000", help="lengths of the chain")
    parser.add_argument("--megabytes", type=int, default=400, help="weights of the heavy chain")
    parser.add_argument("--peer", default=sys.executable, help="interpreter with the other engines")
    parser.add_argument("--quick", action="store_true", help="one round of short chains")
    parser.add_argument("--stress", action="store_true", help="100,000 nodes, 5,000 nested Ifs")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        engine, size, megabytes = options.worker
        if engine in STRESS:
            print(json.dumps(endure(engine, int(size))))
        else:
            print(json.dumps(measure(engine, int(size), int(megabytes))))
        return
    if options.quick:
        options.rounds, options.blocks, options.megabytes = 1, "2,20", 8
    compare(options)
    if options.stress:
        stress()


def stress() -> None:
    """Print time and memory for models that are very long or very deep."""
    lines = []
    for kind, size in (("nodes", 100_000), ("nested Ifs", 5_000)):
        found = worker(sys.executable, __file__, "--worker", kind, str(size), "0")
        if "error" in found:
            lines.append([f"{size} {kind}", found["error"], ""])
        else:
            memory = f"{found['megabytes']:.0f} MB"
            lines.append([f"{size} {kind}", f"{found['seconds']:.2f} s", memory])
    print()
    table(["yobx", "time", "memory"], lines)


def compare(options: argparse.Namespace) -> None:
    """Print one table a chain, and how time grows."""
    python = {
        name: sys.executable if name.startswith("yobx") or name == "onnx" else options.peer
        for name in ENGINES
    }
    engines = [name for name, (module, _) in ENGINES.items() if has_module(python[name], module)]
    for name in set(ENGINES) - set(engines):
        print(f"{name}: not installed in {python[name]}")
    lengths = [int(text) for text in options.blocks.split(",")]
    cases = [(length, 0) for length in lengths] + [(10, options.megabytes)]
    medians: dict[tuple[str, int], float] = {}
    for blocks, megabytes in cases:
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
        for name in in_turn(engines, options.rounds):
            arguments = ("--worker", name, str(blocks), str(megabytes))
            rows[name].append(worker(python[name], __file__, *arguments))
        lines = []
        for name, found in rows.items():
            good = [row for row in found if "error" not in row]
            if not good:
                lines.append([name, found[0]["error"], "", "", ""])
                continue
            seconds = statistics.median(row["seconds"] for row in good)
            medians[name, blocks if not megabytes else -1] = seconds
            ours = medians.get(("yobx", blocks if not megabytes else -1), math.nan)
            lines.append(
                [
                    name,
                    f"{1e3 * seconds:.1f} ms",
                    f"{1e6 * seconds / good[0]['nodes']:.1f} us",
                    f"{seconds / ours:.2f}",
                    f"{good[0]['known']} of {good[0]['nodes']}",
                ]
            )
        print(f"\n{blocks} blocks, {megabytes} MB of extra weights")
        table(["", "time", "a node", "x yobx", "known"], lines)
    print()
    for name in engines:
        low, high = medians.get((name, lengths[0])), medians.get((name, lengths[-1]))
        if low and high and lengths[-1] > lengths[0]:
            exponent = math.log(high / low) / math.log(lengths[-1] / lengths[0])
            print(f"{name}: time grows with exponent {exponent:.2f}")


if __name__ == "__main__":
    main()
