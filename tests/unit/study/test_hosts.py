"""Host profiles: where they are found, what they may say, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.cell import Knob
from model.errors import StudyError
from testbed.points.load_study import load_study, parse_study
from testbed.points.resolve import resolve_cell
from testbed.study.host_profile_form import rto_min_for
from tests.support.study_file import (
    PAPER,
    ROOT,
    SWEEP,
    UNPUBLISHED,
    WIRELESS,
    edited,
    line_of,
    problems,
)


def with_entries(entries: str) -> str:
    """Return the wireless study with its own profile of these entries, from line 18 on."""
    lines = "".join(f"      {line}\n" for line in entries.strip("\n").splitlines())
    profile = f"hosts: own\nprofiles:\n  own:\n    title: Own\n    entries:\n{lines}"
    return edited(("hosts: paper\n", profile))


CASES = (ROOT / "tests" / "data" / "bad-profiles.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES.split("\n\n")[1:], ids=lambda case: case.split("\n")[0][4:])
def test_entries_that_cannot_be(case: str) -> None:
    lines = case.strip("\n").split("\n")
    entries = "\n".join(line[2:] for line in lines if line[0] == "=")
    messages = [line[2:] for line in lines if line[0] == ">"]
    found = [
        line.split(": profiles.own.entries", 1)[-1] for line in problems(with_entries(entries))
    ]
    assert found == messages


def test_each_side_may_be_set_its_own_way() -> None:
    text = with_entries("""
- parameter: buffers
  fidelity: exact
  tcp_socket_sender: {sndbuf_bytes: 1000}
  tcp_socket_receiver: {rcvbuf_bytes: 2000}
  sysctl: {net.ipv4.tcp_rmem: 4096 131072 6291456}
  route_receiver: {window: lock 65535}
""")
    loaded = parse_study(text)
    hosts = resolve_cell(loaded, loaded.points[0], seed=1, replicate=1, lab={}).hosts
    assert hosts.id == "own"
    assert hosts.entries[0].knobs == (
        Knob(kind="sysctl", name="net.ipv4.tcp_rmem", value="4096 131072 6291456", side="both"),
        Knob(kind="route", name="window", value="lock 65535", side="receiver"),
        Knob(kind="tcp_socket", name="sndbuf_bytes", value="1000", side="sender"),
        Knob(kind="tcp_socket", name="rcvbuf_bytes", value="2000", side="receiver"),
    )


@pytest.mark.parametrize(
    ("floor_s", "base_rtt_s", "value"),
    [(1.0, 0.508, "492ms"), (1.0, 0.0, "1000ms"), (1.0, 1.0, "1ms"), (0.2, 0.508, "1ms"),
     (1.0, 0.5085, "492ms")],
)  # fmt: skip
def test_a_floor_of_the_timeout_is_less_the_round_trip(
    floor_s: float, base_rtt_s: float, value: str
) -> None:
    assert rto_min_for(floor_s, base_rtt_s) == value


def rto_mins(sweep: str) -> list[str]:
    """Return the route option at each point of a study whose profile has a floor of 1 s."""
    text = with_entries("- {parameter: timeout, fidelity: exact, route: {rto_min: floor 1 s}}")
    text = text.replace(UNPUBLISHED[0], "").replace(SWEEP, sweep)
    loaded = parse_study(text)
    cells = [resolve_cell(loaded, p, seed=1, replicate=1, lab={}) for p in loaded.points]
    return [cell.hosts.entries[0].knobs[0].value for cell in cells]


def test_the_floor_is_worked_out_at_each_point() -> None:
    assert rto_mins("  network.bottleneck.delay: [25 ms, 250 ms]\n") == ["942ms", "492ms"]


def test_a_profile_beside_the_study_comes_first(tmp_path: Path) -> None:
    (tmp_path / "hosts").mkdir()
    own = tmp_path / "hosts" / "paper.yaml"
    own.write_text(PAPER.replace("title: ", "title: My "), encoding="utf-8")
    path = tmp_path / "s.yaml"
    path.write_text(WIRELESS, encoding="utf-8")
    assert load_study(path).profiles["paper"].profile.title.startswith("My ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1: empty file: wanted keys such as 'study:'"),
        (b"\xff", ":1: not text: wanted UTF-8, got byte 0xff"),
        (b"title: x\nentries: []\n",
         ":2: entries: empty: wanted at least one entry, got an empty list"),
        (b"title: x\ntitle: y\nentries:\n  - {parameter: a, fidelity: cannot_be_set, note: n}\n",
         ":2: title: duplicate key: already given on line 1"),
    ],
)  # fmt: skip
def test_a_profile_names_its_own_file(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / "paper.yaml").write_bytes(content)
    path = tmp_path / "s.yaml"
    path.write_text(WIRELESS, encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        load_study(path)
    assert str(caught.value) == f"{tmp_path}/hosts/paper.yaml{message}"


def test_lines_of_a_profile_in_the_study() -> None:
    text = with_entries("- parameter: a\n  fidelity: exact\n  route:\n    quickack: 1\n    mtuu: 3")
    assert problems(text)[0].startswith(f"w.yaml:{line_of(text, 'mtuu')}: ")
