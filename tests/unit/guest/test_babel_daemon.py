"""What becomes of a node's babeld: its first message, its silence and its end are told apart."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mininet_topos.filters.message_counts import Counter
from model.errors import RunError
from probes.process import Running, start
from testbed.guest.radio import wireless
from testbed.guest.routing import babel
from tests.support.fake_lab import Here


@pytest.fixture
def tap() -> Iterator[tuple[socket.socket, socket.socket]]:
    """What messages arrive at, and the end that they are sent into."""
    ends = socket.socketpair(type=socket.SOCK_DGRAM)
    yield ends
    for end in ends:
        end.close()


def running(folder: Path, text: str) -> Running:
    return start(Here(), ["bash", "-c", text, "babeld"], folder / "n1")


def counter(tap: socket.socket) -> Counter:
    return Counter(where="n1 wlan0", tap=tap, map_fd=-1)


@contextlib.contextmanager
def ended(one: Running) -> Iterator[Running]:
    yield one
    one.child.kill()
    one.child.wait()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_first_message_is_awaited(
    tap: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    with ended(running(tmp_path, "exec sleep 60")) as one:
        tap[1].send(b"hello")
        before = descriptors()
        babel.await_begun(one, counter(tap[0]), 60)
        assert descriptors() == before


def test_a_daemon_that_ends_at_once_is_told_with_its_words(
    tap: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    began_s = time.monotonic()
    with pytest.raises(RunError) as caught:
        babel.await_begun(running(tmp_path, "echo no radio >&2; exit 1"), counter(tap[0]), 60)
    assert time.monotonic() - began_s < 30
    assert str(caught.value) == (
        "n1 wlan0: no routing message left: wanted one within 60 s,"
        " got ended with status 1: no radio"
    )


def test_one_that_says_nothing_runs_on(
    tap: tuple[socket.socket, socket.socket], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(babel, "ENDING_S", 0.01)
    with (
        ended(running(tmp_path, "exec sleep 60")) as one,
        pytest.raises(RunError, match=r"wanted one within 0 s, got runs on: no message$"),
    ):
        babel.await_begun(one, counter(tap[0]), 0.05)


def test_one_that_does_not_answer_is_told_with_its_end(tmp_path: Path) -> None:
    one = running(tmp_path, "echo out of memory >&2; kill -KILL $$")
    with pytest.raises(RunError) as caught:
        babel.asked(tmp_path / "socket", "n1", one)
    assert str(caught.value) == (
        "n1: babeld does not answer: got [Errno 2] No such file or directory;"
        " ended with status -9: out of memory"
    )


def test_a_daemon_has_less_time_than_all_that_is_set_up() -> None:
    assert babel.READY_S < wireless.SET_UP_S
