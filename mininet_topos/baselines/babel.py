"""babeld on a node: its command line, the IPv6 it speaks over, and the ways it has set.

Debian's babeld 1.13.1 routes IPv4 by messages of RFC 8966, which go over IPv6 link-local addresses.
A node's namespace has IPv6 on the daemon's interfaces alone, without anything that the kernel would
say by itself before: no duplicate address detection, no router solicitations. Its jitter and first
sequence number come from /dev/urandom and the clock, which a lab's seed fixes. Invariant: what was
set is read back before :func:`bring_up` returns.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mininet_topos.baselines import babel_nowhere
from mininet_topos.netns import Namespace
from model.errors import RunError, UnsupportedError

BIN = Path("/usr/sbin/babeld")
#: Its messages' UDP port, and the name that iproute2 has for the routes' protocol, number 42.
PORT, PROTOCOL = 6696, "babel"
#: There if a kernel has IPv6.
IPV6 = "/proc/sys/net/ipv6"
ADDRESSES = "/proc/net/if_inet6"
MS_PER_S = 1000


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """One node's daemon: its interfaces, what it announces, where it may write.

    ``addresses`` are the node's own, each interface's by its name; they alone are told of, as /32.
    ``networks`` are prefixes, by interface: what is in one is told and heard of there alone, and
    nothing else is; empty for a node that does not tell its interfaces apart. ``others`` are the
    addresses that it may have ways to, other nodes'. ``router_id`` is a MAC of 48 bits that no
    other node has. ``place`` is a folder of this daemon's alone, which holds
    its socket for questions while it runs. Intervals are babeld's defaults for wireless interfaces;
    an update of all routes comes with every fourth hello.
    """

    addresses: Mapping[str, str]
    router_id: str
    place: Path
    networks: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    hello_interval_ms: int = 4000
    update_interval_ms: int = 16_000

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The names of its interfaces."""
        return tuple(self.addresses)

    @property
    def questions(self) -> Path:
        """The socket that answers what :func:`parse_dump` reads."""
        return self.place / "socket"

    def statements(self) -> list[str]:
        """Return its configuration, all but files; nothing of the package's own is read."""
        own = [ipaddress.IPv4Address(address) for address in self.addresses.values()]
        networks = [(n, ipaddress.IPv4Network(prefix)) for n, prefix in self.networks.items()]
        intervals = (
            f"hello-interval {_seconds(self.hello_interval_ms)}"
            f" update-interval {_seconds(self.update_interval_ms)}"
        )
        return [
            # Without wireless extensions in the kernel it would take a radio for a cable.
            *(f"interface {name} type wireless link-quality true {intervals}"
              for name in self.interfaces),
            f"router-id {self.router_id}",
            "skip-kernel-setup true",  # it would ask for the forwarding of IPv6
            *(f"redistribute local ip {address}/32 eq 32 allow" for address in own),
            "redistribute local deny",
            "redistribute deny",
            *(f"{way} if {name} {rule}"
              for name, prefix in networks
              for way in ("in", "out")
              for rule in (f"ip {prefix} allow", "deny")),
        ]  # fmt: skip

    def argv(self) -> list[str]:
        """Return the command line. It ends on SIGTERM, and takes its routes along."""
        words = [str(BIN), "-c", "/dev/null", "-I", "", "-S", str(self.place / "state")]
        words += ["-g", str(self.questions)]
        for statement in self.statements():
            words += ["-C", statement]
        return words


def _seconds(interval_ms: int) -> str:
    """Return an interval as babeld takes it: seconds, with up to three decimals."""
    return f"{interval_ms / MS_PER_S:.3f}"


def sysctls(interfaces: Sequence[str]) -> dict[str, str]:
    """Return what a node's namespace must be set to before its daemon starts, in order. Pure.

    An interface's IPv6 begins with the last of its settings, and all others stay without. The
    address that the kernel then makes is that of the MAC.
    """
    settings = {"net.ipv4.ip_forward": "1"}
    for setting, value in (("send_redirects", "0"), ("accept_redirects", "0"), ("rp_filter", "0")):
        settings |= {
            f"net.ipv4.conf.{name}.{setting}": value for name in ("all", "default", *interfaces)
        }
    settings["net.ipv6.conf.default.disable_ipv6"] = "1"
    for name in interfaces:
        settings |= {
            f"net.ipv6.conf.{name}.{setting}": value
            for setting, value in (
                ("accept_dad", "0"), ("dad_transmits", "0"), ("accept_ra", "0"),
                ("router_solicitations", "0"), ("accept_redirects", "0"), ("autoconf", "0"),
                ("addr_gen_mode", "0"), ("disable_ipv6", "0"),
            )
        }  # fmt: skip
    return settings


def link_local(mac: str) -> str:
    """Return the address that an interface of that MAC has on its link (RFC 4291, A). Pure."""
    mac_bytes = bytes.fromhex(mac.replace(":", ""))
    interface_id = bytes([mac_bytes[0] ^ 2, *mac_bytes[1:3], 0xFF, 0xFE, *mac_bytes[3:]])
    return str(ipaddress.IPv6Address(bytes.fromhex("fe80000000000000") + interface_id))


def bring_up(node: Namespace, daemon: Daemon, macs: Mapping[str, str]) -> None:
    """Make a node ready for its daemon: forwarding, and IPv6 on its interfaces, which are up.

    ``macs`` are those of the interfaces, by name. Own packets that have no way are lost without a
    word from now on, see :mod:`mininet_topos.baselines.babel_nowhere`.

    Raises:
        RunError: something is refused, or read back it is not as it was set.
        UnsupportedError: the kernel has no IPv6.
    """
    if not Path(IPV6).is_dir():
        raise UnsupportedError(
            "this kernel has no IPv6, which babeld's messages need", where=node.name,
            wanted=IPV6, got="nothing there", hint="a kernel of ipv6.config has it",
        )  # fmt: skip
    daemon.place.mkdir(parents=True)
    settings = sysctls(daemon.interfaces)
    for name, value in settings.items():
        node.write_sysctl(name, value)
    node.run(["ip", "-batch", "-"], babel_nowhere.lines(nowhere_sources(daemon)))
    found = {name: node.read_sysctl(name) for name in settings}
    check(node.name, "settings", settings, found)
    wanted = {name: (link_local(macs[name]), "ready") for name in daemon.interfaces}
    check(node.name, "IPv6 addresses", wanted, parse_addresses(node.read_file(ADDRESSES)))


def nowhere_sources(daemon: Daemon) -> dict[str, str]:
    """Return the source of own packets that are lost, by iproute2's word for where to. Pure.

    Where interfaces have networks, packets to one have its interface's address.
    """
    first = next(iter(daemon.addresses.values()))
    found = {prefix: daemon.addresses[name] for name, prefix in daemon.networks.items()}
    by_network = [(ipaddress.IPv4Network(prefix), source) for prefix, source in found.items()]
    for address in daemon.others:
        to = ipaddress.IPv4Address(address)
        found[address] = next((own for network, own in by_network if to in network), first)
    return {"default": first} | found


def parse_addresses(text: str) -> dict[str, tuple[str, str]]:
    """Return the last IPv6 address of each interface in /proc/net/if_inet6, and its state. Pure."""
    found = {}
    for line in text.splitlines():
        digits, _, _, _, flags, name = line.split()
        not_ready = int(flags, 16) & 0x48  # IFA_F_TENTATIVE, IFA_F_DADFAILED
        address = str(ipaddress.IPv6Address(bytes.fromhex(digits)))
        found[name] = address, "not ready" if not_ready else "ready"
    return found


def check(node: str, what: str, wanted: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    """Raise :class:`RunError` unless what was read back is what was to be; pure."""
    for name in [*wanted, *(name for name in got if name not in wanted)]:
        if wanted.get(name) != got.get(name):
            raise RunError(
                f"{what} are not as they were set", where=f"{node} {name}",
                wanted=str(wanted.get(name, "none")), got=str(got.get(name, "none")),
            )  # fmt: skip
