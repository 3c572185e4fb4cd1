"""AODV on nodes with two radios: whose packets leave which, and how the kernel is told. Pure.

Each radio is routed for by a daemon of its own, with a table of its own, as if there were two nodes
in one place. Invariants: what is for an address of a second radio leaves by a second radio; what
came in by one radio goes on by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from model.ad_hoc import SECOND_ADDRESSES, NodeRadio
from model.check import Check

_ANY, _FIRST_RULE = "all", 100


def table(device: str) -> int:
    """Return the number of the routing table of a radio's daemon."""
    return int(device.removeprefix("wlan")) + 1


def daemon_options(radio: NodeRadio, of_node: Sequence[NodeRadio]) -> dict[str, str]:
    """Return the options that a radio's daemon has beside another of the same node."""
    others = [other.address for other in of_node if other != radio]
    if not others:
        return {}
    return {
        "tun": f"aodv{table(radio.device) - 1}",
        "table": str(table(radio.device)),
        "other_addresses": ",".join(others),
    }


def _rules(devices: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return what a packet is known by, with its value, and the table it then takes, in order.

    What a daemon kept until there was a route has the number of its table as its mark.
    """
    first, second = devices
    return [
        ("iif", first, table(first)),
        ("iif", second, table(second)),
        ("fwmark", hex(table(first)), table(first)),
        ("fwmark", hex(table(second)), table(second)),
        ("to", SECOND_ADDRESSES, table(second)),
        ("from", _ANY, table(first)),
    ]


def rule_lines(devices: Sequence[str]) -> str:
    """Return the rules of a node with two radios as lines of ``ip -batch``."""
    return "".join(
        f"rule add pref {number} {kind} {value} lookup {at}\n"
        for number, (kind, value, at) in enumerate(_rules(devices), _FIRST_RULE)
    )


def rule_check(node: str, devices: Sequence[str], shown: Sequence[Mapping[str, Any]]) -> Check:
    """Compare the rules of a node with two radios with what ``ip -json rule`` shows."""
    wanted = "; ".join(f"{kind} {value}: {at}" for kind, value, at in _rules(devices))
    last = _FIRST_RULE + len(_rules(devices))
    ours = [rule for rule in shown if _FIRST_RULE <= rule.get("priority", 0) < last]
    got = "; ".join(map(_said, ours))
    return Check(
        check="routing by radio", where=f"{node}, ip rule", wanted=wanted, got=got,
        agrees=wanted == got,
    )  # fmt: skip


def _said(rule: Mapping[str, Any]) -> str:
    if "iif" in rule:
        known = f"iif {rule['iif']}"
    elif "fwmark" in rule:
        known = f"fwmark {rule['fwmark']}"
    elif "dst" in rule:
        known = f"to {rule['dst']}/{rule.get('dstlen', 32)}"
    else:
        known = f"from {rule.get('src', '')}"
    return f"{known}: {rule.get('table', '')}"
