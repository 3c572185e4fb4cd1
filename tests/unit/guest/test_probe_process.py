"""Traffic programs on a host: readiness is awaited, ends are awaited, failures speak."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model.errors import RunError
from probes.process import Running, start, start_ready, wait_until
from tests.support.fake_lab import Here


class Host(Here):
    """Remembers whether something was started inside."""

    inside = False
    times = 0

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        self.inside, self.times = True, self.times + 1
        try:
            yield
        finally:
            self.inside = False


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def stem(tmp_path: Path) -> Path:
    return tmp_path / "T.sender"


def script(text: str) -> list[str]:
    return ["bash", "-c", text, "probe"]  # sh may know no descriptors above 9


def end(running: Running) -> None:
    running.child.kill()
    running.child.wait()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_output_and_words_go_to_files_of_the_stem(host: Host, stem: Path, tmp_path: Path) -> None:
    running = start(host, script("echo '{}'; echo words >&2; cat"), stem)
    running.finish(5)
    assert (running.out, running.err) == (tmp_path / "T.sender.jsonl", tmp_path / "T.sender.err")
    assert running.out.read_text() == "{}\n"
    assert running.words() == "words"
    assert running.label() == "src1: bash"
    assert (host.inside, host.times) == (False, 1)


def test_a_program_that_is_not_there_is_named(host: Host, stem: Path) -> None:
    with pytest.raises(RunError, match=r"^src1: cannot start /gt/nonesuch: got .*No such file"):
        start(host, ["/gt/nonesuch"], stem)
    assert not host.inside


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exit 3", "src1: bash: ended with status 3: got no message"),
        ("echo refused >&2; exit 1", "src1: bash: ended with status 1: got refused"),
        ("kill -KILL $$", "src1: bash: ended with status -9: got no message"),
    ],
)
def test_a_failure_is_told_in_the_programs_own_words(
    host: Host, stem: Path, text: str, message: str
) -> None:
    with pytest.raises(RunError) as caught:
        start(host, script(text), stem).finish(5)
    assert str(caught.value) == message


def test_only_the_last_words_are_told(host: Host, stem: Path) -> None:
    running = start(host, script("seq 1000 >&2; exit 1"), stem)
    assert running.wait(5) == 1
    assert len(running.words()) == 600
    assert running.words().endswith("\n999\n1000")


def test_a_deadline_is_named_and_leaves_the_program(host: Host, stem: Path) -> None:
    running = start(host, script("echo slow >&2; exec sleep 60"), stem)
    before, began_s = descriptors(), time.monotonic()
    with pytest.raises(RunError, match=r"^src1: bash: did not end: wanted within 0 s, got "):
        running.wait(0.05)
    assert time.monotonic() - began_s < 3
    assert running.child.poll() is None
    running.terminate()
    assert running.wait(5) == -15
    running.terminate()  # nothing is left to be told
    assert descriptors() == before


def test_a_deadline_in_the_past_is_now(host: Host, stem: Path) -> None:
    running = start(host, script("exec sleep 60"), stem)
    with pytest.raises(RunError, match="did not end"):
        running.wait(-5)
    end(running)


#: The last two words of a started program are "--ready-fd" and the descriptor's number.
READY = "echo >&$2; echo ready; exec sleep 60"


def test_ready(host: Host, stem: Path) -> None:
    before = descriptors()
    running = start_ready(host, script(READY), stem, 5)
    assert running.argv[-2] == "--ready-fd"
    assert running.child.poll() is None
    end(running)
    assert descriptors() == before


@pytest.mark.parametrize(
    ("text", "timeout_s", "got"),
    [
        ("echo in use >&2; exit 1", 5, "in use"),
        ("exit 0", 5, "no message"),
        ("echo waiting >&2; exec sleep 60", 0.2, "waiting"),
        # It closes the descriptor without a word.
        ('eval "exec $2>&-"; exec sleep 60', 5, "no message"),
    ],
)
def test_not_ready_is_named_and_the_program_told_to_end(
    host: Host, stem: Path, text: str, timeout_s: float, got: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Running] = []

    def remember(*args: Any) -> Running:
        started.append(start(*args))
        return started[0]

    monkeypatch.setattr("probes.process.start", remember)
    before = descriptors()
    with pytest.raises(RunError) as caught:
        start_ready(host, script(text), stem, timeout_s)
    assert str(caught.value) == (
        f"src1: bash: did not become ready: wanted within {timeout_s:.0f} s, got {got}"
    )
    assert started[0].wait(5) in (0, 1, -15)
    assert descriptors() == before


def test_a_program_that_cannot_start_is_never_ready(host: Host, stem: Path) -> None:
    before = descriptors()
    with pytest.raises(RunError, match="cannot start"):
        start_ready(host, ["/gt/nonesuch"], stem, 5)
    assert descriptors() == before


def test_wait_until() -> None:
    wait_until(0)
    when_ns = time.monotonic_ns() + 20_000_000
    wait_until(when_ns)
    assert time.monotonic_ns() >= when_ns


def test_a_program_that_ended_before_it_was_told_to_is_still_named(host: Host, stem: Path) -> None:
    running = start(host, script("echo crashed >&2; exit 1"), stem)
    assert running.wait(5) == 1
    running.terminate()
    with pytest.raises(RunError, match=r"^src1: bash: ended with status 1: got crashed$"):
        running.finish(5)
