"""Run on a machine of its own: try what root may, as the host lab's agent; $OUT/tried.json."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

from model.cell import Limits
from testbed.labs.booted import booting, image, lab_code
from testbed.labs.booted.booting import Boot
from testbed.labs.host import undo
from testbed.labs.host.host_lab import HostLab
from testbed.machine import contents

TRIES = r"""
import ctypes, errno, json, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)

def call(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)

def write(path, text):
    with open(path, "w") as file:
        file.write(text)

def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise OSError(errno.EPERM, done.stderr)

acts = {
    "make a network": lambda: run("ip", "link", "add", "x", "type", "veth", "peer", "name", "y"),
    "mount": lambda: run("mount", "-t", "tmpfs", "tmpfs", "/tmp"),
    "set the date": lambda: call("settimeofday", (ctypes.c_long * 2)(1, 1), None),
    "make a device": lambda: os.mknod("/run/disk", 0o60600, os.makedev(8, 0)),
    "restart": lambda: call("reboot", 0),
    "write sysfs": lambda: write("/sys/kernel/uevent_seqnum", "1"),
    "write a sysctl": lambda: write("/proc/sys/kernel/hostname", "other"),
    "another user's file": lambda: open("/cell/theirs").read(),
}
tried = {}
for name, act in acts.items():
    try:
        act()
        tried[name] = "done"
    except OSError as error:
        tried[name] = errno.errorcode[error.errno]
write("/cell/tried.json", json.dumps(tried))
"""


def main() -> None:
    """Try it all."""
    folder = Path("/tmp/cell")  # in memory, where a file can be another user's
    folder.mkdir()
    theirs = folder / "theirs"
    theirs.write_text("secret")
    theirs.chmod(0)
    os.chown(theirs, 65534, 65534)
    root = image.built()
    assert root is not None
    lab = HostLab(image=root, code=lab_code.ensure(root, contents.digest(root.parent)))
    boot = Boot(
        seed=1, limits=Limits(wall_s=60.0, virtual_s=60.0),
        program=("/usr/bin/python3", "-c", TRIES),
    )  # fmt: skip
    with lab.prepared(), undo.cell_runs(lab.places) as held:
        booting.run_to_end(
            lab.command(folder, boot), boot, folder, threading.Event(), as_root=True, held=[held]
        )
    shutil.copy(folder / "tried.json", os.environ["OUT"])


if __name__ == "__main__":
    main()
