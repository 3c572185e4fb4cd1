"""Whether a machine kept up with real time, told by its own figures."""

from __future__ import annotations

import dataclasses
import math
import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import LateError, RunError
from testbed.labs.booted import booting
from testbed.labs.host import punctuality
from testbed.labs.host.host_lab import HostLab
from testbed.labs.host.punctuality import Counters
from testbed.labs.host.undo import Places
from tests.support.recorded import wireless_cell


def counted(at_s: float, waited_s: float = 0.0, *stolen_s: float) -> Counters:
    stolen = {f"cpu{n}": one_s for n, one_s in enumerate(stolen_s or (0.0,))}
    return Counters(monotonic_s=at_s, waited_s=waited_s, stolen_s=stolen)


def agreement(late_s: list[float], after: Counters, rtt_s: float = 0.1) -> dict[str, bool | None]:
    made = punctuality.judge(late_s, counted(0), after, rtt_s)
    return {check.check: check.agrees for check in made}


def test_a_machine_that_keeps_up_is_believed() -> None:
    assert agreement([0.0005] * 1000, counted(10, 1.0, 0.1)) == {
        "timers in time": True,
        "longest stall": True,
        "processor time taken by others": True,
        "waiting for a processor": True,
    }


@pytest.mark.parametrize(
    ("late_s", "after", "wrong"),
    [
        ([0.0] * 989 + [0.0011] * 11, counted(10), "timers in time"),
        ([0.0] * 999 + [0.021], counted(10), "longest stall"),
        # One of two that has nothing else to do: a mean would not tell.
        ([0.0], counted(10, 0.0, 0.3, 0.0), "processor time taken by others"),
        ([0.0], counted(10, waited_s=6.0), "waiting for a processor"),
    ],
)
def test_one_that_does_not_is_told_by_its_figure(
    late_s: list[float], after: Counters, wrong: str
) -> None:
    assert [name for name, agrees in agreement(late_s, after).items() if not agrees] == [wrong]


def test_a_watch_that_never_woke_tells_of_nothing_good() -> None:
    assert set(agreement([], counted(10)).items()) >= {
        ("timers in time", False), ("longest stall", False),
    }  # fmt: skip


def test_no_path_is_so_long_that_a_retransmission_timer_may_expire() -> None:
    assert agreement([0.09], counted(1), rtt_s=2.0)["longest stall"]
    assert not agreement([0.11], counted(1), rtt_s=2.0)["longest stall"]


def test_steal_is_read_of_each_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  1 2 3 4 5 6 7 800 0 0\ncpu0 1 2 3 4 5 6 7 100 0 0\n"
                    "cpu1 1 2 3 4 5 6 7 700 0 0\nintr 1\n")  # fmt: skip
    monkeypatch.setattr(punctuality, "STAT", stat)
    ticks = os.sysconf("SC_CLK_TCK")
    assert punctuality.counters().stolen_s == {"cpu0": 100 / ticks, "cpu1": 700 / ticks}


def test_on_a_long_path_a_hundredth_of_a_round_trip_may_be_late() -> None:
    late_s = [0.004] * 100
    assert not agreement(late_s, counted(1), rtt_s=0.1)["timers in time"]
    assert agreement(late_s, counted(1), rtt_s=0.5)["timers in time"]


def test_what_the_kernel_does_not_tell_is_unknown() -> None:
    after = dataclasses.replace(counted(10, math.nan), stolen_s={})
    found = agreement([0.0], after)
    assert found["waiting for a processor"] is None
    assert found["processor time taken by others"] is None


def ends_badly(*_: object, **__: object) -> float:
    raise RunError("flow T began late", where="cell x", hint="more processors")


@pytest.mark.parametrize("was_late", [True, False])
def test_what_fails_on_a_late_machine_is_told_as_lateness(
    was_late: bool, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = HostLab(image=tmp_path, code=tmp_path, places=places)
    monkeypatch.setattr(booting, "run_to_end", ends_badly)
    late_s = [0.5] if was_late else [0.0]
    monkeypatch.setattr(
        punctuality.Watch, "checks",
        lambda *_: punctuality.judge(late_s, counted(0), counted(1), 0.1),
    )  # fmt: skip
    places.folder.mkdir()
    wanted = LateError if was_late else RunError
    with pytest.raises(wanted, match=r"flow T began late.*more processors") as caught:
        lab.run(wireless_cell(), tmp_path, threading.Event())
    assert ("did not keep up: timers in time" in str(caught.value)) is was_late
    over = threading.Event()
    over.set()
    with pytest.raises(RunError):
        lab.run(wireless_cell(), tmp_path, over)


@given(st.lists(st.floats(0, 1), min_size=1), st.floats(0, 0.1))
def test_being_later_is_never_better(late_s: list[float], more_s: float) -> None:
    later = [one + more_s for one in late_s]
    assert (
        agreement(late_s, counted(1))["timers in time"]
        or not (agreement(later, counted(1))["timers in time"])
    )


def test_what_was_slept_through_was_late_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    watch = punctuality.Watch()

    def sleep(_: float) -> None:
        now_s[0] += 1.0
        watch._over.set()

    monkeypatch.setattr(time, "sleep", sleep)
    watch._look()
    # Of 50 times that were due in that second each was late, the first by nearly all of it.
    assert 49 <= len(watch.late_s) <= 50  # by rounding
    assert watch.late_s[0] == pytest.approx(0.98)
    assert watch.late_s == sorted(watch.late_s, reverse=True)


def test_a_watch_sees_how_late_it_wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(punctuality, "EVERY_S", 0.001)
    with punctuality.Watch() as watch:
        while len(watch.late_s) < 5:
            pass
    assert all(late >= 0 for late in watch.late_s)
    assert {check.where for check in watch.checks(wireless_cell())} == {"the machine"}
