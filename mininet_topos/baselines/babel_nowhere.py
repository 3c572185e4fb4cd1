"""Where own packets go that have no way yet or no more: a device that swallows and counts them.

A connection can so begin before there is a way, and goes on once there is one, as with AODV, which
keeps such packets; without, the program that sends is told of an error, and what flows offer would
depend on who routes. A way that was withdrawn stands in the main table as unreachable for a while,
with the greatest metric that there is: a route to the same address that is better by one is taken
instead, and any way of babeld's is better than that. What is passed on for others is never led
there: who sent it is told that there is no way, as by any router.
"""

from __future__ import annotations

from collections.abc import Mapping

from mininet_topos.netns import Namespace

#: The device, and the number of its group, by which rules know it.
NOWHERE, GROUP = "nowhere", 42
#: Of routes to it; babeld's unreachable ones have one more.
METRIC = (1 << 32) - 2
#: Of the rule for what is passed on, and of the one after it.
PRIORITY = 30_000
#: All rules of a node, as they are shown.
RULES = (
    "0: from all lookup local",
    f"{PRIORITY}: not from all iif lo lookup main suppress_ifgroup {GROUP}",
    f"{PRIORITY + 1}: not from all iif lo unreachable",
    "32766: from all lookup main",
    "32767: from all lookup default",
)


def lines(sources: Mapping[str, str]) -> str:
    """Return iproute2's lines that have own packets lost silently while they have no way. Pure.

    ``sources`` are the packets' source addresses by where to, in iproute2's words; a way to an
    address may be withdrawn if the address itself is among them. The device counts what it
    swallows, as sent.
    """
    return "".join(
        (
            f"link add {NOWHERE} type dummy\n",
            f"link set {NOWHERE} up group {GROUP}\n",
            *(
                f"route add {to} dev {NOWHERE} src {address} metric {METRIC}\n"
                for to, address in sources.items()
            ),
            f"rule add priority {PRIORITY} not iif lo table main suppress_ifgroup {GROUP}\n",
            f"rule add priority {PRIORITY + 1} not iif lo unreachable\n",
        )
    )


def wanted(sources: Mapping[str, str]) -> tuple[str, ...]:
    """Return what :func:`found` is to return after :func:`lines`; pure."""
    routes = sorted(f"{to} from {address} metric {METRIC}" for to, address in sources.items())
    return *RULES, f"{NOWHERE} in group {GROUP}", *routes


def found(node: Namespace) -> tuple[str, ...]:
    """Return a node's rules, the device's group and the routes that lead to it."""
    rules = (" ".join(line.split()) for line in node.run(["ip", "-4", "rule"]).splitlines())
    (link,) = node.json(["ip", "-json", "link", "show", NOWHERE])
    rows = node.json(["ip", "-4", "-json", "route", "show", "dev", NOWHERE])
    routes = sorted(
        f"{row.get('dst')} from {row.get('prefsrc')} metric {row.get('metric')}" for row in rows
    )
    return *rules, f"{NOWHERE} in group {link.get('group')}", *routes
