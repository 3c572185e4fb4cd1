"""The report's figures in a real browser: drawn, zoomed, read, printed; and nothing fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Show, figures, unfold

CWND, SEQUENCE, BINS = (
    f"figure-{name}" for name in ("cwnd-loss_frac_0.01-T", "time_sequence-loss_frac_0.01-T",
                                  "goodput_bins-loss_frac_0.01")
)  # fmt: skip
HEADLINE = "figure-pct_increase"
DARK_INK = "rgb(233, 229, 220)"


def zoomable(page: Page, figure_id: str) -> Locator:
    """Return a figure once it can be zoomed."""
    figures(page)
    figure = page.locator(f'[id="{figure_id}"]')
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_class(re.compile("is-live"))
    return figure


#: The numbers at the ticks of an axis (0 for x, 1 for y) of the figure on show, in order.
NUMBERS = """([id, axis]) => {
    const axes = document.getElementById(id).querySelectorAll(".live .role-axis-label");
    const texts = [...axes[axis].querySelectorAll("text")].map((text) => text.textContent);
    const numbers = texts.map((text) => Number(text.replace(",", "").replace("\\u2212", "-")));
    return numbers.sort((one, other) => one - other);
}"""


def ticks(figure: Locator, axis: int = 0) -> list[float]:
    """Return the numbers at the ticks of an axis of the figure on show."""
    found: list[float] = figure.page.evaluate(NUMBERS, [figure.get_attribute("id"), axis])
    return found


def until_ticks(figure: Locator, wanted: list[float], axis: int = 0) -> None:
    """Wait until an axis has these ticks."""
    _until(figure, "===", wanted, axis)


def other_ticks(figure: Locator, before: list[float], axis: int = 0) -> list[float]:
    """Wait until an axis has other ticks than before, and return them."""
    _until(figure, "!==", before, axis)
    return ticks(figure, axis)


def _until(figure: Locator, how: str, numbers: list[float], axis: int) -> None:
    script = f"([which, than]) => JSON.stringify(({NUMBERS})(which)) {how} JSON.stringify(than)"
    figure.page.wait_for_function(script, arg=[[figure.get_attribute("id"), axis], numbers])


def span(numbers: list[float]) -> float:
    """Return how far apart the first and the last tick are."""
    return numbers[-1] - numbers[0]


def middle(figure: Locator) -> tuple[float, float]:
    """Return the middle of a figure's plot, in the window."""
    box = figure.locator(".live svg").bounding_box()
    assert box
    return box["x"] + box["width"] * 0.55, box["y"] + box["height"] * 0.5


def test_every_figure_comes_to_life_and_nothing_is_fetched(show: Show, report: Path) -> None:
    shown = show()
    every = figures(shown.page)
    assert len(every) == 3 + 2 + 2 + 2 + 1 + 2
    for figure in every:
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_class(re.compile("is-live"))
        expect(figure.locator(".live svg")).to_be_visible()
        expect(figure.locator(".still")).to_be_hidden()
        assert len(figure.locator(".live svg path").all()) > 3
    assert shown.requested == [report.as_uri()]
    assert shown.complaints == []


def test_a_counterpart_unfolds_is_reached_from_the_list_and_zooms(page: Page) -> None:
    name = "figure-delay_over_time-loss_frac_0.01-T"
    folded = page.locator("details.counterparts")
    page.locator("details.figures > summary").press("Enter")
    expect(page.locator(f'[id="{name}"]')).to_be_hidden()
    folded.locator("summary").press("Enter")
    folded.get_by_role("link", name="Figure 3").press("Enter")
    expect(page.locator(f'[id="{name}"]')).to_be_in_viewport()
    figure = zoomable(page, name)
    before = ticks(figure)
    figure.locator(".live").press("+")
    assert span(other_ticks(figure, before)) < span(before)


@pytest.mark.parametrize(
    ("attempt", "directive"),
    [
        ("fetch('http://127.0.0.1:9/').catch(() => 0)", "connect-src"),
        ("new Image().src = 'http://127.0.0.1:9/a.png'", "img-src"),
        ("element('script', {textContent: 'window.ran = 1'})", "script-src-elem"),
        ("element('script', {src: 'http://127.0.0.1:9/a.js'})", "script-src-elem"),
        ("element('iframe', {src: 'http://127.0.0.1:9/'})", "frame-src"),
    ],
)
def test_the_policy_stops_what_would_be_fetched_or_run(
    page: Page, attempt: str, directive: str
) -> None:
    stopped = page.evaluate(f"""() => new Promise((done) => {{
        const element = (tag, how) =>
            document.body.append(Object.assign(document.createElement(tag), how));
        addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
        {attempt};
    }})""")
    assert stopped == directive
    assert page.evaluate("window.ran") is None


@pytest.mark.parametrize("figure_id", [HEADLINE, CWND, SEQUENCE, BINS])
def test_the_wheel_with_control_zooms_and_a_double_click_shows_all_again(
    page: Page, figure_id: str
) -> None:
    figure = zoomable(page, figure_id)
    before = ticks(figure)
    page.mouse.move(*middle(figure))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -700)
    page.keyboard.up("Control")
    assert span(other_ticks(figure, before)) < span(before)
    page.mouse.dblclick(*middle(figure))
    until_ticks(figure, before)


def test_the_wheel_alone_scrolls_the_page(page: Page) -> None:
    figure = zoomable(page, CWND)
    before, from_px = ticks(figure), page.evaluate("scrollY")
    page.mouse.move(*middle(figure))
    page.mouse.wheel(0, 300)
    page.wait_for_function("(px) => scrollY > px + 200", arg=from_px)
    assert ticks(figure) == before


def test_a_finger_moving_up_scrolls_the_page(show: Show) -> None:
    page = show(width_px=360, has_touch=True, is_mobile=True).page
    figure = zoomable(page, CWND)
    before, from_px = (ticks(figure), ticks(figure, 1)), page.evaluate("scrollY")
    x_px, y_px = middle(figure)
    finger = page.context.new_cdp_session(page)
    for kind, up_px in [("touchStart", 0), *(("touchMove", 15 * n) for n in range(1, 11))]:
        place = [{"x": x_px, "y": y_px - up_px}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": place})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("(px) => scrollY > px + 50", arg=from_px)
    until_ticks(figure, before[0])
    until_ticks(figure, before[1], 1)


def test_dragging_moves(page: Page) -> None:
    figure = zoomable(page, SEQUENCE)
    x_before, y_before = ticks(figure), ticks(figure, 1)
    x_px, y_px = middle(figure)
    page.mouse.move(x_px, y_px)
    page.mouse.down()
    page.mouse.move(x_px + 120, y_px + 60, steps=4)
    page.mouse.up()
    assert other_ticks(figure, x_before)[0] < x_before[0]
    assert other_ticks(figure, y_before, 1)[-1] > y_before[-1]


def test_buttons_zoom_and_reset(page: Page) -> None:
    figure = zoomable(page, CWND)
    before = ticks(figure)
    figure.get_by_role("button", name="Zoom in").click()
    assert span(other_ticks(figure, before)) < span(before)
    figure.get_by_role("button", name="Reset").click()
    until_ticks(figure, before)
    figure.get_by_role("button", name="Zoom out").click()
    assert span(other_ticks(figure, before)) > span(before)


def test_zooming_out_and_moving_away_end_near_what_there_is(show: Show) -> None:
    shown = show()
    page, figure = shown.page, zoomable(shown.page, CWND)
    figure.locator(".live").focus()
    for _ in range(12):
        page.keyboard.press("-")
    # Of 0 s to 60 s half as much on either side, and there it stays.
    until_ticks(figure, [float(n) for n in range(-30, 100, 10)])
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    until_ticks(figure, [float(n) for n in range(-30, 100, 10)])
    page.keyboard.press("0")
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    until_ticks(figure, [float(n) for n in range(-30, 35, 5)])
    assert shown.complaints == []


def test_keys_move_and_zoom(page: Page) -> None:
    figure = zoomable(page, CWND)
    x_before, y_before = ticks(figure), ticks(figure, 1)
    figure.locator(".live").focus()
    page.keyboard.press("ArrowRight")
    moved = other_ticks(figure, x_before)
    assert moved[0] > x_before[0]
    page.keyboard.press("ArrowUp")
    assert other_ticks(figure, y_before, 1)[0] > y_before[0]
    page.keyboard.press("+")
    assert span(other_ticks(figure, moved)) < span(moved)
    page.keyboard.press("0")
    until_ticks(figure, x_before)
    until_ticks(figure, y_before, 1)


def test_a_figure_keeps_its_name_and_says_which_keys_it_takes(page: Page) -> None:
    frame = zoomable(page, CWND).locator(".live")
    expect(frame).to_have_attribute("role", "img")
    expect(frame).to_have_accessible_name(
        re.compile(r"Congestion window of .*Arrow keys move, plus and minus zoom, 0 resets\.$")
    )


def test_a_tab_reaches_the_figure_and_its_buttons(page: Page) -> None:
    zoomable(page, CWND).locator(".live").focus()
    names = []
    for _ in range(3):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent"))
    assert names == ["+", "\N{MINUS SIGN}", "Reset"]


def test_pointing_at_a_packet_tells_which_it_is(page: Page) -> None:
    figure = zoomable(page, SEQUENCE)
    again = figure.locator(".live .mark-symbol.role-mark").nth(1).locator("path").first
    again.hover(force=True)
    tooltip = page.locator("#vg-tooltip-element")
    expect(tooltip).to_be_visible()
    expect(tooltip).to_contain_text(re.compile(r"packet in packets\.parquet\s*\d+"))
    page.mouse.move(2, 2)
    expect(tooltip).to_be_hidden()


def test_a_tooltip_says_nothing_of_what_is_not_known(page: Page) -> None:
    figure = zoomable(page, SEQUENCE)
    arrived = figure.locator(".live .mark-symbol.role-mark path").first
    arrived.hover(force=True)
    tooltip = page.locator("#vg-tooltip-element")
    expect(tooltip).to_be_visible()
    assert tooltip.locator("td.key").count() >= 2
    assert "null" not in (tooltip.text_content() or "")


def test_pointing_near_the_window_tells_its_bytes(page: Page) -> None:
    figure = zoomable(page, CWND)
    near = figure.locator(".live .mark-symbol.role-mark path")
    near.nth(near.count() // 2).hover(force=True)
    expect(page.locator("#vg-tooltip-element")).to_contain_text("window (bytes)")


def test_figures_follow_the_dark_scheme(page: Page) -> None:
    text = zoomable(page, CWND).locator(".live text").first
    expect(text).not_to_have_css("fill", DARK_INK)
    page.emulate_media(color_scheme="dark")
    expect(text).to_have_css("fill", DARK_INK)


def test_nothing_is_wider_than_a_narrow_window(show: Show) -> None:
    page = show(width_px=320).page
    for figure in figures(page):
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_class(re.compile("is-live"))
        box = figure.locator(".live svg").bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_no_result_table_is_wider_than_a_laptop(show: Show) -> None:
    page = show(width_px=1280).page
    unfold(page)
    tables = page.locator(".multiples .result .scroll")
    assert tables.count() >= 4
    for table in tables.all():
        wide = table.evaluate("region => region.scrollWidth - region.clientWidth")
        assert wide <= 1, table.get_attribute("aria-label")


def test_a_figure_follows_the_width_of_the_window(page: Page) -> None:
    figure = zoomable(page, CWND)
    wide = figure.locator(".live svg").get_attribute("width")
    page.set_viewport_size({"width": 360, "height": 900})
    expect(figure.locator(".live svg")).not_to_have_attribute("width", wide or "")
    key = figure.locator(".live svg text").filter(has_text="slow-start threshold")
    box = key.bounding_box()
    assert box
    assert box["x"] + box["width"] <= 360


def test_print_shows_the_pictures(page: Page) -> None:
    figure = zoomable(page, CWND)
    page.emulate_media(media="print")
    for one in (figure, page.locator(f'[id="{BINS}"]')):
        expect(one.locator(".still svg")).to_be_visible()
        expect(one.locator(".live")).to_be_hidden()
        expect(one.locator(".tools")).to_be_hidden()


def test_without_scripts_the_pictures_are_there(show: Show) -> None:
    page = show(java_script_enabled=False).page
    for figure in figures(page):
        expect(figure.locator(".still svg")).to_be_visible()
        expect(figure.locator(".tools")).to_be_hidden()
