"""Small channels-last networks, written the way a converter of a channels-last framework does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from yobx.xbuilder import GraphBuilder

__all__ = ["NETWORKS", "Net"]

Array = npt.NDArray[np.float32]


class Net:
    """Adds channels-last layers with random weights to a builder."""

    def __init__(self, g: GraphBuilder, seed: int = 0) -> None:
        self.g = g
        self.op = g.op
        self.rng = np.random.default_rng(seed)

    def weights(self, *shape: int, scale: float = 0.5) -> Array:
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def conv(
        self, x: str, n_in: int, n_out: int, size: int = 3, *, stride: int = 1, group: int = 1
    ) -> str:
        w = self.weights(n_out, n_in // group, size, size, scale=1 / np.sqrt(size * size * n_in))
        first = self.op.Transpose(x, perm=[0, 3, 1, 2])
        middle = self.op.Conv(
            first,
            w,
            strides=[stride, stride],
            pads=[size // 2] * 4,
            kernel_shape=[size, size],
            group=group,
        )
        return self.op.Transpose(middle, perm=[0, 2, 3, 1])

    def valid_conv(self, x: str, n_in: int, n_out: int, size: int, stride: int) -> str:
        w = self.weights(n_out, n_in, size, size, scale=1 / np.sqrt(size * size * n_in))
        first = self.op.Transpose(x, perm=[0, 3, 1, 2])
        middle = self.op.Conv(first, w, strides=[stride, stride])
        return self.op.Transpose(middle, perm=[0, 2, 3, 1])

    def norm(self, x: str, n: int) -> str:
        gamma, beta, mean = self.weights(n), self.weights(n), self.weights(n)
        variance = np.abs(self.weights(n)) + np.float32(0.3)
        factor = self.op.Mul(
            self.op.Reciprocal(self.op.Sqrt(self.op.Add(variance, np.float32(1e-3)))), gamma
        )
        scaled = self.op.Mul(x, factor)
        shift = self.op.Sub(beta, self.op.Mul(mean, factor))
        return self.op.Add(scaled, shift)

    def relu6(self, x: str) -> str:
        return self.op.Min(self.op.Relu(x), 6.0)

    def swish(self, x: str) -> str:
        return self.op.Mul(x, self.op.Sigmoid(x))

    def max_pool(self, x: str, size: int = 3, stride: int = 2, pads: Sequence[int] = ()) -> str:
        first = self.op.Transpose(x, perm=[0, 3, 1, 2])
        middle = self.op.MaxPool(
            first, kernel_shape=[size, size], strides=[stride, stride], pads=list(pads) or None
        )
        return self.op.Transpose(middle, perm=[0, 2, 3, 1])

    def zero_pad(self, x: str, amount: int) -> str:
        pads = np.array([0, amount, amount, 0, 0, amount, amount, 0], dtype=np.int64)
        return self.op.Pad(x, pads)

    def squeeze_excite(self, x: str, n: int) -> str:
        mean = self.op.ReduceMean(x, axes=[1, 2], keepdims=0)
        shaped = self.op.Reshape(mean, np.array([-1, 1, 1, n], dtype=np.int64))
        small = self.op.Relu(self.conv(shaped, n, 2, 1))
        gate = self.op.Sigmoid(self.conv(small, 2, n, 1))
        return self.op.Mul(x, gate)

    def dense_excite(self, x: str, n: int) -> str:
        mean = self.op.ReduceMean(x, axes=[1, 2], keepdims=1)
        gate = self.op.Sigmoid(self.op.MatMul(mean, self.weights(n, n)))
        return self.op.Mul(x, gate)

    def classifier(self, x: str, n: int, classes: int = 5) -> str:
        mean = self.op.ReduceMean(x, axes=[1, 2], keepdims=0)
        logits = self.op.Add(self.op.MatMul(mean, self.weights(n, classes)), self.weights(classes))
        return self.op.Softmax(logits, axis=-1)


def resnet(net: Net, x: str) -> str:
    x = net.valid_conv(net.zero_pad(x, 3), 3, 8, 7, 2)
    x = net.op.Relu(net.norm(x, 8))
    x = net.max_pool(net.zero_pad(x, 1))
    for n_in, n_out in ((8, 16), (16, 16)):
        short = net.norm(net.conv(x, n_in, n_out, 1), n_out) if n_in != n_out else x
        y = net.op.Relu(net.norm(net.conv(x, n_in, n_out), n_out))
        y = net.norm(net.conv(y, n_out, n_out), n_out)
        x = net.op.Relu(net.op.Add(short, y))
    return net.classifier(x, 16)


def mobilenet(net: Net, x: str) -> str:
    x = net.relu6(net.norm(net.conv(x, 3, 8, stride=2), 8))
    for _ in range(2):
        y = net.relu6(net.norm(net.conv(x, 8, 16, 1), 16))
        y = net.relu6(net.norm(net.conv(y, 16, 16, 3, group=16), 16))
        y = net.norm(net.conv(y, 16, 8, 1), 8)
        x = net.op.Add(x, y)
    return net.classifier(x, 8)


def efficientnet(net: Net, x: str) -> str:
    x = net.op.Mul(x, np.float32(1 / 255.0))
    x = net.op.Sub(x, np.array([0.1, 0.2, 0.3], dtype=np.float32))
    x = net.swish(net.norm(net.conv(x, 3, 8), 8))
    for _ in range(2):
        y = net.swish(net.norm(net.conv(x, 8, 8, 3, group=8), 8))
        y = net.squeeze_excite(y, 8)
        x = net.op.Add(x, net.norm(net.conv(y, 8, 8, 1), 8))
    return net.classifier(x, 8)


def dense_excite(net: Net, x: str) -> str:
    x = net.op.Relu(net.norm(net.conv(x, 3, 8), 8))
    x = net.dense_excite(x, 8)
    x = net.op.Relu(net.conv(x, 8, 8))
    return net.classifier(x, 8)


def densenet(net: Net, x: str) -> str:
    x = net.conv(x, 3, 8)
    n = 8
    for _ in range(3):
        y = net.op.Relu(net.norm(x, n))
        y = net.conv(y, n, 4)
        x = net.op.Concat(x, y, axis=-1)
        n += 4
    return net.classifier(net.op.Relu(net.norm(x, n)), n)


def inception(net: Net, x: str) -> str:
    x = net.op.Relu(net.conv(x, 3, 8))
    branches = [
        net.op.Relu(net.conv(x, 8, 4, 1)),
        net.op.Relu(net.conv(net.op.Relu(net.conv(x, 8, 4, 1)), 4, 6, 3)),
        net.op.Relu(net.conv(net.max_pool(x, 3, 1, [1, 1, 1, 1]), 8, 4, 1)),
    ]
    return net.classifier(net.op.Concat(*branches, axis=3), 14)


def flatten_head(net: Net, x: str) -> str:
    x = net.op.Relu(net.norm(net.conv(x, 3, 4, stride=2), 4))
    flat = net.op.Reshape(x, np.array([-1, 8 * 8 * 4], dtype=np.int64))
    return net.op.MatMul(flat, net.weights(256, 5))


def upsampling(net: Net, x: str) -> str:
    x = net.op.Relu(net.conv(x, 3, 4, stride=2))
    y = net.op.Relu(net.conv(x, 4, 8, stride=2))
    scales = np.array([1, 2, 2, 1], dtype=np.float32)
    y = net.op.Resize(y, None, scales, mode="nearest", coordinate_transformation_mode="asymmetric")
    first, second = net.op.Split(y, axis=3, num_outputs=2, outputs=2)
    x = net.op.Concat(x, first, second, axis=3)
    x = net.op.Slice(x, [0, 0], [6, 6], [1, 2])
    x = net.op.Softmax(net.conv(x, 12, 3), axis=3)
    return net.op.ReduceMax(x, axes=[3], keepdims=1)


NETWORKS: dict[str, tuple[Callable[[Net, str], str], int]] = {
    "resnet": (resnet, 1),
    "mobilenet": (mobilenet, 1),
    "efficientnet": (efficientnet, 1),
    "densenet": (densenet, 1),
    "inception": (inception, 1),
    "dense_excite": (dense_excite, 1),
    "flatten_head": (flatten_head, 2),
    "upsampling": (upsampling, 1),
}
"""Builder of each network, and the number of Transposes that must remain."""
