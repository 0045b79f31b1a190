"""The phases of a check are listed once in the documentation, as the code has them."""

from __future__ import annotations

import re

from tests.repository_rules import ROOT
from yobx.phases import PHASES

LIST = ROOT / "docs" / "how-to" / "read_a_failure.md"
# A sentence may name a few; a list is what would have to be kept up to date.
MOST = 3


def test_the_list_is_that_of_the_code() -> None:
    section = LIST.read_text(encoding="utf-8").partition("## Phases")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)) == PHASES


def test_no_other_page_has_a_list_of_its_own() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *(ROOT / "docs").rglob("*.md")]
    names = "|".join(map(re.escape, PHASES))
    listed = re.compile(rf"(?:`?\b(?:{names})\b`?(?:, | and |: ?)){{{MOST + 1},}}")
    found = [
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page in pages
        if page != LIST and "_build" not in page.parts
        for match in listed.finditer(page.read_text(encoding="utf-8"))
    ]
    assert LIST in pages
    assert not found, found
