"""Fourier transforms against onnxruntime and the reference evaluator."""

import numpy as np
import pytest


@pytest.mark.parametrize("one_sided", [0, 1])
@pytest.mark.parametrize("length", [None, 5, 16])
def test_dft(check, runtime_input, one_sided, length):
    given = [] if length is None else [np.array(length)]
    check(
        "DFT",
        [runtime_input(["n", "t", 1]), *given],
        opset=17,
        axis=1,
        onesided=one_sided,
        need_runs=0,
    )
    check(
        "DFT",
        [runtime_input(["n", "t", 1]), *(given or [None]), np.array(1)],
        opset=20,
        onesided=one_sided,
        need_runs=0,
    )


def test_inverse_dft(check, runtime_input):
    check("DFT", [runtime_input(["n", "t", 2])], opset=20, inverse=1)
    (found,) = check(
        "DFT", [runtime_input(["n", "t+2", 2])], opset=20, inverse=1, onesided=1, need_runs=0
    )
    assert found.shape == ["n", "2*t+2", 1]


@pytest.mark.parametrize("one_sided", [0, 1])
def test_stft(check, runtime_input, one_sided):
    window = np.ones(16, np.float32)
    sizes = [{"n": 2, "t": 128}, {"n": 1, "t": 17}]
    item = runtime_input(["n", "t", 1])
    check("STFT", [item, np.array(8), window, np.array(16)], sizes=sizes, onesided=one_sided)
    check("STFT", [item, np.array(8), window], sizes=sizes, onesided=one_sided)
    check("STFT", [item, np.array(8), None, np.array(16)], sizes=sizes, onesided=one_sided)
