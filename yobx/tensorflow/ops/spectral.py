"""Complex numbers and Fourier transforms; complex tensors are pairs `(..., 2)` in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import complex as pairs
from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.shapes import Dim
from yobx.lowering.trigonometric import atan2
from yobx.tensorflow.ops._complex import COMPLEX
from yobx.tensorflow.ops._op import constant
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_FLOATS = ("float32", "float64")


@register_tf_op_converter("Complex", dtypes=(*_FLOATS, *COMPLEX))
def convert_complex(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A complex tensor of its parts."""
    return pairs.pack(g, op.inputs[0].name, op.inputs[1].name, outputs[:1])


@register_tf_op_converter(("Real", "Imag"), dtypes=(*_FLOATS, *COMPLEX))
def convert_part(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The real or the imaginary part."""
    index = np.array(int(op.type == "Imag"), np.int64)
    return str(g.op.Gather(op.inputs[0].name, index, axis=-1, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("ComplexAbs", dtypes=(*_FLOATS, *COMPLEX))
def convert_abs(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Absolute value."""
    return pairs.absolute(g, op.inputs[0].name, outputs[:1])


@register_tf_op_converter("Angle", dtypes=(*_FLOATS, *COMPLEX))
def convert_angle(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Argument of a complex number."""
    real, imaginary = pairs.parts(g, op.inputs[0].name)
    return atan2(g, imaginary, real, outputs=outputs[:1])


@register_tf_op_converter("Conj", dtypes=COMPLEX)
def convert_conj(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Complex conjugate."""
    return pairs.conjugate(g, op.inputs[0].name, outputs[:1])


_AXES = {"": [-1], "2D": [-1, -2], "3D": [-1, -2, -3]}


@register_tf_op_converter(("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D"), dtypes=COMPLEX)
def convert_fft(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Fourier transform over the last axes."""
    inverse = op.type.startswith("I")
    axes = _AXES[op.type.removeprefix("I").removeprefix("FFT")]
    value = pairs.fft(g, op.inputs[0].name, axes, inverse=inverse)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


def _sizes(g: GraphBuilder, op: Any) -> list[Dim]:
    """Return the lengths of the transform, one per axis."""
    count = {"": 1, "2D": 2, "3D": 3}[op.type.rpartition("FFT")[2]]
    value = constant(g, op, 1)
    if value is not None:
        return [int(v) for v in np.ravel(value)]
    vector = shapes.vector(g, op.inputs[1].name)
    return [str(g.op.Gather(vector, np.array([i], np.int64))) for i in range(count)]


@register_tf_op_converter(("RFFT", "RFFT2D", "RFFT3D"), dtypes=(*_FLOATS, *COMPLEX, "int32"))
def convert_rfft(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """One-sided Fourier transform of a real tensor."""
    value = pairs.rfft(g, op.inputs[0].name, _sizes(g, op))
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("IRFFT", "IRFFT2D", "IRFFT3D"), dtypes=(*_FLOATS, *COMPLEX, "int32"))
def convert_irfft(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Real tensor of a one-sided Fourier transform."""
    value = pairs.irfft(g, op.inputs[0].name, _sizes(g, op))
    return cast(g, value, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])
