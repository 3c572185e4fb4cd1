"""RTS and CTS: what precedes a long frame, who keeps quiet, and when a frame is given up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mininet_topos.radio.audit import mistakes

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

KNOWN = ["ping", "-c", "4", "-i", "0.2", "-W", "1"]
ALWAYS = {"rts-threshold-bytes": 0}
SIFS_NS, RTS_NS, CTS_NS = 10_000, 352_000, 304_000
SEND = ["/gt/code/bin/udp_send", "--port=9000", "--rate-bps=3000000"]
RECEIVE = ["/gt/code/bin/udp_recv", "--port=9000", "--idle-s=3", "&"]


def rows(ran: Any) -> list[list[str]]:
    return [line.split("\t") for line in ran.frames()[1:]]


def test_every_long_frame_is_preceded_and_no_other(run_radios: Any) -> None:
    # 64 bytes of ping are 124 on the air, 600 are 660.
    ran = run_radios(
        [[0, 0], [100, 0]],
        [["n0", *KNOWN, "10.0.0.2"], ["n0", *KNOWN, "-s", "600", "10.0.0.2"], 0.1],
        options={"rts-threshold-bytes": 200},
    )
    found = rows(ran)
    long = [at for at, row in enumerate(found) if row[2] == "data" and int(row[7]) > 200]
    assert len(long) == 8
    for at in long:
        rts, cts, data, ack = found[at - 2 : at + 2]
        assert [row[2] for row in (rts, cts, data, ack)] == ["rts", "cts", "data", "ack"]
        assert (rts[3], cts[3], data[3], ack[3]) == (data[3], data[4], data[3], data[4])
        gaps = [int(b[0]) - int(a[1]) for a, b in ((rts, cts), (cts, data), (data, ack))]
        assert gaps == [SIFS_NS] * 3
        assert (int(rts[1]) - int(rts[0]), int(cts[1]) - int(cts[0])) == (RTS_NS, CTS_NS)
    assert Counter(row[2] for row in found)["rts"] == 8
    assert sum(ran.totals["protected_attempts"]) == 8
    assert mistakes(ran.totals) == []


def test_rts_in_vain_is_sent_seven_times_and_the_frame_never(run_radios: Any) -> None:
    movement = (
        "t_ns,node,x_mm,y_mm\n0,0,0,0\n0,1,100000,0\n3000000000,1,100000,0\n3001000000,1,500000,0\n"
    )
    ran = run_radios(
        [[0, 0], [0, 0]],
        [["n0", *KNOWN, "10.0.0.2"], ["n0", "ping", "-c", "30", "-i", "0.2", "10.0.0.2"]],
        movement=movement,
        options=ALWAYS,
    )
    away = [row for row in rows(ran) if row[8] == "out_of_range"]
    assert {row[2] for row in away} == {"rts"}
    given_up = sum(ran.totals["given_up"])
    assert given_up > 0
    assert Counter(row[5] for row in away) == {str(n): given_up for n in range(1, 8)}
    assert mistakes(ran.totals) == []


def test_frame_whose_ack_does_not_come_is_sent_four_times(run_radios: Any) -> None:
    # n2 hears only that n0 sends, and not what: its frames to n3 destroy those of n1 at n0.
    ran = run_radios(
        [[0, 0], [-200, 0], [400, 0], [600, 0]],
        [
            ["n0", *RECEIVE],
            ["n3", *RECEIVE],
            ["n1", *KNOWN, "10.0.0.1"],
            ["n2", *KNOWN, "10.0.0.4"],
            ["n1", *SEND, "--duration-s=10", "--host=10.0.0.1", "--message-bytes=1400", "&"],
            ["n2", *SEND, "--duration-s=10", "--host=10.0.0.4", "--message-bytes=200", "&"],
        ],
        options={"rts-threshold-bytes": 500},
    )
    long = [row for row in rows(ran) if row[2] == "data" and row[3] == "1" and int(row[7]) > 1400]
    tries = Counter(int(row[5]) for row in long)
    assert sorted(tries) == [1, 2, 3, 4]
    assert tries[1] > tries[2] > tries[3] > tries[4]
    assert ran.totals["given_up"][1] > 0
    assert mistakes(ran.totals) == []


def test_who_keeps_quiet_for_others_gives_no_cts(run_radios: Any) -> None:
    # n2 hears the CTS that n1 gives n0, and n3, which hears none of it, asks n2 meanwhile.
    ran = run_radios(
        [[0, 0], [200, 0], [400, 0], [600, 0]],
        [
            ["n1", *RECEIVE],
            ["n2", *RECEIVE],
            ["n0", *KNOWN, "10.0.0.2"],
            ["n3", *KNOWN, "10.0.0.3"],
            ["n0", *SEND, "--duration-s=5", "--host=10.0.0.2", "--message-bytes=1400", "&"],
            ["n3", *SEND, "--duration-s=5", "--host=10.0.0.3", "--message-bytes=1400", "&"],
        ],
        options={**ALWAYS, "carrier-sense-m": 300},
    )
    assert ran.totals["cts_refused"][2] > 0
    assert ran.totals["cts_refused"][2] <= ran.totals["cts_timeouts"][3]
    assert mistakes(ran.totals) == []


def test_same_run_is_the_same_to_the_byte(run_radios: Any) -> None:
    places = [[0, 0], [150, 0], [0, 150], [150, 150]]
    steps = [["n0", *KNOWN, "10.0.0.4"], ["n1", *KNOWN, "10.0.0.3"], ["n2", *KNOWN, "10.0.0.1"]]
    first, second = (run_radios(places, steps, options=ALWAYS) for _ in range(2))
    for name in ("pcap", "frames", "medium.jsonl"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
