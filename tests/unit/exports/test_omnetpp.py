"""OMNeT++ scalars say what the tables and the summary say, in a file that a strict reader takes."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.run_files.point import Scalar
from reports.exports.cell import ExportedCell
from reports.exports.omnetpp import omnetpp_files, token
from tests.unit.exports.export_run import content, table
from tests.unit.exports.sca_reader import Run, read, tokens


def exported(cell: ExportedCell) -> Run:
    (file,) = omnetpp_files(cell)
    (run,) = read(content(file.pieces))
    return run


@pytest.fixture(scope="module")
def run(cell: ExportedCell) -> Run:
    return exported(cell)


def test_the_run_says_what_it_is_of(cell: ExportedCell, run: Run) -> None:
    assert run.id == f"wireless-{cell.id}"
    assert run.itervars == {"loss_frac": "0.01"}
    said = run.attributes
    assert (said["configname"], said["repetition"], said["replication"]) == ("wireless", "2", "#2")
    assert said["iterationvars"] == said["measurement"] == "$loss_frac=0.01"
    assert said["kernel"] == "7.3.4-groundtruth"
    assert "excluded" not in said
    config = dict(run.config)
    assert config["duration_s"] == "2.2"
    assert config["flows[1].protocol"] == "sctp"
    assert config["network.bottleneck.forward.loss.loss_frac"] == repr(0.08)
    assert not [name for name in config if name.startswith(("hosts", "limits", "lab"))]


def test_scalars_are_the_tables_to_the_last_digit(cell: ExportedCell, run: Run) -> None:
    compared = 0
    for row in table(cell, "flows").iter_rows(named=True):
        module = f"wireless.{row['flow']}"
        shown = {one.name: one.value for one in run.scalars if one.module == module}
        for name, value in row.items():
            if isinstance(value, int | float):
                assert shown[name] == value, name
                compared += 1
            else:
                assert name not in shown
    for row in table(cell, "path").iter_rows(named=True):
        for name in ("owd_mean_s", "data_wire_rate_bps", "ack_pkts"):
            assert run.scalar(f"wireless.{row['flow']}", name).value == row[name]
        counted = run.scalar(f"wireless.{row['flow']}", "captured_goodput_bytes").value
        assert counted == row["goodput_bytes"]
    assert compared > 10


def test_metrics_are_scalars_of_the_study_and_unknown_ones_are_not_there(
    cell: ExportedCell, run: Run
) -> None:
    shown = {one.name: one.value for one in run.scalars if one.module == "wireless"}
    known = {name: found.value for name, found in cell.values.items() if found.value is not None}
    assert shown == known
    assert len(known) < len(cell.values)


def test_units_stand_in_names_and_beside(run: Run) -> None:
    found = run.scalar("wireless.T", "goodput_bps")
    assert found.attributes == {"unit": "bit/s"}
    assert run.scalar("wireless", "goodput_T_bps").attributes["title"]


def test_a_cell_that_does_not_count_says_why(cell: ExportedCell) -> None:
    why = 'a check failed: "rtt"'
    assert exported(dataclasses.replace(cell, excluded=why)).attributes["excluded"] == why


HOSTILE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(HOSTILE)
def test_any_text_is_one_token(text: str) -> None:
    line = f"attr {token(text)} {token(text)}"
    assert "\n" not in line
    assert tokens(line) == ["attr", text, text]


def test_what_no_file_can_hold_is_marked() -> None:
    assert token("a\0b") == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("value", ["a b", "=cmd", '"', "#1", "x\ny", "", "a\\"])
def test_hostile_settings_are_read_back(cell: ExportedCell, value: Scalar) -> None:
    changed = dataclasses.replace(cell.cell, point={"name of it": value})
    found = dataclasses.replace(cell, found=dataclasses.replace(cell.found, cell=changed))
    assert exported(found).itervars == {"name of it": value}
