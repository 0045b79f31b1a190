"""Repeats a failing check; needs numpy, onnxruntime and, for types numpy lacks, ml_dtypes alone.

<headline>

``python repro.py reduced`` repeats it on the smallest piece that still fails, if there is one.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

HERE = Path(__file__).parent
# What is known of the check is written here.
PROVIDER = "CPUExecutionProvider"
OUTPUTS = 1  # of the source
ALLOWED: dict[str, float] = {}  # largest absolute error by output
ALLOWED_REDUCED = 0.0
ZERO_SIGN = False  # whether the sign of a zero was wrong


def load(name: str) -> dict[str, Any]:
    """Arrays of one file; dtypes numpy cannot store are kept as bits beside their name."""
    with np.load(HERE / name, allow_pickle=False) as data:
        arrays = {}
        for key in data.files:
            if key.startswith("dtype of "):
                continue
            array = data[key]
            if f"dtype of {key}" in data.files:
                import ml_dtypes

                array = array.view(getattr(ml_dtypes, str(data[f"dtype of {key}"])))
            elif array.dtype.kind == "U":
                array = array.astype(object)
            arrays[key] = array
    return arrays


def run(session: Any, inputs: dict[str, Any], expected: dict[str, Any]) -> list[Any]:
    """All outputs; floats that numpy has no dtype for go in and out as bits."""
    low = [array for array in (*inputs.values(), *expected.values()) if array.dtype.isbuiltin == 2]
    if not low:
        return list(session.run(None, inputs))
    kinds = {array.dtype.name: array.dtype for array in low}
    values = {name: given(array) for name, array in inputs.items()}
    outputs = session.get_outputs()
    tensors = [output.name for output in outputs if output.type.startswith("tensor(")]
    others = [output.name for output in outputs if not output.type.startswith("tensor(")]
    found = dict(zip(others, session.run(others, values) if others else [], strict=True))
    if tensors:
        made = session.run_with_ort_values(tensors, values)
        found |= {name: taken(value, kinds) for name, value in zip(tensors, made, strict=True)}
    return [found[output.name] for output in outputs]


def given(array: Any) -> Any:
    """An array for onnxruntime."""
    # The numbers that ONNX gave these types.
    codes = {"bfloat16": 16, "float8_e4m3fn": 17, "float8_e4m3fnuz": 18}
    codes |= {"float8_e5m2": 19, "float8_e5m2fnuz": 20, "uint4": 21, "int4": 22}
    if array.dtype.isbuiltin != 2:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    code = codes[array.dtype.name]
    if array.dtype.name in ("int4", "uint4"):  # two in a byte, in an array of the shape of them all
        half = array.astype(np.int8).reshape(-1).view(np.uint8) & 15
        pairs = np.append(half, np.zeros(half.size % 2, np.uint8)).reshape(-1, 2)
        packed = pairs[:, 0] | pairs[:, 1] << 4
        array = np.resize(packed, array.shape) if array.size else half.reshape(array.shape)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, code)


def taken(value: Any, kinds: dict[str, Any]) -> Any:
    """An output of onnxruntime as an array."""
    told = value.data_type().removeprefix("tensor(").removesuffix(")")
    kind = next((kinds[name] for name in kinds if name.replace("_", "") == told), None)
    if kind is None:
        return value.numpy()
    count = int(np.prod(value.shape(), dtype=np.int64))
    if kind.name in ("int4", "uint4"):
        packed = np.frombuffer(ctypes.string_at(value.data_ptr(), (count + 1) // 2), np.uint8)
        half = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)[:count].astype(np.int8)
        signed = (half ^ 8) - 8 if kind.name == "int4" else half
        return signed.astype(kind).reshape(value.shape())
    raw = ctypes.string_at(value.data_ptr(), count * kind.itemsize)
    return np.frombuffer(raw, dtype=kind).reshape(value.shape())


def difference(got: Any, want: Any, allowed: float) -> str:
    """What is wrong with one tensor, or nothing."""
    if got is None or got.dtype != want.dtype or got.shape != want.shape:
        found = "nothing" if got is None else f"{got.dtype} {list(got.shape)}"
        return f"{found}, the source gives {want.dtype} {list(want.shape)}"
    if want.dtype.kind not in "fcV" and want.dtype.isbuiltin != 2:
        wrong = int(np.sum(got != want))
        return f"{wrong} of {want.size} elements differ" if wrong else ""
    return float_difference(got, want, allowed)


def float_difference(got: Any, want: Any, allowed: float) -> str:
    """What is wrong with one tensor of numbers that are rounded, or nothing."""
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(kind), want.astype(kind)
    nan = np.isnan(got) | np.isnan(want)
    if np.any(np.isnan(got) != np.isnan(want)):
        return "NaN in other places"
    finite = np.isfinite(got) & np.isfinite(want)
    if np.any((got != want) & ~finite & ~nan):
        return "infinities differ"
    error = np.max(np.abs(got - want), where=finite, initial=0.0)
    if error > allowed:
        return f"max abs error {error:g}, allowed {allowed:g}"
    if ZERO_SIGN and np.any((got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))):
        return "signs of zeros differ"
    return ""


def say(line: str) -> None:
    """Writes one line."""
    sys.stdout.write(line + "\n")


def main(*, reduced: bool = False) -> int:
    """Runs the model and tells what differs.

    Returns:
        How many outputs are wrong.
    """
    prefix = "reduced_" if reduced else ""
    inputs, expected = load(f"{prefix}inputs.npz"), load(f"{prefix}expected.npz")
    options = onnxruntime.SessionOptions()
    if reduced:  # a piece is looked at as it is written
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    path = str(HERE / ("reduced.onnx" if reduced else "model.onnx"))
    session = onnxruntime.InferenceSession(path, options, providers=[PROVIDER])
    names = [output.name for output in session.get_outputs()]
    outputs = 1 if reduced else OUTPUTS
    wrong = int(len(names) != outputs)
    if wrong:
        say(f"outputs: {len(names)}, the source has {outputs}")
    for name, got in list(zip(names, run(session, inputs, expected), strict=True))[:outputs]:
        pairs = [(got, expected.get(name))]
        if isinstance(got, list):
            pieces = [key for key in expected if key.startswith(f"{name}[")]
            if len(pieces) != len(got):
                pairs, wrong = [], wrong + 1
                say(f"{name} {len(got)} tensors, the source gives {len(pieces)}")
            else:
                pairs = [(one, expected[f"{name}[{i}]"]) for i, one in enumerate(got)]
        allowed = ALLOWED_REDUCED if reduced else ALLOWED.get(name, 0.0)
        told = [difference(one, want, allowed) for one, want in pairs if want is not None]
        if not isinstance(got, list) and not told and got is not None:
            told = ["the source gives nothing"]
        told = [text for text in told if text]
        kind = f" {got.dtype} {got.shape}" if isinstance(got, np.ndarray) else ""
        say(f"{name}{kind} {told[0] if told else 'agrees' if pairs else 'differs'}")
        wrong += bool(told)
    say(f"wrong outputs: {wrong}")
    return wrong


if __name__ == "__main__":
    raise SystemExit(bool(main(reduced="reduced" in sys.argv[1:])))
