"""Which scripts are run, what the lab is shown of the folders they lie in, and their cases.

Invariants: of a user's folders the lab is shown scripts and helpers (``.pkt``, ``.sh``, ``.py``)
and nothing else; a link is followed only to such a file below the same folders; every name in the
lab is the name here, at the same place relative to its script.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from model import plain_files
from model.errors import StudyError

SCRIPT = ".pkt"
SHOWN = frozenset({SCRIPT, ".sh", ".py"})
#: A script calls its helpers as ``./defaults.sh`` or ``../common/defaults.sh``, so far up.
COMMON, LEVELS_UP = "common", 3
MOST_SCRIPTS, MOST_FILES, MOST_BYTES, MOST_DEPTH = 5000, 20_000, 64 << 20, 8
MOST_SCRIPT_BYTES = 4 << 20
#: Where the lab sees them.
IN_LAB = "/gt/scripts"

_V4 = (
    "--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0",
    "--remote_ip=192.0.2.1", "-D", "TFO_COOKIE=3021b9d889017eeb", "-D",
    "TFO_COOKIE_ZERO=b7c12350a90dc8f5",
)  # fmt: skip
_ERRORS_V6 = ("-D", "CMSG_LEVEL_IP=SOL_IPV6", "-D", "CMSG_TYPE_RECVERR=IPV6_RECVERR")
#: The ways the kernel runs each of its scripts, and packetdrill's words for them. The cookies are
#: those of the key that the scripts set.
WAYS = {
    "ipv4": (
        "--ip_version=ipv4", *_V4, "-D", "CMSG_LEVEL_IP=SOL_IP", "-D",
        "CMSG_TYPE_RECVERR=IP_RECVERR",
    ),
    "ipv6": (
        "--ip_version=ipv6", "--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1",
        "--gateway_ip=fd3d:0a0b:17d6:8888::1", "--remote_ip=fd3d:fa7b:d17d::1", "-D",
        "TFO_COOKIE=c1d1e9742a47a9bc", "-D", "TFO_COOKIE_ZERO=82af1a8f9a205c34", *_ERRORS_V6,
    ),
    "ipv4-mapped-ipv6": ("--ip_version=ipv4-mapped-ipv6", *_V4, *_ERRORS_V6),
}  # fmt: skip
_ASKED = re.compile(rb"^--ip_version=(\S*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Script:
    """A script: what it is called, its folder and name in the lab, and how it is to be run."""

    name: str
    folder: str
    file: str
    ways: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A script run one way; ``number`` counts all cases from 1."""

    number: int
    script: Script
    way: str

    def words(self, program: str, more: Sequence[str] = ()) -> list[str]:
        """Return the command line in the lab."""
        file = self.script.file
        if file.startswith("-"):  # it would be taken for an option
            file = f"./{file}"
        return [program, *WAYS.get(self.way, ()), *more, file]

    @property
    def place(self) -> str:
        """Return a folder's name that no other case has: nothing of a hostile name is in it."""
        plain = re.sub(r"[^0-9A-Za-z._-]+", "_", self.script.file.removesuffix(SCRIPT))[:80]
        return f"{self.number:04}-{plain}-{re.sub(r'[^0-9a-z-]+', '_', self.way)[:20]}"


@dataclass(frozen=True, kw_only=True)
class Scripts:
    """Scripts, and the files the lab is shown for them, by their place below ``IN_LAB``."""

    scripts: tuple[Script, ...]
    files: dict[str, bytes]

    def cases(self) -> list[Case]:
        """Return every case, in order."""
        pairs = [(script, way) for script in self.scripts for way in script.ways]
        return [
            Case(number=number, script=script, way=way)
            for number, (script, way) in enumerate(pairs, 1)
        ]

    def write(self, target: Path) -> None:
        """Write the files into a folder that the lab is shown."""
        for name, content in self.files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755)
        for place, _, _ in os.walk(target):
            Path(place).chmod(0o755)


def ways(content: bytes, usual: Sequence[str] = tuple(WAYS)) -> tuple[str, ...]:
    """Return how a script is run: as its own option says, else in the usual ways; pure."""
    asked = [word.decode(errors="replace") for word in _ASKED.findall(content)]
    return tuple(dict.fromkeys(asked)) if asked else tuple(usual)


def of_kernel(files: dict[str, bytes]) -> Scripts:
    """Return a kernel's own scripts; pure.

    Kernels before 6.14 run each script over IPv4 and over IPv6 only, as their runner says.
    """
    runner = files.get("ksft_runner.sh", b"")
    usual = [way for way in WAYS if f"[{way}]".encode() in runner] or ["ipv4", "ipv6"]
    found = tuple(
        Script(name=name, folder=IN_LAB, file=name, ways=ways(files[name], usual))
        for name in sorted(files) if name.endswith(SCRIPT)
    )  # fmt: skip
    return Scripts(scripts=found, files=dict(files))


def of_user(given: Sequence[Path]) -> Scripts:
    """Return the scripts that are named, and those in the folders that are named.

    Raises:
        StudyError: there is no such file, it is no script, or there are too many.
    """
    paths = list(dict.fromkeys(path for one in given for path in _named(one)))
    if not paths:
        raise StudyError(
            "no scripts", where=" ".join(map(str, given)), wanted=f"files that end in {SCRIPT}",
            got="none",
        )  # fmt: skip
    folders = list(dict.fromkeys(path.parent.resolve() for path in paths))
    files: dict[str, bytes] = {}
    found = []
    places = {}
    for number, folder in enumerate(folders):
        places[folder] = _show(folder, str(number), files)
    for path in paths:
        place = places[path.parent.resolve()]
        content = files.get(f"{place}/{path.name}")
        if content is None:
            raise _unreadable(path, "a plain file of at most 4 MiB")
        found.append(
            Script(
                name=str(path), folder=f"{IN_LAB}/{place}", file=path.name, ways=ways(content)
            )
        )  # fmt: skip
    return Scripts(scripts=tuple(found), files=files)


def _unreadable(path: Path, wanted: str, got: str = "something else") -> StudyError:
    return StudyError("cannot read a script", where=str(path), wanted=wanted, got=got)


def _named(given: Path) -> list[Path]:
    """Return the scripts that a name stands for, in order."""
    if plain_files.is_folder(given):
        return _in_folder(given)
    _check_file(given, "a file or a folder")
    if given.suffix != SCRIPT:
        raise _unreadable(given, f"a name that ends in {SCRIPT}", given.name)
    return [given]


def _check_file(path: Path, wanted: str) -> None:
    if not plain_files.is_file(path):
        got = "no such file"
        if os.path.lexists(path):
            got = plain_files.kind(path.lstat().st_mode)
        raise _unreadable(path, wanted, got)


def _in_folder(folder: Path) -> list[Path]:
    found = []
    for place, below, names in os.walk(folder):
        below.sort()
        if len(Path(place).relative_to(folder).parts) >= MOST_DEPTH:
            below.clear()
        for name in sorted(names):
            path = Path(place, name)
            if path.suffix == SCRIPT:
                _check_file(path, "a plain file")
                found.append(path)
        if len(found) > MOST_SCRIPTS:
            raise StudyError(
                "too many scripts", where=str(folder), wanted=f"at most {MOST_SCRIPTS}", got="more"
            )
    return found


def _show(folder: Path, number: str, files: dict[str, bytes]) -> str:
    """Add what the lab is shown of a script's folder and its helpers'; return its place."""
    base = [folder, *folder.parents][min(LEVELS_UP, len(folder.parents))]
    above = [folder.parents[level] / COMMON for level in range(min(LEVELS_UP, len(folder.parents)))]
    for one in (folder, *above):
        place = f"{number}/{one.relative_to(base)}"
        for path in _helpers(one, base):
            try:
                files[f"{place}/{path.name}"] = plain_files.read_bytes(
                    path.resolve(), MOST_SCRIPT_BYTES
                )
            except OSError:
                continue  # a script that is not shown is told of; a helper is missed in the lab
        _check(files, folder)
    return f"{number}/{folder.relative_to(base)}"


def _helpers(folder: Path, base: Path) -> Iterable[Path]:
    if not plain_files.is_folder(folder):
        return
    for path in sorted(folder.iterdir()):
        if path.suffix in SHOWN and path.resolve().is_relative_to(base.resolve()):
            yield path


def _check(files: dict[str, bytes], folder: Path) -> None:
    if len(files) > MOST_FILES or sum(map(len, files.values())) > MOST_BYTES:
        raise StudyError(
            "too much to show the lab", where=str(folder),
            wanted=f"at most {MOST_FILES} files and {MOST_BYTES >> 20} MiB", got="more",
        )  # fmt: skip
