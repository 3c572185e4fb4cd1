"""Give changed inputs to every reader, in several processes; keep each that is not refused well.

    .venv/bin/python -m tests.fuzz.fuzz --inputs 1000000 --jobs 2 --seed 1
    .venv/bin/python -m tests.fuzz.fuzz --target "trace pages 7.3" --seed 1 --number 4711

Every input must give a value or a project's error, within LIMIT_S, and no process may come to hold
more than MOST_BYTES. A finding is saved with its input below --into, and named with what makes it
again: target, seed and number fix an input. Exit status 1: there are findings.
"""

from __future__ import annotations

import argparse
import mmap
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

LIMIT_S = 5.0
#: More than LIMIT_S, for what no exception ends: the process is ended.
HANG_S = 60.0
STARTS_WITHIN_S = 300.0
MOST_BYTES = 500 << 20
#: How many inputs in a row are of one target.
CHUNK = 200
MOST_FINDINGS = 200
TELL_EVERY = 10_000
#: Shared by two processes: how many inputs were begun, and when the last one was. Each is stored at
#: once; struct.pack_into would show zeros in between.
Progress: TypeAlias = "memoryview[float]"


class TooLongError(BaseException):
    """An input took longer than LIMIT_S; nothing that is fuzzed can catch this as its own."""


@dataclass(frozen=True)
class Finding:
    """What went wrong with an input."""

    target: str
    number: int
    what: str


def content_of(target: object, name: str, seed: int, number: int) -> bytes:
    """Return an input: the same for the same words."""
    rng = random.Random(f"{seed} {name} {number}")
    return target.mutate(rng, target.corpus)  # type: ignore[attr-defined, no-any-return]


def peak_bytes() -> int:
    """Return the most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLongError


def try_one(target: object, content: bytes, *, memory: bool = True) -> str:
    """Return what is wrong with how a target takes an input; empty if nothing is."""
    from model.errors import GroundtruthError

    signal.signal(signal.SIGPROF, _too_long)  # the time of this process: others may be busy
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        target.run(content)  # type: ignore[attr-defined]
    except GroundtruthError as error:
        return "an error without words" if not str(error) else ""
    except TooLongError:
        return f"longer than {LIMIT_S:g} s"
    except BaseException:  # noqa: BLE001  # whatever it is, it is what is looked for
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    peak = peak_bytes()
    return f"{peak >> 20} MiB of memory" if memory and peak > MOST_BYTES else ""


def limit_memory() -> None:
    """Let this process ask for no more than MOST_BYTES above what it has mapped."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _child(
    scratch: Path, tasks: Sequence[tuple[str, int, int]], seed: int, out: int, progress: Progress
) -> None:
    """Try tasks from where ``progress`` says; tell of findings through a pipe."""
    from tests.fuzz.targets import targets

    warnings.simplefilter("ignore")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    place = Path(tempfile.mkdtemp(dir=scratch))
    readers = targets(place)
    limit_memory()
    first = progress[0]
    done = 0
    for name, start, count in tasks:
        for number in range(start, start + count):
            done += 1
            if done <= first:
                continue
            progress[0], progress[1] = done, time.monotonic()
            what = try_one(readers[name], content_of(readers[name], name, seed, number))
            if done % TELL_EVERY == 0:
                sys.stderr.write(f"{done} inputs, {peak_bytes() >> 20} MiB\n")
            if what:
                sys.stderr.write(f"{name} {number}: {what.strip()[-300:]}\n")
                os.write(out, f"{name}\0{number}\0{what[-3000:]}\1".encode(errors="replace"))
                if "memory" in what:
                    return
    shutil.rmtree(place, ignore_errors=True)


def work(tasks: Sequence[tuple[str, int, int]], seed: int, scratch: Path) -> list[Finding]:
    """Try tasks in a process, and in another where that one died or hung; return findings."""
    total = sum(count for _, _, count in tasks)
    findings: list[Finding] = []
    progress: Progress = memoryview(mmap.mmap(-1, 16)).cast("d")
    while True:
        progress[1] = time.monotonic() + STARTS_WITHIN_S
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            status = 70
            try:
                os.close(read_end)
                _child(scratch, tasks, seed, write_end, progress)
                status = 0
            except BaseException:  # noqa: BLE001  # a child ends here, whatever happens
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(write_end)
        said, status, why = _watched(child, read_end, progress)
        for line in said.split(b"\1")[:-1]:
            name, number, what = line.decode().split("\0", 2)
            findings.append(Finding(name, int(number), what))
        reached = int(progress[0])
        if status:
            died = why or f"the process died: status {status}"
            findings.append(Finding(*_task(tasks, reached), died))
        if reached in (0, total) or len(findings) > MOST_FINDINGS:
            return findings


def _watched(child: int, pipe: int, progress: Progress) -> tuple[bytes, int, str]:
    """Wait for a child; return what it said, its status, and why it was ended if it was."""
    said, why = b"", ""
    os.set_blocking(pipe, False)
    while True:
        time.sleep(0.05)
        pid, status = os.waitpid(child, os.WNOHANG)
        while piece := _read(pipe):
            said += piece
        if pid:
            os.close(pipe)
            return said, status, why
        if time.monotonic() - progress[1] > HANG_S:
            os.kill(child, signal.SIGKILL)
            why = f"hung for {HANG_S:g} s"


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 1 << 16)
    except BlockingIOError:
        return b""


def _task(tasks: Sequence[tuple[str, int, int]], reached: int) -> tuple[str, int]:
    for name, start, count in tasks:
        if reached <= count:
            return name, start + max(0, reached - 1)
        reached -= count
    raise AssertionError("past the end")


def planned(shares: dict[str, int], inputs: int) -> list[tuple[str, int, int]]:
    """Return which numbers of which target to try, in chunks, so many in all."""
    whole = sum(shares.values())
    counts = {name: max(1, inputs * share // whole) for name, share in shares.items()}
    counts[max(counts, key=lambda name: counts[name])] += max(0, inputs - sum(counts.values()))
    return [
        (name, start, min(CHUNK, count - start))
        for name, count in counts.items()
        for start in range(0, count, CHUNK)
    ]


def _save(into: Path, finding: Finding, content: bytes) -> None:
    into.mkdir(parents=True, exist_ok=True)
    stem = f"{finding.target.replace(' ', '-').replace('/', '-')}-{finding.number}"
    (into / f"{stem}.input").write_bytes(content)
    (into / f"{stem}.txt").write_text(finding.what, errors="replace")


def _in_process(function: Callable[..., Any], *words: Any) -> Any:
    """Return what a function gives in a new process: this one forks, so it must have no threads."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, words)


def _shares(scratch: Path) -> dict[str, int]:
    from tests.fuzz.targets import targets

    return {name: target.share for name, target in targets(scratch).items()}


def _saved(scratch: Path, into: Path, seed: int, findings: Sequence[Finding]) -> None:
    from tests.fuzz.targets import targets

    readers = targets(scratch)
    for one in findings:
        _save(into, one, content_of(readers[one.target], one.target, seed, one.number))


def _tried(scratch: Path, name: str, seed: int, number: int) -> tuple[bytes, str]:
    from tests.fuzz.targets import targets

    target = targets(scratch)[name]
    content = content_of(target, name, seed, number)
    return content, try_one(target, content)


def main(words: Sequence[str]) -> int:
    """Fuzz, print how it went, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default="", help="only this one")
    parser.add_argument("--number", type=int, default=-1, help="only this input of it")
    parser.add_argument("--into", type=Path, default=Path("results/fuzz"))
    chosen = parser.parse_args(words)
    os.environ["POLARS_MAX_THREADS"] = "1"
    scratch = Path(tempfile.mkdtemp(prefix="gt-fuzz-", dir="/dev/shm"))
    try:
        if chosen.number >= 0:
            content, what = _in_process(
                _tried, scratch / "one", chosen.target, chosen.seed, chosen.number
            )
            sys.stdout.write(f"{content!r:.2000}\n{what or 'well'}\n")
            return bool(what)
        shares = _in_process(_shares, scratch / "known")
        shares = {name: n for name, n in shares.items() if chosen.target in ("", name)}
        return _fuzz(chosen, shares, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fuzz(chosen: argparse.Namespace, shares: dict[str, int], scratch: Path) -> int:
    tasks = planned(shares, chosen.inputs)
    random.Random(chosen.seed).shuffle(tasks)
    began_s = time.monotonic()
    pipes = []
    for job in range(chosen.jobs):
        read_end, write_end = os.pipe()
        if os.fork() == 0:
            os.close(read_end)
            findings = work(tasks[job :: chosen.jobs], chosen.seed, scratch)
            with os.fdopen(write_end, "w", errors="replace") as out:
                for one in findings:
                    out.write(f"{one.target}\0{one.number}\0{one.what}\1")
            os._exit(0)
        os.close(write_end)
        pipes.append(read_end)
    found: list[Finding] = []
    for pipe in pipes:
        with os.fdopen(pipe) as file:
            for line in file.read().split("\1")[:-1]:
                name, number, what = line.split("\0", 2)
                found.append(Finding(name, int(number), what))
        os.wait()
    if found:
        _in_process(_saved, scratch / "saved", chosen.into, chosen.seed, found)
    kinds = Counter((one.target, one.what.strip().rpartition("\n")[2][:150]) for one in found)
    for (name, what), count in sorted(kinds.items()):
        sys.stdout.write(f"{count} x {name}: {what}\n")
    took_s = time.monotonic() - began_s
    total = sum(count for _, _, count in tasks)
    sys.stdout.write(
        f"{total} inputs, {len(shares)} targets, seed {chosen.seed}, {chosen.jobs} processes, "
        f"{took_s:.0f} s: {len(found)} findings{f' in {chosen.into}' if found else ''}\n"
    )
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
