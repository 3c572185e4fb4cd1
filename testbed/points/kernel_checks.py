"""What a study asks of its kernels, held against which they are; what its networks need. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from model import units
from model.ad_hoc import AD_HOC
from model.cell import OF_HOSTS
from testbed.points.sweep import Point
from testbed.points.variations import Variations
from testbed.study import kernel_names
from testbed.study.problems import Problem, one_of, suggestion
from testbed.study.study_form import AccessLink, Network, StudyFile
from testbed.study.vocabulary import CONGESTION_CONTROLS
from testbed.study_checks.loss import LINKS
from testbed.study_checks.queues import bottlenecks

KernelAt = Callable[[Point], str]
#: Queue disciplines that the usual kernels have not.
OF_AQM_KERNELS = frozenset({"codel", "pie"})


def needed_by(network: Network) -> tuple[str, ...]:
    """Return what a kernel must have beside the usual one to be that of a network's nodes."""
    if network.topology != AD_HOC:
        return ()
    routing = network.routing
    if routing is not None and routing.protocol == "babel":  # whose messages are of IPv6
        return kernel_names.IPV6, kernel_names.RADIO
    return (kernel_names.RADIO,)


def managing(networks: Iterable[Network]) -> tuple[str, ...]:
    """Return what all kernels of a study must have for any of its networks' managed queues.

    All, so that points which are compared have one kernel.
    """
    links = (link for network in networks for _, _, link in bottlenecks(network))
    kinds = {link.queue_discipline.queue_discipline for link in links}
    return (kernel_names.AQM,) if kinds & OF_AQM_KERNELS else ()


def timing(points: Iterable[StudyFile]) -> tuple[str, ...]:
    """Return what all kernels of a study must have for the fastest link that any point has.

    All, so that points which are compared have one kernel.
    """
    fastest_bps = max((rate_bps for at in points for rate_bps in _rates_bps(at)), default=0)
    return (kernel_names.FINE_CLOCK,) if fastest_bps > kernel_names.USUAL_CLOCK_BPS else ()


def _rates_bps(at: StudyFile) -> Iterator[int]:
    network, second = at.network, at.network.second_path
    for name in LINKS:
        links: list[AccessLink | None] = [getattr(network, name)]
        links += [getattr(second, name)] if second else []
        for link in filter(None, links):
            yield link.rate_bps
            if link.reverse.rate_bps != "same":
                yield link.reverse.rate_bps
    for event in at.events:
        if event.rate_bps is not None:
            yield event.rate_bps


def same_kernels(
    points: Sequence[Point], alternatives: Variations, kernel_at: KernelAt
) -> Iterator[Problem]:
    """Yield a problem for each variation whose other kernel is the one the hosts have anyway."""
    every = (*points, *alternatives.points)
    for variation in alternatives.variations:
        if "kernel" not in variation.settings:
            continue
        for base, becomes in zip(variation.of, variation.points, strict=True):
            point = every[becomes]
            if (version := kernel_at(point)) == kernel_at(points[base]):
                what = "the kernel that the study's hosts have already"
                yield point.document.problem(
                    ("kernel",), what, wanted="another kernel", got=version
                )


def unknown_controls(points: Sequence[Point], kernel_at: KernelAt) -> Iterator[Problem]:
    """Yield a problem for each congestion control that none of the project's kernels has.

    Whether a kernel of the user's own source has it is seen when it is read back in the lab.
    """
    for point in points:
        if kernel_names.of_own_source(kernel_at(point)):
            continue
        for index, flow in enumerate(point.settings.flows):
            name, known = flow.congestion_control, (OF_HOSTS, *CONGESTION_CONTROLS)
            if name not in known:
                yield point.document.problem(
                    ("flows", index, "congestion_control"),
                    "unknown congestion control", wanted=one_of(known), got=units.shown(name),
                    hint=suggestion(name, known)
                    or "a kernel of your own that has it: --kernel FOLDER",
                )  # fmt: skip
