"""What babeld answers, word by word, and the routes that it sets."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.baselines.babel_ways import (
    Neighbour,
    ask,
    parse_dump,
    parse_routes,
)
from model.errors import RunError

#: What the second of four nodes in a row answered, recorded in the lab.
RECORDED = (Path(__file__).parents[2] / "data" / "babeld-1.13" / "dump.txt").read_text()
GREETING = RECORDED[: RECORDED.index("add ")]
ON_THE_LEFT, ON_THE_RIGHT = "fe80::ff:fe00:0", "fe80::ff:fe00:2"
SHOWN = [
    {"dst": "10.0.0.4", "gateway": "10.0.0.3", "dev": "wlan0", "protocol": "babel"},
    {"type": "unreachable", "dst": "10.0.0.1", "dev": "lo", "protocol": "babel"},
]


def test_a_recorded_answer_in_order_and_without_places_in_memory() -> None:
    found = parse_dump(RECORDED, "n2")
    assert found.router_id == "02:00:00:ff:fe:00:00:01"
    assert found.announced == ("10.0.0.2/32",)
    assert found.neighbours == tuple(
        Neighbour(
            address=address, interface="wlan0", reach=0xFFFF, receive_cost=256, send_cost=256,
            cost=256,
        )
        for address in (ON_THE_LEFT, ON_THE_RIGHT)
    )  # fmt: skip
    assert [(way.prefix, way.via, way.metric, way.is_installed) for way in found.ways] == [
        ("10.0.0.1/32", ON_THE_LEFT, 256, True),
        ("10.0.0.1/32", ON_THE_RIGHT, 768, False),
        ("10.0.0.3/32", ON_THE_RIGHT, 256, True),
        ("10.0.0.3/32", ON_THE_LEFT, 768, False),
        ("10.0.0.4/32", ON_THE_RIGHT, 512, True),
        ("10.0.0.4/32", ON_THE_LEFT, 1024, False),
    ]
    assert {way.interface for way in found.ways} == {"wlan0"}


@pytest.mark.parametrize(
    "text", ["", "BABEL 2.0\nok\nok\n", GREETING, RECORDED.removesuffix("ok\n")], ids=len
)
def test_no_answer_is_not_an_empty_one(text: str) -> None:
    with pytest.raises(RunError, match=r"^n2: not babeld's answer"):
        parse_dump(text, "n2")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add interface", "\nadd interface"),
        ("my-id 02:00:00:ff:fe:00:00:01\n", ""),
        ("my-id 02:00:00:ff:fe:00:00:01\n", "my-id\n"),
        ("add interface", "add\nadd interface"),
        (" reach ffff", ""),
        (" reach ffff", " reach x"),
        (" metric 256", " metric"),
        (" installed yes", ""),
    ],
)
def test_an_answer_with_something_amiss_is_none(old: str, new: str) -> None:
    assert old in RECORDED
    with pytest.raises(RunError, match=r"^n2: not babeld's answer"):
        parse_dump(RECORDED.replace(old, new, 1), "n2")


WORDS = st.sampled_from(["add", "route", "neighbour", "xroute", "ok", "my-id", "", "\n", "-1", "x"])


@given(st.data())
def test_whatever_is_said_is_an_answer_or_none(data: st.DataObject) -> None:
    words = RECORDED.replace("\n", " \n ").split(" ")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words) - 1))
        words[at : at + data.draw(st.integers(0, 3))] = data.draw(st.lists(WORDS, max_size=2))
    with contextlib.suppress(RunError):
        assert parse_dump(" ".join(words).replace(" \n ", "\n"), "n2").router_id


def test_who_asks_gets_the_answer(tmp_path: Path) -> None:
    asked = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen(1)

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(GREETING.encode())
                asked.append(connection.recv(100))
                connection.sendall(RECORDED.removeprefix(GREETING).encode())

        thread = threading.Thread(target=answer)
        thread.start()
        assert ask(tmp_path / "socket", "n2") == parse_dump(RECORDED, "n2")
        thread.join(10)
    assert asked == [b"dump\nquit\n"]


def test_nobody_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^n2: babeld does not answer"):
        ask(tmp_path / "socket", "n2")


def test_routes_in_the_kernel() -> None:
    assert parse_routes(SHOWN) == {"10.0.0.4": "10.0.0.3"}
