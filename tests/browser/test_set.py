"""A set's page in a real browser: whole, offline, reached by keys, fit for phone and paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Show

pytestmark = pytest.mark.browser

HINT = "(node) => getComputedStyle(node, '::before').visibility"
OVERFLOWS = "(node) => node.scrollWidth > node.clientWidth"


def test_every_figure_of_every_study_comes_to_life_and_nothing_is_fetched(
    show: Show, set_report: Path
) -> None:
    shown = show(page=set_report)
    figures = shown.page.locator("figure.zoomable")
    assert figures.count() == 2 * 10
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_class(re.compile("is-live"))
    assert shown.asked == [set_report.as_uri()]
    assert shown.complaints == []


def test_anchors_are_unique_and_links_lead_somewhere(show: Show, set_report: Path) -> None:
    page = show(page=set_report, java_script_enabled=True).page
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    targets = page.evaluate(
        "[...document.querySelectorAll('a[href]')].map((one) => one.getAttribute('href'))"
    )
    for target in targets:
        if target.startswith("#"):
            assert target[1:] in ids
        else:
            assert (set_report.parent / target).resolve().is_file()


def test_the_first_tab_skips_to_the_verdicts(show: Show, set_report: Path) -> None:
    page = show(page=set_report).page
    page.keyboard.press("Tab")
    link = page.locator("a.skip")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    expect(page.locator("main section").first.locator("h2")).to_have_text("Verdicts")


@pytest.mark.parametrize("width_px", [1280, 390])
def test_the_page_never_scrolls_sideways_and_wide_tables_say_that_they_do(
    show: Show, set_report: Path, width_px: int
) -> None:
    page = show(width_px=width_px, page=set_report).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width_px
    hinted = 0
    for region in page.locator(".scroll").all():
        if region.is_visible():
            wide = region.evaluate(OVERFLOWS)
            assert region.evaluate(HINT) == ("visible" if wide else "hidden")
            hinted += wide
    assert hinted > 0 if width_px == 390 else hinted >= 0


def test_print_is_what_one_attaches_to_a_review(show: Show, set_report: Path) -> None:
    page = show(page=set_report).page
    page.emulate_media(media="print")
    for kept in ("results", "figures", "assumptions", "trust"):
        expect(page.locator(f"#one-{kept}")).to_be_visible()
    for left in ("one-evidence", "one-happened"):
        assert page.locator(f"#{left}:visible").count() == 0
    assert page.locator("details:visible").count() == 0
    assert page.locator("nav:visible").count() == 0


def test_the_page_follows_the_dark_scheme(show: Show, set_report: Path) -> None:
    page = show(page=set_report).page
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
