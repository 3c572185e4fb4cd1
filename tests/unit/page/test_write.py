"""The report as written: the page, its figures, and that writing again changes nothing."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from model import plain_files, run_folder
from model.cell import Cell
from reports.page.write import write_report
from tests.support.report_page import HOSTILE, Page, outputs
from tests.support.runs.report_run import PUBLISHED, build_run, only_cell


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = build_run(tmp_path_factory.mktemp("runs") / "run")
    write_report(folder)
    return folder


@pytest.fixture(scope="module")
def page(run: Path) -> Page:
    return Page((run / run_folder.REPORT_HTML).read_text())


def test_the_files(run: Path) -> None:
    figures = [f"report/figures/{m}" for m in ("pct_increase", "share_S_pct", "utilisation_pct")]
    assert sorted(outputs(run)) == sorted(
        [
            "summary.csv",
            "summary.json",
            "report/index.html",
            "report/section.json",
            "report/tables.md",
        ]
        + ["report/tables.tex"]
        + [f"{figure}.{ending}" for figure in figures for ending in ("pdf", "svg")]
    )


def test_writing_again_gives_the_same_bytes(run: Path) -> None:
    before, plan = outputs(run), (run / run_folder.PLAN).read_bytes()
    summary = write_report(run)
    assert outputs(run) == before
    assert (run / run_folder.PLAN).read_bytes() == plan
    assert summary.study == "wireless"


def test_what_a_simulator_ran_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = build_run(tmp_path / "run")
    monkeypatch.setattr(Cell, "simulated", lambda _: True)
    write_report(run)
    found = Page((run / run_folder.REPORT_HTML).read_text()).text()
    assert "Published against the simulator" in found
    assert "could be one run of this simulator" in found
    for words in (
        "Kernel mean",
        "this kernel",
        "the kernel's mean",
        "against the kernel",
        "on Linux",
    ):
        assert words not in found


def test_an_equal_run_elsewhere_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    other = build_run(tmp_path / "another-name")
    write_report(other)
    assert outputs(other) == outputs(run)


def test_the_page_is_well_formed_and_needs_no_network(page: Page) -> None:
    assert page.open == []
    assert {"link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in page.tags)
    targets = [
        value or ""
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href", "srcset", "action", "data")
    ]
    assert targets
    assert [t for t in targets if ":" in t or t.startswith("//")] == []


def test_the_policy_names_the_one_program_and_forbids_all_else(page: Page) -> None:
    charts = [one for one in page.all("script") if one == {"type": "application/json"}]
    assert len(charts) == len(page.all("figure")) == 3
    assert page.all("script").count({}) == 1
    program = page.scripts[-1]
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    (policy,) = [one["content"] for one in page.all("meta") if "http-equiv" in one]
    rules = dict(rule.strip().split(" ", 1) for rule in (policy or "").split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "script-src": f"'sha256-{digest}'",
    }


def test_the_program_carries_the_licences_of_what_it_is_made_of(page: Page) -> None:
    notice = page.scripts[-1].split("*/", 1)[0]
    for words in ("University of Washington Interactive Data Lab", "Mike Bostock", "BSD-3-Clause"):
        assert words in notice


def test_every_chart_is_json_and_names_no_address(page: Page) -> None:
    for text in page.scripts[:-1]:
        chart = json.loads(text)
        del chart["$schema"]
        assert "url" not in json.dumps(chart).lower()
        assert chart["params"][0]["bind"] == "scales"


def test_the_style_loads_nothing(run: Path) -> None:
    text = re.sub(
        r"<script>.*?</script>", "", (run / run_folder.REPORT_HTML).read_text(), flags=re.S
    )
    assert "@import" not in text
    assert re.findall(r"url\((?!#)", text) == []


def test_links_lead_somewhere(page: Page, run: Path) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        target = link["href"] or ""
        if target.startswith("#"):
            assert target[1:] in ids
        else:
            assert (run / "report" / target).is_file()


def test_every_published_number_is_there_as_printed(page: Page) -> None:
    text = page.text()
    for row in PUBLISHED:
        for value in row:
            assert f" {value} " in text


def test_warnings_come_before_results_and_arithmetic_is_shown(page: Page) -> None:
    text = page.text()
    places = [
        text.index("Before trusting it"),
        text.index("1 published parameter cannot be set; the ledger says what Linux does."),
        text.index("95 % of single runs"),
        text.index("Read this before trusting the run"),
        text.index("(50.2 - 49.8) / 49.8 = 0.8 %"),
    ]
    assert places == sorted(places)


def test_tables_have_captions_and_heads_have_scopes(page: Page) -> None:
    assert len(page.all("table")) == len(page.all("caption")) > 0
    assert all(head.get("scope") in ("col", "row") for head in page.all("th"))
    assert len(page.all("h1")) == 1
    assert page.all("html")[0]["lang"] == "en"


def test_contradicted_numbers_are_marked(page: Page) -> None:
    marks = [link for link in page.all("a") if link["href"] == "#contradictions"]
    assert len(marks) == 7 * 3  # three numbers in each of seven rows


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    source = {"authors": HOSTILE, "publication": HOSTILE, "simulator": HOSTILE}
    changes = {
        "title": HOSTILE,
        "source": {**source, "doi": '10.1000/"><img>'},
        "groups": [{"id": "T", "label": HOSTILE}, {"id": "S", "label": "SCTP"}],
        "assumptions": [{"id": "a", "text": HOSTILE, "why": HOSTILE}],
        "warnings": [{"rule": HOSTILE, "where": HOSTILE, "text": HOSTILE}],
        "parameters": [{"name": "loss_frac", "path": f"network.{HOSTILE}"}],
    }
    run = build_run(tmp_path, losses=(0.01, 0.02), seeds=2, changes=changes)
    write_report(run)
    page = Page((run / run_folder.REPORT_HTML).read_text())
    assert page.open == []
    assert "img" not in {tag for tag, _ in page.tags}
    assert len(page.all("script")) == 1 + len(page.all("figure")) == 4
    assert HOSTILE in page.text()
    led = [link["href"] for link in page.all("a") if "doi.org" in str(link["href"])]
    assert led == ["https://doi.org/10.1000/%22%3E%3Cimg%3E"] * 2  # below the title, and in "Cite"
    for svg in run.glob("report/figures/*.svg"):
        tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(svg).iter()}
        assert tags.isdisjoint({"script", "img", "image", "foreignObject", "a"})


def test_each_machine_is_shown_folded(run: Path, tmp_path: Path) -> None:
    """Of a lab that has a machine for each node; the page of a lab that has not is as before."""
    folder = build_run(tmp_path / "run")
    interface = {"driver": "virtio_net", "speed_mbps": "1000", "offloads": ["tso", "gro"]}
    left = {
        "kernel_package": "6.12.9 #1 <b>", "tick_hz": "250", "machine": "Some CPU", "cores": "4",
        "clock_source": "tsc", "time_service": "chronyd", "links": {"alpha": "eth1"},
        "interfaces": {"eth1": interface},
    }  # fmt: skip
    none = {**interface, "driver": "none: no hardware", "speed_mbps": "", "offloads": []}
    alpha = {**left, "cores": "2", "links": {"left": "eth7"}, "interfaces": {"eth7": none}}
    for path in folder.glob(f"cells/*/{run_folder.ENV}"):
        env = json.loads(path.read_text())
        path.write_text(json.dumps({**env, "machines": {"left": left, "alpha": alpha}}))
    write_report(folder)
    text = (folder / run_folder.REPORT_HTML).read_text()
    assert Page(text).open == []
    (shown,) = re.findall(r"<details[^>]*>\s*<summary>Each machine \(2\).*?</details>", text, re.S)
    words = " ".join(re.sub(r"<[^>]*>", " ", shown).split())
    assert "left 6.12.9 #1 &lt;b&gt;, timer 250 Hz 4 of Some CPU tsc, kept by chronyd" in words
    assert "eth1 to alpha: driver virtio_net, 1000 Mbit/s, offloads as found tso gro" in words
    assert "driver none: no hardware, speed not told, offloads as found none" in words
    assert "machines." not in text
    assert "Each machine" not in (run / run_folder.REPORT_HTML).read_text()


def test_a_run_without_any_finished_cell_still_reports(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=1)
    for done in run.glob("cells/*/DONE"):
        done.unlink()
    summary = write_report(run)
    assert summary.points[0].cells_counted == 0
    text = Page((run / run_folder.REPORT_HTML).read_text()).text()
    assert "No measuring cell has finished." in text
    assert "27.6" in text


def test_a_study_that_sweeps_nothing_and_one_that_sweeps_words(tmp_path: Path) -> None:
    nothing = build_run(
        tmp_path / "one", losses=(0.01,), seeds=2, changes={"parameters": [], "published": None}
    )
    write_report(nothing)
    page = Page((nothing / run_folder.REPORT_HTML).read_text())
    assert page.open == []
    text = page.text()
    assert "Link utilisation in %: measured" in text
    assert "95 % CI of the mean" in text
    for words in (
        "beside measured",
        "could be judged",
        "A published number is one simulation run",
    ):
        assert words not in text


def test_a_run_that_leaves_nothing_to_chance_shows_no_intervals(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.0,), seeds=1, changes={"published": None})
    write_report(run)
    text = Page((run / run_folder.REPORT_HTML).read_text()).text()
    assert "95 % CI of the mean" not in text
    assert "0 %: one run is all there is: nothing is left to chance." in text
    assert "few-runs" not in text


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "file"
    plain_files.write(target, b"one")
    plain_files.write(target, b"two")
    assert target.read_bytes() == b"two"
    assert [path.name for path in target.parent.iterdir()] == ["file"]
    with pytest.raises(TypeError):
        plain_files.write(target, "not bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"two"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("number", [0, 1, 5])
def test_an_older_report_stays_whole_until_the_new_one_is(
    run: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Interrupted while the new files are written, after any of them."""
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    left = number
    real = plain_files._fill

    def fill(*args: Any, **options: Any) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        real(*args, **options)

    monkeypatch.setattr(plain_files, "_fill", fill)
    with pytest.raises(KeyboardInterrupt):
        write_report(run)
    after = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert after == before


def test_only_reports_files_are_touched(run: Path) -> None:
    folder = only_cell(run)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    write_report(run)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
