"""A confined program's command line: what it sees, what it may write, whom it runs as."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.confinement import host_tools, lab_user, sandbox
from testbed.labs.confinement.sandbox import Sandbox, Walls

LAB_UID = lab_user.FIRST_UNUSED + 5


@pytest.fixture(autouse=True)
def bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_tools, "find", lambda tool: Path("/usr/bin") / tool.program)


def argv(sandbox: Sandbox) -> list[str]:
    return sandbox.argv(["prog", "--flag"])


def values(words: list[str], option: str, count: int = 1) -> list[tuple[str, ...]]:
    """Return the values of every occurrence of an option."""
    return [tuple(words[i + 1 : i + 1 + count]) for i, word in enumerate(words) if word == option]


WALLS = Walls(
    program="/gt/code/walls", open_files=100, processes=20, file_bytes=3000, may_trace=False
)
PLAIN = Sandbox(image=Path("/img"), uid=lab_user.STARTER)
FULL = Sandbox(
    image=Path("/img"),
    uid=lab_user.STARTER,
    read_only={"/gt/code": Path("/cache/code"), "/etc/resolv.conf": Path("/etc/resolv.conf")},
    writable={"/cell": Path("/run/cell")},
    scratch={"/tmp": 4096},
    env={"LAB_SEED": "1"},
)
OF_ROOT = Sandbox(image=Path("/img"), uid=LAB_UID)
LAB = Sandbox(image=Path("/img"), uid=lab_user.STARTER, walls=WALLS)
LAB_OF_ROOT = Sandbox(image=Path("/img"), uid=LAB_UID, walls=WALLS)


def test_the_whole_command_line() -> None:
    assert " ".join(argv(FULL)) == (
        "/usr/bin/bwrap --unshare-all --cap-drop ALL --die-with-parent --new-session"
        " --hostname lab --ro-bind /img / --dev /dev --proc /proc --tmpfs /gt"
        " --perms 1777 --size 4096 --tmpfs /tmp"
        " --ro-bind /cache/code /gt/code --ro-bind /etc/resolv.conf /etc/resolv.conf"
        " --bind /run/cell /cell --remount-ro /gt"
        f" --clearenv --setenv PATH {sandbox.PATH} --setenv HOME /tmp --setenv LC_ALL C.UTF-8"
        " --setenv LAB_SEED 1 -- prog --flag"
    )


def test_only_the_places_given_are_writable() -> None:
    words = argv(FULL)
    assert values(words, "--bind", 2) == [("/run/cell", "/cell")]
    assert ("/img", "/") in values(words, "--ro-bind", 2)
    assert values(argv(PLAIN), "--bind", 2) == []
    assert values(argv(PLAIN), "--ro-bind", 2) == [("/img", "/")]
    assert not any(word.startswith(("--dev-bind", "--bind-try", "--overlay")) for word in words)


def test_the_image_is_mounted_before_what_lies_on_it() -> None:
    words = argv(FULL)
    number = {words[i + 2]: i for i, w in enumerate(words) if w in ("--ro-bind", "--bind")}
    number |= {words[i + 1]: i for i, w in enumerate(words) if w in ("--tmpfs", "--dev", "--proc")}
    assert min(number, key=lambda place: number[place]) == "/"
    assert number["/gt"] < number["/gt/code"]
    words = argv(PLAIN)
    assert words.index("/dev") < words.index("/dev/shm")


def test_no_network_unless_asked_for() -> None:
    assert "--share-net" not in argv(FULL)
    words = argv(Sandbox(image=Path("/img"), uid=lab_user.STARTER, network=True))
    assert words.index("--share-net") > words.index("--unshare-all")
    assert "--unshare-net" in argv(OF_ROOT)
    assert "--unshare-net" not in argv(Sandbox(image=Path("/img"), uid=LAB_UID, network=True))


def test_root_becomes_another_user_and_no_root_of_a_user_namespace() -> None:
    for box in (OF_ROOT, LAB_OF_ROOT):
        words = argv(box)
        assert not {"--unshare-user", "--unshare-all", "--uid", "--share-net"} & set(words)
        assert {"--unshare-ipc", "--unshare-pid", "--unshare-uts"} <= set(words)
        assert values(words, "--cap-drop") == [("ALL",)]
        assert {name for (name,) in values(words, "--cap-add")} == {
            "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP",
        }  # fmt: skip
    command = argv(OF_ROOT)[argv(OF_ROOT).index("--") + 1 :]
    assert command == [
        "setpriv", f"--reuid={LAB_UID}", f"--regid={LAB_UID}", "--clear-groups", "--inh-caps=-all",
        "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs", "--", "prog", "--flag",
    ]  # fmt: skip


def test_a_lab_begins_with_its_walls() -> None:
    words = argv(LAB)
    limits = ["--open-files", "100", "--processes", "20", "--file-bytes", "3000"]
    assert words[words.index("--") + 1 :] == ["/gt/code/walls", *limits, "--", "prog", "--flag"]
    words = argv(LAB_OF_ROOT)
    assert values(words, "--identity") == [(str(LAB_UID),)]
    traced = Walls(program="/w", open_files=1, processes=1, file_bytes=1, may_trace=True)
    assert "--may-trace" in argv(Sandbox(image=Path("/img"), uid=0, walls=traced))


def test_a_lab_sees_no_process_and_no_device() -> None:
    for box in (LAB, LAB_OF_ROOT):
        assert not {"--proc", "--dev"} & set(argv(box))


def test_the_environment_is_cleared_before_it_is_set() -> None:
    words = argv(FULL)
    assert words.index("--clearenv") < words.index("--setenv")
    names = [name for name, _ in values(words, "--setenv", 2)]
    assert names == ["PATH", "HOME", "LC_ALL", "LAB_SEED"]


def test_all_ends_with_the_parent_and_sees_no_other_process() -> None:
    words = argv(PLAIN)
    assert {"--die-with-parent", "--new-session", "--unshare-all"} <= set(words)
    assert words[-3:] == ["--", "prog", "--flag"]


def test_output_of_runs_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[list[str], float]] = []
    monkeypatch.setattr(sandbox, "output_of", lambda argv, timeout_s: ran.append((argv, timeout_s)))
    FULL.output_of(["true"], 5.0)
    assert ran == [(FULL.argv(["true"]), 5.0)]
