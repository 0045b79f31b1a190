"""Complex arithmetic and Fourier transforms; results are compared as pairs."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case

A, B = Arg("float32", ("n", 4)), Arg("float32", ("n", 4), 0.5, 3)


def pairs(z: Any) -> Any:
    """Return complex numbers as pairs of real ones."""
    return tf.stack([tf.math.real(z), tf.math.imag(z)], -1)


ARITHMETIC = [
    Case("mul", lambda a, b: pairs(tf.complex(a, b) * tf.complex(b, a)), (A, B), contraction=4),
    Case("add", lambda a, b: pairs(tf.complex(a, b) + 1j - tf.complex(b, -a)), (A, B)),
    Case("div", lambda a, b: pairs(tf.complex(a, b) / tf.complex(b, a)), (A, B), ulps=8, floor=8),
    Case("broadcast", lambda a, b: pairs(tf.complex(a, 0.5) * tf.complex(2.0, b[0])), (A, B)),
    Case("exp", lambda a, b: pairs(tf.exp(tf.complex(a, b))), (A, B), ulps=8, floor=100),
    Case("abs", lambda a, b: tf.abs(tf.complex(a, b)), (A, B), ulps=4, bindings=EMPTY),
    Case("angle", lambda a, b: tf.math.angle(tf.complex(a, b)), (A, B), ulps=4),
    Case(
        "angle of complex128",
        lambda a, b: tf.math.angle(tf.complex(a, b)),
        (Arg("float64", ("n", 4)), Arg("float64", ("n", 4), 0.5, 3)),
        ulps=4,
    ),
    Case("conj", lambda a, b: pairs(tf.math.conj(tf.complex(a, b))), (A, B)),
    Case("cast", lambda a: pairs(tf.cast(a, tf.complex64)), (A,)),
    Case(
        "cast of infinities",
        lambda a: pairs(tf.cast(a, tf.complex64)),
        (Arg("float32", ("n", 4), special=True),),
    ),
    Case("to_real", lambda a, b: tf.cast(tf.complex(a, b), tf.float32), (A, B)),
    Case("structure", lambda a, b: pairs(tf.concat([tf.expand_dims(tf.reshape(tf.transpose(
         tf.complex(a, b)), [2, -1]), -1)] * 2, -1)[:, 1:, 0]), (A, B)),
    Case("sum", lambda a, b: pairs(tf.reduce_sum(tf.complex(a, b), -1)), (A, B), contraction=8),
    Case("double", lambda a: pairs(tf.complex(a, a) * tf.complex(a, -a)),
         (Arg("float64", ("n", 3)),), contraction=4),
]  # fmt: skip
X = Arg("float32", ("n", 3, 8))
ODD = Arg("float32", ("n", 4, 7))
# A transform sums as many products as it has elements; the naive bound is their sizes' sum.
TRANSFORMS = [
    Case("fft", lambda x: pairs(tf.signal.fft(tf.complex(x, x * 0.5))), (X,), atol=2e-5),
    Case("ifft", lambda x: pairs(tf.signal.ifft(tf.complex(x, x * 0.5))), (ODD,), atol=2e-5),
    Case("fft2d", lambda x: pairs(tf.signal.fft2d(tf.complex(x, x * 0.5))), (ODD,), atol=6e-5),
    Case("ifft2d", lambda x: pairs(tf.signal.ifft2d(tf.complex(x, x))), (X,), atol=2e-5),
    Case("fft3d", lambda x: pairs(tf.signal.fft3d(tf.complex(x, x))),
         (Arg("float32", (2, 3, 4)),), atol=6e-5),
    Case("rfft", lambda x: pairs(tf.signal.rfft(x)), (X,), atol=2e-5),
    Case("rfft_odd", lambda x: pairs(tf.signal.rfft(x)), (ODD,), atol=2e-5),
    Case("rfft_longer", lambda x: pairs(tf.signal.rfft(x, [11])), (X,), atol=2e-5),
    Case("rfft_shorter", lambda x: pairs(tf.signal.rfft(x, [5])), (X,), atol=2e-5),
    Case("rfft2d", lambda x: pairs(tf.signal.rfft2d(x)), (ODD,), atol=6e-5),
    Case("irfft", lambda x: tf.signal.irfft(tf.signal.rfft(x)), (X,), atol=2e-5),
    Case("irfft_odd", lambda x: tf.signal.irfft(tf.signal.rfft(x), [7]), (ODD,), atol=2e-5),
    Case("irfft2d", lambda x: tf.signal.irfft2d(tf.signal.rfft2d(x)), (X,), atol=2e-5),
    Case("rfft_double", lambda x: pairs(tf.signal.rfft(x)), (Arg("float64", ("n", 9)),),
         atol=1e-12),
    Case("rfft_dynamic", lambda x: pairs(tf.signal.rfft(x)), (Arg("float32", (2, "m")),),
         atol=2e-5),
    Case("stft", lambda x: tf.abs(tf.signal.stft(x, 16, 8)), (Arg("float32", (2, 64)),), atol=1e-4),
]  # fmt: skip


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*ARITHMETIC, *TRANSFORMS]
