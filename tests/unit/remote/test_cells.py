"""The remote lab, what of it needs no machine: inventory, joining what machines left."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from collectors.raw import messages
from model.errors import UnsupportedError
from testbed.labs.remote import assemble, bundle, connections, inventory, playbooks, retold
from testbed.labs.remote.clocks import Clock, Shift
from tests.support.recorded import wireless_cell

S = 1_000_000_000
NETWORK = wireless_cell().wired
PLACE = Path("testbed.yml")


def listing(**links: dict[str, str]) -> dict[str, Any]:
    """What Ansible says of six machines; those named have other links."""
    usual = {
        "a": {"l": "eth1"}, "b": {"l": "eth1"}, "l": {"a": "eth1", "b": "eth2", "r": "eth3"},
        "r": {"l": "eth3", "x": "eth1", "y": "eth2"}, "x": {"r": "eth1"}, "y": {"r": "eth1"},
    }  # fmt: skip
    told = usual | links
    return {
        "_meta": {"hostvars": {name: {"links": value} for name, value in told.items()}},
        "sources": {"hosts": ["a", "b"]},
        "routers": {"hosts": ["l", "r"]},
        "sinks": {"hosts": ["x", "y"]},
    }


def test_nodes_are_machines_in_the_order_of_the_inventory() -> None:
    found = inventory.of_listing(listing(), PLACE)
    placed = found.placed(NETWORK)
    assert {node: machine.name for node, machine in placed.items()} == {
        "src1": "a", "src2": "b", "r1": "l", "r2": "r", "dst1": "x", "dst2": "y",
    }  # fmt: skip
    lent = found.lent(NETWORK)
    assert lent["l"] == [
        ("eth3", "r1", "r1-bottleneck"), ("eth1", "r1", "r1-src1"), ("eth2", "r1", "r1-src2"),
    ]  # fmt: skip
    assert lent["y"] == [("eth1", "dst2", "dst2-eth0")]


def test_how_a_machine_is_reached_is_what_ansible_says() -> None:
    told = listing()
    told["_meta"]["hostvars"]["a"] |= {
        "ansible_host": "192.0.2.1", "ansible_port": 2222, "ansible_user": "lab",
        "ansible_ssh_private_key_file": "k", "ansible_ssh_common_args": "-o A='b c'",
    }  # fmt: skip
    argv = inventory.of_listing(told, PLACE).sources[0].ssh("true")
    assert argv[-2] == "192.0.2.1"
    assert "A=b c" in argv
    assert argv[argv.index("-p") + 1] == "2222"
    assert argv[argv.index("-l") + 1] == "lab"
    assert """sudo -n -- env SSH_CONNECTION="$SSH_CONNECTION" sh -c true""" in argv[-1]
    assert "BatchMode=yes" in argv


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda told: told["sinks"].update(hosts=[]), "group sinks: .* wanted at least 1, got 0"),
        (lambda told: told["routers"].update(hosts=["l"]), "group routers: .* wanted 2, got 1"),
        (
            lambda told: told["routers"].update(hosts=["l", "r", "b"]),
            "group routers: .* too many machines: wanted 2, got 3",
        ),
        (
            lambda told: told["sinks"].update(hosts=["a"]),
            "a machine is in two groups: got a",
        ),
        (
            lambda told: [
                told["_meta"]["hostvars"][name].update(ansible_host="192.0.2.1") for name in "ab"
            ],
            "two machines have one address: got 192.0.2.1 port 22",
        ),
        (
            lambda told: told["_meta"]["hostvars"]["a"].update(links={"lefft": "eth1"}),
            "a, links: a link leads to no machine of the inventory: wanted a b .*, got lefft",
        ),
        (
            lambda told: told["_meta"]["hostvars"]["a"].update(links={"l": "eth1; reboot"}),
            "a, links: no name of an interface: .* got eth1; reboot",
        ),
        (
            lambda told: told["_meta"]["hostvars"]["a"].update(ansible_port="ssh"),
            "a, ansible_port: no port: wanted a number, got ssh",
        ),
        (lambda told: told["_meta"]["hostvars"]["x"].clear(), "x, links: .* wanted a table"),
        (
            lambda told: told["_meta"]["hostvars"]["l"]["links"].update(a="eth2"),
            "an interface leads to two neighbours",
        ),
    ],
)
def test_an_inventory_that_lacks_something_is_refused(change: Any, words: str) -> None:
    told = listing()
    change(told)
    with pytest.raises(UnsupportedError, match=words):
        inventory.of_listing(told, PLACE)


def test_too_few_machines_and_links_are_named() -> None:
    told = listing(l={"a": "eth1", "r": "eth3"})
    with pytest.raises(UnsupportedError, match=r"testbed.yml, l, links: .* wanted b: INTERFACE"):
        inventory.of_listing(told, PLACE).lent(NETWORK)
    told = listing()
    told["sources"]["hosts"] = ["a"]
    with pytest.raises(UnsupportedError, match=r"group sources: .* wanted 2, got 1"):
        inventory.of_listing(told, PLACE).placed(NETWORK)


def test_a_file_that_ansible_cannot_read_is_no_inventory_without_machines(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text("sources:\n  vars: {ansible_user: root\n  hosts: {a: {}}\n")
    with pytest.raises(UnsupportedError, match=r"Ansible cannot read the inventory: got .*"):
        inventory.read(broken)


def test_no_inventory_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="INVENTORY=FILE"):
        inventory.read(tmp_path / "none.yml")


PLAYS = """#!/bin/sh
echo "TASK [look]"
echo "$@" >{folder}/asked
echo "fatal: [omega]: no such interface eth9"
exit {status}
"""


@pytest.fixture
def ansible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return what puts a program in Ansible's place that ends with a status."""
    program = tmp_path / "ansible-playbook"
    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "logs"))
    monkeypatch.setattr(inventory, "program", lambda _name: str(program))

    def ending(status: int) -> None:
        program.write_text(PLAYS.format(folder=tmp_path, status=status))
        program.chmod(0o755)

    return ending


def test_a_play_that_fails_says_why_and_keeps_what_was_said(
    ansible: Callable[[int], None], tmp_path: Path
) -> None:
    ansible(2)
    with pytest.raises(UnsupportedError) as failed:
        playbooks.play("testbed.yml", PLACE, {"key": "value"})
    assert failed.value.got == "fatal: [omega]: no such interface eth9"
    (log,) = (tmp_path / "logs").iterdir()
    assert failed.value.hint == f"all that Ansible said: {log}"
    assert log.read_text().startswith("TASK [look]")
    asked = (tmp_path / "asked").read_text()
    assert "--skip-tags lab_machine --extra-vars key=value" in asked
    assert str(playbooks.PLAYBOOKS / "testbed.yml") in asked


def test_a_play_that_ends_well_leaves_no_log(
    ansible: Callable[[int], None], tmp_path: Path
) -> None:
    ansible(0)
    playbooks.play("testbed.yml", PLACE, {})
    assert list((tmp_path / "logs").iterdir()) == []


@pytest.mark.parametrize("words", [words for words, _ in connections.ADVICE])
def test_what_ssh_says_has_advice(words: str) -> None:
    last, advice = connections.last_words(f"something\n{words}\nthe end\n")
    assert last == "the end"
    assert advice == dict(connections.ADVICE)[words]


def heard(into: Path, wanted: str, said: bytes) -> list[connections.Said]:
    """What a connection makes of a machine's words, a file of that name having been asked for."""
    child: Any = SimpleNamespace(stdout=io.BytesIO(said))
    machine: Any = SimpleNamespace(name="m")
    connection = connections.Connection(
        machine=machine, child=child, errors=into, into=into, wanted=wanted, most_bytes=9
    )
    found: list[connections.Said] = []
    connections._read(connection, found.append)
    return found


def file(name: str, content: bytes) -> bytes:
    return (
        json.dumps({"say": "file", "name": name, "size": len(content)}).encode() + b"\n" + content
    )


def test_a_file_that_was_asked_for_is_kept(tmp_path: Path) -> None:
    (said, end) = heard(tmp_path, "raw/a.json", file("raw/a.json", b"content"))
    assert (said.kind, end.kind) == ("file", "lost")
    assert (tmp_path / "raw" / "a.json").read_bytes() == b"content"


@pytest.mark.parametrize(
    "said",
    [
        file("../evil", b"x"), file("/evil", b"x"), file("b", b"x"), file("a", b"x" * 10),
        file("a", b"x") * 2, file("a", b"xy")[:-1], b"[" * 100_000 + b"\n", b"null\n", b"{}\n",
        b'{"say": "file"}\n', b"\xff\n",
    ],
)  # fmt: skip
def test_what_a_machine_may_not_say_ends_its_connection(tmp_path: Path, said: bytes) -> None:
    inside = tmp_path / "machine"
    inside.mkdir()
    assert heard(inside, "a", said)[-1].kind == "error"
    assert [path.name for path in tmp_path.iterdir()] == ["machine"]
    assert {path.name for path in inside.iterdir()} <= {"a"}


def test_a_machine_that_says_nothing_is_told_so() -> None:
    assert connections.last_words("") == ("no word", "")


def shift(offset_ns: int, ahead_ns: int = 0) -> Shift:
    def clock(offset: int, ahead: int) -> Clock:
        return Clock(
            at_ns=0, offset_ns=offset, drift=0.0, within_ns=10, ahead_ns=ahead, exchanges=1
        )

    return Shift(of=clock(offset_ns, ahead_ns), to=clock(0, 50))


def test_times_of_a_machine_become_those_of_the_reference() -> None:
    one = shift(100, ahead_ns=1_000)
    assert one.monotonic_ns(150) == 50
    assert one.realtime_ns(1_150) == 100  # at 150 of its own, 50 of the reference's, dated 100
    assert one.within_ns == 20
    same = Shift(of=one.to, to=one.to)
    assert (same.monotonic_ns(5), same.realtime_ns(5), same.within_ns) == (5, 5, 0.0)


RECEIVED = """{"event": "open", "open_t_ns": %d}
{"event": "totals", "last_t_ns": %d, "owd_min_ns": %d, "owd_mean_ns": -7, "packets": 3}
"""


def told(began_s: int, ended_s: int, drift: float, *, within_ns: float = 0) -> list[Any]:
    """What a receiver says, 5 s ahead of a sender whose clock drifts and who is the reference."""
    there = Clock(at_ns=0, offset_ns=0, drift=drift, within_ns=within_ns, ahead_ns=0, exchanges=9)
    here = Clock(at_ns=0, offset_ns=5 * S, drift=0, within_ns=within_ns, ahead_ns=0, exchanges=9)
    text = RECEIVED % ((began_s + 5) * S, (ended_s + 5) * S, 5 * S + 30_000_000)
    own, sender = Shift(of=here, to=there), Shift(of=there, to=there)
    return [json.loads(line) for line in retold.program(text, own, sender, 2e6).splitlines()]


def test_one_way_delays_are_told_between_the_clocks_of_both_ends() -> None:
    began, ended = told(100, 200, 0.0)
    assert (began["open_t_ns"], ended["last_t_ns"]) == (100 * S, 200 * S)
    assert (ended["owd_min_ns"], ended["owd_mean_ns"]) == (30_000_000, -7 - 5 * S)
    assert ended["packets"] == 3
    # 20 ppm: the sender's clock is 2 ms ahead at the first and 4 ms at the last.
    _, ended = told(100, 200, 20e-6)
    assert ended["owd_min_ns"] == pytest.approx(30_000_000 + 3_000_000, abs=2)


@pytest.mark.parametrize("known", [{"drift": 50e-6}, {"drift": 0.0, "within_ns": 1_100_000}])
def test_one_way_delays_are_missing_where_clocks_move_or_are_not_known(known: Any) -> None:
    _, ended = told(100, 200, **known)
    assert (ended["owd_min_ns"], ended["owd_mean_ns"], ended["packets"]) == (None, None, 3)
    assert ended["last_t_ns"] == pytest.approx(200 * S, abs=20_000_000)


def capture(*times: tuple[int, int]) -> bytes:
    head = struct.pack("<IHHiIII", retold.PCAP_MAGIC, 2, 4, 0, 0, 160, 276)
    records = (retold.RECORD.pack(s, ns, 3, 60) + b"abc" for s, ns in times)
    return head + b"".join(records)


def test_times_of_messages_are_told_on_another_clock_and_nothing_else_changes() -> None:
    sent = np.array([(5, 7), (8, 9)], messages.SENT)
    delivered = np.array([(50, 3, 1448, 2, 1)], messages.DELIVERED)
    moved = retold.messages(sent.tobytes(), messages.SENT, lambda t: 10 * t)
    assert np.frombuffer(moved, messages.SENT).tolist() == [(50, 70), (80, 90)]
    moved = retold.messages(delivered.tobytes(), messages.DELIVERED, lambda t: t + 1)
    assert np.frombuffer(moved, messages.DELIVERED).tolist() == [(51, 3, 1448, 2, 1)]


def test_packets_of_a_capture_get_other_times_and_nothing_else() -> None:
    moved = retold.capture(capture((1, 999_999_999), (2, 5)), lambda t: t + 2)
    assert moved == capture((2, 1), (2, 7))


@pytest.mark.parametrize("content", [b"", b"\xd4\xc3\xb2\xa1" + bytes(20), capture((1, 1))[:-1]])
def test_what_is_no_whole_capture_is_refused(content: bytes) -> None:
    with pytest.raises((ValueError, struct.error)):
        retold.capture(content, lambda t: t)


def test_documents_are_joined() -> None:
    one = {"a": {"x": 1}, "same": [1, 2], "rows": [1]}
    other = {"b": {"y": 2}, "same": [1, 2], "rows": [2]}
    assert assemble.joined([one, other]) == {
        "a": {"x": 1}, "b": {"y": 2}, "same": [1, 2], "rows": [1, 2],
    }  # fmt: skip
    with pytest.raises(ValueError, match="machines differ"):
        assemble.joined([{"snap_bytes": 160}, {"snap_bytes": 2048}])


def test_a_setting_agrees_if_it_does_on_all_machines() -> None:
    def row(read_back: dict[str, str]) -> list[dict[str, Any]]:
        knob = {"name": "n", "value": "1", "read_back": read_back, "agrees": None}
        return [{"parameter": "p", "knobs": [knob]}]

    def agrees(*parts: dict[str, str]) -> Any:
        (joined,) = assemble.joined_ledger([row(part) for part in parts])
        return joined["knobs"][0]["agrees"]

    assert agrees({"src1": "1"}, {}, {"dst1": "1"}) is True
    assert agrees({"src1": "1"}, {"dst1": "2"}) is False
    assert agrees({}, {}) is None


def test_a_file_is_taken_with_all_links_that_lead_to_it(tmp_path: Path) -> None:
    (tmp_path / "usr/lib/deep").mkdir(parents=True)
    (tmp_path / "usr/lib/deep/libx.so.1.2").write_text("x")
    (tmp_path / "usr/lib/deep/libx.so.1").symlink_to("libx.so.1.2")
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "usr/lib/sh").symlink_to("/lib/deep/libx.so.1")
    assert list(bundle.with_links(tmp_path, "lib/deep/libx.so.1")) == [
        "lib", "usr/lib/deep/libx.so.1", "usr/lib/deep/libx.so.1.2",
    ]  # fmt: skip
    assert list(bundle.with_links(tmp_path, "usr/lib/sh")) == [
        "usr/lib/sh", "lib", "usr/lib/deep/libx.so.1", "usr/lib/deep/libx.so.1.2",
    ]  # fmt: skip


def test_sessions_have_all_that_they_import(tmp_path: Path) -> None:
    """With the standard library and what is deployed, and nothing else."""
    for name, path in bundle.sources():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(path.read_bytes())
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'lib')!r}); import {connections.SESSION}"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
