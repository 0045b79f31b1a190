"""Attention and state-carrying operators against onnxruntime or the reference evaluator."""

import numpy as np
import pytest


def test_attention_rank_4(check, runtime_input):
    query, key, value = (
        runtime_input(["b", 4, length, size]) for length, size in (("q", 8), ("k", 8), ("k", 6))
    )
    (found,) = check("Attention", [query, key, value], opset=23)
    assert found.shape == ["b", 4, "q", 6]


def test_attention_rank_3(check, runtime_input):
    query, key, value = (
        runtime_input(["b", length, size]) for length, size in (("q", 32), ("k", 16), ("k", 12))
    )
    (found,) = check("Attention", [query, key, value], opset=23, q_num_heads=4, kv_num_heads=2)
    assert found.shape == ["b", "q", 24]


def test_attention_with_cache(check, runtime_input):
    query, key, value = (
        runtime_input(["b", 4, length, size]) for length, size in (("q", 8), ("k", 8), ("k", 6))
    )
    past_key, past_value = runtime_input(["b", 4, "p", 8]), runtime_input(["b", 4, "p", 6])
    found = check(
        "Attention", [query, key, value, None, past_key, past_value], opset=23, n_outputs=4
    )
    assert found[1].shape == ["b", 4, "k+p", 8]
    assert found[2].shape == ["b", 4, "k+p", 6]
    assert found[3].shape == ["b", 4, "q", "k+p"]


def test_flex_attention(check, runtime_input):
    query, key = runtime_input(["b", 4, "q", 8]), runtime_input(["b", 2, "k", 8])
    (found,) = check(
        "FlexAttention",
        [query, key, runtime_input(["b", 2, "k", 6])],
        domain="ai.onnx.preview",
        opset=1,
        need_runs=0,
    )
    assert found.shape == ["b", 4, "q", 6]


def test_linear_attention(check, runtime_input):
    query, key, value = (runtime_input(["b", "t", size]) for size in (32, 16, 12))
    found = check(
        "LinearAttention", [query, key, value], n_outputs=2, opset=27,
        q_num_heads=4, kv_num_heads=2, update_rule="linear",
    )  # fmt: skip
    assert found[0].shape == ["b", "t", 24]
    assert found[1].shape == ["b", 2, 8, 6]


@pytest.mark.parametrize("kernel", [1, 4])
def test_causal_conv(check, runtime_input, kernel):
    inputs = [runtime_input(["b", 3, "t"]), np.ones((3, 1, kernel), np.float32)]
    found = check("CausalConvWithState", inputs, n_outputs=2, opset=27)
    assert found[1].shape == ["b", 3, kernel - 1]
