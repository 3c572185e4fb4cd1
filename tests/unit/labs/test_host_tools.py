"""The two host programs: from the path, or fetched once; the host's Debian mirrors and proxies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from model.errors import RunError, UnsupportedError
from testbed.labs.confinement import host_tools
from testbed.labs.confinement.host_tools import (
    BUBBLEWRAP,
    MMDEBSTRAP,
    Mirrors,
    find,
    find_here,
    mirrors,
)
from tests.support.recorded import text, value


@pytest.fixture(autouse=True)
def cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "groundtruth"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Say which programs this machine has."""

    def install(*names: str) -> None:
        monkeypatch.setattr(
            shutil, "which", lambda name: f"/usr/bin/{name}" if name in names else None
        )

    return install


def test_what_is_installed_is_taken(installed: Callable[..., None], cache_root: Path) -> None:
    installed("bwrap")
    assert find(BUBBLEWRAP) == find_here(BUBBLEWRAP) == Path("/usr/bin/bwrap")
    assert not cache_root.exists()


def test_what_is_not_is_fetched_once(
    installed: Callable[..., None], cache_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[Sequence[str]] = []

    def run_logged(argv: Sequence[str], *, log: Path, **_: Any) -> None:
        fetched.append(argv)
        folder = Path(argv[2])
        assert log == folder / "fetch.log"
        (folder / "usr" / "bin").mkdir(parents=True)
        (folder / "usr" / "bin" / "mmdebstrap").touch()

    monkeypatch.setattr(host_tools, "run_logged", run_logged)
    installed("apt-get", "dpkg-deb")
    place = cache_root / "tool-mmdebstrap" / "usr" / "bin" / "mmdebstrap"
    assert find_here(MMDEBSTRAP) is None
    assert not cache_root.exists()
    assert find(MMDEBSTRAP) == find(MMDEBSTRAP) == find_here(MMDEBSTRAP) == place
    assert place.is_file()
    ((script, what, _, package),) = fetched
    assert (script, what, package) == (host_tools.DEBIAN, "unpack", "mmdebstrap")


@pytest.mark.parametrize("there", [(), ("apt-get",), ("dpkg-deb",)])
def test_without_apt_the_package_to_install_is_named(
    installed: Callable[..., None], there: tuple[str, ...], cache_root: Path
) -> None:
    installed(*there)
    missing = "dpkg-deb" if "apt-get" in there else "apt-get"
    with pytest.raises(UnsupportedError) as caught:
        find(BUBBLEWRAP)
    assert str(caught.value) == (
        "bwrap is not installed and cannot be fetched: wanted bwrap to confine the lab to its own "
        f"folder, or {missing} to fetch it (install bubblewrap with your distribution's package "
        "manager)"
    )
    assert not (cache_root / "tool-bubblewrap").exists()


def test_a_fetch_that_fails_is_not_possible_here(
    installed: Callable[..., None], cache_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_logged(*_: Any, **__: Any) -> None:
        raise RunError("failed with status 100", got="E: Unable to locate package")

    monkeypatch.setattr(host_tools, "run_logged", run_logged)
    installed("apt-get", "dpkg-deb")
    with pytest.raises(UnsupportedError, match=r"bwrap is missing, .*: got E: Unable to locate"):
        find(BUBBLEWRAP)
    assert not (cache_root / "tool-bubblewrap").exists()


def apt(monkeypatch: pytest.MonkeyPatch, targets: str, options: str) -> None:
    """Let apt print these index targets and this configuration."""
    printed = {host_tools.DEBIAN: targets, "apt-config": options}
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(host_tools, "output_of", lambda argv, timeout_s=0.0: printed[argv[0]])


TARGETS = text("apt-2.6/indextargets.txt")
OPTIONS = text("apt-2.6/acquire.txt")


def test_recorded_debian_12(monkeypatch: pytest.MonkeyPatch) -> None:
    apt(monkeypatch, TARGETS, OPTIONS)
    assert mirrors() == Mirrors(
        main="http://mirror.example/debian/",
        security="http://mirror.example/debian-security/",
        apt_options=(),
    )


@pytest.mark.parametrize(("targets", "main", "security"), value("cases/debian-mirrors.json"))
def test_mirrors_among_other_sources(
    monkeypatch: pytest.MonkeyPatch, targets: str, main: str, security: str
) -> None:
    apt(monkeypatch, targets, OPTIONS)
    found = mirrors()
    assert (found.main, found.security) == (main, security)


@pytest.mark.parametrize(
    ("targets", "got"),
    [
        ("", "none"),
        ("http://x/ubuntu noble main\nhttp://x/ubuntu noble-updates main\n",
         "http://x/ubuntu noble main; http://x/ubuntu noble-updates main"),
        ("http://s/debian-security trixie-security main\n",
         "http://s/debian-security trixie-security main"),
    ],
)  # fmt: skip
def test_without_a_debian_mirror_the_sources_are_told(
    monkeypatch: pytest.MonkeyPatch, targets: str, got: str
) -> None:
    apt(monkeypatch, targets, OPTIONS)
    with pytest.raises(UnsupportedError) as caught:
        mirrors()
    assert "no Debian mirror in this machine's apt sources" in str(caught.value)
    assert caught.value.got == got


def test_without_apt_there_are_no_mirrors(installed: Callable[..., None]) -> None:
    installed()
    with pytest.raises(UnsupportedError, match="this machine has no apt"):
        mirrors()


def test_proxies_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    options = OPTIONS + (
        'Acquire::http::Proxy "http://proxy:3128/";\n'
        'Acquire::https::proxy "http://proxy:3129/";\n'
        'Acquire::ftp::Proxy "";\n'
        'Acquire::http::Proxy::mirror.example "DIRECT";\n'
    )
    apt(monkeypatch, TARGETS, options)
    assert mirrors().apt_options == (
        'Acquire::http::Proxy "http://proxy:3128/";',
        'Acquire::https::proxy "http://proxy:3129/";',
    )
