"""The remote lab against six machines by ssh, each a namespace with its own sshd.

What a run leaves in its folder and on machines; what is left where one is lost or all is killed.

    python -m pytest tests/long/remote_six_machines.py

Some five minutes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from testbed.labs.virtual import virtual_lab
from tests.support.machines import testbed

STUDY = Path(__file__).parents[1] / "lab" / "host" / "small.yaml"
BODY = """
look before
$PYTHON -m testbed run {study} --lab remote --reps 1 --no-sensitivity -D $OUT/results
look after
same before after
$PLAY ansible/playbooks/testbed.yml --tags testbed_machine -e testbed_machine_archive=$ARCHIVE \\
  -e testbed_machine_digest=$(basename $DEPLOYED) >$OUT/played

# What cannot be reached or taken is told before anything is changed.
ssh-keygen -q -t ed25519 -N '' -f $W/other
sed "s|^192.0.2.12 .*|192.0.2.12 $(cut -d' ' -f1,2 $W/other.pub)|" $W/known_hosts >$W/known_others
refused key plan "s:$W/key:$W/other:"
refused address plan 's/192.0.2.12/192.0.2.99/'
refused changed plan 's/known_hosts/known_others/'
refused unknown plan 's/known_hosts/known_nobody/'
refused management 'run -D '$OUT 's/beta: eth2/beta: eth0/'
same before after

# One machine is lost in the middle: its cell fails with its name, and the others are as they were.
begin_run lost
ip link set m16 down
wait_for_end && exit 1
ip link set m16 up
for name in $MACHINES; do until as_before $name; do sleep 0.5; done; done
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a study on six machines, and what was seen on them before and after."""
    folder = tmp_path_factory.mktemp("six")
    lab = virtual_lab.ensure("6.12", lambda _what, _done: None)
    testbed.on_six(lab, folder, STUDY, BODY.format(study=STUDY))
    return folder


def value(path: Path) -> Any:
    return json.loads(path.read_text())


def cells(folder: Path) -> list[Path]:
    return sorted((folder / "results" / "latest" / "cells").iterdir())


@pytest.mark.timeout(900)
def test_cells_are_finished_and_each_machine_says_what_it_is(ran: Path) -> None:
    assert len(cells(ran)) == 2
    for cell in cells(ran):
        assert run_folder.is_done(cell)
        environment = value(cell / "env.json")
        assert environment["lab"]["name"] == "remote"
        assert set(environment["machines"]) == set(testbed.MACHINES)
        left = environment["machines"]["left"]
        assert left["links"] == {"alpha": "eth1", "beta": "eth2", "right": "eth3"}
        assert set(left["interfaces"]["eth1"]) == {"driver", "speed_mbps", "mac", "mtu", "offloads"}
        assert left["kernel_release"].startswith("6.12")
        checks = value(cell / "verify.json")["checks"]
        assert not [check for check in checks if check["agrees"] is False]
        assert {c["where"] for c in checks if c["check"] == "timers in time"} == {*testbed.MACHINES}


def test_flows_began_within_ten_milliseconds_of_each_other(ran: Path) -> None:
    (began,) = [
        sorted(
            json.loads(line)["connect_start_t_ns"]
            for path in (cell / "raw" / "flows").glob("*.sender.jsonl")
            for line in path.read_text().splitlines()
            if '"connected"' in line
        )
        for cell in cells(ran)
        if (cell / "raw" / "flows").exists()
    ]
    assert len(began) == 2
    assert began[1] - began[0] < 10_000_000


def test_acknowledgements_are_counted_on_the_machines_they_leave(ran: Path) -> None:
    (cell,) = [cell for cell in cells(ran) if (cell / "raw" / "flows").exists()]
    rows = value(cell / run_folder.ACKNOWLEDGEMENTS)
    assert sorted(row["flow"] for row in rows) == ["S", "T"]
    assert all(row["all_ack_pkts"] > 50 for row in rows)
    found = value(cell / run_folder.AUDIT)["checks"]
    made = [check for check in found if check["check"] == "acknowledgements sent by the socket"]
    assert [check["agrees"] for check in made] == [True, True]


def test_clocks_are_known_well_enough_for_delays(ran: Path) -> None:
    for cell in cells(ran):
        told = value(cell / "raw" / "clocks.json")
        assert told["reference"] == "left"
        assert told["one_way_delays"] is True
        assert set(told["machines"]) == set(testbed.MACHINES)


def test_a_second_play_changes_nothing(ran: Path) -> None:
    recap = [line for line in (ran / "played").read_text().splitlines() if "changed=" in line]
    assert len(recap) == 6
    assert all("changed=0 " in line and "failed=0 " in line for line in recap)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("key", r"cannot reach the machine \w+.*Permission denied.*ssh-copy-id"),
        ("address", r"cannot reach the machine beta.*is the machine on"),
        ("changed", r"cannot reach the machine beta.*if the machine is new, ssh-keygen -R"),
        ("unknown", r"cannot reach the machine \w+.*connect once by hand"),
        ("management", r"left.*eth0.*the machine is reached by it.*never shaped"),
    ],
)
def test_what_cannot_be_used_is_told(ran: Path, name: str, words: str) -> None:
    said = " ".join((ran / f"{name}.told").read_text().split())
    assert re.search(words, said), said
    assert "Traceback" not in said


def test_the_lost_machine_is_named(ran: Path) -> None:
    assert "lost the machine omega" in (ran / "lost.said").read_text()
