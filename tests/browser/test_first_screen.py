"""The first screen in a real browser: which claims hold, filtered and opened, by anyone."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from model import run_folder
from reports.page.write import write_report
from tests.browser.conftest import HEIGHT_PX, Show, showing, unfold
from tests.support.runs.report_run import build_grid, build_run
from tests.support.runs.set_run import DRAWN, SENSITIVE, program, report_set

LAPTOP_PX, PHONE_PX = 1440, 390
#: A page nobody has opened anything on is at most so many windows high.
MOST_SCREENS = 12
LINE = ".claimed li:visible"
#: What is found wrong, each with how bad that is, and where first.
JUDGE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map((one) => ({impact: one.impact, rule: one.id, first: one.nodes[0].html}))"""


@pytest.fixture
def page(show_set: Show) -> Page:
    """Return the page of a set in a window of a laptop's width."""
    return show_set(width_px=LAPTOP_PX).page


def grave(page: Page) -> list[dict[str, Any]]:
    """Return what axe-core finds to be serious or worse."""
    axe = resources.files("axe_playwright_python") / "axe.min.js"
    page.evaluate(axe.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.evaluate(JUDGE)
    return [one for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("width_px", [PHONE_PX, LAPTOP_PX])
def test_claims_and_counts_stand_in_the_first_window(show_set: Show, width_px: int) -> None:
    page = show_set(width_px=width_px).page
    expect(page.get_by_text("Of 4 claims 3 hold, 1 is refuted.")).to_be_in_viewport(ratio=1)
    expect(page.locator(LINE).first).to_be_in_viewport(ratio=1)
    high = page.evaluate("document.documentElement.scrollHeight")
    assert high <= MOST_SCREENS * HEIGHT_PX


def test_on_a_laptop_picture_and_doubts_stand_there_too(page: Page) -> None:
    expect(page.locator(".against svg:visible")).to_be_in_viewport(ratio=1)
    expect(page.locator("#distrust")).to_be_in_viewport(ratio=1)


def test_claims_are_filtered_by_verdict_and_study(page: Page) -> None:
    assert page.locator(LINE).count() == 4
    refuted = page.get_by_role("button", name="1 refuted")
    refuted.press("Enter")
    expect(refuted).to_have_attribute("aria-pressed", "true")
    expect(page.locator(LINE)).to_have_count(1)
    expect(page.locator(LINE)).to_contain_text("The increase is above 16 %.")
    page.get_by_role("button", name=DRAWN, exact=True).press("Enter")
    expect(page.locator(LINE)).to_have_count(0)
    page.get_by_role("button", name="All", exact=True).press("Enter")
    expect(page.locator(LINE)).to_have_count(1)


def test_a_claim_opens_to_its_evidence_and_on_to_every_comparison(page: Page) -> None:
    claim = page.locator(LINE).filter(has_text="The increase is above 16 %.")
    evidence = claim.get_by_text("10.0 % (95 % CI 7.9 to 12.2)")
    expect(evidence).to_be_hidden()
    claim.locator("summary").press("Enter")
    expect(evidence).to_be_visible()
    claim.get_by_role("link", name="Every comparison").press("Enter")
    expect(page.locator(f'[id="{SENSITIVE}.verdicts"]')).to_be_in_viewport()


def test_what_alternatives_do_to_a_claim_is_drawn_when_asked_for(page: Page) -> None:
    page.goto(f"{page.url}#{SENSITIVE}.sensitivity")
    picture = page.locator(".tornado svg").first
    expect(picture).to_be_hidden()
    page.get_by_text("How far each alternative moves").first.press("Enter")
    expect(picture).to_be_visible()
    expect(picture).to_have_accessible_name(re.compile(r"^The increase is above 16 %. As assumed"))
    expect(picture.locator(".swing")).to_have_count(2)


def test_the_picture_changes_with_the_study(browser: Browser, tmp_path: Path) -> None:
    first, second = "one", "other"
    runs = [build_run(tmp_path / name, losses=(0.01,), seeds=2) for name in (first, second)]
    report_set(tmp_path, runs)
    with showing(browser, tmp_path / run_folder.REPORT_HTML) as show:
        page = show(width_px=LAPTOP_PX).page
        shown = page.locator(".against .plot:visible")
        expect(shown).to_have_attribute("data-study", first)
        page.get_by_role("radio", name=second).check(force=True)
        expect(shown).to_have_attribute("data-study", second)
        page.get_by_role("button", name=first, exact=True).click()
        expect(shown).to_have_attribute("data-study", first)


def test_a_paper_is_cited(page: Page) -> None:
    cite = page.locator(".claimed .cite").first
    cite.locator("summary").press("Enter")
    expect(cite.locator("pre")).to_contain_text("@misc{wireless,")


def test_an_address_with_a_place_opens_what_it_names(show_set: Show) -> None:
    page = show_set(width_px=LAPTOP_PX).page
    name = f"{SENSITIVE}.assumptions"
    assert page.locator(f'[id="{name}"]').count() == 0
    address = f"{page.url}#{name}"
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator(f'[id="{name}"]')).to_be_in_viewport()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_grid_of_settings_leads_to_its_points(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    write_report(build_grid(tmp_path), library=program)
    with showing(browser, tmp_path / run_folder.REPORT_HTML) as show:
        page = show(width_px=LAPTOP_PX, color_scheme=scheme).page
        table = page.get_by_role("table", name="Increase")
        expect(table.get_by_role("cell")).to_have_count(4)
        assert grave(page) == []
        figure = page.locator("#figure-pct_increase")
        expect(figure).to_be_hidden()
        table.get_by_role("link", name="20.0").press("Enter")
        expect(figure).to_be_visible()


def test_without_scripts_everything_can_be_read(show_set: Show) -> None:
    page = show_set(width_px=LAPTOP_PX, java_script_enabled=False).page
    assert page.locator(LINE).count() == 4
    expect(page.locator(".filters").first).to_be_hidden()
    ledger = page.locator(f'[id="{SENSITIVE}.ledger"]')
    expect(ledger).to_be_hidden()
    page.locator(f'summary:has([id="{SENSITIVE}.trust"])').press("Enter")
    expect(ledger).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width_px", [PHONE_PX, LAPTOP_PX])
def test_nothing_keeps_anyone_out(show_set: Show, width_px: int, scheme: str) -> None:
    page = show_set(width_px=width_px, color_scheme=scheme).page
    assert grave(page) == []
    unfold(page)
    assert grave(page) == []


def test_living_figures_keep_nobody_out(show: Show) -> None:
    page = show(width_px=LAPTOP_PX).page
    unfold(page)
    for figure in page.locator("figure.zoomable").all():
        figure.scroll_into_view_if_needed()
        expect(figure.locator(".live svg")).to_be_visible()
    assert grave(page) == []
