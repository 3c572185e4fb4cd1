"""What a kernel of modules needs to be a lab: which modules, in which order, as an archive. Pure.

Debian's kernels have everything as modules, compressed; nothing in the lab loads one on demand. So
all that a cell can use is loaded at boot, from an archive of the kernel's own format (cpio, "newc":
Documentation/driver-api/early-userspace/buffer-format.rst of the kernel's source).
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_IFCHR, S_IFDIR, S_IFREG

from model.errors import UnsupportedError

#: To see the image, code and cell: first of all.
SHARED_FOLDERS = ("virtio_pci", "9pnet_virtio", "9p")
#: As testbed/labs/virtual/kernel.config has them for User-Mode Linux.
PROTOCOLS = (
    "sctp",
    "inet_diag",
    "tcp_diag",
    "udp_diag",
    "sctp_diag",
    "af_packet",
    "af_packet_diag",
)
CONGESTION_CONTROLS = (
    "tcp_bic", "tcp_cubic", "tcp_westwood", "tcp_htcp", "tcp_highspeed", "tcp_hybla", "tcp_vegas",
    "tcp_scalable", "tcp_veno", "tcp_illinois", "tcp_bbr",
)  # fmt: skip
PATH = (
    "veth", "ifb", "dummy", "sch_netem", "sch_tbf", "sch_fq", "sch_fq_codel", "sch_red",
    "sch_ingress", "cls_matchall", "cls_u32", "cls_bpf", "cls_flower", "act_mirred", "act_gact",
    "act_bpf",
)  # fmt: skip
WANTED = (*SHARED_FOLDERS, *PROTOCOLS, *CONGESTION_CONTROLS, *PATH)
#: Loaded before what names it, where there is such a module: the kernel asks for it by an alias.
SOFT = {"libcrc32c": ("crc32c_generic", "crc32c_intel")}
_NEEDS = re.compile(rb"(?:\A|\0)depends=([^\0]*)\0")


@dataclass(frozen=True)
class Module:
    """A module's name and its file as the kernel takes it."""

    name: str
    content: bytes


def module_name(file_name: str) -> str:
    """Return the name of the module in a file: ``sch_netem`` of ``sch-netem.ko.xz``."""
    return file_name.partition(".ko")[0].replace("-", "_")


def needed_by(content: bytes) -> tuple[str, ...]:
    """Return the modules that one says it needs (``depends`` of its section ``.modinfo``)."""
    found = _NEEDS.search(content)
    names = found[1].decode("ascii", "replace").split(",") if found else ()
    return tuple(name.replace("-", "_") for name in names if name)


def in_order(
    wanted: Iterable[str], read: Callable[[str], bytes | None], builtin: frozenset[str]
) -> list[Module]:
    """Return the modules wanted and all they need, each after those that it needs.

    Args:
        wanted: modules by name; one that is built into the kernel is not looked for.
        read: gives a module's content, None where there is no such module.
        builtin: what the kernel has without a module.

    Raises:
        UnsupportedError: the kernel has one of them in no way.
    """
    found: dict[str, Module] = {}

    def need(name: str, by: str) -> None:
        if name in found or name in builtin:
            return
        content = read(name)
        if content is None:
            raise UnsupportedError(
                f"the kernel has no module {name}",
                where=by,
                wanted=f"{name}, as module or built in",
            )
        for soft in SOFT.get(name, ()):
            if soft not in builtin and read(soft) is not None:
                need(soft, name)
        for other in needed_by(content):
            need(other, name)
        found[name] = Module(name, content)

    for name in wanted:
        need(name, "what a lab needs")
    return list(found.values())


def of_kernel(folder: Path, unzstd: Callable[[Path], bytes]) -> list[Module]:
    """Return what a lab needs of a kernel's folder of modules (``/lib/modules/VERSION``).

    ``unzstd`` reads a file that zstd has compressed.
    """
    files = {module_name(path.name): path for path in folder.rglob("*.ko*")}
    listed = (folder / "modules.builtin").read_text().split()
    builtin = frozenset(module_name(Path(name).name) for name in listed)

    def read(name: str) -> bytes | None:
        path = files.get(name)
        if path is None:
            return None
        if path.suffix == ".zst":
            return unzstd(path)
        content = path.read_bytes()
        return lzma.decompress(content) if path.suffix == ".xz" else content

    return in_order(WANTED, read, builtin)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file, folder or device of an archive."""

    name: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


#: What the first program finds before it has mounted anything: the kernel's console.
_ROOT = (
    Entry(name="dev", mode=S_IFDIR | 0o755),
    Entry(name="dev/console", mode=S_IFCHR | 0o600, device=(5, 1)),
    Entry(name="root", mode=S_IFDIR | 0o755),
)


def archive_of_modules(modules: Sequence[Module]) -> bytes:
    """Return an archive of modules, in ``/modules``, numbered in the order to load them in."""
    files = (
        Entry(name=f"modules/{number:03}-{one.name}", mode=S_IFREG | 0o644, content=one.content)
        for number, one in enumerate(modules)
    )
    return archive([Entry(name="modules", mode=S_IFDIR | 0o755), *files])


def archive_of_program(content: bytes) -> bytes:
    """Return an archive of the first program, ``/init``, and what it needs to begin."""
    return archive([*_ROOT, Entry(name="init", mode=S_IFREG | 0o755, content=content)])


def archive(entries: Iterable[Entry]) -> bytes:
    """Return an archive; the same entries give the same bytes, without times or owners.

    The kernel unpacks several, one after the other.
    """
    every = [*entries, Entry(name="TRAILER!!!", mode=0)]
    return b"".join(_written(number, entry) for number, entry in enumerate(every, 1))


def _written(number: int, entry: Entry) -> bytes:
    """Return an entry: 13 numbers of 8 hex digits, name and content, each padded to 4 bytes."""
    name = entry.name.encode() + b"\0"
    fields = (
        number, entry.mode, 0, 0, 1, 0, len(entry.content), 0, 0, *entry.device, len(name), 0,
    )  # fmt: skip
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return _padded(head) + _padded(entry.content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
