"""Counters of the hosts and SCTP's own lists: the first sample whole, then what changed."""

from __future__ import annotations

import contextlib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.recording.socket_sampler import Source
from collectors.sockets.protocol import COLUMNS, protocol_table
from collectors.sockets.samples import Answer, Samples
from model.errors import ParseError
from tests.support.recorded import wireless_cell
from tests.support.recorded_sockets import EPOCH_NS, KERNELS, samples

FLOWS = wireless_cell().flows
SNMP, NETSTAT = "/proc/net/snmp", "/proc/net/netstat"
COUNTS, ASSOCS, PATHS = (f"/proc/net/sctp/{name}" for name in ("snmp", "assocs", "remaddr"))
ASSOCS_HEAD = (
    " ASSOC     SOCK   STY SST ST HBKT ASSOC-ID TX_QUEUE RX_QUEUE UID INODE LPORT RPORT LADDRS"
    " <-> RADDRS HBINT INS OUTS MAXRT T1X T2X RTXC wmema wmemq sndbuf rcvbuf\n"
)
ASSOC = (
    "       0        0 2   1   3  0       3   524800      832       0   884 44057  5002"
    "  10.1.2.2 10.1.3.2 <-> *10.2.2.2 10.2.3.2 \t    3000    10     1   10    4    5"
    "        8   524801   524800   524288   212992\n"
)
PATHS_HEAD = "ADDR ASSOC_ID HB_ACT RTO MAX_PATH_RTX REM_ADDR_RTX START STATE\n"


def made(*files: tuple[int, str, str]) -> pl.DataFrame:
    """Return the table of one host's files: second, path and content of each."""
    answers = tuple(
        Answer(
            t_ns=EPOCH_NS + second * 1_000_000_000, source=Source(node="src2", what=what),
            offset=16, content=text.encode(),
        )
        for second, what, text in files
    )  # fmt: skip
    return protocol_table(Samples(tick_ns=10_000_000, answers=answers, where="s"), FLOWS, EPOCH_NS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_recorded_counters(kernel: str) -> None:
    rows = protocol_table(samples(kernel), FLOWS, EPOCH_NS)
    assert rows.schema == COLUMNS
    first = rows.filter(t_s=0.0)
    assert set(first["node"]) == {"src1", "src2", "dst1", "dst2"}
    tcp = first.filter(pl.col("group") == "Tcp", node="src1")["counter"].to_list()
    assert tcp[:4] == ["RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn"]
    assert rows.filter(counter="MaxConn")["value"].to_list() == [-1] * 4
    # Every counter once at first, and nothing twice that stayed as it was.
    assert first.select("node", "flow", "group", "counter").is_duplicated().sum() == 0
    again = rows.filter(node="src1", group="Tcp", counter="RetransSegs")
    assert again["value"].is_sorted()
    assert again["value"].n_unique() == again.height


def test_recorded_lists_of_sctp() -> None:
    rows = protocol_table(samples("7.3"), FLOWS, EPOCH_NS).filter(node="src2", flow="S")
    assert rows.filter(counter="ST")["value"].to_list() == [1, 3]  # COOKIE-WAIT, ESTABLISHED
    assert rows.filter(group="SctpPath 10.2.2.2", counter="HB_ACT")["value"].to_list() == [0, 1]
    assert rows.filter(group="SctpPath 10.2.2.2", counter="RTO")["value"][0] == 300  # ticks


def test_a_new_head_is_read_anew() -> None:
    rows = made((0, SNMP, "Tcp: A B\nTcp: 1 2\n"), (1, SNMP, "Tcp: B A\nTcp: 1 2\n"))
    assert rows.select("t_s", "counter", "value").rows() == [
        (0.0, "A", 1), (0.0, "B", 2), (1.0, "B", 1), (1.0, "A", 2),
    ]  # fmt: skip


def test_only_changes_follow() -> None:
    texts = ["Tcp: A B\nTcp: 1 2\n", "Tcp: A B\nTcp: 1 2\n", "Tcp: A B\nTcp: 1 3\n"]
    rows = made(*((second, SNMP, text) for second, text in enumerate(texts)))
    assert rows.select("t_s", "flow", "group", "counter", "value").rows() == [
        (0.0, None, "Tcp", "A", 1), (0.0, None, "Tcp", "B", 2), (2.0, None, "Tcp", "B", 3),
    ]  # fmt: skip


def test_associations_of_several_addresses() -> None:
    path = "10.2.3.2  3 1 100 5 0 0 2\n"
    rows = made((0, ASSOCS, ASSOCS_HEAD + ASSOC), (0, PATHS, PATHS_HEAD + path))
    found = {
        (group, counter): value
        for group, counter, value in rows.select("group", "counter", "value").rows()
    }
    assert set(rows["flow"]) == {"S"}
    assert found["SctpAssoc", "ST"] == 3
    assert (found["SctpAssoc", "T1X"], found["SctpAssoc", "T2X"]) == (4, 5)
    assert found["SctpAssoc", "rcvbuf"] == 212992
    assert (found["SctpPath 10.2.3.2", "RTO"], found["SctpPath 10.2.3.2", "STATE"]) == (100, 2)


def test_an_association_of_no_flow_is_left_out() -> None:
    stranger = ASSOC.replace("5002", "5009")
    path = "10.2.3.2  3 1 100 5 0 0 2\n"
    assert made((0, ASSOCS, ASSOCS_HEAD + stranger), (0, PATHS, PATHS_HEAD + path)).is_empty()


def test_counters_of_sctp() -> None:
    rows = made((0, COUNTS, "SctpCurrEstab                   \t1\nSctpAborteds   \t0\n"))
    assert rows.select("group", "counter", "value").rows() == [
        ("Sctp", "CurrEstab", 1), ("Sctp", "Aborteds", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (SNMP, "Tcp: A B\nTcp: 1\n"),
        (SNMP, "Tcp: A B\nUdp: 1 2\n"),
        (SNMP, "Tcp: A B\n"),
        (NETSTAT, "TcpExt: A\nTcpExt: x\n"),
        (NETSTAT, f"TcpExt: A\nTcpExt: {1 << 63}\n"),
        (NETSTAT, "\n\n"),
        (COUNTS, "SctpCurrEstab\n"),
        (COUNTS, "SctpCurrEstab 1 2\n"),
        (ASSOCS, ""),
        (ASSOCS, ASSOCS_HEAD + ASSOC[:60] + "\n"),
        (ASSOCS, "ADDR\n" + ASSOC),
        (PATHS, PATHS_HEAD + "10.2.3.2  3 1\n"),
        ("/proc/net/sockstat", "sockets: used 3\n"),
        (SNMP, "Tcp: \u00e9\nTcp: 1\n"),
    ],
)
def test_what_the_kernel_does_not_write_is_named(what: str, text: str) -> None:
    with pytest.raises(ParseError) as caught:
        made((0, what, text))
    assert str(caught.value).startswith(f"s: byte 16, {what}: not what the kernel writes: got")


@given(what=st.sampled_from([SNMP, COUNTS, ASSOCS, PATHS]), text=st.text(max_size=60))
def test_any_text_is_counters_or_a_parse_error(what: str, text: str) -> None:
    with contextlib.suppress(ParseError):
        made((0, what, text))


@given(offset=st.integers(0, 500), put=st.text("0123456789 \n\t:*", max_size=5))
def test_a_damaged_list_is_taken_or_a_parse_error(offset: int, put: str) -> None:
    text = ASSOCS_HEAD + ASSOC
    with contextlib.suppress(ParseError):
        made((0, ASSOCS, text[:offset] + put + text[offset + len(put) :]))
