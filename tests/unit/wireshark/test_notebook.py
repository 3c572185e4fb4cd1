"""What docs/wireshark.md shows for notebooks runs as it stands there, on a recorded cell's run."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from testbed.campaign import saved_runs
from testbed.command.wireshark import export
from tests.support import pcapng_reader
from tests.support.exported_cell import make_run

PAGE = Path(__file__).parents[3] / "docs" / "wireshark.md"
INDENT = "    "


def blocks() -> list[str]:
    """Return the section's code, one text for each block."""
    section = PAGE.read_text().split("\n## In a notebook\n")[1].split("\n## ")[0]
    code = (line if line.startswith(INDENT) or not line else "\0" for line in section.splitlines())
    return [textwrap.dedent(part) for part in "\n".join(code).split("\0") if part.strip()]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run all blocks one after the other, as a notebook does; return what they leave."""
    home = tmp_path_factory.mktemp("notebook")
    run = home / "results" / "latest"
    make_run(run)
    export(run, saved_runs.load_cells(run), lambda _done, _of: None, all_points=True)
    left: dict[str, Any] = {"home": home}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for block in blocks():
            exec(compile(block, str(PAGE), "exec"), left)
    return left


def test_the_captures_rows_are_the_tables(notebook: dict[str, Any]) -> None:
    table, captured = notebook["table"], notebook["captured"]
    assert len(blocks()) == 2
    assert [said.wirelen for _, said in captured] == [b + 20 for b in table["ip_bytes"]]
    assert [int.from_bytes(data[24:26], "big") for data, _ in captured] == table["ip_id"].to_list()
    seconds = [said.sec + said.usec / 1e9 for _, said in captured]
    epoch_s = seconds[0] - table["t_s"][0]
    assert [one - epoch_s for one in seconds] == pytest.approx(table["t_s"].to_list(), abs=1e-6)


def test_openings_tell_what_hosts_offered(notebook: dict[str, Any]) -> None:
    tcp = ["MSS 1448", "NOP", "NOP", "SAckOK"]
    assert notebook["openings"].drop("t_s").rows() == [
        ("T", "data", tcp),
        ("S", "data", ["SupportedAddrTypes", "ECNCapable", "FwdTSN"]),
        ("T", "ack", tcp),
        ("S", "ack", ["StateCookie"]),
    ]


def test_the_story_is_that_of_the_exported_file(notebook: dict[str, Any]) -> None:
    story, table = notebook["story"], notebook["table"]
    theirs = pcapng_reader.read((notebook["home"] / notebook["exported"]).read_bytes())
    assert story["comment"].to_list() == [packet["comment"] for packet in theirs.packets]
    assert (story["comment"] != "").sum() > 20
    assert [packet["data"] for packet in theirs.packets] == [d for d, _ in notebook["captured"]]
    assert story.drop("where", "comment").equals(table)
    lost = story.filter(pl.col("comment").str.starts_with("dropped by the loss model"))
    assert set(lost["point"]) == {"loss_offered"}
