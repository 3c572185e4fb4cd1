"""A frame that nobody acknowledges breaks the link at once; the kernel tells of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mininet_topos.aodv.driver import parse_totals

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it


def test_one_failed_frame_breaks_the_link(program: Callable[..., Path]) -> None:
    folder = program("feedback")
    assert "3 packets transmitted, 3 received" in (folder / "first.jsonl").read_text()
    events = [json.loads(line) for line in (folder / "n1.events").read_text().splitlines()]
    (broken,) = [event for event in events if event["event"] == "link_broken"]
    assert (broken["destination"], broken["cause"]) == ("10.0.0.2", "feedback")
    counts = parse_totals((folder / "aodvd-n1.jsonl").read_text(), "n1").counts
    assert (counts["failed_frames"], counts["link_breaks_feedback"]) == (1, 1)
    assert not any(
        line.startswith("10.0.0.2") for line in (folder / "cut-n1.routes").read_text().splitlines()
    )
