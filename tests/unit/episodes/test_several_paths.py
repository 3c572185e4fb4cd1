"""Repeats of SCTP that a timer of a path began, worked out by hand: over one path and over two."""

from __future__ import annotations

import dataclasses

import polars as pl

from collectors.episodes import sent_data
from collectors.episodes.episodes import episodes
from model import path_names
from model.event import Event
from model.links import FurtherPath
from tests.support.loss_story import CELL, S, Story
from tests.support.recorded import both_ways, direction


def test_what_a_timeout_marked_and_leaves_later_is_no_other_timeout() -> None:
    story = Story(S).began(4, 1, 2, 3, 4)
    story.sends(1.0, 1)
    story.sends(1.0, 2)  # at once: of the same timer
    story.sends(1.01, 3, 4)  # with what the application hands over
    story.hears(1.51, 2)
    story.hears(1.52, 4)
    (row,) = story.episodes()
    assert (row.lost_pkts, row.retransmitted_pkts, row.timeouts) == (4, 4, 1)
    assert (row.detected_by, row.recovered_s) == ("timeout", 1.52)


def test_a_repeat_that_is_lost_is_found_by_another_timeout() -> None:
    story = Story(S).began(2, 1, 2)
    story.sends(1.0, 1, lost="loss")
    story.sends(1.01, 2)
    story.sends(3.0, 1)
    story.hears(3.5, 2)
    (row,) = story.episodes()
    assert (row.timeouts, row.lost_again_pkts, row.recovered_s) == (2, 1, 3.5)


def test_each_path_has_a_timer_of_its_own() -> None:
    story = Story(S).began(2, 1, 2)
    story.sends(1.0, 1, lost="loss")  # over the second path, where it is lost, too
    story.sends(1.01, 2)
    story.sends(1.02, 3, lost="loss")  # new data, over the first again
    story.sends(2.03, 3)  # the first path's timer
    story.sends(2.04, 1)  # the second's: what the first's marked had not gone by it
    story.hears(2.5, 3)
    second = pl.col("t_s").is_between(1.0, 1.019) | (pl.col("t_s") >= 2.0)
    packets = story.packets().with_columns(path=pl.when(second).then(2).otherwise(1))
    (row,) = episodes(CELL, packets, None) or []
    assert (row.timeouts, row.retransmitted_pkts, row.recovered_s) == (3, 4, 2.5)


def test_a_packet_may_be_under_way_as_long_as_on_the_slowest_path_at_its_slowest() -> None:
    alone = sent_data.longest_s(CELL)
    slow = both_ways(direction(owd_s=CELL.wired.bottleneck.forward.owd_s + 1.0))
    network = CELL.wired
    second = FurtherPath(
        source_access=network.source_access, bottleneck=slow,
        destination_access=network.destination_access,
    )  # fmt: skip
    two = dataclasses.replace(
        CELL, network=dataclasses.replace(network, topology="two-paths", further_paths=(second,))
    )
    assert sent_data.longest_s(two) == alone + 1.0
    far = Event(id="far", t_s=1.0, link=path_names.bottleneck(2), way="both", state="",
                rate_bps=None, owd_s=slow.forward.owd_s + 2.0, loss_frac=None)  # fmt: skip
    assert sent_data.longest_s(dataclasses.replace(two, events=(far,))) == alone + 3.0
