"""Build the lab's root image once: Debian 13 with the lab's packages, set up by Ansible.

The packages are those of the Ansible role that provisions any lab machine; the image's own
playbook then runs inside the new root and verifies it. As root this needs mmdebstrap only;
without root it also needs sub-uids (``newuidmap``), because dpkg gives files to other users.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tarfile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from model.errors import UnsupportedError
from testbed.labs.confinement import host_tools
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport, Watch, namespaces, run_logged

SUITE = "trixie"
BUILD_TIMEOUT_S = 1200.0
IMAGE_BYTES = 1_500_000_000
LOG_LINES = 80
#: Raised when this file changes what is built from the same inputs.
RECIPE = "2"
#: For what writes dates into files: 2026-01-01T00:00:00Z.
DATE_S = contents.TIME_NS // 1_000_000_000
HOOK = (
    'chroot "$1" env -i LC_ALL=C.UTF-8 HOME=/root PYTHONDONTWRITEBYTECODE=1 '
    f"SOURCE_DATE_EPOCH={DATE_S} PATH=/usr/sbin:/usr/bin:/sbin:/bin "
    "ansible-playbook -i localhost, -c local /opt/ansible/playbooks/lab_image.yml"
)
PROJECT = Path(__file__).resolve().parents[3]
ANSIBLE = PROJECT / "ansible"
PACKAGES = ANSIBLE / "roles" / "lab_packages" / "defaults" / "main.yml"
PLAYBOOK = "playbooks/lab_image.yml"
#: What a build leaves behind of its host, its date and its way: files below these, never folders.
LEFT_BEHIND = ("dev", "run", "tmp", "var/cache", "var/lib/apt", "var/log", "var/tmp")
#: The host's too; emptied, because a sandbox puts its own in their place.
HOSTS_OWN = ("etc/apt/sources.list", "etc/hostname", "etc/resolv.conf")
REMOVED = ("etc/apt/apt.conf.d/99mmdebstrap", "etc/machine-id")
#: The roles that playbook uses; a unit test holds this against the playbook.
ROLES = ("lab_packages", "lab_image")


def packages() -> list[str]:
    """Return the lab's packages from the Ansible role's defaults, sorted."""
    values: dict[str, Any] = YAML(typ="safe").load(PACKAGES.read_text())
    listed = [name for value in values.values() if isinstance(value, list) for name in value]
    return sorted(set(listed))


def key() -> str:
    """Return the hash of all that decides the image: its playbook and roles, suite, recipe."""
    used = [ANSIBLE / PLAYBOOK]
    for role in ROLES:
        used += [path for path in (ANSIBLE / "roles" / role).rglob("*") if path.is_file()]
    files = [(str(path.relative_to(ANSIBLE)), path) for path in used]
    return cache.digest_of(RECIPE, SUITE, cache.files_digest(files))


def built() -> Path | None:
    """Return the image's root folder if it is in the cache."""
    place = cache.root() / f"image-{key()}" / "root"
    return place if place.is_dir() else None


def installed(root: Path) -> dict[str, str]:
    """Return the version of each package in an image, by name."""
    status = (root / "var" / "lib" / "dpkg" / "status").read_text(errors="replace")
    found = re.findall(r"^Package: (.+)\n(?:.+\n)*?Version: (.+)$", status, re.MULTILINE)
    return dict(sorted(found))


def ensure(report: BuildReport) -> Path:
    """Return the image's root folder, building it first if needed."""
    return cache.entry("image", key(), lambda folder: _build(folder, report)) / "root"


def build_mode() -> str:
    """Return mmdebstrap's mode on this machine; raise where there is none."""
    if os.geteuid() == 0:
        return "root"
    user = _user_name()
    mapped = any(
        line.split(":")[0] in (user, str(os.getuid())) for line in _read_lines(Path("/etc/subuid"))
    )
    if shutil.which("newuidmap") and mapped:
        return "unshare"
    raise UnsupportedError(
        "cannot build the lab's image as this user",
        wanted="root, or newuidmap and a range for this user in /etc/subuid and /etc/subgid",
        got="neither",
        hint="as root: apt-get install uidmap; or build it once as root with the same "
        "XDG_CACHE_HOME. Root is needed only because packages hold files of several users; "
        "once the image exists everything runs unprivileged",
    )


def _user_name() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.is_file() else []


def sources(mirrors: host_tools.Mirrors) -> list[str]:
    """Return the lines of apt's sources that the lab's packages and kernels come from."""
    lines = [
        f"deb {mirrors.main} {SUITE}{suffix} main" for suffix in ("", "-updates", "-backports")
    ]
    if mirrors.security:
        lines.append(f"deb {mirrors.security} {SUITE}-security main")
    return lines


def _build(folder: Path, report: BuildReport) -> None:
    cache.need_space(folder, IMAGE_BYTES, "the lab's image")
    # In namespaces of its own also a user's build is root, of the user's own ids.
    within = namespaces()
    mode = "root" if within else build_mode()
    mirrors = host_tools.mirrors()
    target = folder / "root.tar"
    mmdebstrap = host_tools.find(host_tools.MMDEBSTRAP)
    argv = [
        str(mmdebstrap),
        f"--mode={mode}",
        "--variant=minbase",
        "--format=tar",
        f"--include={','.join(packages())}",
        '--aptopt=APT::Install-Recommends "false"',
        '--aptopt=Acquire::Languages "none"',
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        *(f"--aptopt={option}" for option in mirrors.apt_options),
        f"--customize-hook=copy-in {shlex.quote(str(ANSIBLE))} /opt",
        f"--customize-hook={HOOK}",
        '--customize-hook=rm -rf "$1/opt/ansible" "$1/root/.ansible"',
        SUITE,
        str(target),
        *sources(mirrors),
    ]
    run_logged(
        argv,
        log=folder / "build.log",
        what="building the lab's image",
        timeout_s=BUILD_TIMEOUT_S,
        watch=Watch(what="lab image", expected_lines=LOG_LINES, report=report),
        within=within,
        # mmdebstrap looks for its own helper, mmtarfilter, on the PATH.
        env={
            **os.environ,
            "SOURCE_DATE_EPOCH": str(DATE_S),
            "TMPDIR": str(folder),
            "PATH": f"{mmdebstrap.parent}:{os.environ.get('PATH', '')}",
        },
    )
    unpack(target, folder / "root")
    for name in HOSTS_OWN:
        (folder / "root" / name).write_bytes(b"")
    contents.settle(folder)


def unpack(archive_file: Path, root: Path) -> None:
    """Unpack a root as the user who runs it, who owns every file; remove the archive."""
    root.mkdir()
    with tarfile.open(archive_file) as archive:
        # Not the argument "filter": Python 3.11.2, Debian 12's, has none.
        archive.extraction_filter = _as_it_is
        archive.extractall(root, members=_plain(archive))
    archive_file.unlink()


def _as_it_is(member: tarfile.TarInfo, _place: str) -> tarfile.TarInfo:
    return member


def _plain(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """Return the members without device nodes, owners, set-uid bits and what a build left."""
    members = []
    for member in archive.getmembers():
        name = member.name.removeprefix("./")
        left = name in REMOVED or name.startswith(tuple(f"{place}/" for place in LEFT_BEHIND))
        if member.isdev() or (left and not member.isdir()):
            continue
        member.uid, member.gid = os.getuid(), os.getgid()
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        members.append(member)
    return members
