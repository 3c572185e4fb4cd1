"""The page of a set in a real browser: all studies on it, found, read, zoomed and printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Show, figures, unfold
from tests.support.runs.set_run import DRAWN, NAMES, SENSITIVE

PHONE_PX, LAPTOP_PX = 390, 1280
CWND = f"{DRAWN}.figure-cwnd-loss_frac_0.01-T"
PAPER = {"light": "rgb(253, 252, 249)", "dark": "rgb(23, 22, 20)"}
#: What the keyboard has to reach: links, buttons, figures, folded parts, and what scrolls.
TARGETS = """() => [...document.querySelectorAll(
    "a[href], button, summary, [tabindex='0'], pre"
)].filter((one) => one.checkVisibility()).length"""
#: What is cut off at a side of the window although nothing there can be scrolled.
CUT = """() => [...document.querySelectorAll("body *")].filter((one) => {
    const box = one.getBoundingClientRect();
    const beyond = box.width && (box.right > innerWidth + 1 || box.left < -1);
    return beyond && !one.closest(".scroll, pre, svg, .skip");
}).map((one) => `${one.tagName} ${one.className}`)"""


@pytest.fixture
def page(show_set: Show) -> Page:
    """Return the page in a window of a laptop's width."""
    return show_set(width_px=LAPTOP_PX).page


def alive(page: Page) -> None:
    """Bring every figure to life."""
    for figure in figures(page):
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_class(re.compile("is-live"))


def test_it_opens_from_disk_draws_every_figure_and_asks_for_nothing(
    show_set: Show, set_report: Path
) -> None:
    shown = show_set()
    alive(shown.page)
    assert shown.page.locator("figure.zoomable").count() > 10
    assert shown.page.url.startswith("file://")
    assert shown.requested == [set_report.as_uri()]
    assert shown.complaints == []


def test_ids_are_unique_once_all_is_drawn(page: Page) -> None:
    alive(page)
    twice = page.evaluate("""() => {
        const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
        return ids.filter((id, at) => ids.indexOf(id) !== at);
    }""")
    assert twice == []


def test_a_figure_zooms_and_the_same_of_another_study_stays(page: Page) -> None:
    alive(page)
    ticks = """(id) => [...document.getElementById(id).querySelectorAll(
        ".live .role-axis-label text")].map((one) => one.textContent).join()"""
    mine, other = (f"{name}.figure-pct_increase" for name in NAMES)
    before = {figure: page.evaluate(ticks, figure) for figure in (mine, other)}
    page.locator(f'[id="{mine}"]').get_by_role("button", name="Zoom in").click()
    page.wait_for_function(f"([id, was]) => ({ticks})(id) !== was", arg=[mine, before[mine]])
    assert page.evaluate(ticks, other) == before[other]


def test_the_contents_lead_to_what_they_name(page: Page) -> None:
    for link in page.locator("nav a").all():
        words = link.text_content()
        target = (link.get_attribute("href") or "").removeprefix("#")
        link.click()
        heading = page.locator(f'[id="{target}"]')
        expect(heading).to_be_in_viewport()
        assert heading.evaluate("(one) => /^H[1-3]$/.test(one.tagName)"), words


def test_the_first_tab_skips_the_contents(page: Page) -> None:
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip the contents")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "All"


def test_the_keyboard_reaches_everything(page: Page) -> None:
    alive(page)
    unfold(page)
    expect(page.locator("details:not([open])")).to_have_count(0)
    wanted = page.evaluate(TARGETS)
    page.evaluate("""() => {
        window.reached = new Set();
        document.addEventListener("focusin", (event) => window.reached.add(event.target));
        document.activeElement.blur();
        getSelection().removeAllRanges();
        getSelection().collapse(document.body, 0);
    }""")
    assert wanted > 100
    for _ in range(wanted + 2):
        page.keyboard.press("Tab")
    assert page.evaluate("window.reached.size") >= wanted


def test_a_table_scrolls_by_keyboard_on_a_phone_and_shows_that_it_does(show_set: Show) -> None:
    page = show_set(width_px=PHONE_PX).page
    unfold(page)
    table = f'[aria-labelledby="{DRAWN}.ledger"] .scroll'
    region = page.locator(table)
    region.scroll_into_view_if_needed()
    region.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(css) => document.querySelector(css).scrollLeft > 0", arg=table)
    assert "gradient" in region.evaluate("(one) => getComputedStyle(one).backgroundImage")
    words = """([css, wanted]) => getComputedStyle(document.querySelector(css), '::before')
        .visibility === wanted"""
    page.wait_for_function(words, arg=[table, "visible"])
    page.set_viewport_size({"width": LAPTOP_PX, "height": 900})
    page.wait_for_function(words, arg=[table, "hidden"])


@pytest.mark.parametrize("width_px", [320, PHONE_PX, LAPTOP_PX])
@pytest.mark.parametrize("unfolded", [False, True])
def test_nothing_is_wider_than_the_window(show_set: Show, width_px: int, unfolded: bool) -> None:
    page = show_set(width_px=width_px).page
    if unfolded:
        unfold(page)
        alive(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width_px
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_scheme(show_set: Show, scheme: str) -> None:
    page = show_set(color_scheme=scheme).page
    expect(page.locator("body")).to_have_css("background-color", PAPER[scheme])


def test_print_has_what_a_review_needs_and_no_dumps(page: Page) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    for name in NAMES:
        for part in ("results", "assumptions", "repeat", "ledger"):
            expect(page.locator(f'[id="{name}.{part}"]')).to_be_visible()
        table = page.locator(f'li:has(> [id="{name}.pct_increase"]) .result table').first
        expect(table).to_be_visible()
    expect(page.locator("#claims")).to_be_visible()
    expect(page.locator(f'[id="{CWND}"] .still svg')).to_be_visible()
    assert page.locator("nav, .skip, details.rest").count() > 8
    for hidden in page.locator("nav, .skip, details.rest").all():
        expect(hidden).to_be_hidden()
    calibration = page.locator(f'[aria-labelledby="{SENSITIVE}.checks"] details').first
    expect(calibration.locator("summary")).to_be_visible()
    expect(calibration.locator("table")).to_be_hidden()


def test_what_a_reader_opened_is_printed(page: Page) -> None:
    figures(page)
    folded = page.locator("details.rest:has(> summary:text('Every single run'))").first
    folded.locator("summary").press("Enter")  # a click may miss what a figure moves
    page.emulate_media(media="print")
    expect(folded.locator("table")).to_be_visible()


def test_the_printed_pages_are_few(page: Page) -> None:
    printed = page.pdf(prefer_css_page_size=True)
    assert 5 < len(re.findall(rb"/Type\s*/Page\b", printed)) < 40
