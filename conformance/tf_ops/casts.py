"""Every pair of element types, with values that do not fit."""

from __future__ import annotations

import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
FLOATS = ("float16", "bfloat16", "float32", "float64")
ODD = (2.7, -2.7, 0.0, -0.0, 300.0, -1.0, 70000.0, 1e20, -1e20, float("inf"), float("nan"))
# Half precision goes to narrow integers through float32 in TensorFlow: beyond that range the
# hardware decides, so only values that fit are compared.
# The same holds for uint32 and uint64, whatever the source: TensorFlow's vectorised and plain code
# disagree within one tensor.
FITTING = (2.7, 0.0, 1.0, 100.0, 3.5)


def cases() -> list[Case]:
    """Return a case for every pair of dtypes that TensorFlow casts between."""
    rows: list[Case] = []
    for source in (*WHOLE, *FLOATS):
        for target in (*WHOLE, *FLOATS):
            values: tuple[float, ...]
            if source in ("float16", "bfloat16"):
                values = FITTING
            elif source in FLOATS and target in ("uint32", "uint64"):
                values = ODD[:7]
            elif source in FLOATS:
                values = ODD
            elif source == "bool":
                values = (0, 1)
            else:
                limits = tf.as_dtype(source)
                values = (limits.min, limits.max, 0, 1, limits.max // 3)
            rows.append(
                Case(
                    f"{source}-{target}",
                    lambda x, target=target: tf.cast(x, target),
                    (Arg(source, ("n", 5), values=values),),
                    dynamic=source == "float32",
                )
            )
    return rows
