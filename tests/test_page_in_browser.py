"""The page as a browser shows it: opened from disk, narrow and wide, light and dark, on paper, by keyboard."""

from __future__ import annotations

import pytest
from browser import MISSING, Browser, found
from test_run_html import EVERY, page

pytestmark = pytest.mark.skipif(found() is None, reason=MISSING)
WIDTHS = (360, 800, 1400)
TOO_WIDE = """(() => {
    const wide = document.documentElement.clientWidth;
    return [document.documentElement.scrollWidth - wide, document.body.scrollWidth - wide];
})()"""
FAINT = """(() => {
    const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
    const luminance = colour => numbers(colour).slice(0, 3).map(part => part / 255)
        .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = element => {
        for (let at = element; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if ((numbers(colour)[3] ?? 1) > 0) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const seen = [];
    for (const element of document.body.querySelectorAll("*")) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        // Text on a bar: its colours are compared where they are defined.
        if (!own || element.localName === "title" || element.classList.contains("ink")) continue;
        const look = getComputedStyle(element);
        const colour = element instanceof SVGElement ? look.fill : look.color;
        const [low, high] = [luminance(colour), luminance(ground(element))].sort((a, b) => a - b);
        seen.push([(high + 0.05) / (low + 0.05), element.textContent.slice(0, 40), look.backgroundColor]);
    }
    return {all: seen.length, faint: seen.filter(([ratio]) => ratio < 4.5), ground: ground(document.body)};
})()"""
UNREACHABLE = """[...document.querySelectorAll("*")]
    .filter(e => getComputedStyle(e).overflowX === "auto" && e.scrollWidth > e.clientWidth && e.tabIndex < 0)
    .map(e => e.outerHTML.slice(0, 80))"""
CLIPPED = """[...document.querySelectorAll("svg text")].filter(text => {
    const box = text.getBoundingClientRect();
    return box.width && (box.left < -1 || box.right > document.documentElement.clientWidth + 1);
}).map(text => text.textContent)"""
SHOWN = """[...document.querySelectorAll("details > :not(summary)")].map(e => e.checkVisibility())"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(found(), tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page's text from disk."""

    def open_text(text, **looks):
        file = tmp_path / "run.html"
        file.write_text(text, encoding="utf-8")
        return browser.open(file.as_uri(), **looks), file.as_uri()

    return open_text


@pytest.mark.parametrize("name", EVERY)
def test_it_asks_for_nothing_complains_of_nothing_and_fits(opened, name):
    tab, address = opened(page(EVERY[name]()))
    assert tab.value("document.querySelectorAll('h1').length") == 1
    for width in WIDTHS:
        tab.look(width)
        assert max(tab.value(TOO_WIDE)) <= 0, width
        assert tab.value(CLIPPED) == [], width
        assert tab.value(UNREACHABLE) == [], width
    assert tab.requests == [address]
    assert tab.complaints == []


@pytest.mark.parametrize(
    ("body", "asked", "told"),
    [
        ("<script>console.error('no')</script>", False, "no"),
        ("<script>throw new Error('lost')</script>", False, "Uncaught"),
        ("<img src='http://127.0.0.1:9/a.png'>", True, "ERR_"),
        ("<style>@import url(http://127.0.0.1:9/a.css)</style>", True, "ERR_"),
        ("<script>setTimeout(() => fetch('http://127.0.0.1:9/'), 20)</script>", True, "ERR_"),
        (
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><b style='top:0'>a</b>",
            False,
            "style",
        ),
    ],
)
def test_what_another_page_asks_for_or_complains_of_is_heard(opened, body, asked, told):
    tab, address = opened(f"<!DOCTYPE html><title>a</title>{body}")
    assert any("127.0.0.1:9" in request for request in tab.requests) is asked
    assert any(told in complaint for complaint in tab.complaints)
    assert tab.requests[0] == address


def test_what_is_wider_than_the_window_is_seen(opened):
    tab, _ = opened("<!DOCTYPE html><title>a</title><p style='width:500px'>a</p>", width=360)
    assert max(tab.value(TOO_WIDE)) > 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["as_they_ran", "on_cpu", "hostile"])
def test_every_text_stands_out_as_it_is_drawn(opened, name, dark):
    tab, _ = opened(page(EVERY[name]()), dark=dark)
    seen = tab.value(FAINT)
    assert seen["faint"] == []
    assert seen["all"] > 20
    assert (seen["ground"] == "rgb(255, 255, 255)") is not dark


def test_faint_text_is_seen(opened):
    tab, _ = opened("<!DOCTYPE html><title>a</title><body style='background:#fff'><p style='color:#999'>a</p>")
    assert len(tab.value(FAINT)["faint"]) == 1


def test_on_paper_everything_is_unfolded_and_light(opened):
    tab, _ = opened(page(EVERY["over_time"]()), dark=True)
    assert tab.value(SHOWN) == [False] * 4
    tab.look(700, dark=True, media="print")
    assert tab.value(SHOWN) == [True] * 4
    assert tab.value(FAINT)["ground"] == "rgb(255, 255, 255)"
    paper = tab.printed()
    assert paper.startswith(b"%PDF-")
    assert len(paper) > 20_000


def test_a_link_opens_what_is_folded(opened):
    tab, _ = opened(page(EVERY["on_gpu"]()))
    folded = "document.getElementById('f3').closest('details').open"
    assert tab.value(folded) is False
    tab.value("document.querySelector('a[href=\"#f3\"]').click()")
    assert tab.value("new Promise(done => setTimeout(done, 50))") is None
    assert tab.value(folded) is True
