"""Which regular expressions are simple, and what they mean."""

from __future__ import annotations

import pytest

from yobx.tensorflow.ops._regex import Simple, expand_rewrite, parse

SIMPLE = [
    ("abc", Simple("abc")),
    (r"a\.b", Simple("a.b")),
    ("<br />", Simple("<br />")),
    ("[.]", Simple(".")),
    ("a+", Simple("a", is_set=True, repeated=True)),
    ("[a-c]", Simple("abc", is_set=True)),
    ("[a-]", Simple("a-", is_set=True)),
    ("[]a]", Simple("]a", is_set=True)),
    (r"[\]\-x]", Simple("]-x", is_set=True)),
    (r"[,-\.]", Simple(",-.", is_set=True)),
    (r"[\d_]+", Simple("0123456789_", is_set=True, repeated=True)),
    (r"\s+", Simple("\t\n\f\r ", is_set=True, repeated=True)),
    ("a|b|[cd]", Simple("abcd", is_set=True)),
    ("[[:blank:]x]", Simple("\t x", is_set=True)),
]
COMPLICATED = [
    *("", "a*", "a?", "a{2}", "(a)", "^a", "a$", ".", "ab+", "ab|c", "a++", "a|", "|a", "[^a]"),
    *(r"\b", r"\pL", r"a\1", "[a", "[[:nope:]]", "[z-a]", r"[a-\d]", "\\", r"\D", "[a-\U0010ffff]"),
    *("a|b+", "[ab]c", r"\x41"),
]


@pytest.mark.parametrize(("pattern", "meaning"), SIMPLE)
def test_simple(pattern: str, meaning: Simple) -> None:
    assert parse(pattern) == meaning


@pytest.mark.parametrize("pattern", COMPLICATED)
def test_complicated(pattern: str) -> None:
    assert parse(pattern) is None


def test_rewrite() -> None:
    assert expand_rewrite(r"<\0\\>", "ab") == r"<ab\>"
    assert expand_rewrite(r"\0", None) is None
    assert expand_rewrite(r"\1", "ab") is None
    assert expand_rewrite("\\", "ab") is None
