"""``keras.ops.linalg``, ``keras.ops.image``, spectra, and control flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.entries import Entry, function, grid, numbers, positive

__all__ = ["entries"]

_SQUARE = numbers(2, 4, 4) + 3 * np.eye(4, dtype="float32")
_SYMMETRIC = _SQUARE + _SQUARE.transpose(0, 2, 1) + 4 * np.eye(4, dtype="float32")
_TALL, _IMAGES = numbers(2, 5, 3), positive(2, 8, 9, 3)
_WAVE = numbers(2, 16)
_OPEN = {"free": (1,)}
_NORM: dict[str, Any] = {
    "norm": 12.0,
    "reason": "a transform rounds by the norm of the whole array",
}
_FACTORISED: dict[str, Any] = {
    "norm": 16.0,
    "reason": "no two libraries factorise alike: rounding follows norm and condition",
}
_ROTATED: dict[str, Any] = {
    "norm": 40.0,
    "reason": "vectors turn by rounding divided by the distance of two values",
}
_ALLOWANCES = {
    **dict.fromkeys(("pinv", "qr", "lstsq", "det", "slogdet", "logdet"), _FACTORISED),
    **dict.fromkeys(("svd", "eigh"), _ROTATED),
}


def entries() -> Iterator[Entry]:
    """Every entry about linear algebra, images, spectra and control flow."""
    for entry in _algebra():
        yield replace(entry, **_ALLOWANCES.get(entry.subject.removeprefix("ops."), {}))
    yield from _resizing()
    yield from _images()
    for entry in _spectra():
        # Lengths that are no powers of two are transformed in float64.
        wide = entry.subject in {"ops.fft2", "ops.ifft2"} or entry.name in {"12", "20"}
        yield entry if wide else replace(entry, **_NORM)
    yield from _control()


def _algebra() -> Iterator[Entry]:
    from keras import ops

    for name in ("cholesky", "inv", "det", "slogdet", "logdet", "matrix_rank", "pinv"):
        call = getattr(ops, name)
        yield function(name, call, _SYMMETRIC)
    yield function("cholesky", lambda x: ops.cholesky(x, upper=True), _SYMMETRIC, label="upper")
    factor = np.tril(_SYMMETRIC)
    yield function("cholesky_inverse", ops.cholesky_inverse, factor)
    yield function("solve", ops.solve, _SQUARE, numbers(2, 4, 3))
    yield function("solve", ops.solve, _SQUARE, numbers(2, 4), label="a line")
    for lower in (False, True):
        yield function(
            "solve_triangular",
            lambda a, b, w=lower: ops.solve_triangular(a, b, lower=w),
            factor if lower else factor.transpose(0, 2, 1).copy(),
            numbers(2, 4, 3),
            label=f"lower={lower}",
        )
    yield function("lu_factor", ops.lu_factor, _SQUARE[0], modes=("static",))  # Keras takes no more
    yield function("lstsq", ops.lstsq, _TALL[0], numbers(5, 2), modes=("static",))
    yield function("pinv", ops.pinv, _TALL, label="tall")

    def again(parts: Any) -> Any:
        return ops.matmul(parts[0], parts[1])

    # Factors have a sign of their own; their product has not.
    for mode in ("reduced", "complete"):
        yield function("qr", lambda x, m=mode: again(ops.qr(x, mode=m)), _TALL, label=mode)
    yield function("svd", lambda x: ops.svd(x, compute_uv=False), _TALL, label="values")
    yield function(
        "svd", lambda x: ops.abs(ops.svd(x, full_matrices=False)[0]), _TALL, label="vectors"
    )
    yield function("eigh", lambda x: ops.eigh(x)[0], _SYMMETRIC, label="values")
    yield function("eigh", lambda x: ops.abs(ops.eigh(x)[1]), _SYMMETRIC, label="vectors")
    yield function(
        "eig",
        lambda x: ops.real(ops.eig(x)[0]),
        _SYMMETRIC[:1],
        refused="1 op type without a converter: Eig,",
        reason="eigenvalues of a matrix that is not symmetric have no ONNX operator",
    )
    yield function(
        "jvp",
        lambda x: ops.jvp(lambda y: y * y, (x,), (x,)),
        _WAVE,
    )


def _resizing() -> Iterator[Entry]:
    from keras import ops

    for choice in grid(
        interpolation=["nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"],
        antialias=[False, True],
    ):
        said = ", ".join(str(value) for value in choice.values())
        yield function(
            "image.resize",
            lambda x, c=choice: ops.image.resize(x, (5, 13), **c),
            _IMAGES,
            label=said,
        )
    for method in ("linear", "cubic", "lanczos3", "lanczos5"):
        for antialias in (False, True):
            yield function(
                "image.scale_and_translate",
                lambda x, m=method, a=antialias: ops.image.scale_and_translate(
                    x,
                    (2, 6, 12, 3),
                    np.array([0.8, 1.3], "float32"),
                    np.array([0.5, -1.0], "float32"),
                    (1, 2),
                    m,
                    a,
                ),
                _IMAGES,
                label=f"{method}, {antialias}",
                modes=("static",),
            )


def _images() -> Iterator[Entry]:
    from keras import ops

    image = ops.image
    for name in ("rgb_to_grayscale", "rgb_to_hsv", "hsv_to_rgb", "sobel_edges"):
        yield function(f"image.{name}", getattr(image, name), _IMAGES, free=(1, 2))
    yield function(
        "image.gaussian_blur", lambda x: image.gaussian_blur(x, (3, 3), (1.0, 0.7)), _IMAGES
    )
    yield function(
        "image.pad_images",
        lambda x: image.pad_images(x, 1, 2, target_height=12, target_width=13),
        _IMAGES,
    )
    yield function(
        "image.crop_images",
        lambda x: image.crop_images(x, 1, 2, target_height=5, target_width=6),
        _IMAGES,
    )
    yield function(
        "image.ssim",
        lambda a, b: image.ssim(a, b, 1.0, filter_size=5),
        _IMAGES,
        positive(2, 8, 9, 3, seed=1),
    )
    for choice in (
        {"size": 3},
        {"size": (2, 3), "strides": 2},
        {"size": 2, "strides": 1, "dilation_rate": 2},
        {"size": 3, "padding": "same"},
    ):
        yield function(
            "image.extract_patches",
            lambda x, c=choice: image.extract_patches(x, **c),
            _IMAGES,
            label=f"{choice}",
        )
    yield function(
        "image.extract_patches_3d", lambda x: image.extract_patches_3d(x, 2), numbers(2, 4, 6, 4, 3)
    )
    turn = np.array([[1.0, 0.2, -1.0, -0.1, 0.9, 0.5, 0.0, 0.0]] * 2, "float32")
    for method in ("nearest", "bilinear"):
        for mode in ("constant", "nearest", "wrap", "reflect"):
            yield function(
                "image.affine_transform",
                lambda x, m=method, f=mode: image.affine_transform(
                    x, turn, interpolation=m, fill_mode=f
                ),
                _IMAGES,
                label=f"{method}, {mode}",
                modes=("static",),
            )
    corners = np.array([[[0, 0], [8, 0], [0, 7], [8, 7]]] * 2, "float32")
    for method in ("nearest", "bilinear"):
        yield function(
            "image.perspective_transform",
            lambda x, m=method: image.perspective_transform(
                x, corners, corners + numbers(2, 4, 2) / 3, interpolation=m
            ),
            _IMAGES,
            label=method,
            modes=("static",),
        )
    where = positive(2, 5, high=6.0)
    for order in (0, 1):
        for mode in ("constant", "nearest", "wrap", "reflect"):
            yield function(
                "image.map_coordinates",
                lambda x, w, o=order, f=mode: image.map_coordinates(x, w - 1, o, fill_mode=f),
                numbers(6, 5),
                where,
                label=f"order {order}, {mode}",
                modes=("static",),
            )
    yield function(
        "image.elastic_transform",
        lambda x: image.elastic_transform(x, seed=3),
        _IMAGES,
        modes=("static",),
    )


def _spectra() -> Iterator[Entry]:
    from keras import ops

    other = numbers(2, 16, seed=1)
    yield function("fft", lambda a, b: ops.fft((a, b)), _WAVE, other)
    yield function(
        "fft2", lambda a, b: ops.fft2((a, b)), numbers(2, 4, 6), numbers(2, 4, 6, seed=1)
    )
    yield function(
        "ifft2", lambda a, b: ops.ifft2((a, b)), numbers(2, 4, 6), numbers(2, 4, 6, seed=1)
    )
    for length in (None, 12, 20):
        yield function(
            "rfft", lambda x, n=length: ops.rfft(x, fft_length=n), _WAVE, label=f"{length}"
        )
        yield function(
            "irfft",
            lambda a, b, n=length: ops.irfft((a, b), fft_length=n),
            numbers(2, 9),
            numbers(2, 9, seed=1),
            label=f"{length}",
        )
    for window in ("hann", "hamming", None):
        for center in (False, True):
            yield function(
                "stft",
                lambda x, w=window, c=center: ops.stft(x, 16, 4, 16, window=w, center=c),
                numbers(2, 60),
                label=f"{window}, {center}",
                **_OPEN,
            )
    for center in (False, True):
        yield function(
            "istft",
            lambda a, b, c=center: ops.istft((a, b), 16, 4, 16, window="hann", center=c),
            numbers(2, 12, 9),
            numbers(2, 12, 9, seed=1),
            label=f"center={center}",
        )


def _control() -> Iterator[Entry]:
    from keras import ops

    yield function(
        "cond", lambda x: ops.cond(ops.sum(x) > 0, lambda: x + 1, lambda: x - 1), _WAVE, **_OPEN
    )
    yield function(
        "switch",
        lambda i, x: ops.switch(i, [lambda y: y + 1, lambda y: y * 2], x),
        np.array(1, "int32"),
        _WAVE,
    )
    yield function(
        "while_loop",
        lambda x: ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.5), (0, x))[1],
        _WAVE,
        **_OPEN,
    )
    yield function(
        "fori_loop",
        lambda x: ops.fori_loop(0, 3, lambda i, y: y + ops.cast(i, "float32"), x),
        _WAVE,
        **_OPEN,
    )
    yield function("map", lambda x: ops.map(lambda row: ops.sum(row) * row, x), _WAVE, **_OPEN)
    for reverse in (False, True):
        yield function(
            "scan",
            lambda x, r=reverse: ops.scan(
                lambda c, y: (c + y, c * y), ops.zeros_like(x[0]), x, reverse=r
            ),
            _WAVE,
            label=f"reverse={reverse}",
        )
    yield function(
        "vectorized_map",
        lambda x: ops.vectorized_map(lambda row: ops.sum(row) * row, x),
        _WAVE,
        modes=("static",),
    )
