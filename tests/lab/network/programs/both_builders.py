"""Run in a lab: build a topology with both builders and leave what each node reads back as.

Also how often the host's own network read otherwise while Mininet ran: its settings before and
after each builder, and in between, where Mininet has raised them.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from mininet.net import Mininet

from mininet_topos import fast_builder, netns, offloads
from mininet_topos.netns import Journal, Namespace

MODULE, NAME, OUT = sys.argv[1], sys.argv[2], Path(sys.argv[4])
OPTIONS: dict[str, Any] = json.loads(sys.argv[3])


def read(space: Namespace, devices: tuple[str, ...]) -> dict[str, Any]:
    """Return all that is set in a node's network."""
    with space.entered():
        sysctls = netns.sysctl_tree()
    shown = {
        what: space.json(argv.split())
        for what, argv in {
            "qdiscs": "tc -j qdisc show",
            "links": "ip -j link show",
            "addresses": "ip -j -4 address show",
            "routes": "ip -j route show table all",
            "rules": "ip -j rule show",
            "neighbours": "ip -j neighbor show nud permanent",
        }.items()
    }
    filters = {
        device: space.json(["tc", "-j", "filter", "show", "dev", device, hook])
        for device in devices
        for hook in ("ingress", "egress")
    }
    off = {device: offloads.read(space, device) for device in devices}
    return {**shown, "filters": filters, "offloads": off, "sysctls": sysctls}


topology = getattr(importlib.import_module(f"mininet_topos.{MODULE}"), NAME)
journal = Journal()
host = [netns.sysctl_tree()]
mine = topology(**OPTIONS)
laid_out = mine.layout()
spaces, _ = fast_builder.build(mine, (), {}, journal)
ours = {name: read(space, laid_out.devices(name)) for name, space in spaces.items()}
host.append(netns.sysctl_tree())

theirs = topology(**OPTIONS)
net = Mininet(theirs, controller=None, build=False)
host.append(netns.sysctl_tree())  # Mininet has started, and made no node yet
net.build()
stock = {}
home = os.open(netns.OWN_NAMESPACE, os.O_RDONLY)
for node in net.hosts:
    handle = os.open(f"/proc/{node.pid}/ns/net", os.O_RDONLY)
    space = Namespace(name=node.name, handle=handle, home=home, journal=journal)
    stock[node.name] = read(space, laid_out.devices(node.name))
host.append(netns.sysctl_tree())
net.stop()
host.append(netns.sysctl_tree())
OUT.write_text(json.dumps({"ours": ours, "stock": stock, "host": host}))
