"""The few lines that stand in for sysctl(8) in the lab, as scripts call it."""

import subprocess
from pathlib import Path

import pytest

SYSCTL = Path(__file__).parents[3] / "testbed" / "packetdrill" / "lab_side" / "sysctl"


def sysctl(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        ["sh", str(SYSCTL), *words], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["kernel.ostype"], "kernel.ostype = Linux\n"),
        (["-n", "kernel.ostype"], "Linux\n"),
        (["-q", "kernel.ostype"], ""),
        (["-n", "kernel.ostype", "kernel.ostype"], "Linux\nLinux\n"),
    ],
)
def test_a_setting_is_read(words: list[str], said: str) -> None:
    assert sysctl(*words) == (0, said, "")


def test_a_setting_that_is_not_there_is_an_error_with_its_place() -> None:
    status, said, errors = sysctl("net.ipv4.no_such", "kernel.ostype")
    assert (status, said) == (1, "kernel.ostype = Linux\n")
    assert errors == "sysctl: cannot stat /proc/sys/net/ipv4/no_such: No such file or directory\n"


def test_a_setting_that_is_not_there_is_passed_over_if_asked() -> None:
    assert sysctl("-e", "-q", "net.ipv4.no_such=1") == (0, "", "")
    assert sysctl("-q", "-e", "net.ipv4.no_such=1") == (0, "", "")
