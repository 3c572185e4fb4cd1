"""A cluster's address: TLS between machines, or nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from model.errors import StudyError, UnsupportedError
from testbed.cluster import address, keys


@pytest.mark.parametrize(
    ("text", "scheme", "host", "port"),
    [
        ("tls://lab1:8786", "tls", "lab1", 8786),
        ("tls://[2001:db8::1]:1", "tls", "[2001:db8::1]", 1),
        ("tcp://127.0.0.1:65535", "tcp", "127.0.0.1", 65535),
        ("tcp://[::1]:9", "tcp", "[::1]", 9),
        ("tcp://localhost:9", "tcp", "localhost", 9),
    ],
)
def test_addresses_are_read_and_said_as_they_are(
    text: str, scheme: str, host: str, port: int
) -> None:
    found = address.parse(text)
    assert (found.scheme, found.host, found.port) == (scheme, host, port)
    assert str(found) == text


@pytest.mark.parametrize(
    "text",
    ["lab1:8786", "tls://lab1", "tls://lab1:0", "tls://lab1:65536", "tls://a b:1", "ucx://lab1:1",
     "tls://user@lab1:1", "tls://lab1:8786/x", "tls://lab1:8786 ", "tls://:1", "tls://lab1:\uff11"],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(StudyError, match=r"not the address of a scheduler"):
        address.parse(text)


@pytest.mark.parametrize(
    "text", ["tcp://lab1:8786", "tcp://0.0.0.0:8786", "tcp://10.0.0.1:1", "tcp://[::]:1",
             "tcp://localhost.example:1"],
)  # fmt: skip
def test_nothing_is_spoken_in_the_clear_between_machines(text: str) -> None:
    with pytest.raises(StudyError, match=r"in the clear.*cluster-keys"):
        address.parse(text)


def test_no_cluster_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(address.VARIABLE, raising=False)
    assert address.named() is None
    monkeypatch.setenv(address.VARIABLE, " ")
    assert address.named() is None
    monkeypatch.setenv(address.VARIABLE, "tls://lab1:8786")
    assert str(address.named()) == "tls://lab1:8786"


def test_keys_are_asked_for_and_must_be_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "keys"
    monkeypatch.setenv(address.KEYS_VARIABLE, str(folder))
    lab1 = address.parse("tls://lab1:8786")
    with pytest.raises(UnsupportedError, match=r"authority.pem: a cluster's key is missing"):
        address.security(lab1)
    keys.make(folder)
    assert address.security(lab1).require_encryption
    (folder / address.KEY).chmod(0o640)
    with pytest.raises(UnsupportedError, match=r"others can read.*wanted mode 600, got 640"):
        address.security(lab1)


@pytest.mark.parametrize("days", [-1, keys.DAYS + 1])
def test_keys_of_another_time_are_told_before_anything_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    monkeypatch.setenv(address.KEYS_VARIABLE, str(tmp_path / "keys"))
    keys.make(tmp_path / "keys")
    then_s = time.time() + days * 86400
    monkeypatch.setattr(time, "time", lambda: then_s)
    with pytest.raises(
        UnsupportedError,
        match=r"authority.pem: .* not of this time: wanted .* to .* GMT, got .* GMT",
    ):
        address.check_keys(address.parse("tls://lab1:8786"))


@pytest.mark.parametrize("content", ["", "no key"])
def test_a_broken_key_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setenv(address.KEYS_VARIABLE, str(tmp_path / "keys"))
    keys.make(tmp_path / "keys")
    (tmp_path / "keys" / address.AUTHORITY).write_text(content)
    with pytest.raises(UnsupportedError, match=r"authority.pem: a cluster's key cannot be read"):
        address.check_keys(address.parse("tls://lab1:8786"))


def test_keys_are_made_once_and_hold_what_machines_need(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "keys"
    keys.make(folder)
    assert {path.name for path in folder.iterdir()} == {
        address.AUTHORITY, address.CERTIFICATE, address.KEY
    }  # fmt: skip
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o077 == 0
    before = (folder / address.KEY).read_bytes()
    with pytest.raises(StudyError, match=r"never overwritten"):
        keys.make(folder)
    assert (folder / address.KEY).read_bytes() == before
    assert [path.name for path in folder.parent.iterdir()] == ["keys"]


def test_without_openssl_it_is_said_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match=r"no openssl.*apt install openssl"):
        keys.make(tmp_path / "keys")
    assert not (tmp_path / "keys").exists()


PLACE = Path("pool.yml")


def _listed(*schedulers: str, **variables: object) -> dict[str, object]:
    """Return what Ansible lists of an inventory; the variables are of its first scheduler."""
    return {
        "scheduler": {"hosts": list(schedulers)},
        "_meta": {"hostvars": dict.fromkeys(schedulers[:1], variables)},
    }


@pytest.mark.parametrize(
    ("variables", "address_there"),
    [
        ({}, "tls://lab1:8786"),
        ({"ansible_host": "192.0.2.7"}, "tls://192.0.2.7:8786"),
        ({"ansible_host": "2001:db8::1"}, "tls://[2001:db8::1]:8786"),
        (
            {"ansible_host": "outer", "cluster_member_address": "in", "cluster_member_port": 99},
            "tls://in:99",
        ),
    ],
)
def test_an_inventory_says_where_its_scheduler_is(
    variables: dict[str, object], address_there: str
) -> None:
    assert str(address.of_listing(_listed("lab1", **variables), PLACE)) == address_there


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ({}, "pool.yml, group scheduler: .* wanted one host, got none"),
        (_listed("a", "b"), "pool.yml, group scheduler: .* wanted one host, got a b"),
        (
            _listed("a", cluster_member_port=0),
            r"pool.yml, a: .* no address: wanted .*ansible_host.*, got tls://a:0",
        ),
        (_listed("a", ansible_host="{{ b }}"), "no address: .* got tls://{{ b }}:8786"),
    ],
)
def test_an_inventory_that_names_no_scheduler_is_refused(
    listed: dict[str, object], words: str
) -> None:
    with pytest.raises(StudyError, match=words):
        address.of_listing(listed, PLACE)


def test_a_cluster_may_be_named_by_the_file_of_an_inventory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "pool.yml"
    place.write_text("scheduler: {hosts: {lab1: }}\nworkers: {hosts: {lab2: , lab3: }}\n")
    monkeypatch.setenv(address.VARIABLE, str(place))
    assert str(address.named()) == "tls://lab1:8786"
    place.write_text("scheduler: {hosts: {a:")
    with pytest.raises(UnsupportedError, match="Ansible cannot read the inventory"):
        address.named()
    place.unlink()
    with pytest.raises(StudyError, match=r"no such inventory: .* got .*pool.yml"):
        address.named()
