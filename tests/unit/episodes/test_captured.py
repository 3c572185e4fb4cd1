"""Loss episodes from captures, worked out by hand: a round trip is half a second."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.episodes.window import Window
from model.run_files.loss_tables import EpisodeRow
from tests.support.loss_story import MSS, S, Story, T


def eight_with_the_third_lost() -> Story:
    """Eight segments 10 ms apart; the third is lost; two dupacks clock out new data."""
    story = Story(T).began(8, 3)
    story.hears(0.51, 1)
    story.hears(0.52, 2)
    story.hears(0.54, 2, (4, 4))
    story.sends(0.54, 9)
    story.hears(0.55, 2, (4, 5))
    story.sends(0.55, 10)
    story.hears(0.56, 2, (4, 6))
    return story


def test_the_third_duplicate() -> None:
    story = eight_with_the_third_lost()
    story.sends(0.56, 3)
    story.hears(0.57, 2, (4, 7))
    story.hears(0.58, 2, (4, 8))
    story.hears(1.04, 2, (4, 9))
    story.hears(1.05, 2, (4, 10))
    story.hears(1.06, 10)
    assert story.episodes() == [
        EpisodeRow(
            flow="T",
            protocol="tcp",
            episode=0,
            basis="captures",
            lost_s=0.032,  # 2 ms after it left: at the loss model
            lost_at="loss",
            lost_pkts=1,
            first_lost_segment=3,
            first_lost_packet=2,
            detected_s=0.56,
            detected_by="dupacks",
            dupacks=3,
            new_data_pkts=2,
            new_data_on_dupack_1_pkts=1,
            new_data_on_dupack_2_pkts=1,
            new_data_on_dupack_3_pkts=0,
            first_new_on_dupack=1,
            first_new_segment=9,
            retransmitted_pkts=1,
            lost_again_pkts=0,
            timeouts=0,
            flight_before_bytes=8 * MSS,  # segments 3 to 10
            flight_at_act_bytes=5 * MSS,  # without the three reported
            recovered_s=1.06,
            detect_s=0.56 - 0.032,
            recover_s=0.5,
        )
    ]


def on_each(row: EpisodeRow) -> tuple[int | None, ...]:
    return (
        row.new_data_on_dupack_1_pkts,
        row.new_data_on_dupack_2_pkts,
        row.new_data_on_dupack_3_pkts,
    )


def test_four_packets_on_two_duplicates_are_none_on_the_third() -> None:
    """What Linux's SCTP does in slow start: a total of four, and yet not on each of three."""
    story = Story(S).began(8, 3)
    story.hears(0.52, 2)
    story.hears(0.54, 2, (4, 4))
    story.sends(0.540001, 9, 10)
    story.hears(0.55, 2, (4, 5))
    story.sends(0.550001, 11, 12)
    story.hears(0.56, 2, (4, 6))
    story.sends(0.560001, 3, 13)  # what follows the repeated packet is not new data before it
    story.hears(1.06, 13)
    (row,) = story.episodes()
    assert (row.dupacks, row.new_data_pkts) == (3, 4)
    assert on_each(row) == (2, 2, 0)


def test_new_data_belongs_to_the_duplicate_until_any_acknowledgement_comes() -> None:
    story = Story(S).began(7, 3)
    story.hears(0.52, 2)
    story.sends(0.521, 8)  # on what acknowledged 2: no duplicate yet
    story.hears(0.54, 2, (4, 4))
    story.sends(0.545, 9)  # late, but nothing else had come
    story.hears(0.546, 2, (4, 4))  # a window update
    story.sends(0.547, 10)  # is what this is on: in the total, on no duplicate
    story.hears(0.55, 2, (4, 5))
    story.hears(0.56, 2, (4, 6))
    story.sends(0.560001, 11)
    story.hears(0.57, 2, (4, 7))
    story.sends(0.570001, 12)
    story.sends(0.570001, 3)
    story.hears(1.07, 12)
    (row,) = story.episodes()
    assert (row.dupacks, row.new_data_pkts) == (4, 4)
    assert on_each(row) == (1, 0, 1)


def test_the_first_new_data_after_the_sender_acted() -> None:
    """The published TCP: nothing on duplicates 1 to 5, segment 9 on the 6th, after three more."""
    story = Story(T).began(8, 1)
    for k in (1, 2, 3):
        story.hears(round(0.51 + k / 100, 2), 0, (2, 1 + k))
    story.sends(0.54, 1)
    for k in (4, 5, 6):
        story.hears(round(0.51 + k / 100, 2), 0, (2, 1 + k))
    story.sends(0.57, 9)
    story.hears(0.58, 0, (2, 8))
    story.sends(0.58, 10)
    story.hears(1.04, 8)
    story.hears(1.08, 10)
    (row,) = story.episodes()
    assert (row.dupacks, row.new_data_pkts) == (3, 0)
    assert (row.first_new_on_dupack, row.acks_to_new_data_pkts) == (6, 3)
    assert row.first_new_segment == 9


def test_new_data_only_after_recovery_is_on_no_duplicate() -> None:
    story = eight_with_the_third_lost()
    story.sends(0.56, 3)
    story.hears(1.06, 10)
    story.sends(1.06, 11)
    story.hears(1.56, 11)
    (row,) = story.episodes()
    assert (row.first_new_on_dupack, row.acks_to_new_data_pkts) == (1, 1)
    story = Story(T).began(5, 1)
    for k in (1, 2, 3):
        story.hears(round(0.51 + k / 100, 2), 0, (2, 1 + k))
    story.sends(0.54, 1)
    story.hears(1.04, 5)
    story.sends(1.04, 6)
    story.hears(1.54, 6)
    (row,) = story.episodes()
    assert (row.first_new_on_dupack, row.acks_to_new_data_pkts) == (None, 1)


def test_a_duplicate_that_never_came_carried_nothing_known() -> None:
    story = Story(T).began(3, 2)
    story.hears(0.51, 1)
    story.hears(0.53, 1, (3, 3))
    story.sends(0.53, 4)
    story.sends(0.66, 2)
    story.hears(1.16, 4)
    (row,) = story.episodes()
    assert (row.detected_by, row.dupacks) == ("rack", 1)
    assert on_each(row) == (1, None, None)


def test_a_retransmission_lost_again_waits_for_the_timeout() -> None:
    story = eight_with_the_third_lost()
    story.sends(0.56, 3, lost="queue")
    story.hears(1.05, 2, (4, 10))
    story.sends(1.80, 3)
    story.hears(2.30, 10)
    (row,) = story.episodes()
    assert (row.lost_pkts, row.retransmitted_pkts, row.timeouts) == (2, 2, 1)
    assert row.lost_again_pkts == 1
    assert (row.lost_at, row.detected_by, row.recovered_s) == ("loss", "dupacks", 2.30)


def test_several_losses_in_a_window_are_one_episode() -> None:
    story = Story(T).began(8, 3, 5, at="queue")
    story.hears(0.52, 2)
    story.hears(0.54, 2, (4, 4))
    story.hears(0.56, 2, (6, 6), (4, 4))
    story.hears(0.57, 2, (6, 7), (4, 4))
    story.sends(0.57, 3)
    story.hears(0.58, 2, (6, 8), (4, 4))
    story.sends(0.58, 5)
    story.hears(1.07, 4, (6, 8))
    story.hears(1.08, 8)
    (row,) = story.episodes()
    assert (row.lost_pkts, row.retransmitted_pkts, row.dupacks) == (2, 2, 3)
    assert (row.lost_at, row.recovered_s) == ("queue", 1.08)


def test_a_lost_tail_has_no_duplicates() -> None:
    story = Story(T)
    story.sends(0.0, 1)
    story.sends(0.01, 2, lost="loss")
    story.hears(0.5, 1)
    story.sends(1.5, 2)
    story.hears(2.0, 2)
    (row,) = story.episodes()
    assert (row.detected_by, row.dupacks, row.new_data_pkts, row.timeouts) == ("timeout", 0, 0, 1)
    assert row.detect_s == pytest.approx(1.5 - 0.012)


def test_a_probe_repeats_what_is_not_first_in_line() -> None:
    story = Story(T)
    story.sends(0.0, 1)
    story.sends(0.01, 2, lost="loss")
    story.sends(0.02, 3, lost="loss")
    story.hears(0.5, 1)
    story.sends(1.5, 3)
    story.hears(2.0, 1, (3, 3))
    story.sends(2.0, 2)
    story.hears(2.5, 3)
    (row,) = story.episodes()
    assert (row.detected_by, row.timeouts, row.retransmitted_pkts) == ("probe", 0, 2)


def test_too_few_duplicates_are_racks_work() -> None:
    story = Story(T).began(3, 2)
    story.hears(0.51, 1)
    story.hears(0.53, 1, (3, 3))
    story.sends(0.66, 2)  # the reordering timer, a quarter of a round trip later
    story.hears(1.16, 3)
    (row,) = story.episodes()
    assert (row.detected_by, row.dupacks, row.timeouts) == ("rack", 1, 0)


def test_an_acknowledgement_that_moves_on_and_reports_is_a_duplicate() -> None:
    # RFC 6675, section 2: the receiver held back the acknowledgement of segment 1.
    story = Story(T).began(5, 2)
    story.hears(0.53, 1, (3, 3))
    story.hears(0.54, 1, (3, 4))
    story.hears(0.55, 1, (3, 5))
    story.sends(0.55, 2)
    story.hears(1.05, 5)
    (row,) = story.episodes()
    assert (row.dupacks, row.detected_by) == (3, "dupacks")


def test_what_is_reported_twice_or_below_the_hole_is_no_duplicate() -> None:
    story = Story(T).began(6, 3)
    story.hears(0.54, 2, (4, 4))
    story.hears(0.55, 2, (4, 4))  # again
    story.hears(0.56, 2, (1, 1), (4, 4))  # a duplicate segment below (RFC 2883)
    story.hears(0.57, 2, (4, 5))
    story.sends(0.57, 3)
    story.hears(1.07, 6)
    (row,) = story.episodes()
    assert (row.dupacks, row.detected_by) == (2, "rack")


def test_a_loss_sent_before_recovery_prolongs_the_episode() -> None:
    story = eight_with_the_third_lost()
    story.sends(0.56, 3)
    story.hears(1.04, 2, (4, 9))
    story.sends(1.04, 11, lost="loss")
    story.hears(1.05, 2, (4, 10))
    story.sends(1.05, 12)
    story.hears(1.06, 10)  # all that was outstanding at 0.56 is there, but 11 is lost by now
    story.sends(1.06, 13, 14)
    story.hears(1.55, 10, (12, 12))
    story.hears(1.56, 10, (12, 13))
    story.hears(1.57, 10, (12, 14))
    story.sends(1.57, 11)
    story.hears(2.07, 14)
    story.sends(2.08, 15, lost="loss")  # sent after: another episode
    story.sends(3.5, 15)
    story.hears(4.0, 15)
    first, second = story.episodes()
    assert (first.lost_pkts, first.recovered_s, first.dupacks) == (2, 2.07, 3)
    assert (second.first_lost_segment, second.detected_by) == (15, "timeout")


def test_a_flow_that_ends_before_the_sender_acts() -> None:
    story = Story(T)
    story.sends(0.0, 1)
    story.sends(0.01, 2, lost="loss")
    story.sends(0.02, 3)
    story.hears(0.5, 1)
    story.hears(0.52, 1, (3, 3))
    (row,) = story.episodes()
    assert (row.lost_pkts, row.dupacks, row.retransmitted_pkts) == (1, 1, 0)
    assert (row.detected_s, row.detected_by, row.recovered_s, row.new_data_pkts) == (None,) * 4


def test_a_flow_that_ends_before_it_recovers() -> None:
    story = eight_with_the_third_lost()
    story.sends(0.56, 3)
    (row,) = story.episodes()
    assert (row.detected_by, row.recovered_s, row.recover_s) == ("dupacks", None, None)


def test_what_is_under_way_when_the_capture_ends_is_not_lost() -> None:
    story = Story(T)
    story.sends(0.0, 1)
    story.sends(0.3, 2, lost="loss")  # last seen at the loss model; 250 ms of delay follow
    story.hears(0.5, 1)
    assert story.episodes(until_s=0.5) == []
    assert len(story.episodes(until_s=2.0)) == 1


def test_a_lost_handshake_is_no_loss_of_data() -> None:
    story = Story(T)
    story.sends(0.0, 0, lost="loss", syn=True)
    story.sends(1.0, 0, syn=True)
    story.sends(1.5, 1)
    story.hears(2.0, 1)
    assert story.episodes() == []


def test_a_timeout_without_a_loss_is_told_as_that() -> None:
    story = Story(T)
    story.sends(0.0, 1)
    story.sends(1.5, 1)
    story.hears(1.6, 1)
    (row,) = story.episodes()
    assert (row.lost_pkts, row.lost_s, row.first_lost_segment) == (0, None, None)
    assert (row.detected_by, row.timeouts, row.detect_s) == ("timeout", 1, None)


def test_a_lost_copy_of_what_had_arrived_begins_no_episode() -> None:
    story = Story(T)
    story.sends(0.0, 1)
    story.sends(1.5, 1, lost="loss")
    story.hears(1.6, 1)
    story.sends(1.6, 2)
    story.hears(2.1, 2)
    (row,) = story.episodes()
    assert (row.lost_s, row.retransmitted_pkts, row.recovered_s) == (None, 1, 1.6)


def test_sctp_acts_on_the_third_missing_report() -> None:
    story = Story(S).began(7, 3)
    story.hears(0.52, 2)
    story.hears(0.54, 2, (4, 4))
    story.sends(0.54, 8)
    story.hears(0.55, 2, (4, 5))
    story.sends(0.55, 9)
    story.hears(0.5502, 2, (4, 5))  # the receiver has read: a window update reports nothing new
    story.hears(0.56, 2, (4, 6))
    story.sends(0.56, 3)
    story.hears(1.06, 9)
    (row,) = story.episodes()
    assert (row.dupacks, row.detected_by, row.new_data_pkts) == (3, "dupacks", 2)
    assert (row.first_lost_segment, row.flight_before_bytes) == (3, 5 * MSS)  # 3, 6, 7, 8, 9
    assert row.flight_at_act_bytes == 4 * MSS  # 6 is reported by the SACK it acts on


def test_sctp_repeats_when_a_heartbeat_comes_too() -> None:
    story = Story(S)
    for unit in (1, 2, 3):
        story.sends(unit / 100, unit, lost="loss" if unit > 1 else None)
    story.hears(0.51, 1)
    story.sends(1.5, 2)
    story.heartbeat(1.7)
    story.sends(1.7, 3)
    story.hears(2.0, 2)
    story.hears(2.2, 3)
    (row,) = story.episodes()
    assert (row.timeouts, row.retransmitted_pkts, row.detected_by) == (1, 2, "timeout")


def test_loss_on_an_access_link_has_no_name() -> None:
    story = Story(S)
    story.sends(0.0, 1, lost="access")
    story.sends(3.0, 1)
    story.hears(3.5, 1)
    (row,) = story.episodes()
    assert (row.lost_at, row.lost_s, row.lost_pkts) == (None, 0.0, 1)


@given(
    st.lists(st.tuples(st.integers(1, 12), st.sampled_from([None, "queue", "loss"])), max_size=40),
    st.lists(st.integers(0, 12), max_size=20),
)
def test_each_retransmission_is_in_one_episode(
    sent: list[tuple[int, str | None]], heard: list[int]
) -> None:
    story = Story(T)
    for index, (unit, lost) in enumerate(sent):
        story.sends(index / 10, min(unit, story.highest + 1), lost=lost)
    for index, upto in enumerate(heard):
        story.hears(index / 5 + 0.05, min(upto, story.highest))
    rows = story.episodes()
    again = sum(row["retransmission"] for row in story.rows if row.get("point") == "sent")
    assert sum(row.retransmitted_pkts or 0 for row in rows) == again
    ends = [row.recovered_s for row in rows]
    assert all(end is not None for end in ends[:-1])
    assert [row.episode for row in rows] == list(range(len(rows)))


def test_windows_of_acknowledgements_twelve_microseconds_apart_are_told_apart() -> None:
    # What 1 Gbit/s makes of packets of 1500 bytes; what is sent because of one follows in 1 us.
    met = Window(
        t_s=np.array([1.0, 1.000012, 1.000024]),
        cwnd_bytes=np.array([64878.0, 63430.0, 31715.0]),
        ssthresh_bytes=np.array([9e9, 9e9, 31715.0]),
    )
    acted_s = 1.000012 + 0.8e-6
    assert met.before(acted_s) == 63430
    assert met.after(acted_s) == (31715, 31715)
