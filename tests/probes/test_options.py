"""Options of the probes: a mistake ends with status 2 and names option, wanted and got."""

from __future__ import annotations

import re
from typing import Any

import pytest

TO = ("--host", "127.0.0.1", "--port", "9")

MANDATORY = {
    "tcp_send": (*TO, "--count", "1"),
    "tcp_recv": ("--port", "0"),
    "sctp_send": (*TO, "--count", "1"),
    "sctp_recv": ("--port", "0"),
    "udp_send": (*TO, "--count", "1", "--rate-bps", "1"),
    "udp_recv": ("--port", "0"),
}

MISTAKES = [
    (
        "tcp_send",
        (*TO, "--count", "1", "--nonesuch"),
        "--nonesuch",
        "an option of this probe",
        "an unknown word",
    ),
    ("tcp_send", (*TO, "--coun", "1"), "--coun", "an option of this probe", "an unknown word"),
    (
        "tcp_send",
        (*TO, "--count", "1", "rest"),
        "rest",
        "an option of this probe",
        "an unknown word",
    ),
    ("tcp_send", (*TO, "--count", "0"), "--count", "an integer from 1 to 4294967295", "'0'"),
    ("tcp_send", (*TO, "--count", "-1"), "--count", "an integer from 1", "'-1'"),
    ("tcp_send", (*TO, "--count", "+1"), "--count", "an integer from 1", "'+1'"),
    ("tcp_send", (*TO, "--count", " 1"), "--count", "an integer from 1", "' 1'"),
    ("tcp_send", (*TO, "--count", "7x"), "--count", "an integer from 1", "'7x'"),
    ("tcp_send", (*TO, "--count", "0x7"), "--count", "an integer from 1", "'0x7'"),
    ("tcp_send", (*TO, "--count", ""), "--count", "an integer from 1", "''"),
    (
        "tcp_send",
        (*TO, "--count", "99999999999999999999"),
        "--count",
        "an integer",
        "'99999999999999999999'",
    ),
    ("tcp_send", (*TO, "--count"), "--count", "stop after this many messages", "nothing"),
    ("tcp_send", (*TO, "--count", "1", "--nodelay=yes"), "--nodelay", "no value", "'yes'"),
    ("tcp_send", (*TO, "--count", "1", "--bytes", "1"), "--count, --bytes", "one of them", "both"),
    ("tcp_send", TO, "--duration-s, --count, --bytes", "at least one", "none"),
    ("tcp_send", ("--port", "9", "--count", "1"), "--host", "numeric address", "nothing"),
    ("tcp_send", (*TO, "--count", "1", "--host", "::1"), "--host", "at most 1 address", "'::1'"),
    (
        "tcp_send",
        ("--host", "localhost"),
        "--host",
        "a numeric IPv4 or IPv6 address",
        "'localhost'",
    ),
    (
        "tcp_send",
        ("--host", "127.0.0.1", "--port", "65536"),
        "--port",
        "an integer from 1 to 65535",
        "'65536'",
    ),
    ("tcp_send", (*TO, "--duration-s", "0"), "--duration-s", "seconds from 1e-09 to 1e+06", "'0'"),
    ("tcp_send", (*TO, "--duration-s", "1e3"), "--duration-s", "seconds", "'1e3'"),
    ("tcp_send", (*TO, "--duration-s", "1."), "--duration-s", "seconds", "'1.'"),
    ("tcp_send", (*TO, "--duration-s", ".5"), "--duration-s", "seconds", "'.5'"),
    ("tcp_send", (*TO, "--duration-s", "-1"), "--duration-s", "seconds", "'-1'"),
    (
        "tcp_send",
        (*TO, "--duration-s", "0.0000000001"),
        "--duration-s",
        "at most nine decimals",
        "'0.0000000001'",
    ),
    ("tcp_send", (*TO, "--duration-s", "1000001"), "--duration-s", "seconds from", "'1000001'"),
    (
        "tcp_send",
        (*TO, "--count", "1", "--maxseg-bytes", "87"),
        "--maxseg-bytes",
        "from 88 to 32767",
        "'87'",
    ),
    (
        "tcp_send",
        (*TO, "--count", "1", "--congestion-control", ""),
        "--congestion-control",
        "a word",
        "''",
    ),
    ("tcp_recv", (), "--port", "port to receive on", "nothing"),
    (
        "tcp_recv",
        ("--port", "0", "--host", "::1"),
        "--host",
        "an option of this probe",
        "an unknown word",
    ),
    (
        "tcp_recv",
        ("--port", "0", "--window-clamp-bytes", "9999"),
        "--window-clamp-bytes",
        "--rcvbuf-bytes",
        "alone",
    ),
    (
        "sctp_send",
        (*TO, "--count", "1", "--host", "::1"),
        "--host",
        "addresses of one family",
        "'::1'",
    ),
    ("sctp_send", (*TO, *TO[:2] * 8), "--host", "at most 8 addresses", "'127.0.0.1'"),
    (
        "sctp_send",
        (*TO, "--streams", "65536"),
        "--streams",
        "an integer from 1 to 65535",
        "'65536'",
    ),
    (
        "sctp_send",
        (*TO, "--sack-delay-ms", "501"),
        "--sack-delay-ms",
        "an integer from 1 to 500",
        "'501'",
    ),
    (
        "sctp_recv",
        ("--port", "0", "--hb-disable", "--hb-interval-ms", "9"),
        "--hb-disable, --hb-interval-ms",
        "one of them",
        "both",
    ),
    ("udp_send", (*TO, "--rate-bps", "0"), "--rate-bps", "an integer from 1 to 10000000000", "'0'"),
    ("udp_send", (*TO, "--rate-bps", "1"), "--duration-s, --count", "at least one", "none"),
    (
        "udp_send",
        (*TO, "--rate-bps", "1", "--bytes", "1"),
        "--bytes",
        "an option of this probe",
        "an unknown word",
    ),
    (
        "udp_send",
        (*TO, "--rate-bps", "1", "--count", "1", "--message-bytes", "23"),
        "--message-bytes",
        "24 to 65507 for a UDP payload",
        "23",
    ),
    (
        "udp_recv",
        ("--port", "0", "--count", "1073741825"),
        "--count",
        "from 1 to 1073741824",
        "'1073741825'",
    ),
]


@pytest.mark.parametrize(("probe", "options", "option", "wanted", "got"), MISTAKES)
def test_mistake_is_named(
    probes: Any, probe: str, options: tuple[str, ...], option: str, wanted: str, got: str
) -> None:
    done = probes.run(probe, *options)
    assert done.status == 2
    assert done.stdout == ""
    said = re.fullmatch(
        rf"{probe}: {re.escape(option)}: wanted (.*), got (.*); try --help\n", done.stderr
    )
    assert said, done.stderr
    assert wanted in said[1]
    assert got in said[2]


@pytest.mark.parametrize("probe", MANDATORY)
def test_help_names_every_option_that_is_reported(probes: Any, probe: str) -> None:
    help_text = probes.run(probe, "--help")
    assert (help_text.status, help_text.stderr) == (0, "")
    documented = set(re.findall(r"^  --([a-z-]+)", help_text.stdout, re.MULTILINE)) - {"help"}
    # A foreign address: the options are printed, then bind fails and the network stays untouched.
    options = probes.run(probe, *MANDATORY[probe], "--bind", "192.0.2.1").one("options")
    assert {key.replace("_", "-") for key in options} - {"event", "probe"} == documented


def test_options_are_reported_as_asked(probes: Any) -> None:
    given_options = probes.run(
        "tcp_send",
        *TO,
        "--count=7",
        "--start-s",
        "0.000000001",
        "--drain-s",
        "12.50",
        "--bind",
        "192.0.2.1",
    ).one("options")
    assert given_options["probe"] == "tcp_send"
    assert given_options["count"] == 7
    assert given_options["start_s"] == 1e-9
    assert given_options["drain_s"] == 12.5
    assert given_options["message_bytes"] == 1448
    assert given_options["sndbuf_bytes"] is None
    assert given_options["nodelay"] is False


def test_failed_run_names_where_wanted_got_and_hint(probes: Any) -> None:
    done = probes.run("tcp_send", *TO, "--count", "1", "--congestion-control", "nonesuch")
    assert done.status == 3
    assert re.search(r"TCP_CONGESTION.*, got ENOENT .*; hint: ", done.stderr)


def test_clipped_buffer_is_an_error(probes: Any) -> None:
    done = probes.run("tcp_recv", "--port", "0", "--rcvbuf-bytes", "1073741823")
    assert done.status == 3
    assert "SO_RCVBUF" in done.stderr
    assert "net.core.rmem_max" in done.stderr
