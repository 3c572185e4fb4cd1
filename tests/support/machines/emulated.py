"""This machine's files in QEMU with the stock lab's kernel, which loads its modules when asked.

The first programs and the first root are the stock lab's, but for modules: only those are loaded at
boot that its files come by. Of programs for modules this machine need not have any.
"""

from __future__ import annotations

import re
from pathlib import Path

from testbed.labs.confinement import lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.labs.stock import emulator, modules, stock_lab
from testbed.labs.stock.modules import Module
from testbed.labs.stock.stock_lab import StockLab
from testbed.machine.process import output_of

KERNEL = "6.12"
#: Of the machine's clock; given up then, whatever runs.
LIMIT_S = 1_000_000
#: Where this machine's files are shown to QEMU, which gives them the guest by that name.
HOST = "/gt/host"
#: As any machine has it, unlike the stock lab.
KERNEL_WORDS = [word for word in stock_lab.KERNEL_WORDS if not word.startswith("ipv6")]
PROGRAMS = {"modprobe": "--dirname {out}", "depmod": "--basedir {out}", "rmmod": "", "lsmod": ""}
PROGRAM = """#!/bin/sh
exec {image}/lib64/ld-linux-x86-64.so.2 --library-path {image}/usr/lib/x86_64-linux-gnu \\
	--argv0 {name} {image}/usr/bin/kmod {options} "$@"
"""
#: From the lab's image to this machine: its root, and its programs for modules beside its own.
FIRST = """
set -e
new=/tmp/new
mkdir $new
mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=524288,ro host $new
mount --bind /cell $new{out}
mount -t devtmpfs devtmpfs $new/dev
mount --bind $new/usr/sbin $new/media
mount -t tmpfs tmpfs $new/usr/sbin
ln -s -t $new/usr/sbin $(cd $new/media && printf '/media/%s ' *)
cp --remove-destination /cell/programs/* $new/usr/sbin
echo /cell/for_kernel >/proc/sys/kernel/modprobe
cd $new
mount --move . /
exec chroot . /bin/bash {out}/enter
"""
#: What the kernel runs to have a module loaded: in the first root, where its own programs run.
FOR_KERNEL = """#!/bin/sh
exec modprobe --dirname /cell "$@"
"""
_ENTRY_BYTES = 110


def debian() -> StockLab:
    """Return the lab whose kernel the machine has: Debian's 6.12."""
    lab = stock_lab.ensure_per_kernel([KERNEL], lambda _what, _done: None).by_kernel[KERNEL]
    assert isinstance(lab, StockLab)
    return lab


def read_archive(data: bytes) -> list[Module]:
    """Return the modules of an archive as :func:`modules.archive_of_modules` writes it."""
    found: list[Module] = []
    at = 0
    while True:
        fields = [int(data[i : i + 8], 16) for i in range(at + 6, at + _ENTRY_BYTES, 8)]
        size, name_size = fields[6], fields[11]
        name = data[at + _ENTRY_BYTES :][: name_size - 1].decode()
        if name == "TRAILER!!!":
            return found
        begins = at + (_ENTRY_BYTES + name_size + 3) // 4 * 4
        if match := re.fullmatch(r"modules/\d+-(\w+)", name):
            found.append(Module(match[1], data[begins : begins + size]))
        at = begins + (size + 3) // 4 * 4


def command(lab: StockLab, folder: Path, out: Path, memory_bytes: int) -> list[str]:
    """Return what boots it with ``folder`` to be written, ``out`` inside, and enters there."""
    (folder / "first").write_text(FIRST.format(out=out))
    every = read_archive((lab.kernel / "modules").read_bytes())
    _write_programs(lab, folder, out)
    builtin = frozenset(modules.WANTED) - {one.name for one in every}
    _write_modules(lab, folder, every, builtin)
    of_boot = modules.in_order(
        modules.SHARED_FOLDERS, {one.name: one.content for one in every}.get, builtin
    )
    first_root = folder / "first_root"
    first_root.mkdir(exist_ok=True)
    program = modules.archive_of_program((lab.code / "early").read_bytes())
    (first_root / "archive").write_bytes(program + modules.archive_of_modules(of_boot))
    sandbox = Sandbox(
        image=lab.emulator,
        uid=lab_user.STARTER,  # root has files that nobody else may read
        read_only={
            "/kernel": lab.kernel, "/image": lab.image, "/gt/code": lab.code,
            "/gt/first_root": first_root, HOST: Path("/"),
        },
        writable={"/cell": folder},
    )  # fmt: skip
    words = [*KERNEL_WORDS, "--", str(LIMIT_S), "/bin/bash", "/cell/first"]
    return sandbox.argv([
        emulator.PROGRAM, *stock_lab.machine(memory_bytes)[1:],
        "-fsdev", f"local,id=host,path={HOST},security_model=none,multidevs=remap,readonly=on",
        "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
        "-append", " ".join(words),
    ])  # fmt: skip


def _kmod(lab: StockLab, name: str, options: str) -> str:
    return PROGRAM.format(image=lab.image, name=name, options=options)


def _write_programs(lab: StockLab, folder: Path, out: Path) -> None:
    (folder / "programs").mkdir(exist_ok=True)
    for name, options in PROGRAMS.items():
        _write(folder / "programs" / name, _kmod(lab, name, options.format(out=out)))
    _write(folder / "for_kernel", FOR_KERNEL)


def _write(program: Path, text: str) -> None:
    program.write_text(text)
    program.chmod(0o755)


def _write_modules(
    lab: StockLab, folder: Path, every: list[Module], builtin: frozenset[str]
) -> None:
    """Write the kernel's folder of modules, as its package has it but for those no lab needs."""
    version = re.search(rb"\0vermagic=(\S+)", every[0].content)
    assert version is not None
    release = version[1].decode()
    place = folder / "lib/modules" / release
    place.mkdir(parents=True, exist_ok=True)
    for one in every:
        (place / f"{one.name}.ko").write_bytes(one.content)
    (place / "modules.builtin").write_text("".join(f"{name}.ko\n" for name in sorted(builtin)))
    (place / "modules.order").write_text("")
    output_of(["sh", "-c", _kmod(lab, "depmod", f"--basedir {folder}"), "depmod", release])
