"""A confined program's command line: what it sees, what it may write, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testbed.labs import host_tools, sandbox
from testbed.labs.sandbox import Sandbox

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_tools, "find", lambda tool: Path("/usr/bin") / tool.program)


def argv(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, *, root: bool = False) -> list[str]:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    return sandbox.argv(["prog", "--flag"])


def values(words: list[str], option: str, count: int = 1) -> list[tuple[str, ...]]:
    """Return the values of every occurrence of an option."""
    return [tuple(words[i + 1 : i + 1 + count]) for i, word in enumerate(words) if word == option]


PLAIN = Sandbox(image=Path("/img"))
FULL = Sandbox(
    image=Path("/img"),
    read_only={"/gt/code": Path("/cache/code"), "/etc/resolv.conf": Path("/etc/resolv.conf")},
    writable={"/cell": Path("/run/cell")},
    scratch=("/tmp",),
    env={"LAB_SEED": "1"},
)


def test_the_whole_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert " ".join(argv(FULL, monkeypatch)) == (
        "/usr/bin/bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL"
        " --hostname lab"
        " --ro-bind /img / --dev /dev --proc /proc"
        " --tmpfs /dev/shm --tmpfs /gt --tmpfs /tmp"
        " --ro-bind /cache/code /gt/code --ro-bind /etc/resolv.conf /etc/resolv.conf"
        " --bind /run/cell /cell"
        f" --clearenv --setenv PATH {sandbox.PATH} --setenv HOME /tmp --setenv LC_ALL C.UTF-8"
        " --setenv LAB_SEED 1 -- prog --flag"
    )


def test_only_the_places_given_are_writable(monkeypatch: pytest.MonkeyPatch) -> None:
    words = argv(FULL, monkeypatch)
    assert values(words, "--bind", 2) == [("/run/cell", "/cell")]
    assert ("/img", "/") in values(words, "--ro-bind", 2)
    assert values(argv(PLAIN, monkeypatch), "--bind", 2) == []
    assert values(argv(PLAIN, monkeypatch), "--ro-bind", 2) == [("/img", "/")]
    assert not any(word.startswith(("--dev-bind", "--bind-try", "--overlay")) for word in words)


def test_the_image_is_mounted_before_what_lies_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    words = argv(FULL, monkeypatch)
    at = {words[i + 2]: i for i, w in enumerate(words) if w in ("--ro-bind", "--bind")}
    at |= {words[i + 1]: i for i, w in enumerate(words) if w in ("--tmpfs", "--dev", "--proc")}
    assert min(at, key=lambda place: at[place]) == "/"
    assert at["/dev"] < at["/dev/shm"]
    assert at["/gt"] < at["/gt/code"]


def test_no_network_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--share-net" not in argv(FULL, monkeypatch)
    words = argv(Sandbox(image=Path("/img"), network=True), monkeypatch)
    assert words.index("--share-net") > words.index("--unshare-all")


def test_root_drops_into_a_user_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    words = argv(PLAIN, monkeypatch, root=True)
    assert "--unshare-user" in words
    assert (values(words, "--uid"), values(words, "--gid")) == ([("0",)], [("0",)])
    assert values(words, "--cap-drop") == [("ALL",)]
    assert "--unshare-user" not in argv(PLAIN, monkeypatch)


def test_the_environment_is_cleared_before_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    words = argv(FULL, monkeypatch)
    assert words.index("--clearenv") < words.index("--setenv")
    names = [name for name, _ in values(words, "--setenv", 2)]
    assert names == ["PATH", "HOME", "LC_ALL", "LAB_SEED"]


def test_all_ends_with_the_parent_and_sees_no_other_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = argv(PLAIN, monkeypatch)
    assert {"--die-with-parent", "--new-session", "--unshare-all"} <= set(words)
    assert words[-3:] == ["--", "prog", "--flag"]


def test_output_of_runs_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[list[str], float]] = []
    monkeypatch.setattr(sandbox, "output_of", lambda argv, timeout_s: ran.append((argv, timeout_s)))
    FULL.output_of(["true"], 5.0)
    assert ran == [(FULL.argv(["true"]), 5.0)]
