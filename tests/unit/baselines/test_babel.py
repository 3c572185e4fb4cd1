"""babeld's command line, the settings around it, and what is read back of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from mininet_topos.baselines import babel
from mininet_topos.baselines.babel import Daemon
from mininet_topos.netns import Journal, Namespace
from model.errors import RunError, UnsupportedError

DAEMON = Daemon(
    addresses={"wlan0": "10.0.1.7"}, router_id="02:00:00:00:01:06", place=Path("/run/babel/n7"),
)  # fmt: skip
#: Of a node that tells its two radios apart.
TWO = Daemon(
    addresses={"wlan0": "10.0.1.7", "wlan1": "10.128.1.7"}, router_id="02:00:00:00:01:06",
    place=Path("/run/x"), networks={"wlan0": "10.0.0.0/9", "wlan1": "10.128.0.0/9"},
    hello_interval_ms=500, update_interval_ms=2005,
)  # fmt: skip
SHOWN = """\
fe800000000000000000000000000000 05 40 20 80    wlan1
fe80000000000000000000fffe000106 04 40 20 80    wlan0
"""


def test_it_announces_its_own_address_and_nothing_else() -> None:
    assert [line for line in DAEMON.statements() if line.startswith("redistribute")] == [
        "redistribute local ip 10.0.1.7/32 eq 32 allow",
        "redistribute local deny",
        "redistribute deny",
    ]


def test_radios_are_wireless_with_the_default_intervals() -> None:
    assert DAEMON.statements()[0] == (
        "interface wlan0 type wireless link-quality true"
        " hello-interval 4.000 update-interval 16.000"
    )
    assert [line.split()[1] for line in TWO.statements()[:2]] == ["wlan0", "wlan1"]
    assert TWO.statements()[1].endswith("hello-interval 0.500 update-interval 2.005")


def test_nothing_of_the_package_is_read_and_nothing_written_elsewhere() -> None:
    words = DAEMON.argv()
    assert words[:9] == [
        "/usr/sbin/babeld", "-c", "/dev/null", "-I", "", "-S", "/run/babel/n7/state",
        "-g", "/run/babel/n7/socket",
    ]  # fmt: skip
    assert words[9::2] == ["-C"] * len(DAEMON.statements())
    assert words[10::2] == DAEMON.statements()


def test_an_address_that_is_none_is_refused() -> None:
    wrong = Daemon(addresses={"wlan0": "10.0.1.7/24"}, router_id="x", place=Path("/run"))
    with pytest.raises(ValueError, match=r"10\.0\.1\.7/24"):
        wrong.statements()


def test_ipv6_begins_last_and_on_its_interfaces_alone() -> None:
    settings = babel.sysctls(("wlan0",))
    switches = [name for name in settings if name.endswith("disable_ipv6")]
    on = [name for name in switches if settings[name] == "0"]
    assert on == ["net.ipv6.conf.wlan0.disable_ipv6"] == list(settings)[-1:]
    assert settings["net.ipv6.conf.default.disable_ipv6"] == "1"
    for name in ("accept_dad", "dad_transmits", "router_solicitations", "addr_gen_mode"):
        assert settings[f"net.ipv6.conf.wlan0.{name}"] == "0"
    assert settings["net.ipv4.ip_forward"] == "1"
    assert settings["net.ipv4.conf.wlan0.send_redirects"] == "0"
    assert "net.ipv6.conf.all.forwarding" not in settings


@pytest.mark.parametrize(
    ("mac", "address"),
    [
        ("02:00:00:00:01:06", "fe80::ff:fe00:106"),
        ("00:1b:21:ab:cd:ef", "fe80::21b:21ff:feab:cdef"),  # bit of 2 set: not the maker's
    ],
)
def test_the_address_of_a_mac(mac: str, address: str) -> None:
    assert babel.link_local(mac) == address


def test_addresses_read_back() -> None:
    assert babel.parse_addresses(SHOWN) == {
        "wlan1": ("fe80::", "ready"), "wlan0": ("fe80::ff:fe00:106", "ready"),
    }  # fmt: skip
    tentative = SHOWN.replace(" 80    wlan0", " c0    wlan0")
    assert babel.parse_addresses(tentative)["wlan0"] == ("fe80::ff:fe00:106", "not ready")


@pytest.mark.parametrize(
    "got", [{}, {"wlan0": "fe80::2"}, {"wlan0": "fe80::1", "lo": "::1"}], ids=str
)
def test_what_is_not_as_it_was_set_is_named(got: dict[str, str]) -> None:
    babel.check("n1", "IPv6 addresses", {"wlan0": "fe80::1"}, {"wlan0": "fe80::1"})
    with pytest.raises(RunError, match=r"^n1 \w+: IPv6 addresses are not as they were set"):
        babel.check("n1", "IPv6 addresses", {"wlan0": "fe80::1"}, got)


def test_each_radio_of_two_tells_and_hears_of_its_own_network() -> None:
    assert TWO.statements()[-10:] == [
        "redistribute local deny",
        "redistribute deny",
        "in if wlan0 ip 10.0.0.0/9 allow",
        "in if wlan0 deny",
        "out if wlan0 ip 10.0.0.0/9 allow",
        "out if wlan0 deny",
        "in if wlan1 ip 10.128.0.0/9 allow",
        "in if wlan1 deny",
        "out if wlan1 ip 10.128.0.0/9 allow",
        "out if wlan1 deny",
    ]
    announced = [line for line in TWO.statements() if line.endswith("eq 32 allow")]
    assert announced == [
        f"redistribute local ip {address}/32 eq 32 allow" for address in TWO.addresses.values()
    ]


def test_a_network_that_is_none_is_refused() -> None:
    wrong = Daemon(
        addresses={"wlan0": "10.0.1.7"}, networks={"wlan0": "10.0.1.7/9"}, router_id="x",
        place=Path("/run"),
    )  # fmt: skip
    with pytest.raises(ValueError, match="has host bits set"):
        wrong.statements()


def test_a_kernel_without_ipv6_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(babel, "IPV6", str(tmp_path / "none"))
    node = Namespace(name="n1", handle=-1, home=-1, journal=Journal())
    with pytest.raises(UnsupportedError, match="no IPv6"):
        babel.bring_up(node, DAEMON, {})
