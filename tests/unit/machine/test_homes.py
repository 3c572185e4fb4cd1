from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from model.errors import StudyError, UnsupportedError
from testbed.machine import homes

PROJECT = Path(__file__).parents[3]
#: Scripts that keep what they fetch in the cache.
SCRIPTS = ("bootstrap", "browser", "crate_validator", "debian", "program")


def test_the_environment_is_heeded_before_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert homes.base("XDG_CONFIG_HOME", ".config") == tmp_path
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    assert homes.base("XDG_CONFIG_HOME", ".config") == Path("/home/someone/.config")
    assert homes.expanded("~/cells", "STORE") == Path("/home/someone/cells")
    assert homes.expanded("here/~/cells", "STORE") == Path("here/~/cells")


def test_without_home_it_is_that_of_the_machines_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    own = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert homes.base("XDG_CACHE_HOME", ".cache") == own / ".cache"


def test_a_user_without_any_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(UnsupportedError, match=r"no home folder.*set XDG_CACHE_HOME to a folder"):
        homes.base("XDG_CACHE_HOME", ".cache")
    with pytest.raises(StudyError, match=r"STORE: nobody's home: .* got ~/cells"):
        homes.expanded("~/cells", "STORE")


def test_a_home_of_no_user_is_told_with_who_named_it() -> None:
    with pytest.raises(StudyError, match=r"STORE: nobody's home: .* got ~nobody-of-this-name/x"):
        homes.expanded("~nobody-of-this-name/x", "STORE")


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_find_the_cache_where_the_program_does(script: str) -> None:
    (line,) = (
        line
        for line in (PROJECT / "setup" / script).read_text().splitlines()
        if line.startswith("readonly") and "XDG_CACHE_HOME" in line
    )
    _, _, cache = line.partition("${XDG_CACHE_HOME")
    for given in ({}, {"HOME": "/home/someone"}, {"XDG_CACHE_HOME": "/some/cache"}):
        said = subprocess.run(
            ["bash", "-c", "echo ${XDG_CACHE_HOME" + cache], env=given, check=True,
            capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip
        program = "from testbed.machine import cache; print(cache.root())"
        wanted = subprocess.run(
            [sys.executable, "-c", program], env=given, check=True, capture_output=True, text=True,
            cwd=PROJECT,
        ).stdout.strip()  # fmt: skip
        assert said.startswith(wanted)
