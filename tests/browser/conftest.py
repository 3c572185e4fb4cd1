"""A report written from recorded tables, in a real browser without a network."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from model import run_folder
from reports.page.write import write_report
from reports.page.write_set import write_set
from tests.support.runs.figure_run import build_figure_run
from tests.support.runs.set_run import build_set

ROOT = Path(__file__).resolve().parents[2]
#: Fetching a browser may take minutes; finding one takes none.
FIND_TIMEOUT_S = 600
WAIT_MS, HEIGHT_PX = 20_000, 900

expect.set_options(timeout=WAIT_MS)


@dataclass
class Shown:
    """A page with what it asked for and complained about."""

    page: Page
    requested: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


Show = Callable[..., Shown]


def opened(context: BrowserContext, report: Path) -> Shown:
    """Return the report in a new page, listened to."""
    shown = Shown(context.new_page())
    shown.page.set_default_timeout(WAIT_MS)
    shown.page.on("request", lambda request: shown.requested.append(request.url))
    shown.page.on("console", lambda message: shown.complaints.append(message.text))
    shown.page.on("pageerror", lambda error: shown.complaints.append(str(error)))
    shown.page.goto(report.as_uri())
    return shown


#: What is folded, and then what in it has figures.
_FOLDED = ("details.fold", "details:has(figure.zoomable)")


def figures(page: Page) -> list[Locator]:
    """Return every figure, all that is folded around them unfolded."""
    for folded in _FOLDED:
        closed = page.locator(f"{folded}:not([open]) > summary").filter(visible=True)
        while closed.count():
            closed.first.press("Enter")
    return page.locator("figure.zoomable").all()


def unfold(page: Page) -> None:
    """Open everything that is folded, also within."""
    page.evaluate("""async () => {
        for (let closed; (closed = [...document.querySelectorAll("details:not([open])")]).length;) {
            for (const one of closed) one.open = true;
            await new Promise((done) => setTimeout(done, 50));
        }
    }""")


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = build_figure_run(tmp_path_factory.mktemp("runs") / "run")
    write_report(run)
    return run / run_folder.REPORT_HTML


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = subprocess.run(
        [ROOT / "setup" / "browser"], stdout=subprocess.PIPE, text=True, check=True,
        timeout=FIND_TIMEOUT_S,
    )  # fmt: skip
    browser, driver = found.stdout.splitlines()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYWRIGHT_NODEJS_PATH", driver)
        with sync_playwright() as playwright:
            started = playwright.chromium.launch(executable_path=browser)
            yield started
            started.close()


@pytest.fixture(scope="session")
def set_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "set"
    runs = build_set(folder)
    for run in runs:
        write_report(run, library=lambda: "")
    write_set(folder, runs)
    return folder / run_folder.REPORT_HTML


@contextlib.contextmanager
def showing(browser: Browser, report: Path) -> Iterator[Show]:
    """Give what opens a report with settings of the browser's."""
    contexts = []

    def shown(width_px: int = 1200, **settings: Any) -> Shown:
        size: ViewportSize = {"width": width_px, "height": HEIGHT_PX}
        contexts.append(browser.new_context(viewport=size, offline=True, **settings))
        return opened(contexts[-1], report)

    yield shown
    for context in contexts:
        context.close()


@pytest.fixture
def show(browser: Browser, report: Path) -> Iterator[Show]:
    """Return what opens the report of a run."""
    with showing(browser, report) as shown:
        yield shown


@pytest.fixture
def show_set(browser: Browser, set_report: Path) -> Iterator[Show]:
    """Return what opens the page of a set."""
    with showing(browser, set_report) as shown:
        yield shown


@pytest.fixture
def page(show: Show) -> Page:
    """Return the report in a window of usual width."""
    return show().page
