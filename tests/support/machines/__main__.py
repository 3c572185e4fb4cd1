"""Boot a fresh machine and keep it until the end of this command: python -m tests.support.machines

    boot RELEASE [--share FOLDER]... [--share-writable FOLDER]... [--cpus N] [--memory-mib N]
    build RELEASE...

RELEASE is bookworm, trixie or noble. Needs ssh (openssh-client) and mke2fs (e2fsprogs).
"""

from __future__ import annotations

import argparse
import functools
import shlex
import signal
import sys
import time
from pathlib import Path

from model.errors import GroundtruthError
from tests.support.machines import disk, machine


def main(argv: list[str]) -> int:
    """Do what the command line asks; return the exit status."""
    parser = argparse.ArgumentParser(prog="tests.support.machines", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    boot = commands.add_parser("boot", help="boot one; it ends with this command")
    boot.add_argument("release", choices=sorted(disk.RELEASES))
    boot.add_argument("--share", action="append", default=[], type=Path, metavar="FOLDER")
    boot.add_argument("--share-writable", action="append", default=[], type=Path, metavar="FOLDER")
    boot.add_argument("--cpus", type=int, default=machine.CPUS)
    boot.add_argument("--memory-mib", type=int, default=machine.MEMORY_BYTES >> 20)
    build = commands.add_parser("build", help="make disks, or find them in the cache")
    build.add_argument("releases", nargs="+", choices=sorted(disk.RELEASES))
    given = parser.parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        if given.command == "build":
            for release in given.releases:
                sys.stdout.write(f"{disk.ensure(disk.named(release), _report)}\n")
        else:
            _boot(given)
    except GroundtruthError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    except KeyboardInterrupt:
        pass
    return 0


@functools.cache  # each line once
def _report(what: str, done_frac: float) -> None:
    sys.stderr.write(f"{what}: {done_frac:.0%}\n")


def _boot(given: argparse.Namespace) -> None:
    shares = [machine.Share(folder.resolve()) for folder in given.share]
    shares += [machine.Share(folder.resolve(), writable=True) for folder in given.share_writable]
    started_s = time.monotonic()
    with machine.booted(
        given.release, _report,
        shares=shares, cpus=given.cpus, memory_bytes=given.memory_mib << 20,
    ) as one:  # fmt: skip
        sys.stdout.write(
            f"booted in {time.monotonic() - started_s:.0f} s; its console: {one.console}\n"
            f"a shell:  {shlex.join(one.ssh)}\n"
            f"Ansible:  .venv/bin/ansible-playbook -i {one.inventory} ...\n"
        )
        sys.stdout.flush()
        one.process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
