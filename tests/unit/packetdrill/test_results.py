"""What came of a case: verdicts, the message of recorded failures, table and KTAP."""

from __future__ import annotations

from typing import Any

import pytest

from reports.terminal.test_results import junit_of, ktap_of
from testbed.packetdrill import results
from testbed.packetdrill.results import CaseResult, Ended, Setup
from testbed.packetdrill.scripts import of_kernel

SETUP = Setup(
    lab={"kernel_package": "7.3.4-1", "tick_hz": "1000"}, packetdrill={}, more_words=(), seed=1,
    virtual_limit_s=300.0,
)  # fmt: skip
ENDED = {"status": 0, "late": False, "virtual_s": 1.25}


def test_a_case_passes_only_with_status_0_within_its_limit() -> None:
    assert results.why_not(Ended(status=0, late=False, virtual_s=1.0), "a warning\n", 300) == ""
    late = results.why_not(Ended(status=-9, late=True, virtual_s=300.0), "", 300)
    assert late == "did not end within 300 s of the lab's time"
    killed = results.why_not(Ended(status=-11, late=False, virtual_s=1.0), "a.pkt:3: oh\n", 300)
    assert killed == "packetdrill was killed by signal 11; it said: a.pkt:3: oh"
    silent = results.why_not(Ended(status=1, late=False, virtual_s=1.0), "\n", 300)
    assert silent == "packetdrill ended with status 1 and said nothing"


def test_the_message_begins_at_the_last_line_that_names_one() -> None:
    said = "RTNETLINK answers: File exists\na.pkt:9: earlier\na.pkt:12: error\nscript packet: x\n"
    assert results.message(said) == "a.pkt:12: error\nscript packet: x"
    assert results.message("Cannot open tun\n") == "Cannot open tun"
    assert results.message("") == ""


def test_a_message_is_short_and_moves_no_cursor() -> None:
    assert results.message("a.pkt:1: \x1b[2J\tx\r\n") == "a.pkt:1: \ufffd[2J x"
    assert len(results.message("a.pkt:1: " + "x" * 10_000_000)) == results.MOST_CHARACTERS
    assert results.message("\n".join(map(str, range(100)))).splitlines()[0] == "92"


@pytest.mark.parametrize(
    "value",
    [
        None, [], {}, {**ENDED, "status": "0"}, {**ENDED, "status": True}, {**ENDED, "late": 0},
        {**ENDED, "virtual_s": None}, {**ENDED, "virtual_s": True},
        {**ENDED, "virtual_s": float("nan")}, {**ENDED, "virtual_s": float("inf")},
        {**ENDED, "virtual_s": 10**400}, {**ENDED, "virtual_s": -1.0},
    ],
)  # fmt: skip
def test_what_the_lab_does_not_write_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"status|not an object"):
        results.read_ended(value)


def test_how_the_lab_says_a_case_ended() -> None:
    assert results.read_ended(ENDED) == Ended(status=0, late=False, virtual_s=1.25)


def _found() -> list[CaseResult]:
    cases = of_kernel({"a.pkt": b"", "b\n#.pkt": b""}).cases()
    return [
        CaseResult(
            case=case, passed=case.number != 4, said="b.pkt:7: no\nmore" * (case.number == 4),
            virtual_s=1.0, sha256={},
        )
        for case in cases
    ]  # fmt: skip


def test_only_failures_are_told_in_full() -> None:
    assert results.lines(_found(), SETUP, "results/x") == [
        (
            "packetdrill on Linux 7.3.4-1, 1000 Hz, virtual time: 1 of 2 scripts pass, "
            "3 of 4 cases"
        ),
        "✗ b\ufffd#.pkt (ipv6): b.pkt:7: no", "    more", "    kept: results/x/cases/0004-b_-ipv6",
    ]  # fmt: skip


def test_ways_that_fail_alike_are_told_once() -> None:
    alike = [
        CaseResult(case=one.case, passed=False, said="a.pkt:1: no", virtual_s=1.0, sha256={})
        for one in _found()[:2]
    ]
    assert results.lines(alike, SETUP, "r")[1:] == [
        "✗ a.pkt (ipv4, ipv6): a.pkt:1: no", "    kept: r/cases/0001-a-ipv4",
    ]  # fmt: skip


def test_results_as_ktap_and_junit() -> None:
    suites = results.suites(_found(), SETUP)
    ran = "  # packetdrill on Linux 7.3.4-1, 1000 Hz, virtual time"
    assert ktap_of(suites).splitlines() == [
        "KTAP version 1", "1..2",
        "  KTAP version 1", "  # Subtest: a.pkt", "  1..2", ran, "  ok 1 ipv4", "  ok 2 ipv6",
        "ok 1 a.pkt",
        "  KTAP version 1", "  # Subtest: b no..pkt", "  1..2", ran, "  ok 1 ipv4",
        "  # b.pkt:7: no more", "  not ok 2 ipv6",
        "not ok 2 b no..pkt",
    ]  # fmt: skip
    assert 'tests="2" failures="1"' in junit_of(suites)
    assert junit_of(suites).count(f'<property name="ran" value="{ran[4:]}" />') == 2


def test_the_record_names_what_a_case_left() -> None:
    record = _found()[3].record()
    assert record["folder"] == "0004-b_-ipv6"
    assert (record["script"], record["passed"]) == ("b\n#.pkt", False)
