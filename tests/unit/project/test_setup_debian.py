"""Packages of Debian for the cache: with the machine's lists, or with our own where it has none.

apt and dpkg are stand-ins: what is listed, and can be had, depends on `fetched` in a lists folder.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from model.errors import UnsupportedError
from testbed.labs.confinement import host_tools
from testbed.machine import cache
from tests.support.recorded import DATA


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the machine's package lists; it has none yet."""
    lists = tmp_path / "machine"
    lists.mkdir()
    monkeypatch.setenv("PATH", f"{DATA / 'stand-ins'}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    monkeypatch.setenv("MACHINE", str(lists))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return lists


def calls(machine: Path) -> list[str]:
    return [line.split()[0] for line in (machine.parent / "log").read_text().splitlines()]


def test_where_apt_has_no_lists_its_sources_are_found_with_lists_of_our_own(machine: Path) -> None:
    assert host_tools.mirrors().main == "http://mirror.example/debian/"
    assert calls(machine) == ["indextargets", "update", "indextargets"]
    assert host_tools.mirrors().main == "http://mirror.example/debian/"
    assert calls(machine)[3:] == ["indextargets", "indextargets"], "fetched twice"
    assert not list(machine.iterdir()), "the machine's own lists were touched"


def test_lists_of_the_machine_suffice(machine: Path) -> None:
    (machine / "fetched").touch()
    assert host_tools.mirrors().main == "http://mirror.example/debian/"
    assert calls(machine) == ["indextargets"]


def test_without_a_network_there_is_no_mirror(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSED", "yes")
    with pytest.raises(UnsupportedError, match="no Debian mirror in this machine's apt sources"):
        host_tools.mirrors()
    assert calls(machine) == ["indextargets", "update", "indextargets"]


@pytest.mark.parametrize(
    ("lists", "called"),
    [
        (None, ["download", "update", "download"]),
        ("stale", ["download", "update", "download"]),
        ("fresh", ["download"]),
    ],
)
def test_a_package_is_unpacked_with_whatever_lists_have_it(
    machine: Path, tmp_path: Path, lists: str | None, called: list[str]
) -> None:
    if lists:
        (machine / "fetched").write_text(lists)
    folder = tmp_path / "with a space"
    folder.mkdir()
    host_tools._fetch(host_tools.BUBBLEWRAP, folder)
    assert sorted(path.name for path in folder.iterdir()) == ["fetch.log", "usr"]
    assert (folder / "usr" / "bin" / "bwrap").is_file()
    assert calls(machine) == called


def test_addresses_are_told_without_lists_and_without_fetching(machine: Path) -> None:
    assert host_tools.debian_addresses() == ["http://mirror.example/debian/dists/trixie/InRelease"]
    assert not list(machine.iterdir())
    assert not cache.root().exists()


def test_what_a_package_needs_comes_with_it(machine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "browser"
    subprocess.run([host_tools.DEBIAN, "needed", folder, "chromium"], check=True, timeout=60)
    assert calls(machine) == ["install", "update", "install"]
    assert (folder / "usr" / "bin" / "bwrap").is_file()


def test_a_package_that_cannot_be_had_leaves_nothing(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSED", "yes")
    done = subprocess.run([host_tools.DEBIAN, "unpack", tmp_path / "x", "bubblewrap"], timeout=60)
    assert done.returncode != 0
    assert not list((tmp_path / "x").iterdir())


@pytest.mark.parametrize("arguments", [[], ["unpack"], ["unpack", "folder"], ["other", "a", "b"]])
def test_wrong_usage(machine: Path, arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [host_tools.DEBIAN, *arguments], cwd=tmp_path, timeout=60, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: setup/debian ")
    assert not (tmp_path / "folder").exists()
