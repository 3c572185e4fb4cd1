"""The virtual lab with a kernel for packetdrill's scripts, and the scripts of its own source.

The kernel is of any source that the lab builds, with what the scripts need besides
(``packetdrill.config``) and with the tick they are written for, 1000 a second. Studies never run on
it, so it changes no result of theirs. Invariant: scripts and kernel are of one source, and patched
alike.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from model import plain_files
from model.errors import ParseError, UnsupportedError
from testbed.labs.contract.lab import Check, accept_any
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.kernel import SCRIPTS, Config
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine.process import BuildReport

OPTIONS = Path(__file__).with_name("packetdrill.config")
#: The tick is what the scripts' own ``config`` asks for.
CONFIG = Config(tick_hz=1000, options=OPTIONS.read_bytes(), scripts=True)
MOST_SCRIPTS_BYTES = 64 << 20


def ensure(name: str, report: BuildReport, check: Check = accept_any) -> VirtualLab:
    """Return the virtual lab with that kernel, building what is not in the cache yet.

    ``check`` is made before a kernel is built, as of :func:`virtual_lab.ensure_each`.

    Raises:
        StudyError: there is no such kernel.
        BuildError: a patch does not apply, or the source is not to be built.
        UnsupportedError: this machine cannot confine a lab, or the source is not to be had.
    """
    return virtual_lab.ensure(name, report, check, CONFIG)


def own_scripts(lab: VirtualLab) -> dict[str, bytes]:
    """Return the files of the scripts' folder in the kernel's source, by name.

    Raises:
        UnsupportedError: the source is from before there were any.
    """
    archive = plain_files.read_bytes(lab.kernel / SCRIPTS, MOST_SCRIPTS_BYTES)
    files = unpacked(archive, str(lab.kernel / SCRIPTS))
    if not any(name.endswith(".pkt") for name in files):
        raise UnsupportedError(
            "this kernel's source has no packetdrill scripts", where="KERNEL",
            wanted="6.12 or later", got=lab.kernel_version, hint="give FILES of your own",
        )  # fmt: skip
    return files


def unpacked(archive: bytes, where: str) -> dict[str, bytes]:
    """Return the plain files directly below the folder in an archive, by name; pure.

    Raises:
        ParseError: it is no archive.
    """
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
            for member in opened:
                above, _, name = member.name.rpartition("/")
                if member.isfile() and "/" not in above and name:
                    content = opened.extractfile(member)
                    found[name] = content.read() if content else b""
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ParseError("not an archive of scripts", where=where, got=str(error)) from error
    return found
