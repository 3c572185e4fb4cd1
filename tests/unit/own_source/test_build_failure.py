"""Why a build failed, told from what compilers, linkers, Kconfig, make and patch really say."""

from __future__ import annotations

import time

import pytest

from model.errors import BuildError
from testbed.labs.virtual.own_source import build_failure
from testbed.labs.virtual.own_source.build_failure import judged, machine, places
from testbed.machine.process import StatusError

COMPILER = """\
net/sctp/a.c: In function \u2018f\u2019:
net/sctp/a.c:3:16: warning: implicit declaration of function \u2018g\u2019 [-Wimplicit]
    3 |         return g(1;
      |                ^
net/sctp/a.c:3:19: error: expected \u2018)\u2019 before \u2018;\u2019 token
    3 |         return g(1;
      |                 ~ ^
net/sctp/a.c:3:20: error: expected \u2018;\u2019 before \u2018}\u2019 token
make[4]: *** [scripts/Makefile.build:229: net/sctp/a.o] Error 1
make[3]: *** [scripts/Makefile.build:478: net/sctp] Error 2
"""
NO_HEADER = "net/a.c:1:10: fatal error: no.h: No such file or directory\n"
LINKER = """\
/usr/bin/ld: net/sctp/m.o: in function `sctp_f':
m.c:(.text+0xa): undefined reference to `sctp_g'
/usr/bin/ld: net/sctp/m.o: in function `sctp_h':
/cell/source/net/sctp/m.c:12: undefined reference to `sctp_i'
/usr/bin/ld: net/n.o:/cell/source/net/n.c:1: multiple definition of `twice'; net/m.o: first defined
/usr/bin/ld: net/q.o:(.data+0x8): undefined reference to `sctp_k'
collect2: error: ld returned 1 exit status
make[2]: *** [scripts/Makefile.vmlinux:34: vmlinux] Error 1
"""
PATCH = """\
patching file net/sctp/b.c
Hunk #1 FAILED at 365.
1 out of 1 hunk FAILED -- saving rejects to file net/sctp/b.c.rej
can't find file to patch at input line 8
Perhaps you used the wrong -p or --strip option?
"""
CASES = {
    COMPILER: [
        "net/sctp/a.c:3:19: error: expected \u2018)\u2019 before \u2018;\u2019 token",
        "net/sctp/a.c:3:20: error: expected \u2018;\u2019 before \u2018}\u2019 token",
    ],
    NO_HEADER: ["net/a.c:1:10: error: no.h: No such file or directory"],
    LINKER: [
        "net/sctp/m.o: m.c: undefined reference to `sctp_g'",
        "net/sctp/m.o: /cell/source/net/sctp/m.c:12: undefined reference to `sctp_i'",
        "/cell/source/net/n.c:1: multiple definition of `twice'",
        "net/q.o: undefined reference to `sctp_k'",
    ],
    PATCH: [
        "net/sctp/b.c:365: hunk 1 does not apply",
        "line 8 of the patch: there is no such file in the source",
    ],
    "this kernel did not take: CONFIG_IP_SCTP=y CONFIG_VETH=y ": [
        "not taken by Kconfig: CONFIG_IP_SCTP=y CONFIG_VETH=y"
    ],
    "net/sctp/Kconfig:12: syntax error\nmake[2]: *** [scripts/kconfig/Makefile:85: x] Error 1\n": [
        "net/sctp/Kconfig:12: syntax error"
    ],
    "error: recursive dependency detected!\n\tsymbol A is selected by B\n\tsymbol B is\n": [
        "recursive dependency detected! symbol A is selected by B"
    ],
    "make[1]: *** No rule to make target 'net/x.o', needed by 'net/built-in.a'.  Stop.\n": [
        "No rule to make target 'net/x.o', needed by 'net/built-in.a'"
    ],
    "Makefile:7: *** [Makefile:7: linux] File size limit exceeded\n": [
        "a file is larger than a build's may be"
    ],
    "truncate: failed to truncate 'x' at 2147483648 bytes: File too large\n"
    "make: *** [Makefile:7: linux] Error 1\n": ["a file is larger than a build's may be"],
    "net/Makefile:7: *** missing separator.  Stop.\n": ["net/Makefile:7: missing separator"],
    "Makefile:7: *** broken.  Stop.\n": ["Makefile:7: broken"],
    "make[3]: *** [scripts/Makefile.build:478: net/sctp] Error 2\n": [
        "net/sctp (by scripts/Makefile.build:478)"
    ],
    "": [],
    "all is well\n": [],
    "net/a.c:3:1: warning: error: is a word\n": [],
}


@pytest.mark.parametrize("log", CASES)
def test_places_are_named(log: str) -> None:
    assert places(log) == CASES[log]


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (COMPILER, {"net/sctp/a.c"}),
        ("././include/x.h:1:1: error: y\n/cell/source/net/a.c:2: error: z\n",
         {"include/x.h", "net/a.c"}),
        ("net/sctp/Kconfig:12: syntax error\n", {"net/sctp/Kconfig"}),
        ("this kernel did not take: CONFIG_A=y (in no Kconfig file)\n", set()),
        ("this kernel did not take: CONFIG_A=y (a/Kconfig:1 b/Kconfig:2)\n",
         {"a/Kconfig", "b/Kconfig"}),
        (LINKER, None),
        ("make[1]: *** No rule to make target 'net/x.o', needed by 'y'.  Stop.\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_files_that_are_wrong_in_themselves(log: str, found: set[str] | None) -> None:
    assert build_failure.files(log) == found


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/tmp/cc.s: No space left on device", "the build's own /tmp is full, which holds 1 GiB"),
        ("/cell/linux.o: No space left on device", "the disk is full"),
        ("tar: net/a.c: Cannot write: Disk quota exceeded", "the disk is full"),
        ("gcc: fatal error: Killed signal terminated program cc1", "there is too little memory"),
        ("cc1: out of memory allocating 65536 bytes", "there is too little memory"),
        ("bash: fork: Resource temporarily unavailable", "there are too many processes"),
    ],
)
def test_the_machine_is_not_the_source(line: str, why: str) -> None:
    log = f"{COMPILER}{line}\n"
    assert machine(log) == why
    error = judged("kernel 6.12", log, "its log: /x", StatusError("failed", got="the end"))
    assert not isinstance(error, BuildError)
    assert str(error) == (
        f"building kernel 6.12 failed: {why}: got the end (not the source's fault; its log: /x)"
    )


def test_the_error_of_a_source() -> None:
    error = judged("kernel 6.12", LINKER, "its log: /x", StatusError("failed", got="the end"))
    assert isinstance(error, BuildError)
    assert error.what == "cannot build kernel 6.12"
    assert error.got == "; ".join(CASES[LINKER][: build_failure.MOST_NAMED]) + "; and 1 more"
    assert error.hint == "its log: /x"


def test_what_nobody_understands_is_told_as_it_ended() -> None:
    error = judged("kernel 6.12", "?", "its log: /x", StatusError("failed with status 9", got="?"))
    assert isinstance(error, StatusError)
    assert str(error) == "failed with status 9: got ? (its log: /x)"


@pytest.mark.parametrize("text", ["ld", "Kconfig:1", "Makefile:1", "x.o(", "a:1"])
def test_a_line_without_end_takes_no_time(text: str) -> None:
    began_s = time.process_time()
    places(text * 100_000 + "\nnet/a.c:7:1: error: expected x\n")
    assert time.process_time() - began_s < 5
    assert places(text * 100_000 + "\nnet/a.c:7:1: error: x\n") == ["net/a.c:7:1: error: x"]
