"""Which scripts are run and how, and that the lab is shown nothing else of their folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from model.errors import StudyError
from testbed.packetdrill import scripts
from testbed.packetdrill.scripts import WAYS, of_kernel, of_user, ways


def test_a_script_is_run_in_the_three_ways_unless_it_says_which() -> None:
    assert ways(b"0 socket(...) = 3\n") == ("ipv4", "ipv6", "ipv4-mapped-ipv6")
    assert ways(b"// a test\n--ip_version=ipv6\n") == ("ipv6",)
    assert ways(b"// --ip_version=ipv6 is not its own\n") == tuple(WAYS)


def test_a_kernels_scripts_are_run_as_its_runner_does() -> None:
    new = {
        "b.pkt": b"", "a.pkt": b"", "defaults.sh": b"",
        "ksft_runner.sh": b"\t[ipv4]=x\n\t[ipv4-mapped-ipv6]=y\n\t[ipv6]=z\n",
    }  # fmt: skip
    found = of_kernel(new)
    assert [(one.name, one.ways) for one in found.scripts] == [
        ("a.pkt", ("ipv4", "ipv6", "ipv4-mapped-ipv6")),
        ("b.pkt", ("ipv4", "ipv6", "ipv4-mapped-ipv6")),
    ]
    old = of_kernel({"a.pkt": b"", "ksft_runner.sh": b"readonly ipv4_args=('--ip_version=ipv4 ')"})
    assert old.scripts[0].ways == ("ipv4", "ipv6")
    assert found.files == new


def test_packetdrills_words_for_a_case() -> None:
    (ipv6,) = of_kernel({"-v.pkt": b"--ip_version=ipv6\n"}).cases()
    words = ipv6.words("packetdrill", ["--tolerance_usecs=0"])
    assert words[:4] == [
        "packetdrill", "--ip_version=ipv6", "--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1",
    ]  # fmt: skip
    assert words[-2:] == ["--tolerance_usecs=0", "./-v.pkt"]
    (own,) = of_kernel({"a.pkt": b"--ip_version=both\n"}).cases()
    assert own.words("packetdrill") == ["packetdrill", "a.pkt"]


def test_each_case_has_a_place_of_its_own_whatever_the_name() -> None:
    names = ["a\nb.pkt", "a b.pkt", "..pkt", "x" * 300 + ".pkt", "\udcff.pkt"]
    cases = of_kernel(dict.fromkeys(names, b"")).cases()
    places = [case.place for case in cases]
    assert len(set(places)) == len(cases) == 10
    assert "0003-a_b-ipv4" in places
    assert all(place.isascii() and "/" not in place and len(place) < 120 for place in places)


def test_a_users_script_has_its_helpers_at_their_places_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "net" / "tcp" / "sack"
    place.mkdir(parents=True)
    for above in (tmp_path / "net" / "common", tmp_path / "net" / "tcp" / "common"):
        above.mkdir()
    (tmp_path / "net" / "common" / "defaults.sh").write_text("echo\n")
    (tmp_path / "net" / "tcp" / "common" / "defaults.sh").symlink_to("../../common/defaults.sh")
    (tmp_path / "secret.sh").write_text("no script's\n")
    (place / "key").write_text("secret\n")
    (place / "a.pkt").write_text("`../../common/defaults.sh`\n")
    (place / "out.sh").symlink_to("/etc/passwd")
    os.mkfifo(place / "fifo.sh")
    found = of_user([tmp_path / "net" / "tcp"])
    assert [one.name for one in found.scripts] == [str(place / "a.pkt")]
    assert found.scripts[0].folder == "/gt/scripts/0/net/tcp/sack"
    assert found.files == {
        "0/net/tcp/sack/a.pkt": b"`../../common/defaults.sh`\n",
        "0/net/common/defaults.sh": b"echo\n", "0/net/tcp/common/defaults.sh": b"echo\n",
    }  # fmt: skip


def test_what_is_shown_is_written_readable_and_helpers_can_be_run(tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_text("x\n")
    (tmp_path / "a.pkt").chmod(0o600)
    found = of_user([tmp_path / "a.pkt"])
    shown = tmp_path / "shown"
    shown.mkdir(mode=0o700)
    found.write(shown)
    (only,) = [path for path in shown.rglob("*") if path.is_file()]
    assert only.stat().st_mode & 0o777 == 0o755
    assert all(path.stat().st_mode & 0o777 == 0o755 for path in (shown, *only.parents[:2]))


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda path: None, "no such file"),
        (os.mkfifo, "a FIFO"),
        (lambda path: path.symlink_to("/etc/passwd"), "a link"),
    ],
)
def test_what_is_no_script_is_refused(make, got: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    make(tmp_path / "a.pkt")
    with pytest.raises(StudyError, match=got):
        of_user([tmp_path / "a.pkt"])


def test_a_file_of_another_name_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(StudyError, match=r"ends in \.pkt"):
        of_user([tmp_path / "a.txt"])
    with pytest.raises(StudyError, match="no scripts"):
        of_user([tmp_path])


def test_a_huge_script_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.pkt").open("wb") as file:
        file.truncate(scripts.MOST_SCRIPT_BYTES + 1)
    with pytest.raises(StudyError, match="at most 4 MiB"):
        of_user([tmp_path / "a.pkt"])


def test_a_script_in_a_folder_that_cannot_be_run_is_told_and_not_left_out(tmp_path: Path) -> None:
    """Left out, it would count among those that pass."""
    (tmp_path / "a.pkt").write_text("x\n")
    (tmp_path / "b.pkt").symlink_to("a.pkt")
    with pytest.raises(StudyError, match=r"b\.pkt: cannot read a script.*a link"):
        of_user([tmp_path])
