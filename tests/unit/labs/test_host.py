"""The host lab's own parts: what is undone, what is loaded, and whether a machine kept up."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import LateError, RunError, StudyError, UnsupportedError
from testbed.labs import registry
from testbed.labs.booted import booting
from testbed.labs.booted.booting import Boot
from testbed.labs.host import kernel_modules, kind, machine_facts, punctuality, undo
from testbed.labs.host.host_lab import HostLab
from testbed.labs.host.punctuality import Counters
from testbed.labs.host.undo import Journal, Places
from testbed.labs.remote.on_machine import links
from tests.support.recorded import wireless_cell


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A machine with two settings and a place for recordings."""
    found = Places(tmp_path / "run", tmp_path / "sys", tmp_path / "tracing")
    (found.sysctls / "net/core").mkdir(parents=True)
    (found.sysctls / "net/core/rmem_max").write_text("212992\n")
    (found.sysctls / "net/core/wmem_max").write_text("4096\t16384\n")
    (found.tracing / "instances").mkdir(parents=True)
    return found


def value(places: Places, name: str) -> str:
    return (places.sysctls / name).read_text().strip()


def said_by(act: Callable[[Callable[[str], None]], None]) -> list[str]:
    lines: list[str] = []
    act(lines.append)
    return lines


WANTED = {"net/core/rmem_max": "67108864", "net/core/wmem_max": "4096 16384"}


def test_a_setting_is_set_and_given_back(places: Places) -> None:
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        assert value(places, "net/core/rmem_max") == "67108864"
        journal = undo.read(places)
        assert journal is not None
        # What was as wanted, but for white space, is left alone.
        assert journal.sysctls == {"net/core/rmem_max": ("212992", "67108864")}
        said = said_by(lambda say: undo.undo(places, say))
    assert said == ["sysctl net/core/rmem_max: 212992 again"]
    assert value(places, "net/core/rmem_max") == "212992"
    assert not places.folder.exists()


def test_a_limit_that_is_higher_stays(places: Places) -> None:
    (places.sysctls / "net/core/rmem_max").write_text("134217728\n")
    (places.sysctls / "net/core/wmem_max").write_text("2048\t32768\n")
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        assert value(places, "net/core/rmem_max") == "134217728"
        assert value(places, "net/core/wmem_max") == "4096 32768"
        said = said_by(lambda say: undo.undo(places, say))
    assert said == ["sysctl net/core/wmem_max: 2048 32768 again"]


def test_what_somebody_else_set_since_is_left(places: Places) -> None:
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        (places.sysctls / "net/core/rmem_max").write_text("5\n")
        said = said_by(lambda say: undo.undo(places, say))
    assert said == ["sysctl net/core/rmem_max: left at 5, which somebody else set"]
    assert value(places, "net/core/rmem_max") == "5"


def test_an_undo_that_was_cut_off_is_done_again(places: Places) -> None:
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        (places.sysctls / "net/core/rmem_max").write_text("212992\n")  # and then killed
    assert places.folder.exists(), "the journal stays"
    with undo.alone(places):
        assert said_by(lambda say: undo.undo(places, say)) == []
    assert not places.folder.exists()


def test_a_change_is_written_down_before_it_is_made(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def killed(path: Path, text: str) -> int:
        if path.is_relative_to(places.sysctls):
            raise KeyboardInterrupt
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", killed)
    with undo.alone(places):
        with pytest.raises(KeyboardInterrupt):
            undo.set_sysctls(WANTED, Journal(), places)
        journal = undo.read(places)
        assert journal is not None
        assert "net/core/rmem_max" in journal.sysctls


def test_recordings_of_killed_cells_are_removed_and_no_others(places: Places) -> None:
    for name in ("groundtruth-4026532", "somebody", "groundtruth"):
        (places.tracing / "instances" / name).mkdir()
    with undo.alone(places):
        Journal().write(places)
        undo.undo(places, lambda _: None)
    left = sorted(path.name for path in (places.tracing / "instances").iterdir())
    assert left == ["groundtruth", "somebody"]


def test_what_cannot_be_undone_is_told_and_stays_written_down(places: Places) -> None:
    place = places.sysctls / "net/core/rmem_max"
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        place.unlink()
        place.mkdir()
        with pytest.raises(RunError, match=r"not all .*rmem_max: .*Is a directory.*clean --lab"):
            undo.undo(places, lambda _: None)
        assert undo.read(places) is not None
        place.rmdir()  # a setting goes with its module
        undo.undo(places, lambda _: None)
        assert undo.read(places) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sysctls": 1}', '{"sysctls": {"a": ["b"]}}'])
def test_a_journal_that_cannot_be_read_is_an_error(places: Places, text: str) -> None:
    with undo.alone(places):
        (places.folder / undo.JOURNAL).write_text(text)
        with pytest.raises(RunError, match="cannot read what a run changed"):
            undo.undo(places, lambda _: None)


@pytest.mark.parametrize("journal", [undo.JOURNAL, links.JOURNAL])
def test_a_journal_whose_writer_was_killed_leaves_nothing(places: Places, journal: str) -> None:
    with undo.alone(places):
        (places.folder / f".{journal}").write_text("{")
    assert not places.folder.exists()


def test_a_setting_the_kernel_has_not_is_an_error(places: Places) -> None:
    with undo.alone(places), pytest.raises(UnsupportedError, match="cannot set sysctl net/none"):
        undo.set_sysctls({"net/none": "1"}, Journal(), places)


def test_one_run_has_the_machine_at_a_time(places: Places) -> None:
    under_way = pytest.raises(
        UnsupportedError, match="another run of the host or remote lab is under way"
    )
    with undo.alone(places), under_way, undo.alone(places):
        pass
    with undo.alone(places):
        pass


def test_who_cleans_waits_for_a_killed_runs_cells(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "CELLS_END_WITHIN_S", 0.2)
    places.folder.mkdir()
    with undo.cell_runs(places):
        still = pytest.raises(UnsupportedError, match="cells of a killed run are still running")
        with still, undo.alone(places):
            pass
    with undo.alone(places):
        pass
    assert not places.folder.exists()


MODULES = ("veth 36864 0 - Live 0x0\n", "sctp 430080 4 - Live 0x0\n", "libcrc32c 12288 1 sctp\n")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """A kernel with three modules, of which libcrc32c cannot go before sctp."""
    loaded = tmp_path / "modules"
    loaded.write_text("".join(MODULES))
    monkeypatch.setattr(kernel_modules, "LOADED", loaded)
    ran: list[tuple[str, ...]] = []

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        ran.append(argv)
        lines = loaded.read_text().splitlines(keepends=True)
        status, error, out = 0, "", ""
        if argv[0] == "rmmod":
            busy = argv[1] == "libcrc32c" and any(line.startswith("sctp") for line in lines)
            status = int(busy)
            if not busy:
                loaded.write_text("".join(x for x in lines if not x.startswith(argv[1] + " ")))
        elif "--show-depends" in argv:
            if "sctp" in argv:
                out = "insmod /lib/libcrc32c.ko.xz\ninsmod /lib/sctp.ko.xz opt=1\nbuiltin ipv4\n"
            if "dummy" in argv and (tmp_path / "forbidden").exists():
                out += "install /bin/true \n"
        elif "sch_netem" in argv and not (tmp_path / "forbidden").exists():
            status, error = 1, "x\nmodprobe: FATAL: Module sch_netem not found.\n"
        return subprocess.CompletedProcess(argv, status, out, error)

    monkeypatch.setattr(kernel_modules, "_run", run)
    return ran


def test_modules_go_in_the_order_in_which_they_can(kernel: list[tuple[str, ...]]) -> None:
    assert kernel_modules.unload({"sctp", "libcrc32c", "never_there"}) == (
        ["sctp", "libcrc32c"], [],
    )  # fmt: skip
    assert kernel_modules.loaded() == {"veth"}


def test_a_module_in_use_stays_and_is_named(
    kernel: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_modules, "UNLOAD_WITHIN_S", 0.0)
    assert kernel_modules.unload({"libcrc32c"}) == ([], ["libcrc32c"])


def test_only_modules_that_were_not_there_are_unloaded(
    kernel: list[tuple[str, ...]], places: Places
) -> None:
    with undo.alone(places):
        Journal(modules_before=["veth"], modules_ours=["veth", "sctp", "libcrc32c"]).write(places)
        assert said_by(lambda say: undo.undo(places, say)) == ["modules unloaded: sctp libcrc32c"]
    assert kernel_modules.loaded() == {"veth"}


def test_a_module_of_links_stays(kernel: list[tuple[str, ...]]) -> None:
    # Unloading it would take the links of others, which do not count as its users.
    assert kernel_modules.unload({"veth", "sctp"}) == (["sctp"], ["veth"])
    assert ("rmmod", "veth") not in kernel


def test_what_a_module_needs_is_known_and_what_is_loaded_on_demand(
    kernel: list[tuple[str, ...]],
) -> None:
    found = kernel_modules.with_those_they_need()
    assert found[:2] == ["libcrc32c", "sctp"]
    assert "tcp_vegas" in found


def test_a_rule_in_place_of_a_module_is_told(
    kernel: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "forbidden").touch()
    monkeypatch.setattr(kernel_modules, "LOCKDOWN", tmp_path / "none")
    rule = "install dummy /bin/true"
    with pytest.raises(UnsupportedError, match=rf"got dummy: {rule} \(an administrator's rule"):
        kernel_modules.load()
    assert kernel_modules.missing() == {"dummy": rule}


def test_no_links_are_made_for_everybody(kernel: list[tuple[str, ...]]) -> None:
    with contextlib.suppress(UnsupportedError):
        kernel_modules.load()
    assert ("modprobe", "ifb", "numifbs=0") in kernel
    assert ("modprobe", "dummy", "numdummies=0") in kernel


def test_all_are_asked_for_together(
    kernel: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_modules, "WANTED", ("veth", "ifb", "dummy", "sctp"))
    kernel_modules.load()
    assert len(kernel) == 4


@pytest.mark.parametrize("has", [True, False])
def test_a_kernel_that_takes_no_modules_has_sctp_built_in_or_not_at_all(
    has: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(_family: int, _kind: int, protocol: int) -> SimpleNamespace:
        assert protocol == socket.IPPROTO_SCTP
        if not has:
            raise OSError(93, "Protocol not supported")
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(kernel_modules, "LOADED", tmp_path / "none")
    monkeypatch.setattr(kernel_modules, "socket", SimpleNamespace(
        socket=opened, AF_INET=2, SOCK_STREAM=1, IPPROTO_SCTP=socket.IPPROTO_SCTP))  # fmt: skip
    assert kernel_modules.missing() == ({} if has else {"sctp": kernel_modules.NO_MODULES})
    if not has:
        with pytest.raises(UnsupportedError, match=r"kernel has not what a lab needs.*install a"):
            kernel_modules.load()


def test_a_kernel_without_a_module_is_told_by_its_name(kernel: list[tuple[str, ...]]) -> None:
    with pytest.raises(
        UnsupportedError, match=r"wanted sch_netem, got sch_netem: modprobe: FATAL: .*extra"
    ):
        kernel_modules.load()


@pytest.mark.parametrize(
    ("why", "wanted"),
    [
        ("could not insert 'sctp': Key was rejected by service", "Secure Boot"),
        ("could not insert 'sctp': Operation not permitted", "container"),
        ("Module sctp not found in directory", "linux-modules-extra"),
    ],
)
def test_each_refusal_has_its_advice(
    why: str, wanted: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel_modules, "LOCKDOWN", tmp_path / "none")
    assert wanted in kernel_modules.advice(why)


def test_lockdown_is_read_by_its_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_modules, "LOCKDOWN", tmp_path / "lockdown")
    (tmp_path / "lockdown").write_text("none [integrity] confidentiality\n")
    assert kernel_modules.lockdown() == "integrity"
    assert "Secure Boot" in kernel_modules.advice("anything")


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


@pytest.mark.parametrize(
    ("release", "asked", "wanted"),
    [
        ("6.12.117+deb13-amd64", "6.12", True), ("6.12.117+deb13-amd64", "6.12.117", True),
        ("6.12.117+deb13-amd64", "6.1", False), ("6.1.0-49-amd64", "6.1", True),
        ("6.1.0-49-amd64", "6.12", False), ("6.8.0-90-generic", "6.8.0-90", True),
    ],
)  # fmt: skip
def test_the_running_kernel_and_no_other(
    release: str, asked: str, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "uname", lambda: dataclasses.make_dataclass("U", ["release"])(release))
    assert machine_facts.is_asked(asked) is wanted
    of_lab = registry.named("host")
    if wanted:
        assert of_lab.kernel_instead(asked) == asked
    else:
        with pytest.raises(UnsupportedError, match=r"this machine's kernel and no other.*stock"):
            of_lab.kernel_instead(asked)
    assert of_lab.kernel_instead("") == ".".join(release.split(".")[:2])


def test_without_root_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for act in (
        lambda: kind.HOST.ready([], lambda *_: None),
        lambda: kind.HOST.clean(lambda _: None),
    ):
        with pytest.raises(UnsupportedError, match=r"wanted root, got user 1000 \(sudo make"):
            act()


def test_an_agent_has_the_same_environment_where_a_lab_boots() -> None:
    init = Path(booting.__file__).with_name("boot").joinpath("init.c").read_text()
    given = re.search(r"env\[\] = \{(.*?)NULL", init, re.DOTALL)
    assert given is not None
    wanted = [f"{name}={value}" for name, value in booting.ENVIRONMENT.items()]
    assert re.findall(r'"(.*?)"', given[1]) == wanted


def test_of_roots_rights_an_agent_has_those_it_needs(tmp_path: Path) -> None:
    argv = HostLab(image=tmp_path, code=tmp_path).command(
        tmp_path, Boot(seed=1, limits=wireless_cell().limits)
    )
    assert argv[argv.index("--cap-drop") + 1] == "ALL"
    kept = {argv[at + 1] for at, word in enumerate(argv) if word == "--cap-add"}
    assert {f"CAP_{name}" for name in ("NET_ADMIN", "SYS_ADMIN")} <= kept
    unneeded = ("SYS_MODULE", "SYS_RAWIO", "SYS_BOOT", "SYS_TIME", "MKNOD", "DAC_READ_SEARCH",
                "SYS_PTRACE", "DAC_OVERRIDE", "SETUID", "KILL")  # fmt: skip
    assert not kept & {f"CAP_{name}" for name in unneeded}


def test_a_cells_limits_have_room_for_real_time() -> None:
    cell = wireless_cell()
    limits = kind.HOST.limits(cell)
    assert limits.wall_s > limits.virtual_s > cell.duration_s
    assert kind.HOST.cell_wall_s(cell) > cell.duration_s
    assert kind.HOST.slots() == 1


def test_other_labs_leave_nothing_to_undo() -> None:
    for name in ("virtual", "stock"):
        assert said_by(registry.named(name).clean) == []
        assert registry.named(name).kernel_instead("") == ""
    with pytest.raises(StudyError):
        registry.named("stock").kernel_instead("old")
