"""Random graphs of layout-sensitive operators, with Transposes strewn in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx

from yobx.xbuilder import GraphBuilder

__all__ = ["random_network"]

SIZES = (1, 2, 3)


class _Maker:
    def __init__(self, seed: int, *, dynamic: bool) -> None:
        self.rng = np.random.default_rng(seed)
        self.g = GraphBuilder(21)
        self.values: list[str] = []
        sizes = self.sizes(4)
        for name in ("A", "B"):
            shape: list[int | str] = [*sizes]
            if dynamic:
                shape[0] = "n"
            self.values.append(self.g.make_tensor_input(name, np.float32, shape))

    def sizes(self, count: int) -> list[int]:
        return [int(size) for size in self.rng.choice(SIZES, count)]

    def pick(self, rank: int | None = None) -> str:
        pool = [v for v in self.values[-8:] if rank is None or self.g.get_rank(v) == rank]
        pool = pool or [v for v in self.values if rank is None or self.g.get_rank(v) == rank]
        return str(self.rng.choice(pool)) if pool else self.values[0]

    def dims(self, value: str) -> list[int | None]:
        return [d.as_int() if d.is_int() else None for d in self.g.get_shape(value)]

    def axis(self, value: str) -> int:
        return int(self.rng.integers(len(self.dims(value))))

    def constant(self, value: str) -> np.ndarray:
        """A constant that broadcasts with the value, often of lower rank."""
        dims = [d or 1 for d in self.dims(value)]
        dims = [d if self.rng.random() < 0.7 else 1 for d in dims]
        cut = int(self.rng.integers(0, len(dims) + 1))
        return self.rng.standard_normal(dims[cut:]).astype(np.float32)

    # -- steps

    def transpose(self) -> None:
        x = self.pick()
        rank = len(self.dims(x))
        perms = {4: ([0, 2, 3, 1], [0, 3, 1, 2], [0, 2, 1, 3]), 3: ([0, 2, 1], [1, 0, 2])}
        choices = perms.get(rank, ([*range(rank)][::-1],))
        self.add(self.g.op.Transpose(x, perm=choices[int(self.rng.integers(len(choices)))]))

    def unary(self) -> None:
        op = str(self.rng.choice(["Relu", "Neg", "Sigmoid", "Identity", "Tanh", "Abs"]))
        self.add(self.g.make_node(op, [self.pick()]))

    def binary_constant(self) -> None:
        x = self.pick()
        op = str(self.rng.choice(["Add", "Mul", "Sub", "Max"]))
        pair = [x, self.constant(x)]
        if self.rng.random() < 0.3:
            pair.reverse()
        self.add(self.g.make_node(op, pair))

    def binary(self) -> None:
        x = self.pick()
        same = [
            v
            for v in self.values
            if all(
                a in (b, 1) or b == 1
                for a, b in zip(
                    self.g.get_shape(x).dims()[::-1], self.g.get_shape(v).dims()[::-1], strict=False
                )
            )
        ]
        op = str(self.rng.choice(["Add", "Mul", "Sub", "Min"]))
        self.add(self.g.make_node(op, [x, str(self.rng.choice(same))]))

    def concat(self) -> None:
        x = self.pick()
        self.add(self.g.op.Concat(x, x, axis=self.axis(x) - len(self.dims(x))))

    def split(self) -> None:
        x = self.pick()
        wide = [i for i, d in enumerate(self.dims(x)) if d is not None and d > 1]
        if wide:
            axis = int(self.rng.choice(wide))
            size = self.dims(x)[axis] or 1
            for part in self.g.op.Split(x, [1, size - 1], axis=axis):
                self.add(part)

    def reduce(self) -> None:
        x = self.pick()
        rank = len(self.dims(x))
        count = int(self.rng.integers(1, rank + 1))
        axes = sorted(int(a) for a in self.rng.choice(rank, count, replace=False))
        op = str(self.rng.choice(["ReduceMean", "ReduceMax", "ReduceSum"]))
        keep = bool(self.rng.random() < 0.6) or rank - count < 2
        self.add(self.g.make_node(op, [x], axes=axes, keepdims=int(keep)))

    def pad(self) -> None:
        x = self.pick()
        pads = [int(p) for p in self.rng.integers(0, 2, 2 * len(self.dims(x)))]
        self.add(self.g.op.Pad(x, np.array(pads, dtype=np.int64)))

    def slice(self) -> None:
        x = self.pick()
        self.add(self.g.op.Slice(x, [0], [2], [self.axis(x)]))

    def softmax(self) -> None:
        x = self.pick()
        self.add(self.g.op.Softmax(x, axis=self.axis(x)))

    def squeeze(self) -> None:
        x = self.pick()
        ones = [i for i, d in enumerate(self.dims(x)) if d == 1]
        if ones and len(self.dims(x)) > 2:
            self.add(self.g.op.Squeeze(x, axes=[int(self.rng.choice(ones))]))

    def unsqueeze(self) -> None:
        x = self.pick()
        if len(self.dims(x)) < 4:
            self.add(self.g.op.Unsqueeze(x, axes=[self.axis(x)]))

    def shape(self) -> None:
        x = self.pick()
        zeros = self.g.op.ConstantOfShape(self.g.op.Shape(x), value=np.zeros(1, dtype=np.float32))
        self.add(self.g.op.Add(zeros, x))

    def gather(self) -> None:
        x = self.pick()
        scalar = len(self.dims(x)) > 3 and self.rng.random() < 0.5
        self.add(self.g.op.Gather(x, 0 if scalar else np.array([0, 0]), axis=self.axis(x)))

    def tile(self) -> None:
        x = self.pick()
        self.add(self.g.op.Tile(x, np.array(self.sizes(len(self.dims(x))), dtype=np.int64)))

    def conv(self) -> None:
        x = self.pick(4)
        channels = self.dims(x)[1]
        if channels is not None and len(self.dims(x)) == 4:
            w = self.rng.standard_normal((2, channels, 1, 1)).astype(np.float32)
            self.add(self.g.op.Conv(x, w))

    def reshape(self) -> None:
        x = self.pick()
        dims = self.dims(x)
        if None not in dims[1:]:
            inner = int(np.prod([d or 1 for d in dims[1:]]))
            self.add(self.g.op.Reshape(x, np.array([-1, 1, inner], dtype=np.int64)))

    def add(self, value: str) -> None:
        # Growth is bounded so that a long chain of Tile and Concat stays small.
        if int(np.prod([d or 4 for d in self.dims(value)])) <= 4000:
            self.values.append(value)

    def run(self, steps: int) -> onnx.ModelProto:
        kinds: list[Callable[[], None]] = [
            *[self.transpose] * 8,
            *[self.unary] * 3,
            *[self.binary_constant] * 4,
            *[self.binary] * 4,
            self.concat,
            self.split,
            *[self.reduce] * 2,
            self.pad,
            self.slice,
            self.softmax,
            self.squeeze,
            self.unsqueeze,
            self.shape,
            self.gather,
            self.tile,
            *[self.conv] * 2,
            self.reshape,
        ]
        for _ in range(steps):
            kinds[int(self.rng.integers(len(kinds)))]()
        chosen = dict.fromkeys([*self.values[-3:], self.pick()])
        for index, value in enumerate(chosen):
            self.g.make_tensor_output(f"Y{index}", source=value)
        return self.g.to_onnx()


def random_network(seed: int, *, steps: int = 30) -> onnx.ModelProto:
    """A random model with the inputs ``A`` and ``B``; every second one has a dynamic size."""
    return _Maker(seed, dynamic=seed % 2 == 0).run(steps)
