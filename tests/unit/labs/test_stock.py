"""Debian's kernel in QEMU: which package, which modules in which order, how it is started."""

from __future__ import annotations

import contextlib
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from model.cell import Limits
from model.errors import StudyError, UnsupportedError
from testbed.labs import registry
from testbed.labs.booted import debian, lab_code
from testbed.labs.booted.booting import AGENT, Boot
from testbed.labs.confinement import host_tools, lab_user
from testbed.labs.confinement.host_tools import Mirrors
from testbed.labs.stock import distributions, kernel_package, modules, stock_lab
from testbed.labs.stock.stock_lab import StockLab
from tests.support.fake_lab import nothing
from tests.support.recorded import wireless_cell

NAMES = [
    "linux-image-6.12.9+deb13-amd64", "linux-image-6.12.10+deb13-amd64",
    "linux-image-6.12.10+deb13.1-amd64", "linux-image-6.12.10+deb13-cloud-amd64",
    "linux-image-6.9.99+deb13-amd64", "linux-image-7.3.4+deb13-amd64", "linux-image-7.3.4",
    "linux-image-6.1.0-9-amd64", "linux-image-6.1.0-41-amd64", "linux-image-6.1.0-41-rt-amd64",
    "linux-image-6.8.0-41-generic", "linux-image-6.8.0-151-generic", "linux-image-6.17.0-9-generic",
    "linux-image-6.8.0-151-generic-hwe", "linux-image-unsigned-6.8.0-152-generic",
]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("6.12", "6.12.10+deb13.1-amd64"),
        ("6.12.9", "6.12.9+deb13-amd64"),
        ("6.12.10+deb13", "6.12.10+deb13.1-amd64"),
        ("7.3", "7.3.4+deb13-amd64"),
        ("6.2", None),
        ("6.1", "6.1.0-41-amd64"),
        ("6.1.0-9", "6.1.0-9-amd64"),
        ("6.1.0-4", None),
        ("6.8-generic", "6.8.0-151-generic"),
        ("6.8.0-41-generic", "6.8.0-41-generic"),
        ("6.8.0-4-generic", None),
        ("6.17-generic", "6.17.0-9-generic"),
        ("6.1-generic", None),
    ],
)
def test_the_newest_package_of_a_version(version: str, release: str | None) -> None:
    assert distributions.of(version).newest(NAMES, version) == release


@pytest.mark.parametrize(
    "version",
    [
        "6",
        "6.12.",
        "v6.12",
        "6.12;x",
        "6.12+deb13",
        "../6.12",
        "",
        "6.1.0-",
        "generic",
        "6-generic",
    ],
)
def test_what_is_no_version(version: str) -> None:
    with pytest.raises(StudyError, match="no such kernel"):
        registry.named("stock").check_kernel(version)


class Offered:
    def names(self, _pattern: str) -> list[str]:
        return NAMES


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("6.13", r"^KERNEL: Debian 13 .*backports has no .*of version 6\.13.*: 6\.9 6\.12 7\.3"),
        ("6.1.0-40", r"^KERNEL: Debian 12 has no .* of version 6\.1\.0-40.*on offer: 6\.1\b"),
        ("7.1-generic", r"^KERNEL: Ubuntu 24\.04 has no .*7\.1-generic.*on offer: 6\.8 6\.17"),
    ],
)
def test_a_version_that_is_not_offered(version: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        distributions.of(version).release(Offered(), version)  # type: ignore[arg-type]


def test_a_version_that_is_not_offered_is_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @contextlib.contextmanager
    def lists(_sources: list[str]) -> Iterator[Offered]:
        yield Offered()

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(host_tools, "mirrors", lambda: Mirrors("m", "s", ()))
    monkeypatch.setattr(debian, "lists", lists)
    with pytest.raises(UnsupportedError, match=r"of version 6\.13.*on offer: 6\.9 6\.12 7\.3"):
        stock_lab.ensure_per_kernel(["6.13"], nothing)
    assert list(tmp_path.iterdir()) == []


def test_ubuntus_kernels_need_a_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(distributions.UBUNTU_MIRROR, raising=False)
    with pytest.raises(UnsupportedError, match="no mirror of Ubuntu is known: wanted GROUNDTRUTH_"):
        distributions.ubuntu_sources()


def module(*needs: str) -> bytes:
    return b"\x7fELF..\0license=GPL\0depends=" + ",".join(needs).encode() + b"\0name=x\0"


def ordered(
    wanted: list[str], there: Mapping[str, bytes], builtin: frozenset[str] = frozenset()
) -> list[str]:
    return [one.name for one in modules.in_order(wanted, there.get, builtin)]


def test_modules_come_after_those_they_need() -> None:
    there = {
        "sctp": module("libcrc32c", "udp-tunnel"), "libcrc32c": module(), "udp_tunnel": module(),
        "crc32c_generic": module(), "sctp_diag": module("inet_diag", "sctp"), "inet_diag": module(),
    }  # fmt: skip
    assert ordered(["sctp_diag", "sctp"], there) == [
        "inet_diag", "crc32c_generic", "libcrc32c", "udp_tunnel", "sctp", "sctp_diag",
    ]  # fmt: skip
    # What the kernel has built in is neither loaded nor looked for.
    assert ordered(["sctp", "9p"], there, frozenset({"9p", "libcrc32c"})) == ["udp_tunnel", "sctp"]


def test_a_module_that_is_nowhere() -> None:
    with pytest.raises(UnsupportedError, match=r"^what a lab needs: the kernel has no module sctp"):
        ordered(["sctp"], {})
    with pytest.raises(UnsupportedError, match=r"^sctp: the kernel has no module gone"):
        ordered(["sctp"], {"sctp": module("gone")})


def test_modules_of_a_kernel_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "WANTED", ("sch_netem", "veth", "9p"))
    (tmp_path / "modules.builtin").write_text("kernel/net/9p/9p.ko\n")
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "sch-netem.ko.xz").write_bytes(lzma.compress(module()))
    (tmp_path / "net" / "veth.ko").write_bytes(module("sch_netem", "dummy"))
    (tmp_path / "net" / "dummy.ko.zst").write_bytes(b"packed")

    def unzstd(path: Path) -> bytes:
        return {b"packed": module()}[path.read_bytes()]

    found = modules.of_kernel(tmp_path, unzstd)
    assert [(one.name, one.content) for one in found] == [
        ("sch_netem", module()), ("dummy", module()), ("veth", module("sch_netem", "dummy")),
    ]  # fmt: skip


def entries(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Read an archive of the kernel's format: mode and content by name."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        begin = at + (110 + name_size + 3) // 4 * 4
        if name == "TRAILER!!!":
            assert begin == len(archive)
            return found
        found[name] = (mode, archive[begin : begin + size])
        at = begin + (size + 3) // 4 * 4


def test_archives_hold_what_they_are_made_of() -> None:
    made = [modules.Module("b", b"12345"), modules.Module("a", b"")]
    found = entries(modules.archive_of_modules(made))
    assert found == {
        "modules": (0o040755, b""),
        "modules/000-b": (0o100644, b"12345"),
        "modules/001-a": (0o100644, b""),
    }
    first = entries(modules.archive_of_program(b"\x7fELF"))
    assert first["init"] == (0o100755, b"\x7fELF")
    assert first["dev/console"][0] == 0o020600


def test_the_tick_of_a_kernel_is_what_it_was_configured_for(tmp_path: Path) -> None:
    config = "# CONFIG_HZ_100 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\nCONFIG_MACHZ_WDT=m\n"
    (tmp_path / "config").write_text(config)
    assert kernel_package.tick_hz(tmp_path) == 1000


def lab() -> StockLab:
    return StockLab(
        emulator=Path("/c/emulator/root"), kernel=Path("/c/kernel"), first_root=Path("/c/first"),
        image=Path("/c/image/root"), code=Path("/c/code"), kernel_version="6.12",
    )  # fmt: skip


def test_the_command_shows_the_guest_three_folders_and_no_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lab_user, "of_sandbox", lambda: 70_000)
    limits = Limits(wall_s=10, virtual_s=99)
    command = lab().command(Path("/run/cell/.guest"), Boot(seed=1, limits=limits))
    text = " ".join(command)
    assert "--bind /run/cell/.guest /cell" in text
    assert text.count("--bind ") == 1
    for name in ("image", "code"):
        assert f"mount_tag={name}" in text
        assert f"id={name},path={stock_lab.SHARED[name]},security_model=none,readonly=on" in text
    assert "id=cell,path=/cell,security_model=none -device" in text
    assert "-net" not in text.split(" -- ")[-2]
    assert "-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny" in text
    assert command[-1].endswith(f" -- 99 {' '.join(AGENT)}")
    assert "--emulator" in command
    assert "--may-trace" not in command


def test_the_lab_is_known_and_promises_no_bytes() -> None:
    kind = registry.named("stock")
    assert (kind.properties.clock, kind.properties.repeatable) == ("virtual", False)
    cell = replace(wireless_cell(), lab={"name": "stock", "kernel": "6.12"})
    virtual = registry.named("virtual")
    assert kind.limits(cell).virtual_s == virtual.limits(cell).virtual_s
    assert kind.limits(cell).wall_s > virtual.limits(cell).wall_s
    assert kind.cell_wall_s(cell) > virtual.cell_wall_s(cell)


def test_its_first_program_is_compiled_with_the_others() -> None:
    names = [name for name, _ in lab_code.sources()]
    assert "guest/early.c" in names
    assert "/gt/guest/early.c" in lab_code.SCRIPT
