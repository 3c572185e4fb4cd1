"""All metrics in the order in which they are listed, and what holds of each by its name."""

from __future__ import annotations

from collections.abc import Iterable

from model.run_files.metrics.declared import Bounds, Made
from model.run_files.metrics.of_deliveries import MESSAGES, PATHS, RETURNS, WAITS
from model.run_files.metrics.of_flows import MORE, USUAL
from model.run_files.metrics.of_losses import LOSSES
from model.run_files.metrics.of_radios import RADIOS

#: How the metrics begin for which acknowledgements are counted at the receivers.
COUNTED_ACKS = ("ack_bandwidth_", "sack_bandwidth_")
#: What every study has.
ALWAYS = USUAL
#: What a study has only where it asks for it.
ASKED = (*MORE, *LOSSES, *MESSAGES, *PATHS, *RADIOS, *RETURNS, *WAITS)


def metric_names(groups: Iterable[str], flows: Iterable[str] = ()) -> tuple[str, ...]:
    """Return every metric's name for a study with these groups and flows."""
    groups, flows = list(groups), list(flows)
    return tuple(name for one in (*ALWAYS, *ASKED) for name, _ in one.each(groups, flows))


def metric_bounds(groups: Iterable[str], flows: Iterable[str] = ()) -> dict[str, Bounds]:
    """Return what each metric of a study with these groups and flows can be."""
    groups, flows = list(groups), list(flows)
    return {name: one.bounds for one in (*ALWAYS, *ASKED) for name, _ in one.each(groups, flows)}


def metric_needs(groups: Iterable[str]) -> dict[str, str]:
    """Return the key of the study that a metric needs, by the metric's name."""
    groups = list(groups)
    return {
        name: one.needs
        for one in (*ALWAYS, *ASKED)
        if one.needs
        for name, _ in one.each(groups, ())
    }


def metric_made_of(groups: Iterable[str], flows: Iterable[str]) -> dict[str, Made]:
    """Return what a network is made of that alone has a metric, by the metric's name."""
    groups, flows = list(groups), list(flows)
    return {
        name: one.only
        for one in (*ALWAYS, *ASKED)
        if one.only
        for name, _ in one.each(groups, flows)
    }
