"""Verdicts as readers meet them: page, terminal and summary.json of a run with claims."""

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from model import run_folder
from model.errors import ParseError
from reports.page.verdicts import verdict_page
from reports.page.write import write_report
from reports.store.run import read_run
from reports.terminal.study_tables import print_summary
from reports.verdict.files import summary_csv, summary_json
from reports.verdict.summary import Summary, summarise
from tests.support.report_page import HOSTILE, Page
from tests.support.runs.report_run import build_run, only_cell, write_json

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs/schemas/summary.schema.json").read_text())
LOSSES = (0.01, 0.02)


def compared(loss: float, **changes: Any) -> dict[str, Any]:
    """Return a comparison of resolved.json: the increase at a loss is above 0."""
    return {
        "metric": "pct_increase", "point": {"loss_frac": loss}, "versus": None, "relative": False,
        "low": 0, "high": None, "strict": True, **changes,
    }  # fmt: skip


def claimed(name: str, *comparisons: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "id": name, "text": f"It is {name}.", "where": "Table 2", "untested": None,
        "comparisons": list(comparisons), **changes,
    }  # fmt: skip


#: S has 110 and 112 kbit/s, T 98 ... 102: 10 and 12 % more, utilisation 7 %.
CLAIMS = [
    claimed("ahead", *(compared(loss) for loss in LOSSES)),
    claimed("behind", compared(0.01, low=None, high=0)),
    claimed(
        "alike",
        compared(
            0.02, metric="goodput_S_bps", relative=True, low=-11, high=11, strict=False,
            versus={"metric": "goodput_T_bps", "point": {"loss_frac": 0.02}},
        ),
    ),
    claimed("recovered", compared(0.01, metric="recover_T_s")),
    claimed("caused", untested="It is a cause."),
]  # fmt: skip


def run_with(folder: Path, claims: list[dict[str, Any]]) -> Path:
    return build_run(folder, losses=LOSSES, changes={"claims": claims})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_with(tmp_path_factory.mktemp("runs") / "run", CLAIMS)


@pytest.fixture(scope="module")
def summary(run: Path) -> Summary:
    return summarise(read_run(run))


def test_each_claim_has_a_verdict(summary: Summary) -> None:
    assert [(v.id, v.verdict) for v in summary.verdicts] == [
        ("ahead", "holds"), ("behind", "refuted"), ("alike", "undecided"),
        ("recovered", "undecided"), ("caused", "untested"),
    ]  # fmt: skip
    # At 1 %: S - T is 8 ... 12 kbit/s: mean 10, s = 1.5811, t = 10 / (1.5811 / sqrt 5) = 14.142
    # with 4 degrees of freedom: p = 7.2564e-5; of four claims tested
    assert summary.verdicts[0].p_holds == pytest.approx(4 * 7.2564e-5, rel=1e-3)
    assert summary.verdicts[3].evidence == (
        "Time to recover from a loss, TCP SACK at bottleneck loss, data 1 %: missing in 5 of 5 "
        "runs: neither captured (--pcap) nor told by the kernel's events; claimed: above 0 s."
    )


def test_the_file_follows_its_schema(summary: Summary) -> None:
    found = json.loads(summary_json(summary))
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    ahead = found["claims"][0]
    assert (ahead["verdict"], len(ahead["comparisons"])) == ("holds", 2)
    one = ahead["comparisons"][0]
    assert (one["estimate"], one["n"], one["verdict"]) == (10, 5, "holds")
    assert one["p_holds"] == pytest.approx(7.2564e-5, rel=1e-3)
    assert found["claims"][4]["comparisons"] == []
    assert found["points"][0]["metrics"]["recover_T_s"]["mean"] is None


def test_claims_leave_the_long_form_as_it_is(summary: Summary, tmp_path: Path) -> None:
    bare = summarise(read_run(build_run(tmp_path, losses=LOSSES)))
    assert bare.verdicts == ()
    assert verdict_page(bare) is None
    more = [line for line in summary_csv(summary).splitlines() if "recover_T_s" not in line]
    assert more == summary_csv(bare).splitlines()


def test_the_page_begins_with_them(run: Path) -> None:
    write_report(run)
    page = Page((run / run_folder.REPORT_HTML).read_text())
    text = page.text()
    assert page.open == []
    places = [
        text.index("Of 5 claims 1 holds, 1 is refuted, 2 are undecided, 1 cannot be tested."),
        text.index("; all 2 comparisons hold, this the least clearly"),
        text.index("corrected for the 4 claims tested"),
        text.index("Read this before trusting the run"),
    ]
    assert places == sorted(places)
    assert "✓ holds" in text
    assert "✗ refuted" in text
    # T's mean is 100 +- 1.963 kbit/s, S's is 110: 110 / 101.963 and 110 / 98.037
    assert "10.0 % (95 % CI 7.9 to 12.2)" in text
    assert "within 11 % of 0" in text
    assert (
        "Time to recover from a loss, TCP SACK at bottleneck loss, data 1 %: missing in 5" in text
    )
    assert (
        "p\N{NO-BREAK SPACE}&lt;\N{NO-BREAK SPACE}0.001"
        in (run / run_folder.REPORT_HTML).read_text()
    )
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(page.all("table")) == len(page.all("caption"))


@pytest.mark.parametrize(("encoding", "signs"), [("utf-8", "✓✗\N{EN DASH}"), ("ascii", "=X-")])
def test_the_terminal_tells_them_after_the_warnings(
    summary: Summary, encoding: str, signs: str
) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="\n")
    print_summary(summary, Console(file=stream, width=80))
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert all(len(line) <= 80 for line in text.splitlines())
    places = [
        text.index("Read this before trusting the run"),
        text.index("Of 5 claims 1 holds"),
        text.index(f"{signs[0]} holds     It is ahead. (p < 0.001)"),
        text.index(f"{signs[1]} refuted   It is behind. (p < 0.001)"),
        text.index(f"{signs[2]} undecided It is alike."),
        text.index(f"{signs[2]} untested  It is caused."),
        text.index("Share of"),
    ]
    assert places == sorted(places)


def test_hostile_claims_stay_text(tmp_path: Path) -> None:
    hostile = [claimed("x", compared(0.01), text=HOSTILE, where=HOSTILE),
               claimed("y", text=HOSTILE, untested=HOSTILE)]  # fmt: skip
    run = run_with(tmp_path / "run", hostile)
    write_report(run)
    page = Page((run / run_folder.REPORT_HTML).read_text())
    assert "img" not in {tag for tag, _ in page.tags}
    assert page.text().count(" ".join(HOSTILE.split())) >= 4


def test_one_damaged_run_leaves_the_others_to_judge(tmp_path: Path) -> None:
    run = run_with(tmp_path, CLAIMS)
    verify = json.loads((only_cell(run, seed=3) / run_folder.VERIFY).read_text())
    verify["checks"][0]["agrees"] = False
    write_json(only_cell(run, seed=3) / run_folder.VERIFY, verify)
    found = summarise(read_run(run)).verdicts[1].comparisons[0].found
    assert found.n == 4
    assert found.estimate == pytest.approx(10)


@pytest.mark.parametrize(("at_least", "looks"), [(5, 4), (3, 38)])
def test_seeds_as_needed_are_corrected_for_every_number_at_which_they_could_stop(
    tmp_path: Path, at_least: int, looks: int
) -> None:
    """Rounds of 5, 10, 20 and 40 runs; five are none of 3, 6, 12, 24 and 40, so 3 to 40 count."""
    precision = {
        "metric": "pct_increase", "half_width": 3.0, "relative_half_width": None,
        "at_least": at_least, "at_most": 40,
    }  # fmt: skip
    changes = {"claims": CLAIMS, "replication": precision}
    run = build_run(tmp_path, losses=LOSSES, changes=changes)
    ahead = summarise(read_run(run)).verdicts[0]
    # At 1 % S - T is 12, 11, 10, 9, 8 kbit/s: mean 10, s = 1.581: t = 14.14 with 4 degrees of
    # freedom, p = 0.0000726; of four claims tested
    assert ahead.p_holds == pytest.approx(4 * looks * 0.0000726, rel=2e-3)


WRONG: list[tuple[dict[str, Any], str]] = [
    (claimed("x", compared(0.5)), "a claim lies at no point of the study"),
    (claimed("x", compared(0.01, low=None)), "no bound"),
    (claimed("x", compared(0.01, relative=True)), "relative to nothing"),
    (claimed("x", compared(0.01, metric="speed")), "unknown metrics"),
    (claimed("x", compared(0.01, low="0")), "a number"),
    (claimed("x"), "comparisons, or why it is untested"),
    (claimed("x", compared(0.01), untested="so"), "comparisons, or why it is untested"),
    (claimed("../x", untested="so"), "a name of letters"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_unsound_claims_name_file_and_key(
    tmp_path: Path, wrong: dict[str, Any], message: str
) -> None:
    run = run_with(tmp_path, [wrong])
    with pytest.raises(ParseError, match=message) as caught:
        summarise(read_run(run))
    assert "resolved.json: " in str(caught.value)
    assert "claims" in str(caught.value)
