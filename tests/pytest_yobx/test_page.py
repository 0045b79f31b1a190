"""The page of a run, in a real browser."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright

from pytest_yobx.html import render_session
from tests.verification.models import network, unary
from yobx.verification import check_conversion
from yobx.verification.check import failed_import

CHROMIUM = shutil.which("chromium")
EVIL = "<img src=x onerror=\"document.title='taken'\">&\"'"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")


def row(name, *reports, outcome=None, seconds=1.0, message=""):
    good = all(report.passed for report in reports)
    return {
        "nodeid": f"pyproject.toml::{name}",
        "outcome": outcome or ("passed" if good else "failed"),
        "seconds": seconds,
        "reports": [report.as_dict() for report in reports],
        "message": message,
    }


def session():
    x = np.random.default_rng(0).standard_normal((2, 16)).astype(np.float32)
    right, wrong = network(), network()
    next(node for node in wrong.graph.node if node.name == "bn1").attribute[0].f = 0.5
    swapped = unary("Transpose", ("B", 4), perm=[1, 0])
    rows = [
        row("net[primes]", check_conversion(right, (x,), reference=right), seconds=0.5),
        row("epsilon[primes]", check_conversion(wrong, (x,), reference=right), seconds=9.25),
        row(
            "swapped[primes]",
            check_conversion(swapped, (x[:, :4],), reference=lambda a: a.T, name=EVIL),
            seconds=10.0,
        ),
        row(EVIL, outcome="crash", message=f"the worker died {EVIL}", seconds=2.0),
    ]
    totals = {"passed": 1, "failed": 2, "crash": 1}
    environment = {"onnx": "1.0", EVIL: EVIL}
    return {
        "environment": environment,
        "totals": totals,
        "results": rows,
        "red": [f"1 check not made, {EVIL} first"],
        "changes": {"fixed": [], "new_failures": [f"zoo:{EVIL}"]},
    }


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_session(session()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: trouble.append(request.url))
    page.goto(address)
    yield page
    assert [text for text in trouble if text != address and not text.startswith("data:")] == []
    context.close()


def names(page):
    return page.locator("#table tbody tr:visible th a").all_inner_texts()


def open_result(page, name):
    """The page turns after the click, on its own: wait for it."""
    page.get_by_role("link", name=name).click()
    expect(page.locator("article:visible")).to_have_count(1)


def test_names_are_text_everywhere(page):
    assert page.title() == "yobx: 4 checks"
    assert page.locator("img").count() == 0
    assert EVIL in page.locator("#table").inner_text()
    open_result(page, "<img")
    assert f"the worker died {EVIL}" in page.locator("article:visible").inner_text()


def test_rows_that_did_not_pass_say_why(page):
    row = page.locator("#table tbody tr", has_text="epsilon[primes]")
    assert row.locator(".why").inner_text().startswith("%n1 BatchNormalization")
    assert page.locator("#table tbody tr", has_text="net[primes]").locator(".why").count() == 0
    crash = page.locator("#table tbody tr", has_text="crash")
    assert "the worker died" in crash.locator(".why").inner_text()


def test_a_row_of_a_model_that_cannot_be_loaded_says_why(browser, tmp_path):
    failed = failed_import("zoo:gone", "there is no module 'zoo'.")
    rows = [row("zoo:gone", failed), row("zoo:gone[ones]", outcome="skipped", message="Skipped: x")]
    data = {"environment": {}, "totals": {"failed": 1, "skipped": 1}, "results": rows}
    path = tmp_path / "report.html"
    path.write_text(render_session(data), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.locator(".why").all_inner_texts() == ["there is no module 'zoo'", "x"]
    page.close()


def test_long_names_break_between_their_words(browser, tmp_path):
    name = "zoo:a_very_long_name_of_an_encoder_decoder_transformer_with_attention_pooling[primes]"
    path = tmp_path / "report.html"
    data = {"environment": {}, "totals": {}, "results": [row(name, outcome="skipped")]}
    path.write_text(render_session(data), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 600})
    page.goto(path.as_uri())
    link = page.locator("#table th a")
    assert link.text_content() == name
    lines = link.evaluate(
        """a => { const lines = []; let top = null;
            for (const node of a.childNodes) {
                if (node.nodeType !== Node.TEXT_NODE) continue;
                for (let i = 0; i < node.length; i++) {
                    const range = document.createRange();
                    range.setStart(node, i); range.setEnd(node, i + 1);
                    const at = Math.round(range.getBoundingClientRect().top);
                    if (at !== top) { lines.push(""); top = at; }
                    lines[lines.length - 1] += node.data[i];
                } }
            return lines; }"""
    )
    assert "".join(lines) == name
    assert len(lines) > 2
    assert all(line[-1] in "_:[]" for line in lines)
    page.close()


def test_what_failed_comes_first(page):
    assert names(page)[-1] == "net[primes]"


def test_filters(page):
    page.get_by_label("Result", exact=True).select_option("failed")
    assert names(page) == ["epsilon[primes]", "swapped[primes]"]
    assert page.locator("#shown").inner_text() == "2 of 4 shown"
    # The words of the failure text are searched too.
    page.get_by_label("Find").fill("BATCHNORMALIZATION")
    assert names(page) == ["epsilon[primes]"]
    page.get_by_label("Find").press("Enter")
    assert names(page) == ["epsilon[primes]"]
    page.get_by_label("Find").fill("nothing like this")
    assert names(page) == []
    assert page.locator("#shown").inner_text() == "0 of 4 shown"


def test_columns_sort_as_numbers_and_say_so(page):
    header = page.get_by_role("columnheader", name="Seconds")
    page.get_by_role("button", name="Seconds").click()
    seconds = page.locator("#table tbody tr td:last-child").all_inner_texts()
    assert seconds == ["0.50", "2.00", "9.25", "10.00"]
    expect(header).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("button", name="Seconds").click()
    assert page.locator("#table tbody tr td:last-child").all_inner_texts() == seconds[::-1]
    expect(header).to_have_attribute("aria-sort", "descending")


def test_the_page_of_one_model_names_the_differing_operation(page):
    open_result(page, "epsilon[primes]")
    article = page.locator("article:visible")
    expect(article).to_have_count(1)
    expect(page.locator("#overview")).to_be_hidden()
    facts = article.locator(".facts").inner_text()
    assert re.search(r'BatchNormalization #\d+ "bn1"', facts)
    assert "n1" in facts
    assert "VALUES differ" in article.locator("pre").first.inner_text()


def test_the_histogram_of_errors(page):
    open_result(page, "epsilon[primes]")
    histogram = page.locator("article:visible .histogram").first
    counts = [int(text) for text in histogram.locator(".count").all_inner_texts()]
    assert sum(counts) == 5 * 16
    widths = [bar.bounding_box()["width"] for bar in histogram.locator(".bar").all()]
    assert np.argmax(widths) == np.argmax(counts)


def test_the_table_of_shapes(page):
    open_result(page, "swapped[primes]")
    cells = page.locator("article:visible table.shapes tbody tr").first.locator("th, td")
    value, node, stated, runtime, state = cells.all_inner_texts()
    assert (value, node, stated) == ("y", "Transpose #0", "[B, 4], refuted")
    assert runtime.split("\n")[0] == "float32 [4, 5]"
    assert state == "refuted"
    page.goto(page.url.partition("#")[0])
    open_result(page, "net[primes]")
    page.get_by_text("values confirmed").last.click()
    expect(page.locator("article:visible table.shapes tbody tr")).to_have_count(10)


def test_a_wrong_value_is_called_wrong_and_its_shape_confirmed(page):
    open_result(page, "epsilon[primes]")
    article = page.locator("article:visible")
    outputs = article.get_by_role("region", name="Outputs")
    assert outputs.locator("th[scope=col]").all_inner_texts()[3] == "Result"
    assert set(outputs.locator(".badge.failed").all_inner_texts()) == {"wrong: values"}
    article.get_by_text("Types and shapes: 10 of 10").click()
    shapes = article.locator("table.shapes")
    assert shapes.locator("th[scope=col]").all_inner_texts()[-1] == "Type and shape"
    assert set(shapes.locator("tbody .badge").all_inner_texts()) == {"confirmed"}
    assert "checked" not in article.inner_text()


def test_the_keyboard_is_enough(page):
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the results")).to_be_focused()
    page.get_by_label("Find").focus()
    page.keyboard.type("epsilon")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "epsilon[primes]":
            break
    page.keyboard.press("Enter")
    expect(page.locator("article:visible")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#overview")).to_be_visible()
    expect(page.get_by_role("link", name="epsilon[primes]")).to_be_focused()


def test_results_can_be_paged_and_linked_to(page, address):
    open_result(page, "epsilon[primes]")
    page.locator("article:visible").get_by_text("Next").click()
    expect(page.locator("article:visible h2")).to_have_text("swapped[primes]")
    page.go_back()
    expect(page.locator("article:visible h2")).to_have_text("epsilon[primes]")
    page.reload()
    expect(page.locator("article:visible h2")).to_have_text("epsilon[primes]")
    page.locator("article:visible").get_by_text("All results").click()
    expect(page.locator("#overview")).to_be_visible()


def _luminance(colour):
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page, scheme):
    """4.5 to 1 at least, for every kind of text."""
    page.emulate_media(color_scheme=scheme)
    open_result(page, "epsilon[primes]")
    pairs = page.evaluate(
        """() => [...document.querySelectorAll("h2, a, dt, dd, th, td, .badge, .muted, code, pre")]
        .filter((e) => e.checkVisibility())
        .map((e) => {
          let ground = e;
          const clear = "rgba(0, 0, 0, 0)";
          while (ground.parentElement && getComputedStyle(ground).backgroundColor === clear)
            ground = ground.parentElement;
          return [e.outerHTML.slice(0, 60), getComputedStyle(e).color,
                  getComputedStyle(ground).backgroundColor];
        })"""
    )
    assert len(pairs) > 20
    grounds = {ground for _, _, ground in pairs}
    assert all((_luminance(ground) < 0.2) == (scheme == "dark") for ground in grounds)
    for what, colour, ground in pairs:
        light, dark = sorted([_luminance(colour), _luminance(ground)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (what, colour, ground)


def test_a_narrow_screen_scrolls_tables_only(page):
    page.set_viewport_size({"width": 400, "height": 800})
    for link in ("epsilon[primes]", None):
        if link:
            open_result(page, link)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_narrow_screen_shows_each_row_in_full(page):
    page.set_viewport_size({"width": 420, "height": 900})
    region = page.get_by_role("region", name="Table of results")
    assert region.evaluate("e => e.scrollWidth <= e.clientWidth")
    cut = page.evaluate(
        """() => [...document.querySelectorAll("#table th, #table td")].filter((e) =>
            e.textContent.trim() && e.getBoundingClientRect().right > innerWidth)
            .map((e) => e.outerHTML)"""
    )
    assert cut == []
    # It is a table for screen readers still, and each value says what it is.
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="epsilon[primes]"))
    assert row.get_by_role("cell").count() == 7
    named = row.locator("td[data-name=opset]").evaluate(
        "e => getComputedStyle(e, '::before').content"
    )
    assert "opset" in named
    page.get_by_role("button", name="Seconds").click()
    header = page.get_by_role("columnheader", name="Seconds")
    expect(header).to_have_attribute("aria-sort", "ascending")


def test_why_a_model_failed_has_room_beside_empty_values(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    width = page.locator("#table tbody th").first.evaluate("e => e.getBoundingClientRect().width")
    assert width >= 500


def test_every_control_has_a_name(page):
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [tabindex='0']")]
        .filter((e) => !(e.labels && e.labels.length) && !e.getAttribute("aria-label")
                       && !e.textContent.trim()).map((e) => e.outerHTML)"""
    )
    assert unnamed == []


def test_why_the_run_is_red_and_what_changed(page):
    reasons = page.get_by_role("list", name="Why this run is red")
    assert reasons.inner_text() == f"1 check not made, {EVIL} first"
    changes = page.get_by_text("Changes since the baseline").locator("..").inner_text()
    assert "new failures (1)" in changes
    assert f"zoo:{EVIL}" in changes
    assert "fixed" not in changes


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_five_hundred_results(browser, tmp_path, scheme, width):
    data = session()
    names = [f"zoo.models.vision.architecture_{i:03}_with_a_long_name:build" for i in range(500)]
    data["results"] = [
        {**data["results"][i % 2], "nodeid": f"pyproject.toml::{name}[primes]"}
        for i, name in enumerate(names)
    ]
    data["changes"] = {"new_failures": names[:3], "untested": names[3:4]}
    path = tmp_path / "many.html"
    path.write_text(render_session(data), encoding="utf-8")
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(path.as_uri())
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page.get_by_label("Find").fill("architecture_123")
    expect(page.locator("#shown")).to_have_text("1 of 500 shown")
    page.get_by_role("link", name="architecture_123").click()
    expect(page.locator("article:visible")).to_have_count(1)
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    context.close()
