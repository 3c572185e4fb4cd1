"""Packages as an apt of our own sees them: with sources that are named, or the lab's image's, and
lists in a folder that is thrown away. This machine's lists and packages are not looked at.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.labs.booted import image
from testbed.labs.confinement import host_tools
from testbed.machine import cache
from testbed.machine.process import output_of, run_logged

LISTS_TIMEOUT_S = DOWNLOAD_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Lists:
    """Lists of packages just read, in a folder."""

    folder: Path

    def names(self, pattern: str) -> list[str]:
        """Return the packages whose whole name matches."""
        search = ["apt-cache", *self._config(), "search", "--names-only", pattern]
        return re.findall(r"^(\S+) - ", output_of(search), re.MULTILINE)

    def download(self, package: str, target: Path) -> Path:
        """Fetch a package into a folder; return the file."""
        run_logged(
            ["env", f"--chdir={target}", "apt-get", "-q", *self._config(), "download", package],
            log=target / "download.log",
            what=f"fetching {package}", timeout_s=DOWNLOAD_TIMEOUT_S,
        )  # fmt: skip
        (found,) = target.glob(f"{package}_*.deb")
        return found

    def _config(self) -> list[str]:
        return ["-c", str(self.folder / "apt.conf")]


@contextlib.contextmanager
def lists(sources: Sequence[str] = ()) -> Iterator[Lists]:
    """Read the lists of these sources for the block; those of the lab's image unless told."""
    cache.root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".lists-", dir=cache.root()) as text:
        folder = Path(text)
        for name in ("lists/partial", "archives/partial", "empty.d"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        options = apt_options(folder, sources)
        (folder / "apt.conf").write_text(
            f'{options}Dir::State::lists "{folder}/lists";\nDir::State::status "{folder}/status";\n'
            f'Dir::Cache "{folder}";\nDir::Etc::sourceparts "{folder}/empty.d";\n'
        )
        run_logged(
            ["apt-get", "-q", "-c", str(folder / "apt.conf"), "update"],
            log=folder / "update.log",
            what="reading the lists of kernels",
            timeout_s=LISTS_TIMEOUT_S,
        )
        yield Lists(folder)


def of_debian_12() -> list[str]:
    """Return the lines of apt's sources for Debian 12, from the mirrors that the image comes from.

    Which Debian this machine is does not matter: each has the keys of both.
    """
    mirrors = host_tools.mirrors()
    security = [f"deb {mirrors.security} bookworm-security main"] if mirrors.security else []
    return [f"deb {mirrors.main} bookworm main", *security]


def apt_options(folder: Path, sources: Sequence[str] = ()) -> str:
    """Write sources, the image's unless told, into a folder; return an apt's options for them."""
    mirrors = host_tools.mirrors()
    place = folder / "sources.list"
    place.write_text("".join(f"{line}\n" for line in sources or image.sources(mirrors)))
    options = [option.rstrip(";") for option in mirrors.apt_options]
    options += ['APT::Sandbox::User "root"', 'Acquire::Languages "none"']
    options += [f'Dir::Etc::sourcelist "{place}"']
    return "".join(f"{option};\n" for option in options)


def on_offer(versions: Sequence[str]) -> str:
    """Return which versions of kernels can be had, as a hint."""
    return f"on offer: {' '.join(versions)}" if versions else "no mirror of apt's sources answers"


def number(version: str) -> list[int]:
    """Return what versions of kernels are sorted by."""
    return [int(part) for part in re.findall(r"[0-9]+", version)]
