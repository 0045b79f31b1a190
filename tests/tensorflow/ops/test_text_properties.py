"""Random strings against TensorFlow: replacing, stripping, splitting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case, check

LETTERS = np.array(list("aab.., \té\n-"))


def strings(seed: int, count: int = 200) -> tuple[str, ...]:
    rng = np.random.default_rng(seed)
    return tuple("".join(rng.choice(LETTERS, rng.integers(0, 9))) for _ in range(count))


def replacing(pattern: str, rewrite: str, *, everywhere: bool = True) -> Callable[[Any], Any]:
    return lambda x: tf.raw_ops.StaticRegexReplace(
        input=x, pattern=pattern, rewrite=rewrite, replace_global=everywhere
    )


PATTERNS = ("a", "ab", "aa", r"\.", "[ab]", "[ab]+", r"\s+", r"[.,]+", "a|,", "é", r"[é\n]", "aba")
REWRITES = ("", "-", "ab", "a", r"\\")
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        f"replace {pattern!r} {rewrite!r}": replacing(pattern, rewrite)
        for pattern in PATTERNS
        for rewrite in REWRITES
    },
    **{
        f"replace once {pattern!r}": replacing(pattern, "<>", everywhere=False)
        for pattern in ("a", "ab", "aa", r"\.")
    },
    "strip": tf.strings.strip,
    "split at whitespace": lambda x: tf.raw_ops.StringSplitV2(input=x, sep=""),
    **{
        f"split at {sep!r}, {most}": lambda x, s=sep, m=most: tf.raw_ops.StringSplitV2(
            input=x, sep=s, maxsplit=m
        )
        for sep in ("a", "ab", ".,", "aa")
        for most in (-1, 1, 2)
    },
    **{
        f"split at any of {each!r}, {skip}": lambda x, d=each, s=skip: tf.raw_ops.StringSplit(
            input=x, delimiter=d, skip_empty=s
        )
        for each in (".", ".,", "a \t")
        for skip in (True, False)
    },
}
CASES = [
    Case(
        name,
        function,
        (Arg("string", ("n",), values=strings(seed)),),
        bindings=({"n": 200}, {"n": 1}),
    )
    for seed, (name, function) in enumerate(FUNCTIONS.items())
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_random_strings(case: Case) -> None:
    check(case, {"n": 40})
