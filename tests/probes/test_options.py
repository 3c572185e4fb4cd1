"""Options of the probes: a mistake ends with status 2 and names option, wanted and got."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from tests.support.recorded import text

TO = ("--host", "127.0.0.1", "--port", "9")

MANDATORY = {
    "tcp_send": (*TO, "--count", "1"),
    "tcp_recv": ("--port", "0"),
    "sctp_send": (*TO, "--count", "1"),
    "sctp_recv": ("--port", "0"),
    "udp_send": (*TO, "--count", "1", "--rate-bps", "1"),
    "udp_recv": ("--port", "0"),
}

MISTAKES = text("cases/refused-options.txt").strip().split("\n\n")[1:]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.split("\n")[0])
def test_mistake_is_named(probes: Any, mistake: str) -> None:
    command, said = mistake.split("\n")
    probe, *options = shlex.split(command)
    done = probes.run(probe, *options)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr == f"{probe}: {said}; try --help\n"


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
