"""Stock Mininet builds our topologies, with our stages; its networks read back as the lab's do."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mininet_topos import check_built
from mininet_topos.dumbbell import Dumbbell
from mininet_topos.parking_lot import ParkingLot
from mininet_topos.raised_sysctls import RAISED_SYSCTLS
from mininet_topos.topology import Topology
from mininet_topos.two_paths import TwoPaths

FOLDER = Path(__file__).parents[3] / "mininet_topos"
PROGRAM = Path(__file__).parent / "programs" / "both_builders.py"
TOPOLOGIES: dict[str, tuple[type[Topology], dict[str, Any]]] = {
    "dumbbell": (
        Dumbbell,
        {"pairs": 2, "rate_bps": 2000000, "queue_pkts": 12, "reverse_rate_bps": 128000,
         "forward_loss_frac": 0.01, "source_access_owd_s": 0.003},
    ),
    "parking_lot": (
        ParkingLot, {"bottlenecks": 2, "bottleneck2_rate_bps": 1000000, "access_queue_pkts": 77},
    ),
    "two_paths": (TwoPaths, {"pairs": 2, "bottleneck2_rate_bps": 1000000, "owd_s": 0.02}),
}  # fmt: skip
Mn = Callable[..., Path]


@pytest.fixture
def mn(script: Callable[..., Path]) -> Mn:
    """Run stock `mn` with one of our files from a copy of our folder; return what it left.

    The copy lies beside nothing else of this project, and nothing of it can be imported.
    """

    def run(topology: str, given: dict[str, Any], more: str, cli: str = "") -> Path:
        options = ",".join([topology, *(f"{name}={value}" for name, value in given.items())])
        return script(
            "set -e\nunset PYTHONPATH\n"
            "mkdir -p /tmp/alone/mininet_topos /tmp/elsewhere\n"
            "cp /gt/code/lib/mininet_topos/*.py /tmp/alone/mininet_topos\n"
            f"cat >/tmp/cli <<'EOF'\n{cli}EOF\n"
            "cat /proc/sys/net/ipv4/tcp_rmem >/cell/before\n"
            "cd /tmp/elsewhere\n"
            f"mn --custom ../alone/mininet_topos/{topology}.py --topo {options} {more}"
            " >/cell/said.txt 2>&1 || echo status $? >>/cell/said.txt\n"
            "cat /proc/sys/net/ipv4/tcp_rmem >/cell/after\n",
            name=f"mn-{topology}",
        )

    return run


@pytest.mark.parametrize(
    ("topology", "given", "pings"),
    [("dumbbell", {"pairs": 2}, 30), ("parking_lot", {"bottlenecks": 3, "cross_pairs": 1}, 132)],
)
def test_every_node_reaches_every_other(
    mn: Mn, topology: str, given: dict[str, Any], pings: int
) -> None:
    folder = mn(topology, given, "--test pingall")
    said = (folder / "said.txt").read_text()
    assert f"*** Results: 0% dropped ({pings}/{pings} received)" in said
    assert "Error" not in said
    assert (folder / "before").read_text() == (folder / "after").read_text()


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_an_mn_networks_stages_are_ours(mn: Mn, topology: str) -> None:
    kind, given = TOPOLOGIES[topology]
    laid_out = kind.lay_out(**given)
    show = "".join(
        f"{node} tc -j qdisc show >/cell/{node}.json\n" for node in laid_out.node_names()
    )
    folder = mn(topology, given, "--test none --post /tmp/cli", show)
    for node in laid_out.node_names():
        shown = json.loads((folder / f"{node}.json").read_text())
        checks = check_built.compare_qdiscs(laid_out, node, shown)
        assert [check for check in checks if not check.agrees] == []
        wanted = [stage for stage in laid_out.stages if stage.node == node]
        # A shaper and a channel each way of each link, all in routers; hosts have no queue at all.
        assert len(checks) == len(wanted)
        assert bool(wanted) == (node in laid_out.routers)
        assert all(q["kind"] == "noqueue" for q in shown) != (node in laid_out.routers)


def test_what_tc_refuses_ends_mn(mn: Mn) -> None:
    # Mininet's own links would only log it. More than 32 bits of packets fit into no netem.
    folder = mn("dumbbell", {"queue_pkts": 2**33}, "--test none")
    said = (folder / "said.txt").read_text()
    assert "BuildError: r1: tc -batch - failed with status 1: " in said
    assert "limit 8589934592" in said
    assert "completed in" not in said


def test_our_names_are_none_of_mns(script: Callable[..., Path]) -> None:
    # mn runs its own program with all that a custom file defines: a name of its own would be ours.
    folder = script("cp /usr/bin/mn /cell/mn.py\n")
    its = names(ast.parse((folder / "mn.py").read_text()))
    assert {"CLI", "Mininet", "Link", "TOPOS", "info"} <= its
    for topology in TOPOLOGIES:
        ours = names(ast.parse((FOLDER / f"{topology}.py").read_text()))
        assert "topos" in ours
        assert ours & (
            its | {"switches", "hosts", "controllers", "links", "tests", "validate"}
        ) == {"sys"}


def names(module: ast.Module) -> set[str]:
    """Return the names a module has at its top level."""
    found = set()
    for node in module.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


@pytest.fixture(scope="module", params=list(TOPOLOGIES))
def both(script_once: Callable[..., Path], request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a network's nodes read back as, by builder and node, and the host's sysctls."""
    kind, given = TOPOLOGIES[request.param]
    argv = f"{request.param} {kind.__name__} '{json.dumps(given)}' /cell/both.json"
    text = f"cat >/tmp/program.py <<'EOF'\n{PROGRAM.read_text()}EOF\n"
    folder = script_once(f"{text}python3 -B /tmp/program.py {argv}\n", name=request.param)
    found: dict[str, Any] = json.loads((folder / "both.json").read_text())
    return {**found, "laid_out": kind.lay_out(**given)}


#: What stock Mininet's network has otherwise: it makes nodes and links in the order of their names,
#: so interfaces have other numbers. In both a netem without loss has a seed the kernel drew, an ifb
#: a MAC it drew, and neighbours are listed by their hashes.
OTHERWISE = {
    "links": ("ifindex", "link_index", "link_netnsid"),
    "addresses": ("ifindex", "link_index", "link_netnsid"),
}


def plain(what: str, shown: Any, drawn: set[tuple[str, str]]) -> Any:
    """Return what was read back without what stock Mininet's network may have otherwise."""
    if what in OTHERWISE:
        kept = [{k: v for k, v in one.items() if k not in OTHERWISE[what]} for one in shown]
        for one in kept:
            if one["ifname"].startswith("ifb-"):
                one.pop("address", None)
        return sorted(kept, key=lambda one: str(one["ifname"]))
    if what == "neighbours":
        return sorted(shown, key=lambda one: str(one["dst"]))
    if what == "qdiscs":
        for one in shown:
            if (one["dev"], one["handle"]) not in drawn:
                one["options"].pop("seed", None)
        return sorted(shown, key=lambda one: (one["dev"], one["handle"]))
    return shown


def test_both_builders_make_the_same_network(both: dict[str, Any]) -> None:
    laid_out = both["laid_out"]
    assert both["ours"].keys() == both["stock"].keys() == set(laid_out.node_names())
    for node, ours in both["ours"].items():
        stock = both["stock"][node]
        drawn = {
            (stage.device, stage.handle)
            for stage in laid_out.stages
            if stage.node == node and " loss " in stage.command()
        }
        for what in ours:
            assert plain(what, stock[what], drawn) == plain(what, ours[what], drawn), (node, what)
        assert len(ours["offloads"]) == len(laid_out.devices(node)) > 0
        assert not any(on for shown in stock["offloads"].values() for on in shown.values())
        assert ours["sysctls"]["net.ipv4.ip_forward"] == str(int(node in laid_out.routers))


def test_only_the_labs_routers_number_their_interfaces_apart(both: dict[str, Any]) -> None:
    def numbers(builder: str) -> list[int]:
        links = [one for node in both["laid_out"].routers for one in both[builder][node]["links"]]
        return [one["ifindex"] for one in links if one["ifname"] != "lo"]

    assert len(set(numbers("ours"))) == len(numbers("ours"))
    assert len(set(numbers("stock"))) < len(numbers("stock"))


def test_what_mininet_raises_on_the_host_is_put_back(both: dict[str, Any]) -> None:
    first, after_ours, raised, with_stock, last = both["host"]
    assert after_ours == first  # our builder touches nothing of the host's
    moved = {name for name in first if raised[name] != first[name]}
    assert "net.ipv4.tcp_rmem" in moved
    assert moved <= {name.replace("/", ".") for name in RAISED_SYSCTLS}
    assert with_stock == last == first
    # Nodes started from what was put back: theirs are the values of the lab's own networks.
    stock, ours = ({n: shown["sysctls"] for n, shown in both[b].items()} for b in ("stock", "ours"))
    assert stock == ours
