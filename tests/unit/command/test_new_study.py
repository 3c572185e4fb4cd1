"""`groundtruth new`: what it writes is valid, explained, and never in the place of something."""

from __future__ import annotations

from pathlib import Path

import pytest

from model import units
from model.errors import StudyError
from testbed.command import new_study
from testbed.command.cli import command_status
from testbed.labs.confinement.windows import advertised_window
from testbed.planning import plan
from testbed.planning.findings import find
from testbed.points.load_study import STUDIES_FOLDER, load_study
from testbed.points.resolve import resolve_cell
from testbed.study.study_form import Flow, Network, StudyFile

SHIPPED = sorted(path.stem for path in STUDIES_FOLDER.glob("*.yaml"))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("like", [*SHIPPED, str(STUDIES_FOLDER / "examples" / "orbits.yaml")])
def test_a_new_study_is_the_other_one_without_its_publication(like: str) -> None:
    new_study.command("mine", like=like)
    mine = load_study(Path("mine.yaml"))
    path = Path(like) if like.endswith(".yaml") else STUDIES_FOLDER / f"{like}.yaml"
    other = load_study(path)
    assert mine.settings.study == "mine"
    assert (mine.settings.published, mine.settings.assumptions, mine.settings.figures) == (
        None, (), (),
    )  # fmt: skip
    assert [point.values for point in mine.points] == [point.values for point in other.points]
    for section in ("network", "flows", "groups", "metrics", "duration_s", "profiles"):
        assert getattr(mine.settings, section) == getattr(other.settings, section)
    assert (mine.settings.source, mine.settings.hosts) == (None, "roomy")
    assert mine.settings.title == "mine"
    # It can be planned as it is, and nobody has answered what misleads in it.
    assert len(plan.make_plan(mine, seeds=(1,), lab={}).cells) == 2 * len(other.points)
    assert mine.settings.acknowledged == ()
    assert find(mine, seeds=mine.settings.seeds).acknowledged == ()


@pytest.mark.parametrize("template", new_study.templates())
def test_a_template_is_a_study_with_claims_that_nothing_misleads_in(template: str) -> None:
    new_study.command("bbr-or-cubic", template=template)
    text = Path("bbr-or-cubic.yaml").read_text(encoding="utf-8")
    mine = load_study(Path("bbr-or-cubic.yaml"))
    other = load_study(new_study.TEMPLATES / f"{template}.yaml")
    assert mine.settings.claims == other.settings.claims != ()
    assert mine.comparisons == other.comparisons
    assert mine.settings.network == other.settings.network
    assert mine.settings.title == "bbr or cubic"
    found = find(mine, seeds=mine.settings.seeds)
    assert (found.warnings, found.acknowledged) == ((), ())
    # The comment before the template's keys, which says what its numbers are, and what sweeps do.
    assert "round trip of 40 ms" in text
    assert "  # not used: each value under sweep takes its place" in text
    # No flow is held by a window: what one buffer and the path hold, twice over, fits in.
    cell = resolve_cell(mine, mine.points[-1], seed=1, replicate=1, lab={"kernel": "7.3"})
    way = cell.wired.bottleneck.forward
    most_bytes = (
        units.bytes_in_flight(way.rate_bps, cell.wired.base_rtt_s()) + 1500 * way.queue_pkts
    )
    assert 2 * most_bytes < advertised_window(cell, "tcp").size_bytes
    assert cell.wired.base_rtt_s() == pytest.approx(0.04)
    assert cell.left_to_chance()


def test_a_new_study_without_words_is_the_first_template() -> None:
    new_study.command("mine")
    new_study.command("other", template=new_study.TEMPLATE)
    mine, other = (Path(f"{name}.yaml").read_text() for name in ("mine", "other"))
    assert mine.replace("mine", "other") == other


def test_what_misleads_in_a_new_study_is_told_whatever_the_other_one_means(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The satellite study means its window to be below the path's, and says so.
    new_study.command("mine", like="satellite", hosts="paper")
    text = Path("mine.yaml").read_text(encoding="utf-8")
    modern = text.replace("protocol: tcp", "protocol: tcp\n    congestion_control: bbr")
    assert modern != text
    Path("mine.yaml").write_text(modern, encoding="utf-8")
    assert command_status(["validate", "mine.yaml"]) == 0
    said = capsys.readouterr().out
    assert "window-below-path: tcp's advertised window is at most 65160 bytes" in said
    assert "control-held-back: " in said
    assert "0 warnings" not in said


def test_every_key_is_there_with_the_words_of_the_model() -> None:
    new_study.command("mine", like="wireless")
    text = Path("mine.yaml").read_text(encoding="utf-8")
    lines = [line.lstrip("- ").removeprefix("# ") for line in text.splitlines()]
    for model in (StudyFile, Network, Flow):
        for name, field in model.model_fields.items():
            key = f"{field.alias or name}:"
            words = [line for line in lines if line.startswith(key)]
            assert any(line.endswith(f"# {field.description}") for line in words), key
    assert text.startswith("# yaml-language-server: $schema=file:///")
    assert "hosts: roomy  # " in text
    assert "# source:  # where the study was published, if it was" in text
    assert "# acknowledged:" in text
    assert max(map(len, text.splitlines())) <= 140


def test_an_editor_finds_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = new_study.SCHEMA.parents[2] / "studies" / "mine.yaml"
    assert new_study.schema_place(inside) == "../docs/schemas/study.schema.json"
    assert new_study.schema_place(Path("mine.yaml")) == new_study.SCHEMA.as_uri()
    assert new_study.SCHEMA.is_file()


def test_a_file_is_overwritten_only_when_asked() -> None:
    Path("mine.yaml").write_text("precious")
    with pytest.raises(StudyError, match=r"mine\.yaml: a file of that name is there already"):
        new_study.command("mine")
    assert Path("mine.yaml").read_text() == "precious"
    new_study.command("mine", like="anatomy", force=True)
    assert load_study(Path("mine.yaml")).settings.study == "mine"


@pytest.mark.parametrize("name", ["", "Mine", "a b", "../mine", "-x", "x" * 65, "mine.yaml"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(StudyError, match="not a study's name: wanted lower-case letters"):
        new_study.command(name, force=True)
    assert list(Path().iterdir()) == []


def test_the_command_says_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_status(["new", "mine", "--like", "anatomy"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "mine.yaml: 3 points, like anatomy, with hosts roomy",
        "next: groundtruth validate mine.yaml, then groundtruth run mine.yaml",
    ]  # fmt: skip
    assert command_status(["new", "old", "--like", "anatomy", "--hosts", "paper"]) == 0
    assert load_study(Path("old.yaml")).settings.hosts == "paper"
    assert capsys.readouterr().out.startswith("old.yaml: 3 points, like anatomy, with hosts paper")
    assert command_status(["new", "other", "--hosts", "papers"]) == 2
    assert "hosts: unknown host profile: " in capsys.readouterr().err
    assert command_status(["new", "other", "--like", "anatomi"]) == 2
    assert "did you mean anatomy?" in capsys.readouterr().err
    assert command_status(["new", "other", "--template", "congestion-contol"]) == 2
    assert "did you mean congestion-control?" in capsys.readouterr().err
    assert command_status(["new", "x", "--template", "congestion-control", "--like", "wired"]) == 2
    assert "both --like and --template" in capsys.readouterr().err
    assert command_status(["new", "a-b", "--title", "Mine, and: mine"]) == 0
    assert load_study(Path("a-b.yaml")).settings.title == "Mine, and: mine"


@pytest.mark.parametrize("force", [False, True])
def test_what_cannot_be_written_is_a_mistake_of_the_user(force: bool) -> None:
    Path("folder.yaml").mkdir()
    Path("dangling.yaml").symlink_to("nowhere/mine.yaml")
    for name in ("folder", "dangling"):
        with pytest.raises(StudyError, match=rf"{name}\.yaml: "):
            new_study.command(name, force=force)
