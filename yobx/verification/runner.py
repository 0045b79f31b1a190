"""Runs a model in onnxruntime, plainly and with every intermediate value exposed."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from yobx.errors import ArgumentError
from yobx.verification.boundary import Attempt, one_line
from yobx.verification.stderr_capture import captured_stderr
from yobx.verification.weights import SERIAL_LIMIT, byte_size, is_light, light, save_light

__all__ = [
    "LoadError",
    "RunError",
    "RunResult",
    "Session",
    "exposed",
    "fits_in_memory",
    "input_names",
    "observable_values",
]

# Larger ones are loaded from a file, so that their bytes are gone while onnxruntime parses them.
_BYTES_LIMIT = 2**25
_OF_A_LIBRARY = 2  # what numpy says of the dtypes of ml_dtypes; one of them has another kind
_FOUR_BITS = frozenset({onnx.TensorProto.INT4, onnx.TensorProto.UINT4})
_LOW_PRECISION = frozenset(
    {
        onnx.TensorProto.BFLOAT16,
        onnx.TensorProto.FLOAT8E4M3FN,
        onnx.TensorProto.FLOAT8E4M3FNUZ,
        onnx.TensorProto.FLOAT8E5M2,
        onnx.TensorProto.FLOAT8E5M2FNUZ,
        *_FOUR_BITS,
    }
)


class LoadError(Exception):
    """onnxruntime refuses to load the model."""


class RunError(Exception):
    """onnxruntime fails while running the model."""


@dataclass
class RunResult:
    """Values of one run.

    Attributes:
        values: Value name -> array (a list for sequences, ``None`` for an empty optional).
        warnings: Shape warnings onnxruntime wrote to its log.
    """

    values: dict[str, Any]
    warnings: list[str] = field(default_factory=list)


def input_names(model: onnx.ModelProto) -> list[str]:
    """Graph inputs that a caller must feed (those without an initializer), in order."""
    initialised = {t.name for t in model.graph.initializer}
    initialised |= {t.values.name for t in model.graph.sparse_initializer}
    return [value.name for value in model.graph.input if value.name not in initialised]


def observable_values(model: onnx.ModelProto) -> list[str]:
    """Every value of the main graph that a node produces, in topological order."""
    return [name for node in model.graph.node for name in node.output if name]


def exposed(
    model: onnx.ModelProto, names: Sequence[str] | None = None, *, inplace: bool = False
) -> onnx.ModelProto:
    """A copy of the model whose outputs are the given values, without any declared type.

    Args:
        model: The model; it is not changed unless `inplace`.
        names: Values to expose; by default all that nodes produce, and the graph's own outputs.
        inplace: Whether the model itself is changed, which saves a copy of its weights.

    Returns:
        The copy. Declared types are left out (of ``value_info`` too), so that nothing but the run
        decides.
    """
    wanted = (
        [o.name for o in model.graph.output] + observable_values(model)
        if names is None
        else list(names)
    )
    copy = model
    if not inplace:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
    del copy.graph.output[:]
    del copy.graph.value_info[:]
    for name in dict.fromkeys(wanted):
        copy.graph.output.append(onnx.ValueInfoProto(name=name))
    return copy


class Session:
    """One onnxruntime session.

    Args:
        model: The model, or the path of a model file (needed when its weights are external data).
        weights: The model that holds the weights where `model` is a light copy of it.
        provider: Execution provider.
        optimise: Whether the graph is optimised; off keeps every value as it is written.
        threads: Threads inside an operator; 0 lets onnxruntime choose.

    Attributes:
        outputs: Names of the outputs.
        warnings: Shape warnings written while loading.

    Raises:
        LoadError: If onnxruntime refuses the model.
        ArgumentError: If the provider does not exist here.
    """

    def __init__(
        self,
        model: onnx.ModelProto | str | Path,
        *,
        weights: onnx.ModelProto | None = None,
        provider: str = "CPUExecutionProvider",
        optimise: bool = True,
        threads: int = 0,
    ) -> None:
        import onnxruntime

        available = onnxruntime.get_available_providers()
        if provider not in available:
            raise ArgumentError(
                "the execution provider must be one that onnxruntime has here. Received: "
                f"provider={provider!r}. "
                f"Available: {', '.join(available)}.",
                argument="provider",
            )
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 2
        options.intra_op_num_threads = threads
        if not optimise:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        with tempfile.TemporaryDirectory(prefix="yobx-") as folder, captured_stderr() as captured:
            with Attempt() as attempt:
                self.raw = onnxruntime.InferenceSession(
                    _loadable(model, weights, Path(folder)), options, providers=[provider]
                )
            if attempt.error is not None:
                raise LoadError(one_line(attempt.error)) from attempt.error
        self.warnings = captured.warnings
        self.outputs = [output.name for output in self.raw.get_outputs()]
        self._types = {value.name: value.type for value in self.raw.get_inputs()}
        self._output_types = [output.type for output in self.raw.get_outputs()]

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs."""
        return list(self._types)

    def run(
        self, feeds: Mapping[str, NDArray[Any]], names: Sequence[str] | None = None
    ) -> RunResult:
        """Runs the model.

        Args:
            feeds: One array an input; low-precision floats as ``ml_dtypes`` arrays.
            names: Outputs wanted; all by default.

        Returns:
            The values by name and the shape warnings.

        Raises:
            RunError: If onnxruntime fails.
        """
        wanted = self.outputs if names is None else list(names)
        with captured_stderr() as captured:
            values: list[Any] = []
            with Attempt() as attempt:
                values = self._run(feeds, wanted)
            if attempt.error is not None:
                raise RunError(one_line(attempt.error)) from attempt.error
        return RunResult(dict(zip(wanted, values, strict=True)), captured.warnings)

    def _run(self, feeds: Mapping[str, NDArray[Any]], wanted: list[str]) -> list[Any]:
        types = dict(zip(self.outputs, self._output_types, strict=True))
        special = any("float8" in t or "bfloat16" in t or "int4" in t for t in types.values())
        special = special or any(_is_low(a) for a in feeds.values())
        if not special or any("tensor(string)" in t for t in self._types.values()):
            return list(self.raw.run(wanted, dict(feeds)))
        values = {name: _to_ort(array) for name, array in feeds.items()}
        results = self.raw.run_with_ort_values(wanted, values)
        return [_from_ort(value) for value in results]


def _is_low(array: NDArray[Any]) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.isbuiltin == _OF_A_LIBRARY


def _to_ort(array: NDArray[Any]) -> Any:
    from onnxruntime import OrtValue

    array = np.asarray(array, order="C")  # ascontiguousarray would make a vector of a scalar
    if not _is_low(array):
        return OrtValue.ortvalue_from_numpy(array)
    onnx_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    if onnx_type in _FOUR_BITS:
        array = _packed(array)
    return OrtValue.ortvalue_from_numpy_with_onnx_type(array, onnx_type)


def _packed(array: NDArray[Any]) -> NDArray[Any]:
    """Elements of four bits, two in a byte, in an array of the shape of them all.

    onnxruntime takes the shape of the array, and reads the bytes that so many elements fill.
    """
    nibbles = array.astype(np.int8).reshape(-1).view(np.uint8) & 15
    pairs = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8)).reshape(-1, 2)
    filled = np.zeros(array.size, np.uint8)
    filled[: len(pairs)] = pairs[:, 0] | pairs[:, 1] << 4
    return filled.reshape(array.shape)


def _from_ort(value: Any) -> Any:
    """Converts a result, reading the bits directly where numpy has no such dtype."""
    if not value.has_value():
        return None
    if not value.is_tensor():
        return _list_of(value.data_type()).run(None, {"sequence": value})[0]
    if value.element_type() not in _LOW_PRECISION:
        return value.numpy()
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(value.element_type()))
    shape = tuple(value.shape())
    count = int(np.prod(shape, dtype=np.int64))
    if value.element_type() in _FOUR_BITS:
        packed = np.frombuffer(ctypes.string_at(value.data_ptr(), (count + 1) // 2), np.uint8)
        nibbles = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)[:count].astype(np.int8)
        if value.element_type() == onnx.TensorProto.INT4:
            nibbles = np.where(nibbles > 7, nibbles - 16, nibbles)
        return nibbles.astype(dtype).reshape(shape)
    raw = ctypes.string_at(value.data_ptr(), count * dtype.itemsize)
    return np.frombuffer(raw, dtype=dtype).reshape(shape)


@lru_cache(maxsize=len(TensorProto.DataType.keys()))
def _list_of(kind: str) -> Any:
    """A session that gives back a sequence, which only a session makes a list of.

    Args:
        kind: What onnxruntime calls its type, as ``seq(tensor(float))``; no element of such a
            sequence is of a type that numpy lacks.
    """
    import onnxruntime

    element = kind.removeprefix("seq(tensor(").removesuffix("))").upper()
    typed = [
        helper.make_tensor_sequence_value_info(name, TensorProto.DataType.Value(element), None)
        for name in ("sequence", "same")
    ]
    node = helper.make_node("Identity", ["sequence"], ["same"])
    graph = helper.make_graph([node], "list", typed[:1], typed[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def fits_in_memory(model: onnx.ModelProto) -> bool:
    """Whether the model can be serialised: protobuf refuses more than 2 GB."""
    return byte_size(model) < SERIAL_LIMIT


def _loadable(
    model: onnx.ModelProto | str | Path, weights: onnx.ModelProto | None, folder: Path
) -> bytes | str:
    """What onnxruntime loads: bytes, or a file when the model is too large for bytes."""
    if not isinstance(model, onnx.ModelProto):
        return str(model)
    if weights is not None and is_light(model):
        return str(save_light(model, weights, folder))
    if not fits_in_memory(model):
        return str(save_light(light(model), model, folder))
    data = model.SerializeToString()
    if len(data) < _BYTES_LIMIT:
        return data
    path = folder / "model.onnx"
    path.write_bytes(data)
    return str(path)
