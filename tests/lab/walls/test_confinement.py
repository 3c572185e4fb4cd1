"""A guest is root inside, and still reaches nothing of the host but its own cell folder.

Tried from a guest, and in the place of its kernel, which is what a guest that has broken out of
its kernel would be. As root and as an ordinary user.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model import plain_files
from model.cell import Cell, Limits, cell_json
from testbed.campaign import digests
from testbed.labs.booted import booting
from testbed.labs.booted.booting import Boot
from testbed.labs.confinement import lab_user
from testbed.labs.confinement.allowance import LEAST
from testbed.labs.confinement.sandbox import Sandbox
from testbed.labs.confinement.supervise import Ending, supervise
from testbed.labs.stock import emulator, stock_lab
from testbed.labs.stock.stock_lab import StockLab
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support import as_user
from tests.support.machines import emulated

Script = Callable[..., Path]

ATTEMPTS = Path(__file__).with_name("attempts")
BOOT = Boot(seed=1, limits=Limits(wall_s=240.0, virtual_s=600.0))
#: Where the lab's process may make and write files of its own: the cell, and two in memory.
ITS_OWN = ("/cell", "/dev/shm", "/tmp")
#: Where the emulator sees the image, whose Python it has no libraries for.
IMAGE = stock_lab.SHARED["image"]
LIBRARIES, MODULES = f"{IMAGE}/usr/lib/x86_64-linux-gnu", f"{IMAGE}/usr/lib/python3.13"
#: What is run in the place of a lab's kernel, or of the emulator, by its name.
PYTHONS = {
    "/gt/kernel/linux": ["/usr/bin/python3", "-S", "-c", ""],
    emulator.PROGRAM: [
        f"{LIBRARIES}/ld-linux-x86-64.so.2", "--library-path", LIBRARIES,
        f"{IMAGE}/usr/bin/python3.13", "-I", "-S", "-c",
        f"import sys; sys.path[:] = ['{MODULES}', '{MODULES}/lib-dynload']\n",
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def stock() -> StockLab:
    return emulated.debian()


def instead_of_kernel(
    lab: VirtualLab | StockLab, folder: Path, program: str, cancelled: threading.Event
) -> tuple[Ending, str]:
    """Run a Python program with all the lab's walls around it, in its kernel's place."""
    folder.mkdir()
    lab_user.lend(folder, lab_user.of_sandbox())
    argv = lab.command(folder, BOOT)
    (kernel,) = PYTHONS.keys() & {*argv}
    argv = [*argv[: argv.index(kernel)], *PYTHONS[kernel]]
    argv[-1] += program
    if "LD_PRELOAD" in argv:
        argv[argv.index("LD_PRELOAD") + 1] = ""
    console = folder.parent / "console.log"
    ending = supervise(
        argv,
        folder=folder,
        console=console,
        allowed=LEAST,
        deadline_s=time.monotonic() + BOOT.limits.wall_s,
        cancelled=cancelled,
    )
    return ending, console.read_text()


@pytest.fixture(scope="module", params=["lab", "tracing", "stock"])
def tried(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the lab's process could do; one that may trace its own processes, too; an emulator."""
    lab: VirtualLab | StockLab = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp("tried") / "guest"
    program = (ATTEMPTS / "as_the_lab.py").read_text()
    ending, text = instead_of_kernel(lab, folder, program, threading.Event())
    assert ending == Ending(by_itself=True), text
    return dict(json.loads(text))


def test_the_labs_process_opens_nothing_but_its_own_for_writing(tried: dict[str, Any]) -> None:
    assert tried["seen"] > 5000, "the image's files were tried"
    assert set(ITS_OWN) <= set(tried["writable"])
    assert [path for path in tried["writable"] if not path.startswith(ITS_OWN)] == []


def test_the_labs_process_is_refused_what_its_kernel_never_needs(tried: dict[str, Any]) -> None:
    done = {what: how for what, how in tried["attempts"].items() if how == "done"}
    assert done == {}
    assert len(tried["attempts"]) > 50


def test_the_labs_process_is_nobody_and_inherits_nothing(tried: dict[str, Any]) -> None:
    wanted = lab_user.of_sandbox() or os.getuid()
    assert wanted != 0
    assert set(tried["ids"]) == {wanted}
    assert tried["handles"] == []
    assert {*tried["environment"]} - {"LAB_SEED", "LD_PRELOAD"} == {"HOME", "LC_ALL", "PATH", "PWD"}


def test_the_labs_process_sees_no_process_and_no_setting_of_the_host(tried: dict[str, Any]) -> None:
    assert tried["sys"] == []
    # QEMU names its open files by /proc: of the sandbox's own few processes.
    processes = [int(name) for name in tried["proc"] if name.isdecimal()]
    assert len(processes) < 10
    assert processes or tried["proc"] == []


def status_of(name: str, deadline_s: float) -> dict[str, str]:
    """Return what the kernel says of the first process of that name that a descendant started."""
    while time.monotonic() < deadline_s:
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if b"umid=walls-test" in (place / "cmdline").read_bytes():
                    lines = (place / "status").read_text().splitlines()
                    found = dict(line.split(":", 1) for line in lines)
                    if found["Name"].strip() == name and found["Seccomp"].strip() == "2":
                        return {key: value.strip() for key, value in found.items()}
            except OSError:
                continue
        time.sleep(0.02)
    raise AssertionError(f"no process {name} was seen")


def test_the_host_sees_a_process_without_any_right(lab: VirtualLab, tmp_path: Path) -> None:
    folder = tmp_path / "guest"
    program = "import time; time.sleep(60)  # umid=walls-test"
    cancelled = threading.Event()
    running = threading.Thread(
        target=instead_of_kernel, args=(lab, folder, program, cancelled), daemon=True
    )
    running.start()
    try:
        status = status_of("python3", time.monotonic() + 30)
    finally:
        cancelled.set()
        running.join(timeout=30)
    assert "0" not in (status["Uid"] + "\t" + status["Gid"]).split("\t")
    if os.geteuid() == 0:
        uid = status["Uid"].split("\t")[0]
        assert int(uid) >= lab_user.FIRST_OF_CONTAINER
        assert status["Groups"] == ""
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0, kind
    assert status["NoNewPrivs"] == "1"


def test_a_guest_opens_nothing_of_the_host_for_writing(script: Script, tmp_path: Path) -> None:
    outside = tmp_path / "other" / "cell.json"
    outside.parent.mkdir()
    outside.write_text("another cell's")
    program = (ATTEMPTS / "as_the_guest.py").read_text()
    folder = script(
        f"cat > /tmp/try.py <<'END'\n{program}END\n"
        f"exec python3 -S /tmp/try.py {outside.parent} {Path.home()} {tmp_path}\n",
        wall_s=240.0,
    )
    found = json.loads((folder / "found.json").read_text())
    assert found["/"]["seen"] > 5000, "the image's files were tried"
    allowed = {"cell/found.json", "cell/run.sh", "tmp/.uml/lab/pid"}
    assert set(found["/"]["writable"]) <= allowed
    assert "cell/run.sh" in found["/"]["writable"]
    for way in ("/proc", "/sys"):
        assert found[way] is None or found[way]["entries"] == []
    for way in ("/proc/1/root", "/proc/self/cwd", str(outside.parent), str(tmp_path)):
        assert found[way] is None
    for way in ("../..", "/cell/../../.."):
        assert found[way]["entries"] == found["/"]["entries"]
    assert set(found["/dev"]["writable"]) == set()
    home = found[str(Path.home())]
    assert home is None or set(home["entries"]) <= {".bashrc", ".profile"}, "the image's own"
    assert outside.read_text() == "another cell's"


def boots(stock: StockLab, folder: Path, script: str) -> Path:
    """Run a shell script on the emulated machine; return the folder it could write to."""
    folder.mkdir()
    (folder / "run.sh").write_text(script)
    boot = replace(BOOT, program=("/bin/sh", "/cell/run.sh"))
    booting.run_to_end(stock.command(folder, boot), boot, folder, threading.Event())
    return folder


def test_an_emulated_guest_writes_nothing_but_its_own_plain_files(
    stock: StockLab, tmp_path: Path
) -> None:
    folder = boots(
        stock, tmp_path / "guest",
        """
        cd /cell; exec >said 2>&1
        for place in / /gt/code /cell; do
            mount -o remount,rw $place && echo "$place: remounted"
            for way in made etc/passwd usr/bin/env init; do
                if echo x >>$place/$way; then echo "$place: $way was written"; fi
            done
            [ $place = /cell ] || { chmod 777 $place && echo "$place: its mode was changed"; }
        done
        ip -o link; ls /sys/bus/pci/devices | wc -l; ls /dev/vd* /dev/sd* /dev/sr*
        mkdir folder; echo x >file; mv file folder
        ln -s /etc/passwd link; ln folder/file hard; mkfifo pipe; mknod null c 1 3
        chmod 4755 folder/file; chmod 2755 folder; chown 1:1 folder/file
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/cell/socket")'
        python3 -c 'import os; os.setxattr("/cell/said", "user.x", b"y")'
        exit 0
        """,
    )  # fmt: skip
    said = (folder / "said").read_text()
    assert [line for line in said.splitlines() if "was" in line.split()] == [
        "/cell: made was written", "/cell: init was written",
    ], said  # fmt: skip
    assert said.count(": remounted") == 3
    links = {line.split(":")[1].strip() for line in said.splitlines() if "link/" in line}
    assert links == {"lo", "ifb0", "ifb1", "dummy0"}, "the kernel's own"
    assert sorted(path.name for path in folder.rglob("*")) == [
        "file", "folder", "init", "made", "run.sh", "said",
    ]  # fmt: skip
    assert not (folder / "folder" / "file").stat().st_mode & 0o6000
    assert not (folder / "folder").stat().st_mode & 0o6000
    assert os.listxattr(folder / "said") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["console.log", "guest"]


def test_what_a_guest_can_leave_are_plain_files_and_folders(script: Script) -> None:
    folder = script(
        """
        cd /cell && mkdir folder && echo x > file && mv file folder
        ln -s /etc/passwd link; ln folder/file hard; mkfifo pipe; mknod null c 1 3
        chmod 4755 folder/file; chmod 2755 folder; chown 1:1 folder/file
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/cell/socket")'
        exit 0
        """
    )
    assert sorted(path.name for path in folder.rglob("*")) == ["file", "folder", "run.sh"]
    assert not (folder / "folder" / "file").stat().st_mode & 0o6000
    assert not (folder / "folder").stat().st_mode & 0o6000


def test_no_network_of_the_host(script: Script) -> None:
    folder = script("cat /proc/net/dev > /cell/devices; ip route > /cell/routes; exit 0")
    devices = {
        line.split(":")[0].strip()
        for line in (folder / "devices").read_text().splitlines()
        if ":" in line
    }
    assert devices - {"lo", "ifb0", "ifb1", "dummy0"} == set()
    assert (folder / "routes").read_text() == ""


def test_builders_are_nobody_too(lab: VirtualLab) -> None:
    look = Sandbox(image=lab.image).output_of(["cat", "/proc/self/status"])
    status = {line.split(":")[0]: line.split(":", 1)[1].split() for line in look.splitlines()}
    if os.geteuid() == 0:
        assert min(map(int, status["Uid"] + status["Gid"])) >= lab_user.FIRST_OF_CONTAINER
    assert {int(status[kind][0], 16) for kind in ("CapEff", "CapPrm", "CapBnd")} == {0}
    assert status["NoNewPrivs"] == ["1"]
    settings = ["sh", "-c", "for f in $(find /proc/sys -type f); do test -w $f && echo $f; done; :"]
    writable = set(Sandbox(image=lab.image).output_of(settings).split())
    assert not {path for path in writable if path.startswith("/proc/sys/kernel/core")}


@pytest.mark.usefixtures("stock")
def test_all_of_this_as_an_ordinary_user(lab: VirtualLab) -> None:
    if os.geteuid() != 0:
        return  # all of this is
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=/mnt/home/pytest"]
    done = as_user.run(lab, [*words, "-k", "not ordinary", "tests/lab/walls/test_confinement.py"])
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert " skipped" not in done.stdout


RUN = """
import json, sys, threading
from pathlib import Path
from model.cell import from_dict
from testbed.labs.virtual import kernel, virtual_lab
from model.plain_files import sha256
folder = Path(sys.argv[1], "guest")
folder.mkdir(parents=True)
(folder / "cell.json").write_text(sys.argv[2])
lab = virtual_lab.ensure(kernel.DEFAULT, lambda *_: None)
lab.run(from_dict(json.loads(sys.argv[2])), folder, threading.Event())
files = [path for path in folder.rglob("*") if path.is_file()]
print(json.dumps({str(path.relative_to(folder)): sha256(path) for path in files}))
"""


def test_root_and_users_get_the_same_bytes(
    wireless: Callable[..., Cell], run_cell: Callable[..., Path], lab: VirtualLab
) -> None:
    cell = wireless(duration_s=20.0, pcap=True)
    folder = run_cell(cell)
    files = [path for path in folder.rglob("*") if path.is_file()]
    mine = {str(path.relative_to(folder)): plain_files.sha256(path) for path in files}
    if os.geteuid() == 0:
        done = as_user.run(lab, ["-c", RUN, "/mnt/home/run", cell_json(cell)])
        assert done.returncode == 0, done.stdout
        users = json.loads(done.stdout.splitlines()[-1])
    else:
        folder = run_cell(cell, "again")
        files = [path for path in folder.rglob("*") if path.is_file()]
        users = {str(path.relative_to(folder)): plain_files.sha256(path) for path in files}
    assert "raw/pcap/r1.pcap.gz" in mine
    assert digests.differences(mine, users) == []
