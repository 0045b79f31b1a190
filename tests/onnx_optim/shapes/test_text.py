"""Strings against onnxruntime and the reference evaluator."""

import pytest
from onnx import TensorProto as T


def test_concat_and_match(check, runtime_input):
    check("StringConcat", [runtime_input(["n", 1], T.STRING), runtime_input(["m"], T.STRING)])
    check("RegexFullMatch", [runtime_input(["n", 2], T.STRING)], pattern="a.*")


@pytest.mark.parametrize("limit", [None, 1, 2])
def test_split(check, runtime_input, limit):
    extra = {} if limit is None else {"maxsplit": limit}
    check("StringSplit", [runtime_input(["n", 2], T.STRING)], n_outputs=2, exact=False, **extra)


@pytest.mark.parametrize("words", [[], ["c"], ["a b", "c", "", "d e f"]])
def test_normalizer(check, runtime_input, words):
    extra = {"stopwords": words} if words else {}
    check("StringNormalizer", [runtime_input(["n"], T.STRING)], exact=False, need_runs=0, **extra)
    check("StringNormalizer", [runtime_input([1, 4], T.STRING)], exact=False, need_runs=0, **extra)


def test_tf_idf(check, runtime_input):
    grams = {
        "mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
        "ngram_counts": [0], "ngram_indexes": [0, 3, 1], "pool_int64s": [2, 3, 5],
    }  # fmt: skip
    (found,) = check("TfIdfVectorizer", [runtime_input(["n", 6], T.INT64)], **grams)
    assert found.shape == ["n", 4]
    (found,) = check("TfIdfVectorizer", [runtime_input(["n"], T.INT64)], **grams)
    assert found.shape == [4]
