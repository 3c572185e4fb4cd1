"""The routing protocols that studies can choose, by the names they use."""

from __future__ import annotations

from collections.abc import Mapping

from model.ad_hoc import Routing
from testbed.guest.routing.adapter import Adapter
from testbed.guest.routing.aodv import Aodv
from testbed.guest.routing.babel import Babel
from testbed.guest.routing.batman_adv import BatmanAdv

ADAPTERS: Mapping[str, Adapter] = {
    "aodv": Aodv(), "batman-adv": BatmanAdv(), "babel": Babel(),
}  # fmt: skip


def adapter_of(routing: Routing) -> Adapter:
    """Return the adapter of a network's protocol."""
    return ADAPTERS[routing.protocol]
