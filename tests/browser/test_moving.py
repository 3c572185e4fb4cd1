"""A movement in a real browser, under the policy of a report's page, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from model.movement.paths import Field, Movement, Row
from model.movement.paths import Path as NodePath
from reports.figures.moving.animation import animation, script, style
from reports.figures.moving.scene import Scene
from reports.page.html import render
from reports.page.zoomable import digest
from tests.browser.conftest import Show, showing
from tests.browser.test_first_screen import grave

S = 1_000_000_000
WALKER = NodePath((Row(0, 0, 100_000), Row(50 * S, 250_000, 100_000)))
SCENE = Scene(
    movement=Movement(
        (NodePath((Row(0, 0, 0),)), WALKER, NodePath((Row(0, 400_000, 0),)))
    ),
    field=Field(width_mm=1_000_000, height_mm=300_000), range_mm=250_000, until_ns=100 * S,
    ends=(0, 2), routes=((0, ()), (40 * S, (0, 1, 2))), way="main, data",
    others=(("main, back", ((0, (2, 1, 0)), (10 * S, ()), (20 * S, (2, 0)), (70 * S, ()))),),
)  # fmt: skip
PAGE = """\
<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Moving</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; img-src data:; script-src '{digest}'">
<style>{style}</style></head><body><main><h1>Moving</h1>{part}</main><script>{script}</script></body></html>
"""


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("moving") / "index.html"
    look = render("style.css.j2") + style()
    part = animation(SCENE, "movement", "Three nodes")
    file.write_text(
        PAGE.format(digest=digest(script()), style=look, part=part, script=script()),
        encoding="utf-8",
    )
    return file


@pytest.fixture
def show_moving(browser: Browser, moving: Path) -> Iterator[Show]:
    with showing(browser, moving) as shown:
        yield shown


def test_keys_go_through_time(show_moving: Show) -> None:
    shown = show_moving()
    page = shown.page
    state, walker = page.locator(".state"), page.locator(".node").nth(1)
    expect(state).to_have_text("0.0 s: 1 links; no route")
    frame = page.get_by_role("group", name="The picture, played by keys")
    frame.press("ArrowRight")
    expect(state).to_have_text("1.0 s: 1 links; no route")
    expect(walker).to_have_attribute("cx", "15.6")  # 5 m on, 0.72 px each
    frame.press("End")
    expect(state).to_have_text("100.0 s: 1 links; route 0 \N{EN DASH} 1 \N{EN DASH} 2")
    expect(walker).to_have_attribute("cx", "192.0")
    frame.press("Home")
    expect(state).to_have_text("0.0 s: 1 links; no route")
    slider = page.get_by_role("slider", name="Time")
    slider.fill("40")
    expect(state).to_have_text("40.0 s: 2 links; route 0 \N{EN DASH} 1 \N{EN DASH} 2")
    expect(slider).to_have_attribute("aria-valuetext", "40 seconds")
    expect(page.locator(".way")).to_have_attribute("d", "M12.0 228.0L156.0 156.0L300.0 228.0")
    assert shown.complaints == []
    assert len(shown.requested) == 1


def test_another_way_is_chosen_and_its_breaks_gone_to_by_keys(show_moving: Show) -> None:
    shown = show_moving()
    page = shown.page
    state, breaks = page.locator(".state"), page.locator(".breaks")
    expect(breaks).to_have_text("The route broke 0 times.")
    expect(page.locator(".times .there")).to_have_count(1)
    page.get_by_label("Route").select_option("main, back")
    expect(breaks).to_have_text("The route broke 2 times.")
    expect(page.locator(".times .there")).to_have_count(2)
    expect(page.locator(".times .broke").nth(1)).to_have_attribute("x", "700")
    expect(state).to_have_text("0.0 s: 1 links; route 2 \N{EN DASH} 1 \N{EN DASH} 0")
    onward = page.get_by_role("button", name="Next break")
    onward.press("Enter")
    expect(state).to_have_text("10.0 s: 1 links; no route")
    expect(page.locator(".way")).to_have_attribute("d", "")
    onward.press("Enter")
    onward.press("Enter")  # there is none behind it
    expect(state).to_have_text("70.0 s: 1 links; no route")
    page.get_by_role("button", name="Previous break").press("Enter")
    expect(state).to_have_text("10.0 s: 1 links; no route")
    assert shown.complaints == []
    assert len(shown.requested) == 1


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_it_plays_to_its_end_when_asked_to(show_moving: Show, motion: str) -> None:
    page = show_moving(reduced_motion=motion).page
    page.get_by_label("Speed").select_option("60")
    page.get_by_role("button", name="Play").press("Enter")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".state")).to_have_text(
        "100.0 s: 1 links; route 0 \N{EN DASH} 1 \N{EN DASH} 2"
    )
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_without_the_script_there_are_the_picture_and_the_facts(show_moving: Show) -> None:
    page = show_moving(java_script_enabled=False).page
    expect(page.locator(".node")).to_have_count(3)
    expect(page.get_by_text("0.0 s: 1 links; no route")).to_be_visible()
    expect(page.get_by_role("row", name="Range 250 m")).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)
    expect(page.get_by_text("space plays")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width_px", [390, 1200])
def test_anyone_can_use_it(show_moving: Show, scheme: str, width_px: int) -> None:
    page = show_moving(width_px=width_px, color_scheme=scheme).page
    assert grave(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width_px
