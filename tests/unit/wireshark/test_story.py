"""What comments say of a TCP connection and an SCTP association, on cases worked out by hand."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.packets.columns import COLUMNS
from collectors.packets.packets import Tap, parse_packets
from collectors.raw.pcap import merged, read
from model.run_files.loss_tables import EpisodeRow
from model.run_files.tables import schema
from reports.wireshark import episodes, sctp_story, tcp_story
from reports.wireshark.congestion_windows import Windows
from reports.wireshark.episodes import Episode
from reports.wireshark.fates import Fate, fates
from reports.wireshark.recovery import Recovery
from reports.wireshark.sctp_story import SctpPacket, SctpStory
from reports.wireshark.story import comments
from reports.wireshark.tcp_story import TcpPacket, TcpStory
from reports.wireshark.words import nth, why_again
from tests.support.exported_cell import RECORDED, recorded_cell

ACK, SYN, FIN = 16, 2, 1
LOST = Fate(place="loss", row=99)
NO_WINDOWS = Windows()


def data(row: int, t_s: float, number: int, packet: int, *, again: bool = False) -> TcpPacket:
    """Return a segment of 1000 bytes; segment 1 has seq 1."""
    seq = 1 + 1000 * (number - 1)
    return TcpPacket(row, t_s, "data", packet, ACK, seq, 1000, again, 1, 65535, None)


def ack(row: int, t_s: float, asks_for: int, dupacks: int = 0, window: int = 65535) -> TcpPacket:
    """Return an acknowledgement that asks for a segment."""
    number = 1 + 1000 * (asks_for - 1)
    return TcpPacket(row, t_s, "ack", 500 + row, ACK, 1, 0, None, number, window, dupacks)


def tcp(
    packets: Sequence[TcpPacket], lost: Sequence[int] = (), episodes: Sequence[Episode] = ()
) -> dict[int, list[str]]:
    return tcp_story_of(packets, lost, episodes).said


def tcp_story_of(
    packets: Sequence[TcpPacket], lost: Sequence[int] = (), episodes: Sequence[Episode] = (),
    windows: Windows = NO_WINDOWS,
) -> TcpStory:  # fmt: skip
    story = TcpStory(dict.fromkeys(lost, LOST), Recovery(episodes), 1000, windows.met)
    story.tell(packets)
    return story


FIVE = [data(n, 0.0, n, n) for n in range(1, 6)]


def test_the_third_duplicate_makes_a_fast_retransmit_and_the_end_is_told() -> None:
    said = tcp(
        [
            *FIVE,
            ack(10, 1.0, 2),
            *(ack(10 + n, 1.0 + n / 100, 2, n) for n in (1, 2, 3)),
            data(20, 1.03, 2, 20, again=True),
            ack(21, 2.0, 6),
        ],
        lost=[2],
    )
    assert said == {
        1: ["first data"],
        11: ["1st duplicate acknowledgement, asks for segment 2 (seq 1001)"],
        12: ["2nd duplicate acknowledgement, asks for segment 2 (seq 1001)"],
        13: ["3rd duplicate acknowledgement, asks for segment 2 (seq 1001)"],
        20: [
            (
                "fast retransmit of segment 2 (seq 1001), on the 3rd duplicate acknowledgement; "
                "sent again because the original was dropped by the loss model"
            )
        ],
        21: ["end of recovery: all that was out is acknowledged"],
    }


def test_fewer_duplicates_and_a_short_wait_are_rack() -> None:
    heard = [ack(9, 0.5, 2), ack(10, 0.51, 2, 1)]
    at_once = tcp([*FIVE, *heard, data(20, 0.51, 2, 20, again=True)], lost=[2])
    by_timer = tcp([*FIVE, *heard, data(20, 0.6, 2, 20, again=True)], lost=[2])
    wanted = "fast retransmit of segment 2 (seq 1001), by RACK, after 1 duplicate acknowledgement"
    assert at_once[20][0].startswith(wanted)
    assert by_timer[20] == at_once[20]


def test_rack_needs_no_duplicate_soon_after_progress() -> None:
    # From a recorded run: out of a recovery, the next hole is found by time within 15 ms.
    rtt = [*FIVE, ack(9, 0.5, 2), ack(10, 0.9, 4)]
    said = tcp([*rtt, data(20, 0.915, 4, 20, again=True)], lost=[4])
    assert said[20][0].startswith("fast retransmit of segment 4 (seq 3001), by RACK, after 0 ")
    late = tcp([*rtt, data(20, 1.5, 4, 20, again=True)], lost=[4])
    assert late[20][0].startswith("retransmission of segment 4 (seq 3001) after timeout")


def test_silence_longer_than_a_round_trip_is_a_timeout() -> None:
    said = tcp(
        [
            *FIVE, ack(9, 0.5, 2), data(20, 2.5, 2, 20, again=True),
            ack(21, 3.0, 3), data(22, 3.0, 3, 22, again=True), ack(23, 3.5, 6),
        ],
        lost=[2, 3],
    )  # fmt: skip
    assert said[20][0].startswith("retransmission of segment 2 (seq 1001) after timeout; sent")
    assert said[22][0].startswith(
        "retransmission of segment 3 (seq 2001), in the recovery after the timeout; sent again"
    )
    assert 21 not in said
    assert said[23] == ["end of recovery: all that was out is acknowledged"]


def test_the_last_segment_after_silence_is_a_probe_and_the_only_one_cannot_be_told() -> None:
    probe = tcp([*FIVE, ack(9, 0.5, 4), data(20, 2.0, 5, 20, again=True)], lost=[5])
    alone = tcp([*FIVE, ack(9, 0.5, 5), data(20, 2.0, 5, 20, again=True)], lost=[5])
    assert probe[20][0].startswith("tail loss probe: retransmission of segment 5 (seq 4001); sent")
    assert alone[20][0].startswith(
        "retransmission of segment 5 (seq 4001) after timeout or as tail loss probe; sent again"
    )


def test_a_lost_and_a_needless_retransmission_say_so() -> None:
    start = [*FIVE, ack(9, 0.5, 2), ack(10, 0.51, 2, 1), data(20, 0.51, 2, 20, again=True)]
    again = [*start, ack(30, 1.1, 2, 2), data(31, 1.1, 2, 31, again=True)]
    assert tcp(again, lost=[2, 20])[31] == [
        (
            "retransmission of segment 2 (seq 1001), in the same recovery; "
            "sent again because its 2nd copy was dropped by the loss model"
        )
    ]
    assert tcp(again, lost=[2])[31][0].endswith("; needless: its 2nd copy was not lost")


def test_the_handshake_the_window_and_the_close_are_told_and_unknowns_are_passed_over() -> None:
    syn = TcpPacket(0, 0.0, "data", 0, SYN, 0, 0, False, None, 65535, None)
    again = syn._replace(row=1, t_s=1.0, packet=1, retransmission=True)
    accepted = TcpPacket(2, 1.5, "ack", 2, SYN | ACK, 0, 0, None, 1, 0, 0)
    unknown = TcpPacket(3, 1.5, "data", None, None, None, None, None, None, None, None)
    fin = TcpPacket(7, 2.2, "data", 7, FIN | ACK, 1001, 0, False, 1, 65535, None)
    sent = data(4, 1.5, 1, 4)
    said = tcp(
        [syn, again, accepted, unknown, sent, ack(5, 2.0, 2, 0, 0), ack(6, 2.1, 2, 0, 9), fin],
        lost=[0],
    )
    assert said == {
        0: ["connect: SYN"],
        1: ["connect again: the SYN was not answered in time"],
        2: ["connect: accepted (SYN, ACK)"],
        4: ["first data"],
        5: ["zero window"],
        6: ["the window is open again"],
        7: ["close: FIN, no more data"],
    }


def episode(**changes: Any) -> Episode:
    values: dict[str, Any] = {
        "number": 4, "detected_s": 2.0, "by": "dupacks", "dupacks": 3, "recovered_s": 2.7,
    }  # fmt: skip
    return Episode(**(values | changes))


def test_a_table_of_episodes_knows_better() -> None:
    packets = [*FIVE, ack(9, 0.5, 5), data(20, 2.0, 5, 20, again=True)]
    ends = [ack(21, 2.5, 6), ack(22, 2.7, 6)]
    said = tcp([*packets, *ends], lost=[5], episodes=[episode(detected_s=1.0), episode()])
    assert said[20][0].startswith(
        "fast retransmit of segment 5 (seq 4001), on the 3rd duplicate acknowledgement; "
    )
    assert 21 not in said
    assert said[22] == ["end of recovery: all that was out is acknowledged (loss episode 4)"]
    unknown = episode(by=None, recovered_s=None)
    assert tcp([*packets, *ends], episodes=[unknown])[21][0].endswith("(loss episode 4)")


def test_episodes_are_read_where_captures_place_them(tmp_path: Any) -> None:
    rows = [
        {"flow": "T", "episode": 1, "basis": "captures", "detected_s": 5.0},
        {"flow": "T", "episode": 0, "basis": "captures", "detected_s": 2.0, "recovered_s": 2.7},
        {"flow": "S", "episode": 0, "basis": "telemetry", "detected_s": 2.0},
        {"flow": "T", "episode": 2, "basis": "captures", "detected_s": None},
    ]
    columns = schema(EpisodeRow)
    empty = dict.fromkeys(columns)
    path = tmp_path / "episodes.parquet"
    assert episodes.read_episodes(path) == {}
    pl.DataFrame([empty | row for row in rows], schema=columns).write_parquet(path)
    assert episodes.read_episodes(path) == {
        "T": (
            episode(number=0, by=None, dupacks=None),
            episode(number=1, detected_s=5.0, by=None, dupacks=None, recovered_s=None),
        )
    }


def chunk(row: int, t_s: float, tsn: int, packet: int) -> SctpPacket:
    return SctpPacket(row, t_s, "data", packet, "DATA", [tsn], None, None, None, None, None)


def sack(row: int, t_s: float, cum: int, gaps: Sequence[tuple[int, int]] = ()) -> SctpPacket:
    blocks = [{"start": start, "end": end} for start, end in gaps]
    return SctpPacket(row, t_s, "ack", 500 + row, "SACK", None, None, cum, blocks, [], 65535)


def sctp(packets: Sequence[SctpPacket], lost: Sequence[int] = ()) -> dict[int, list[str]]:
    story = SctpStory(dict.fromkeys(lost, LOST), Recovery(()))
    story.tell(packets)
    return story.said


SIX = [chunk(n, 0.0, n, n) for n in range(6)]


def test_the_third_report_makes_a_fast_retransmit_and_the_end_is_told() -> None:
    said = sctp(
        [
            *SIX,
            sack(10, 1.0, 0, [(2, 2)]),
            sack(11, 1.1, 0, [(2, 3)]),
            sack(12, 1.2, 0, [(2, 3), (5, 5)]),
            chunk(13, 1.2, 1, 13),
            sack(14, 2.0, 3, [(5, 5)]),
            sack(15, 2.1, 5),
        ],
        lost=[1],
    )
    assert said == {
        0: ["first data"],
        10: ["reports chunk 2 (TSN 1) missing for the 1st time"],
        11: ["reports chunk 2 (TSN 1) missing for the 2nd time"],
        12: [
            (
                "reports chunk 2 (TSN 1) missing for the 3rd time, "
                "chunk 5 (TSN 4) missing for the 1st time"
            )
        ],
        13: [
            (
                "fast retransmit of chunk 2 (TSN 1), on the 3rd SACK that reports it missing; "
                "sent again because the original was dropped by the loss model"
            )
        ],
        14: ["reports chunk 5 (TSN 4) missing for the 2nd time"],
        15: ["end of recovery: all that was out is acknowledged"],
    }


def test_without_a_sack_or_enough_reports_it_is_a_timeout() -> None:
    reported = [*SIX, sack(10, 1.0, 0, [(2, 2)])]
    early = sctp([*reported, chunk(13, 1.0, 1, 13)], lost=[1])
    late = sctp([*reported, chunk(13, 3.0, 1, 13), sack(14, 3.5, 2), chunk(15, 3.5, 3, 15)])
    assert early[13][0].startswith("retransmission of chunk 2 (TSN 1) after timeout; sent again")
    assert late[13] == [
        "retransmission of chunk 2 (TSN 1) after timeout; needless: the original was not lost"
    ]
    assert late[15][0].startswith(
        "retransmission of chunk 4 (TSN 3), in the recovery after the timeout; need"
    )


def test_a_heartbeat_lets_out_what_a_timeout_marked() -> None:
    timeout = [*SIX, sack(10, 1.0, 0, [(2, 2)]), chunk(13, 3.0, 1, 13)]
    heartbeat = sack(14, 3.1, 0)._replace(
        chunk_types="HEARTBEAT", cum_tsn_ack=None, gap_blocks=None
    )
    said = sctp([*timeout, heartbeat, chunk(15, 3.1, 3, 15)])
    assert said[15][0].startswith(
        "retransmission of chunk 4 (TSN 3), in the recovery after the timeout; need"
    )


def test_many_missing_tsns_and_duplicates_are_summed_up() -> None:
    assert sctp_story.missing(2, [{"start": 8, "end": 9}, {"start": 5, "end": 6}]) == [
        3, 4, 7,
    ]  # fmt: skip
    packet = sack(10, 1.0, -1, [(5, 5)])._replace(duplicate_tsns=[2, 3])
    assert sctp([*SIX, packet])[10] == [
        (
            "reports chunk 1 (TSN 0) missing for the 1st time, "
            "chunk 2 (TSN 1) missing for the 1st time, "
            "chunk 3 (TSN 2) missing for the 1st time, and 2 more"
        ),
        "reports chunks 3, 4 (TSN 2, 3) received again",
    ]


def seen(
    packet: int, points: Sequence[str], *, flow: str = "T", **more: Any
) -> list[dict[str, Any]]:
    common = {"packet": packet, "direction": "data", "flow": flow, "connection": 0}
    return [{**common, "point": point, "protocol": "udp", **more} for point in points]


ALL = ("sent", "queue_offered", "loss_offered", "loss_passed", "delivered")


def table(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    full = [dict.fromkeys(COLUMNS) | row | {"t_s": float(n)} for n, row in enumerate(rows)]
    return pl.DataFrame(full, schema=pl.Schema(COLUMNS))


def test_a_packet_is_lost_where_a_later_one_passed() -> None:
    rows = [row for n in range(5) for row in seen(n, ALL[: n + 1])]
    rows += [*seen(5, ALL), *seen(6, ALL[:3])]
    found = fates(table(rows))
    places = {packet: fate.place for packet, fate in found.items()}
    assert places == {0: "access", 1: "queue", 2: "loss", 3: "exit", 6: "open"}
    assert rows[found[2].row]["point"] == "loss_offered"
    told = comments(table(rows), {})
    assert told[found[1].row] == "dropped by the queue"
    assert told[found[6].row] == "not seen again: under way at the end of the capture, or dropped"


def test_another_flow_tells_of_a_shared_place_but_not_of_anothers_link() -> None:
    mine, others = seen(0, ALL[:3]), seen(1, ALL, flow="S", connection=1)
    assert fates(table([*mine, *others]))[0].place == "loss"
    assert fates(table([*seen(0, ALL[:1]), *others]))[0].place == "open"


def test_a_packet_the_study_lists_is_not_the_loss_models() -> None:
    rows = [*seen(0, ALL[:2]), *seen(1, ALL[:3]), *seen(2, ALL[:3]), *seen(3, ALL)]
    rows = [{**row, "payload_bytes": 1448} for row in rows]
    found = fates(table(rows), {"T": (2, 9)})  # the 2nd to leave the buffer is packet 2
    assert {packet: fate.place for packet, fate in found.items()} == {
        0: "queue", 1: "loss", 2: "listed",
    }  # fmt: skip
    told = comments(table(rows), {}, {"T": (2,)})
    assert told[found[2].row] == "dropped because the study lists data packet 2"


def test_lost_acknowledgements_were_lost_on_the_way_back() -> None:
    rows = [
        {**row, "direction": "ack"} for n, points in ((0, ("sent",)), (1, ("sent", "delivered")))
        for row in seen(n, points)
    ]  # fmt: skip
    assert fates(table(rows)) == {0: Fate(place="way back", row=0)}


def test_an_empty_capture_has_no_story() -> None:
    assert comments(table([]), {}) == {}


def test_a_damaged_acknowledgement_costs_no_time() -> None:
    # A cumulative acknowledgement half the number space ahead must not be walked to.
    said = sctp([*SIX, sack(10, 1.0, 0, [(2, 2)]), sack(11, 1.1, 1 << 31)])
    assert said[10] == ["reports chunk 2 (TSN 1) missing for the 1st time"]
    assert 11 not in said


CELL = recorded_cell()
FOLDER = RECORDED / "raw" / "pcap"
POINTS = [Tap.of(tap) for tap in json.loads((FOLDER / "points.json").read_text())["taps"]]
RECORDS = merged([read(FOLDER / name)[0] for name in ("r1.pcap", "r2.pcap")])
BYTES = st.tuples(st.integers(0, len(RECORDS) - 1), st.integers(20, 159), st.integers(0, 255))


@settings(max_examples=60, deadline=None)
@given(st.lists(BYTES, max_size=40))
def test_no_damaged_packet_makes_it_raise(changes: list[tuple[int, int, int]]) -> None:
    octets = RECORDS.octets.copy()
    for packet, place, value in changes:
        octets[RECORDS.starts[packet] + place % RECORDS.captured_bytes[packet]] = value
    damaged = dataclasses.replace(RECORDS, octets=octets)
    told = comments(parse_packets(damaged, POINTS, CELL.flows, 0), {})
    assert all(0 <= row < len(RECORDS) and text for row, text in told.items())


@given(st.integers(0, 10_000))
def test_ordinals(number: int) -> None:
    text = nth(number)
    assert text.startswith(str(number))
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    assert text == f"{number}{ending}"


def test_what_became_of_the_copy_before() -> None:
    assert why_again(None, 1) == "needless: the original was not lost"
    assert why_again(Fate(place="open", row=0), 3) == "its 3rd copy was not seen to arrive"


def test_sights_are_columns_of_the_packets_table() -> None:
    derived = {"row", "tsns"}
    for names, packet in ((tcp_story.COLUMNS, TcpPacket), (sctp_story.COLUMNS, SctpPacket)):
        assert set(names) - derived <= set(COLUMNS)
        assert len(names) == len(packet._fields)
