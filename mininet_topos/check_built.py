"""Read back what was built, and compare. Nothing is believed because a command succeeded.

Comparisons are pure functions of a tool's JSON; only :func:`read_back` talks to the lab.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mininet_topos import offloads
from mininet_topos.batch_lines import FIRST_TABLE
from mininet_topos.layout import Counter, Layout
from mininet_topos.netns import Namespace
from model.check import Check
from model.errors import VerifyError

#: Kinds that hold no packet back: a device without a queue, and the hook for filters.
PASSIVE = frozenset({"noqueue", "clsact"})
#: Rules that every network has: local, main, default.
KERNEL_RULES = 3


def compare_qdiscs(laid_out: Layout, node: str, shown: list[dict[str, Any]]) -> list[Check]:
    """Compare ``tc -j qdisc show`` of one node with its stages: each there, none besides."""
    checks = []
    found = {(q.get("dev"), q.get("handle")): q for q in shown if q.get("kind") not in PASSIVE}
    stages = [stage for stage in laid_out.stages if stage.node == node]
    for stage in stages:
        qdisc = found.pop((stage.device, stage.handle), None)
        parent = None if qdisc is None else "root" if qdisc.get("root") else qdisc.get("parent")
        if qdisc is None or parent != stage.parent or qdisc.get("kind") != stage.kind:
            got = "no such qdisc" if qdisc is None else f"{qdisc.get('kind')}, parent {parent}"
            checks.append(
                Check(check=stage.role, where=stage.where(), wanted=stage.options(), got=got,
                      agrees=False)
            )  # fmt: skip
            continue
        wrong = stage.mismatches(qdisc)
        checks.append(
            Check(
                check=stage.role,
                where=stage.where(),
                wanted="; ".join(f"{s} {w}" for s, w, _ in wrong) or stage.options(),
                got="; ".join(f"{s} {g}" for s, _, g in wrong) or "the same",
                agrees=not wrong,
            )
        )
    for device, handle in sorted(found, key=str):
        checks.append(
            Check(check="unasked qdisc", where=f"{node}:{device} {handle}", wanted="none",
                  got=str(found[device, handle].get("kind")), agrees=False)
        )  # fmt: skip
    return checks


def compare_route(node: str, shown: list[dict[str, Any]], wanted: dict[str, str]) -> list[Check]:
    """Compare ``ip -j -d route show default`` with the route options asked for."""
    got = route_options(shown)
    return [
        Check(check=f"route option {name}", where=node, wanted=value,
              got=got.get(name, "not set"), agrees=_route_value_agrees(value, got.get(name)))
        for name, value in wanted.items()
    ]  # fmt: skip


def route_options(shown: list[dict[str, Any]]) -> dict[str, str]:
    """Return the metrics of the first route in ``ip -j route show`` by option name."""
    options: dict[str, str] = {}
    for metrics in shown[0].get("metrics", []) if shown else []:
        options.update({name: str(value) for name, value in metrics.items()})
    return options


def _route_value_agrees(wanted: str, got: str | None) -> bool:
    if got is None:
        return False
    locked = wanted.removeprefix("lock ").removesuffix("ms")
    return got.removesuffix("ms") == locked


def compare_policies(
    node: str,
    rules: list[dict[str, Any]],
    tables: list[list[dict[str, Any]]],
    wanted: Sequence[tuple[str, str]],
) -> list[Check]:
    """Compare ``ip -j rule show`` and each address's own table with the way that it leaves by.

    The rules must be those asked for, in any order, and the kernel's own three.
    """
    found = {
        str(rule["src"]): str(rule.get("table"))
        for rule in rules
        if rule.get("src", "all") != "all"
    }
    checks = []
    for table, ((address, via), shown) in enumerate(zip(wanted, tables, strict=True), FIRST_TABLE):
        gateways = [str(route.get("gateway")) for route in shown if route.get("dst") == "default"]
        got = f"table {found.pop(address, 'none')}, default by {', '.join(gateways) or 'nothing'}"
        want = f"table {table}, default by {via}"
        checks.append(
            Check(check="way of an address", where=f"{node}: from {address}", wanted=want, got=got,
                  agrees=got == want)
        )  # fmt: skip
    others = "none" if not found and len(rules) == KERNEL_RULES + len(wanted) else f"{rules}"
    checks.append(
        Check(check="other rules", where=node, wanted="none", got=others, agrees=others == "none")
    )
    return checks


def compare_offloads(where: str, shown: dict[str, bool]) -> Check:
    """Check that no offload of a device is on."""
    on = [name for name, active in shown.items() if active]
    return Check(
        check="offloads", where=where, wanted="all off",
        got="all off" if not on else f"on: {', '.join(on)}", agrees=not on,
    )  # fmt: skip


def read_back(
    laid_out: Layout,
    spaces: dict[str, Namespace],
    route_wanted: dict[str, dict[str, str]],
    routes: dict[str, list[dict[str, Any]]],
) -> tuple[list[Check], dict[str, Any]]:
    """Read every qdisc, offload and forwarding switch; return checks and the raw JSON.

    ``routes`` is what the hosts said of theirs.
    """
    checks: list[Check] = []
    raw: dict[str, Any] = {"qdiscs": {}, "routes": routes, "offloads": {}}
    for name, space in spaces.items():
        if name in laid_out.routers:
            raw["qdiscs"][name] = space.json(["tc", "-j", "qdisc", "show"])
            checks += compare_qdiscs(laid_out, name, raw["qdiscs"][name])
            got = space.read_sysctl("net.ipv4.ip_forward")
            checks.append(
                Check(check="net.ipv4.ip_forward", where=name, wanted="1", got=got,
                      agrees=got == "1")
            )  # fmt: skip
        else:
            checks += compare_route(name, routes[name], route_wanted.get(name, {}))
            if policies := laid_out.policies.get(name, ()):
                lines = [f"route show table {FIRST_TABLE + i}\n" for i in range(len(policies))]
                rules, *tables = space.json_batch(
                    ("ip", "-j", "-batch", "-"), "".join(["rule show\n", *lines])
                )
                raw.setdefault("policies", {})[name] = {"rules": rules, "tables": tables}
                checks += compare_policies(name, rules, tables, policies)
    for end in (end for pair in laid_out.links for end in pair if end.node in spaces):
        shown = offloads.read(spaces[end.node], end.device)
        raw["offloads"][f"{end.node}:{end.device}"] = shown
        checks.append(compare_offloads(f"{end.node}:{end.device}", shown))
    return checks, raw


def filter_counts(shown: list[dict[str, Any]]) -> dict[tuple[int, int], int]:
    """Return packets by preference and handle of filters from ``tc -j -s filter show``."""
    counts: dict[tuple[int, int], int] = {}
    for entry in shown:
        options = entry.get("options", {})
        for action in options.get("actions", []):
            told = int(entry["pref"]), int(options["handle"])
            counts[told] = counts.get(told, 0) + int(action["stats"]["packets"])
    return counts


def read_counters(
    spaces: dict[str, Namespace], wanted: tuple[Counter, ...]
) -> list[dict[str, str | int]]:
    """Read the per-flow counters: rows of flow, name, node, device, packets.

    Raises:
        VerifyError: a counter is not there; it must never pass for one that counted nothing.
    """
    shown = _shown_filters(spaces, wanted)
    rows: list[dict[str, str | int]] = []
    for counter in wanted:
        key = (counter.node, counter.device, counter.hook)
        told = counter.pref, counter.handle
        if told not in shown[key]:
            raise VerifyError(
                "no such counter",
                where=f"{counter.node}:{counter.device} {counter.hook}",
                wanted=f"a filter with preference and handle {told} for flow {counter.flow}",
                got=f"{sorted(shown[key])}",
            )
        rows.append(
            {
                "flow": counter.flow,
                "counter": counter.name,
                "node": counter.node,
                "device": counter.device,
                "packets": shown[key][told],
            }
        )
    return rows


def _shown_filters(
    spaces: dict[str, Namespace], wanted: tuple[Counter, ...]
) -> dict[tuple[str, str, str], dict[tuple[int, int], int]]:
    """Return each hook's packets by filter, by node, device and hook: one ``tc`` per node."""
    shown = {}
    for node in dict.fromkeys(counter.node for counter in wanted):
        hooks = dict.fromkeys((c.device, c.hook) for c in wanted if c.node == node)
        lines = "".join(f"filter show dev {device} {hook}\n" for device, hook in hooks)
        answers = spaces[node].json_batch(["tc", "-j", "-s", "-batch", "-"], lines)
        for (device, hook), answer in zip(hooks, answers, strict=True):
            shown[node, device, hook] = filter_counts(answer)
    return shown
