"""What stands in for ns-2 reaches nothing of the machine but its cell, and has its limits."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from testbed.labs.confinement import lab_user
from testbed.labs.confinement.allowance import LEAST
from testbed.labs.confinement.supervise import Ending, supervise
from testbed.labs.ns2 import ns2_lab
from testbed.labs.ns2.kind import NS2
from testbed.labs.ns2.ns2_lab import Ns2Lab

#: The root has no interpreter but ns-2's own, Tcl, so this is what a hostile one would try.
ATTEMPTS = """
set seen {}
foreach place {/ /dev /dev/shm /proc /sys /run /etc /usr/bin /tmp /gt /gt/code /cell} {
    if {![catch {set f [open $place/made w]}]} {
        puts $f x; close $f
        lappend seen $place
    }
}
puts "writes $seen"
set devices [glob -nocomplain -types {b c} /dev/*]
puts "devices [llength $devices] processes [llength [glob -nocomplain /proc/*]]"
puts "memory [catch {string repeat x 2000000000} why]"
for {set n 0} {$n < 1000 && ![catch {open /gt/code/dumbbell.tcl}]} {incr n} {}
puts "files $n"
puts "network [catch {socket -server none -myaddr 127.0.0.1 0}] [catch {socket 10.0.2.2 80}]"
puts "status [catch {exec cat /proc/self/status}]"
"""


def instead_of_ns2(lab: Ns2Lab, folder: Path, script: str) -> tuple[Ending, str]:
    """Run Tcl in ns-2 with all that is around a cell."""
    folder.mkdir()
    (folder / "try.tcl").write_text(script)
    lab_user.lend(folder, lab_user.of_sandbox())
    argv = lab.command(folder)
    argv = [*argv[: argv.index("ns")], "ns", "/cell/try.tcl"]
    console = folder.parent / "console.log"
    ending = supervise(
        argv, folder=folder, console=console, allowed=LEAST, cancelled=threading.Event(),
        deadline_s=time.monotonic() + 240.0,
    )  # fmt: skip
    return ending, console.read_text()


@pytest.fixture(scope="module")
def simulator() -> Ns2Lab:
    lab = NS2.ready([NS2.kernel_instead("")], lambda _what, _done: None)
    assert isinstance(lab, Ns2Lab)
    return lab


def test_the_simulators_process_has_its_cell_and_little_else(
    simulator: Ns2Lab, tmp_path: Path
) -> None:
    ending, text = instead_of_ns2(simulator, tmp_path / "guest", ATTEMPTS)
    assert ending.by_itself, text
    said = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    assert said["writes"].split() == ["/tmp", "/cell"], text
    assert said["devices"] == "0 processes 0"
    assert 0 < int(said["files"]) < ns2_lab.OPEN_FILES
    # Its loopback is its own; there is no way out.
    assert said["network"].split()[1] == "1"
    assert (tmp_path / "guest" / "made").read_text() == "x\n"


def test_a_simulator_that_fills_memory_or_the_disk_is_ended(
    simulator: Ns2Lab, tmp_path: Path
) -> None:
    ending, text = instead_of_ns2(
        simulator, tmp_path / "memory", "while 1 {append all [string repeat x 10000000]}"
    )
    assert ending.by_itself, text
    assert ns2_lab.WELL not in text
    (tmp_path / "disk").mkdir()
    endless = "set f [open /cell/made w]; while 1 {puts $f [string repeat x 1000000]}"
    ending, _ = instead_of_ns2(simulator, tmp_path / "disk" / "guest", endless)
    assert ending.excess is not None
    assert "wrote too much" in ending.excess.what


def test_a_simulators_process_has_no_right(simulator: Ns2Lab, tmp_path: Path) -> None:
    folder = tmp_path / "guest"
    running = threading.Thread(
        target=instead_of_ns2, args=(simulator, folder, "# here\nafter 5000"), daemon=True
    )
    running.start()
    found = status(folder, time.monotonic() + 60)
    running.join(timeout=60)
    ids = {int(one) for kind in ("Uid", "Gid") for one in found[kind].split()}
    assert 0 not in ids
    if os.geteuid() == 0:
        assert min(ids) >= lab_user.FIRST_OF_CONTAINER
        assert found["Groups"].strip() == ""
    assert {int(found[kind], 16) for kind in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert found["NoNewPrivs"].strip() == "1"


def status(folder: Path, deadline_s: float) -> dict[str, str]:
    """Return what the kernel says of the simulator's process that has this folder."""
    inode = None
    while time.monotonic() < deadline_s:
        for place in Path("/proc").glob("[0-9]*"):
            try:
                lines = dict(
                    line.split(":", 1) for line in (place / "status").read_text().splitlines()
                )
                if lines["Name"].strip() != "ns":
                    continue
                inode = (place / "root" / "cell").stat().st_ino
            except OSError:
                continue
            if inode == folder.stat().st_ino:
                return lines
        time.sleep(0.02)
    raise AssertionError("no process ns was seen")
