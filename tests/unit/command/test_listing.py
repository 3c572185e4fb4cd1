"""What can be listed is what can be run and asked for."""

from __future__ import annotations

import pytest

from model.run_files.metrics.every import ALWAYS, ASKED
from testbed.command.cli import command_status
from testbed.command.listing import KINDS
from testbed.labs import registry
from testbed.points.load_study import HOSTS_FOLDER, find_study, load_study
from tests.support.said import Said


def names(kind: str) -> list[str]:
    return [name for name, _ in KINDS[kind][1]()]


def test_every_study_that_is_listed_is_found_and_named_as_in_its_file() -> None:
    for name, title in KINDS["studies"][1]():
        study = load_study(find_study(name))
        assert study.settings.title == title
    assert {"wireless", "studies/examples/agreement.yaml"} <= set(names("studies"))


def test_profiles_labs_and_metrics_are_all_there() -> None:
    assert names("profiles") == sorted(path.stem for path in HOSTS_FOLDER.glob("*.yaml"))
    assert names("labs") == list(registry.LABS)
    assert sum(words.endswith("(default)") for _, words in KINDS["labs"][1]()) == 1
    assert names("metrics") == [one.name for one in (*ALWAYS, *ASKED)]
    assert all(words for kind in KINDS for _, words in KINDS[kind][1]())


def test_the_command_lists_one_kind_or_all_but_metrics(said: Said) -> None:
    assert command_status(["list"]) == 0
    everything = said()[0]
    assert [title in everything for title, _ in KINDS.values()] == [True] * 4 + [False]
    assert command_status(["list", "metrics"]) == 0
    assert "pct_increase" in said()[0]


@pytest.mark.parametrize("kind", ["study", "--all", "x y"])
def test_what_is_no_kind(kind: str, said: Said) -> None:
    assert command_status(["list", kind]) == 2
    assert said()[1]
