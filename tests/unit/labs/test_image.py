"""The lab's image: its packages, what decides its key, how it is built and unpacked."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from model.errors import UnsupportedError
from testbed.guest.build_network import packages
from testbed.labs.booted import image
from testbed.labs.confinement import host_tools
from testbed.labs.confinement.host_tools import Mirrors
from testbed.machine import cache, contents
from tests.support.fake_lab import nothing
from tests.support.recorded import text

MIRRORS = Mirrors(main="http://m/debian", security="", apt_options=('Acquire::http::Proxy "p";',))


def test_roles_are_those_of_the_playbook() -> None:
    (play,) = yaml.safe_load((image.ANSIBLE / image.PLAYBOOK).read_text())
    assert tuple(role["role"] for role in play["roles"]) == image.ROLES
    for role in image.ROLES:
        assert (image.ANSIBLE / "roles" / role / "tasks" / "main.yml").is_file()


def test_hook_runs_that_playbook() -> None:
    assert image.HOOK.endswith(f" /opt/ansible/{image.PLAYBOOK}")


def test_packages_are_sorted_and_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = image.packages()
    assert names == sorted(set(names))
    assert {"iproute2", "mininet", "python3", "gcc"} <= set(names)
    monkeypatch.setattr(image, "PACKAGES", tmp_path / "main.yml")
    (tmp_path / "main.yml").write_text("a: [tcpdump, iperf3]\nb: [make, iperf3]\nc: word\n")
    assert image.packages() == ["iperf3", "make", "tcpdump"]


@pytest.fixture
def ansible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "ansible"
    shutil.copytree(image.ANSIBLE, copy)
    monkeypatch.setattr(image, "ANSIBLE", copy)
    return copy


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("\n")


def test_key_follows_playbook_roles_suite_and_recipe_only(
    ansible: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = image.key()
    append(ansible / "playbooks" / "lab_machine.yml")
    append(ansible / "roles" / "kernel_sctp" / "tasks" / "main.yml")
    assert image.key() == first
    keys = [first]
    changes: tuple[Callable[[], object], ...] = (
        lambda: append(ansible / image.PLAYBOOK),
        lambda: append(ansible / "roles" / "lab_packages" / "defaults" / "main.yml"),
        lambda: append(ansible / "roles" / "lab_image" / "tasks" / "main.yml"),
        lambda: (ansible / "roles" / "lab_image" / "tasks" / "new.yml").touch(),
        lambda: monkeypatch.setattr(image, "SUITE", "forky"),
        lambda: monkeypatch.setattr(image, "RECIPE", "next"),
    )
    for change in changes:
        change()
        keys.append(image.key())
    assert len(set(keys)) == len(keys)


def test_key_does_not_know_where_the_checkout_is(ansible: Path) -> None:
    here = image.key()
    other = ansible.with_name("elsewhere")
    ansible.rename(other)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image, "ANSIBLE", other)
        assert image.key() == here


def member(name: str, kind: bytes, mode: int, **more: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = kind, mode
    info.uid, info.gid, info.uname, info.gname = 0, 42, "root", "shadow"
    for key, value in more.items():
        setattr(info, key, value)
    return info


MEMBERS = (
    member("./dir", tarfile.DIRTYPE, 0o2070),
    member("./dir/tmp", tarfile.DIRTYPE, 0o1777),
    member("./dir/su", tarfile.REGTYPE, 0o4755, size=4),
    member("./dir/shadow", tarfile.REGTYPE, 0o040, size=4),
    member("./dir/link", tarfile.SYMTYPE, 0o777, linkname="/etc/passwd"),
    member("./dir/hard", tarfile.LNKTYPE, 0o4755, linkname="./dir/su"),
    member("./null", tarfile.CHRTYPE, 0o666, devmajor=1, devminor=3),
    member("./sda", tarfile.BLKTYPE, 0o660, devmajor=8),
    member("./pipe", tarfile.FIFOTYPE, 0o600),
    member("./var/log", tarfile.DIRTYPE, 0o755),
    member("./var/log/dpkg.log", tarfile.REGTYPE, 0o644, size=4),
    member("./etc", tarfile.DIRTYPE, 0o700),
    member("./etc/apt", tarfile.DIRTYPE, 0o755),
    member("./etc/machine-id", tarfile.REGTYPE, 0o644, size=4),
)


def write_tar(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        for info in MEMBERS:
            archive.addfile(info, io.BytesIO(b"text") if info.isreg() else None)


def test_unpacked_are_no_devices_owners_and_set_uid_bits(tmp_path: Path) -> None:
    write_tar(tmp_path / "root.tar")
    with tarfile.open(tmp_path / "root.tar") as archive:
        plain = image._plain(archive)
    assert [(info.name, oct(info.mode)) for info in plain] == [
        ("./dir", "0o755"),
        ("./dir/tmp", "0o755"),
        ("./dir/su", "0o755"),
        ("./dir/shadow", "0o644"),
        ("./dir/link", "0o755"),
        ("./dir/hard", "0o755"),
        ("./var/log", "0o755"),  # the folder is wanted, what is in it tells when it was built
        ("./etc", "0o755"),
        ("./etc/apt", "0o755"),
    ]
    owners = {(info.uid, info.gid, info.uname, info.gname) for info in plain}
    assert owners == {(os.getuid(), os.getgid(), "", "")}


def test_installed_packages_are_those_of_dpkg(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(text("dpkg-1.22/status"))
    found = image.installed(tmp_path)
    assert found == packages(text("dpkg-1.22/status"), found)
    assert found["iproute2"].startswith("6.")
    assert len(found) == text("dpkg-1.22/status").count("Package: ")


@pytest.fixture
def mmdebstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stand in for mmdebstrap and remember how it was run."""
    ran: list[Any] = []

    def run_logged(argv: list[str], **options: Any) -> None:
        ran.append((argv, options))
        write_tar(next(Path(word) for word in argv if word.endswith("root.tar")))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(host_tools, "find", lambda tool: Path("/opt/tools") / tool.program)
    monkeypatch.setattr(host_tools, "mirrors", lambda: MIRRORS)
    monkeypatch.setattr(image, "run_logged", run_logged)
    monkeypatch.setattr(image, "build_mode", lambda: "unshare")
    monkeypatch.setattr(image, "namespaces", lambda: ())
    monkeypatch.setattr(cache, "need_space", lambda *_: None)
    return ran


def test_image_is_built_once_and_unpacked(mmdebstrap: list[Any]) -> None:
    assert image.built() is None
    root = image.ensure(nothing)
    assert image.ensure(nothing) == image.built() == root
    assert len(mmdebstrap) == 1
    assert root == cache.root() / f"image-{image.key()}" / "root"
    assert (root / "dir" / "su").read_text() == "text"
    assert (root / "dir" / "su").stat().st_mode & 0o7777 == 0o755
    assert (root / "dir" / "hard").read_text() == "text"
    assert not (root / "dir" / "hard").samefile(root / "dir" / "su")
    # A link is kept as it is, also one that leads out: in the lab it does not.
    assert (root / "dir" / "link").readlink() == Path("/etc/passwd")
    assert sorted(path.name for path in root.iterdir()) == ["dir", "etc", "var"]
    assert [path.name for path in (root / "var").rglob("*")] == ["log"]
    # The host's own names and mirrors are not in it.
    assert (root / "etc" / "resolv.conf").read_bytes() == b""
    assert not (root / "etc" / "machine-id").exists()
    assert contents.changed(root.parent, thorough=True) == []
    assert not (root.parent / "root.tar").exists()


def test_how_mmdebstrap_is_run(mmdebstrap: list[Any]) -> None:
    image.ensure(nothing)
    ((argv, options),) = mmdebstrap
    assert argv[:4] == [
        "/opt/tools/mmdebstrap",
        "--mode=unshare",
        "--variant=minbase",
        "--format=tar",
    ]
    assert f"--include={','.join(image.packages())}" in argv
    assert '--aptopt=Acquire::http::Proxy "p";' in argv
    assert argv[-5] == "trixie"
    assert argv[-3:] == [
        "deb http://m/debian trixie main",
        "deb http://m/debian trixie-updates main",
        "deb http://m/debian trixie-backports main",
    ]
    assert options["env"]["PATH"].startswith("/opt/tools:")
    assert Path(options["env"]["TMPDIR"]).parent == cache.root()


def test_it_is_root_in_namespaces_of_its_own(
    mmdebstrap: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "namespaces", lambda: ("unshare", "--mount", "--"))
    image.ensure(nothing)
    ((argv, options),) = mmdebstrap
    assert argv[1] == "--mode=root"
    assert options["within"] == ("unshare", "--mount", "--")


def test_a_security_mirror_is_used() -> None:
    mirrors = Mirrors(main="http://m/debian", security="http://s/sec", apt_options=())
    assert image.sources(mirrors)[-1] == "deb http://s/sec trixie-security main"


@pytest.mark.parametrize(
    ("uid", "newuidmap", "subuid", "mode"),
    [
        (0, False, [], "root"),
        (1000, True, ["someone:100000:65536"], "unshare"),
        (1000, True, ["other:1:1", "1000:100000:65536"], "unshare"),
        (1000, False, ["someone:100000:65536"], None),
        (1000, True, ["someone2:100000:65536"], None),
        (1000, True, [], None),
    ],
)
def test_build_mode(
    monkeypatch: pytest.MonkeyPatch, uid: int, newuidmap: bool, subuid: list[str], mode: str | None
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(image, "_user_name", lambda: "someone")
    monkeypatch.setattr(image, "_read_lines", lambda path: subuid)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/newuidmap" if newuidmap else None)
    if mode:
        assert image.build_mode() == mode
        return
    with pytest.raises(UnsupportedError, match="cannot build the lab's image as this user"):
        image.build_mode()


def test_what_this_user_is_called_is_known() -> None:
    check: Callable[[], str] = image._user_name
    assert check()
    assert image._read_lines(Path("/nonesuch")) == []
