"""The kernel for scripts, and the scripts that are kept beside it."""

from __future__ import annotations

import io
import re
import tarfile
from dataclasses import replace

import pytest

from model.errors import ParseError
from testbed.labs.virtual import kernel as lab_kernel
from testbed.labs.virtual import patched_kernel
from testbed.labs.virtual.kernel import Config
from testbed.packetdrill import kernel


def archive(*members: tuple[str, bytes | None]) -> bytes:
    """Return a tar of these files; None is a link to /etc/passwd."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            info.size = len(content or b"")
            opened.addfile(info, io.BytesIO(content or b""))
    return made.getvalue()


def test_plain_files_of_the_folder_are_taken() -> None:
    given = archive(
        ("packetdrill/a.pkt", b"a"), ("packetdrill/below/b.pkt", b"b"), ("packetdrill/c.sh", None)
    )
    assert kernel.unpacked(given, "here") == {"a.pkt": b"a"}


@pytest.mark.parametrize("damaged", [b"no archive", b"", b"\0" * 100 + b"x" * 600])
def test_what_is_no_archive_is_refused(damaged: bytes) -> None:
    with pytest.raises(ParseError, match="here: not an archive of scripts"):
        kernel.unpacked(damaged, "here")


def test_a_kernel_of_its_own_is_built() -> None:
    for name in ("7.3", "7.3+sctp-4th-duplicate", "7.3-g123456789abc"):
        assert patched_kernel.key(name, "i", kernel.CONFIG) not in (
            patched_kernel.key(name, "i"),
            patched_kernel.key(name, "i", Config(tick_hz=kernel.CONFIG.tick_hz)),
            patched_kernel.key(name, "i", replace(kernel.CONFIG, options=b"")),
        )


def test_no_option_is_said_twice() -> None:
    words = re.findall(r"(?m)^(CONFIG_\w+)=", kernel.OPTIONS.read_text())
    lab = {
        name for path in lab_kernel.INPUTS for name in re.findall(r"CONFIG_\w+", path.read_text())
    }
    assert words
    assert not lab.intersection(words)
