"""How an SCTP association uses its paths: the parameters of RFC 9260 and RFC 7829, if asked for.

Standard library only, because the lab image reads it too. Invariant: what is None is the kernel's
own, and nothing is set.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Literal

from model.fields import LATER

#: Which of its hosts' addresses a flow uses, and which path an association has as its primary.
Addresses = Literal["first", "both"]
Primary = Literal["first", "second"]
#: A threshold that no path reaches: PF.Max.Retrans at or above Path.Max.Retrans switches it off,
#: and so does Primary.Switchover.Max.Retrans.
PF_OFF = 65_535


@dataclass(frozen=True, kw_only=True)
class SctpPaths:
    """Path.Max.Retrans, Association.Max.Retrans, PF.Max.Retrans, timeouts and heartbeats.

    ``ps_max_retrans`` is RFC 7829's Primary.Switchover.Max.Retrans. Each name but ``primary`` is
    an option of the probes' sender.
    """

    primary: Primary = "first"
    hb_interval_ms: int | None = None
    path_max_retrans: int | None = None
    assoc_max_retrans: int | None = None
    pf_max_retrans: int | None = None
    rto_initial_ms: int | None = None
    rto_min_ms: int | None = None
    rto_max_ms: int | None = None
    ps_max_retrans: int | None = field(default=None, metadata=LATER)

    def options(self) -> dict[str, str]:
        """Return the options of the sender's socket that it asks for."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del values["primary"]
        return {name: str(value) for name, value in values.items() if value is not None}


OF_KERNEL = SctpPaths()
