"""This machine's own files, booted with a lab's kernel: a machine for tests of labs that run on a
machine's kernel. It has SCTP and netem, and may be killed.

Nothing of this machine can be written from inside but one folder. On the virtual lab's kernel it is
up in a second and has no modules; on the stock lab's, Debian's own, it loads modules as any machine
does, in whose time computing takes time, and is up in some ten seconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from testbed.labs.booted import image, lab_code
from testbed.labs.confinement import host_tools
from testbed.labs.confinement.sandbox import Sandbox
from testbed.labs.stock.stock_lab import StockLab
from testbed.labs.virtual.virtual_lab import START_NS, VirtualLab
from testbed.machine import cache
from testbed.machine.process import run_logged
from tests.support.machines import emulated
from tests.support.own_core import own_core

PROJECT = Path(__file__).resolve().parents[3]
#: Where the folder that can be written is, inside.
OUT = Path("/mnt")
LIBRARIES = Path("lib/x86_64-linux-gnu")
#: Of the C library, whose newer one the kernel was linked with; older programs take it as well.
NEWER = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libresolv.so.2")
#: Time jumps when all is idle. Else it goes by: as computing takes it, or not even then.
CLOCKS = {"computing takes time": "time-travel", "computing takes none": "time-travel=inf-cpu"}
MEMORY_BYTES = 2 << 30
#: Preloaded, so that kernels before 6.13 run where processors have larger registers than theirs.
REGISTERS = "host_registers"
COMPILE_WITHIN_S = 60.0
ENTER = """#!/bin/bash
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tracefs tracefs /sys/kernel/tracing
for place in /run /tmp /dev/shm; do mkdir -p $place; mount -t tmpfs tmpfs $place; done
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
chroot {image} ip link set lo up
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
export XDG_CACHE_HOME={cache} PYTHONPATH={project} PYTHON={python} OUT={out} IMAGE={image}
cd /tmp
bash {out}/script >{out}/said 2>&1
echo $? >{out}/status
sync
echo o >/proc/sysrq-trigger
sleep 60
"""


@contextlib.contextmanager
def started(
    lab: VirtualLab | StockLab, folder: Path, script: str, *, clock: str = "computing takes none"
) -> Iterator[Callable[[float], str]]:
    """Let such a machine run a shell script as root, beside whatever is done in the block.

    What is given waits at most so many seconds for its end and returns what it said, or fails with
    that. ``folder`` is ``$OUT`` inside, ``$PYTHON -m testbed`` the project's command, ``$IMAGE``
    the lab's image, whose programs need not be on this machine: ``chroot $IMAGE ip link``.
    ``clock`` is for the virtual lab's kernel.
    """
    root = image.built()
    assert root is not None, "the lab was built before"
    (folder / "script").write_text(script)
    enter = folder / "enter"
    enter.write_text(
        ENTER.format(
            cache=cache.root().parent, project=PROJECT, python=sys.executable, out=OUT, image=root
        )
    )  # fmt: skip
    enter.chmod(0o755)
    argv = (
        emulated.command(lab, folder, OUT, MEMORY_BYTES)
        if isinstance(lab, StockLab)
        else _process(lab, folder, root, clock)
    )
    bound = contextlib.nullcontext() if isinstance(lab, StockLab) else own_core()
    with (folder / "console").open("wb") as console, bound:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
            env={"TMPDIR": "/dev/shm", "HOME": "/dev/shm", "PATH": os.environ["PATH"]},
        )  # fmt: skip

    def said(timeout_s: float) -> str:
        child.wait(timeout_s)
        return _said(folder)

    try:
        yield said
    finally:
        child.kill()  # what runs in it dies with it
        child.wait()


def run(
    lab: VirtualLab | StockLab, folder: Path, script: str, *,
    clock: str = "computing takes none", timeout_s: float = 300.0,
) -> str:  # fmt: skip
    """Run a shell script on such a machine to its end, as :func:`started` does."""
    with started(lab, folder, script, clock=clock) as said:
        return said(timeout_s)


def _said(folder: Path) -> str:
    """Return what the script said; fail with that unless it ended well."""
    said = folder / "said"
    text = said.read_text(errors="replace") if said.exists() else ""
    status = folder / "status"
    console = (folder / "console").read_text(errors="replace")
    assert status.exists(), f"the machine did not end well: {console[-2000:]}{text[-2000:]}"
    assert status.read_text() == "0\n", text[-4000:]
    return text


def _compile_registers(folder: Path, root: Path) -> None:
    """Compile what hands registers back as the virtual lab does, and nothing else of its."""
    shutil.copy(lab_code.GUEST / f"{REGISTERS}.c", folder)
    sandbox = Sandbox(image=root, writable={"/cell": folder}, uid=os.geteuid())
    words = ["cc", "-O2", "-fPIC", "-shared", "-o", f"/cell/{REGISTERS}.so", f"/cell/{REGISTERS}.c"]
    run_logged(
        sandbox.argv(words), log=folder / "compiled", what=REGISTERS, timeout_s=COMPILE_WITHIN_S
    )


def _process(lab: VirtualLab, folder: Path, root: Path, clock: str) -> list[str]:
    """Return what boots a process that is a kernel."""
    _compile_registers(folder, root)
    argv = [str(host_tools.find(host_tools.BUBBLEWRAP)), "--die-with-parent", "--unshare-pid"]
    argv += ["--unshare-net", "--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev"]
    argv += ["--proc", "/proc", "--tmpfs", "/dev/shm", "--bind", str(folder), str(OUT)]
    for name in NEWER:
        argv += ["--ro-bind", str(root / LIBRARIES / name), str(Path("/", LIBRARIES, name))]
    argv += ["--setenv", "LD_PRELOAD", str(OUT / f"{REGISTERS}.so"), "--cap-drop", "ALL", "--"]
    argv += [str(lab.kernel / "linux"), f"mem={MEMORY_BYTES >> 20}M"]
    argv += ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", CLOCKS[clock]]
    argv += [f"time-travel-start={START_NS}", "con=null", "con0=fd:0,fd:1", "panic=-1", "quiet"]
    return [*argv, "umid=quick", f"init={OUT / 'enter'}"]
