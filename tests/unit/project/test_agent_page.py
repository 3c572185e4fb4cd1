"""docs/labs.md says what the agent gets and leaves: all of it, as the code has it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from testbed.guest import agent
from testbed.labs.booted import booting, lab_code
from testbed.labs.contract import accept
from tests.support.recorded import wireless_cell

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "labs.md").read_text()
ROWS = dict(re.findall(r"^\| `([^`]+)` \| (\w+)", TEXT, re.MULTILINE))
CELL = wireless_cell()
MEASURE = dataclasses.replace(
    CELL,
    collect=dataclasses.replace(CELL.collect, pcap=True, messages=True, acknowledgements=True),
)
CALIBRATE = dataclasses.replace(CELL, purpose="calibrate")


def row(name: str) -> str:
    """Return a file's name as the page has it."""
    name = re.sub(r"(raw/flows)/\w+\.(sender|receiver)", r"\1/FLOW.\2", name)
    name = re.sub(r"(raw/pcap)/\w+\.pcap\.gz", r"\1/ROUTER.pcap.gz", name)
    return re.sub(r"(raw/calibration)/\w+\.", r"\1/RUN.", name)


def test_the_files_are_those_that_a_lab_may_leave() -> None:
    measured, calibrated = (
        {row(name) for name in accept.expected(c)} for c in (MEASURE, CALIBRATE)
    )
    assert ROWS.keys() == measured | calibrated
    assert measured >= {name for name, of in ROWS.items() if of != "calibrating"}
    assert calibrated >= {name for name, of in ROWS.items() if of != "measuring"}
    assert measured - calibrated <= {name for name, of in ROWS.items() if of == "measuring"}
    assert calibrated - measured == {name for name, of in ROWS.items() if of == "calibrating"}


def test_environment_and_command_line_are_what_init_gives() -> None:
    (given,) = re.findall(
        r"^```\n(.*?)^```", TEXT.partition("### What it gets")[2], re.DOTALL | re.MULTILINE
    )
    source = (lab_code.GUEST / "init.c").read_text()
    inside = source.partition("env[] = {")[2].partition("NULL")[0]
    assert given.split() == re.findall(r'"([^"]+)"', inside)
    assert f"`{' '.join(booting.AGENT)}`" in TEXT
    # By its last word init knows whom to preload what has memory come at once.
    assert f"`{' '.join(booting.AGENT_AT_ONCE)}`" in TEXT
    assert f'strcmp(argv[argc - 1], "{booting.AGENT_AT_ONCE[-1]}") == 0' in source
    assert f"`{agent.CELL}/cell.json`" in TEXT
