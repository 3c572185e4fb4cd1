"""``resolved.json`` and ``plan.json`` of a plan: the study as it is run, and its cells. Pure.

Invariant: a path says enough for arithmetic on a published table, without any cell: rates, delays,
loss, and how many bytes of a packet are data.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from model.links import Network
from model.network_path import HEADER_BYTES, MTU_BYTES, data_loss_frac, forward_path
from model.run_files import cells, publication, study
from model.run_files.figures import DRAWN_BY, FigureWanted, PublishedLoss, PublishedMark
from model.run_files.json_file import text_of
from model.run_files.network_path import PathFlow, PointPath
from model.run_files.point import Point
from testbed.planning.findings import Findings
from testbed.planning.plan import Plan, PlannedCell, calibrated_points
from testbed.points.claims import Comparison, bounds
from testbed.points.labels import Label
from testbed.points.load_study import Study
from testbed.points.resolve import resolve_network
from testbed.study.hypotheses import Hypothesis
from testbed.study.kernel_names import OPTIONS
from testbed.study.scaling import FULL
from testbed.study.vocabulary import FIGURES
from testbed.study.written_flows import Copy, written_out

#: How many points that are left out are named.
MOST_NAMED = 3


def plan_json(planned: Sequence[PlannedCell]) -> str:
    """Return the text of ``plan.json`` of these cells."""
    listed = (
        cells.PlannedCell(
            id=one.id, purpose=one.cell.purpose, point=Point.of(one.cell.point),
            replicate=one.cell.replicate, seed=one.cell.seed,
        )
        for one in planned
    )  # fmt: skip
    return text_of(cells.PLANNED, cells.Planned(cells=tuple(listed)))


def resolved_json(plan: Plan, findings: Findings) -> str:
    """Return the text of ``resolved.json``; published numbers keep the digits they have.

    How far a kernel's result may be from a published value depends on the digits printed, so
    "0.990" must not become 0.99.
    """
    return text_of(study.STUDY, resolved(plan, findings))


def resolved(plan: Plan, findings: Findings) -> study.Study:
    """Return the study as a plan runs it."""
    read, at = plan.study, plan.study.settings
    points = read.all_points if plan.sensitivity else read.points
    calibrated = calibrated_points(read)
    return study.Study(
        id=at.study,
        title=at.title + _of_title(read),
        scale=float(read.scale),
        source=publication.Source(**at.source.model_dump()) if at.source else None,
        duration_s=at.duration_s,
        seeds=plan.seeds,
        hosts=at.hosts,
        generator=at.generator,
        groups=tuple(study.Group(id=group, label=label) for group, label in at.groups.items()),
        compare=study.Compare(**at.compare.model_dump()) if at.compare else None,
        flows=_flows_everywhere([point.settings.flows for point in points]),
        delivered=study.Span(**at.delivered.model_dump()) if at.delivered else None,
        windows=study.Span(**at.windows.model_dump()) if at.windows else None,
        bins=study.Bins(**at.bins.model_dump()) if at.bins else None,
        parameters=_parameters(read.parameters, read.labels),
        all_points=tuple(Point.of(point.values) for point in points),
        base_points=len(read.points),
        at=read.at,
        points_left_out=len(read.left_out),
        of_claim=read.of_claim,
        rounds=plan.rounds,
        paths=tuple(
            _path(Point.of(point.values), network, written_out(point.settings.flows))
            for point in read.points
            if isinstance(network := resolve_network(point.settings.network), Network)
        ),
        variations=tuple(
            study.Variation(
                assumption=one.assumption,
                settings=dict(one.settings),
                words=one.words,
                of=tuple(one.of),
                points=tuple(one.points),
                calibrated=tuple(calibrated[index] for index in one.points),
            )
            for one in read.variations
            if plan.sensitivity
        ),
        variation_parameters=_parameters(read.alternatives.parameters) if plan.sensitivity else (),
        left_out=() if plan.sensitivity else tuple(one.words for one in read.variations),
        precision=plan.precision,
        metrics=tuple(at.metrics),
        published=_published(read),
        figures=tuple(_figures(read)),
        claims=tuple(_claims(read)),
        hypotheses=tuple(map(_hypothesis, at.hypotheses)),
        explanations=tuple(_explanations(read)),
        mechanisms=read.mechanisms,
        assumptions=tuple(
            study.Assumption(id=one.id, text=one.text, why=one.why) for one in at.assumptions
        ),
        warnings=tuple(cells.RunWarning(**one.record()) for one in findings.warnings),
        acknowledged=tuple(study.Acknowledged(**one.record()) for one in findings.acknowledged),
    )


def _of_title(read: Study) -> str:
    """Return what a title says of a run that is not all of what was written."""
    every = len(read.points) + len(read.left_out)
    words = [f"times scaled by {read.scale}"] * (read.scale != FULL)
    words += [f"{len(read.points)} of {every} points"] * bool(read.left_out)
    kernels = {read.kernel_at(point) for point in read.points}
    patches = sorted({p for kernel in kernels for p in kernel.split("+")[1:]} - {*OPTIONS})
    if patches:
        words.append(
            f"kernel with {patches[0] if len(patches) == 1 else f'{len(patches)} patches'}"
        )
    own = [
        one.id for one in read.settings.hypotheses if one.id in read.mechanisms and not one.patch
    ]
    words += [f"hosts with {', '.join(own)}"] * bool(own)
    return f" ({', '.join(words)})" if words else ""


def _parameters(
    found: Iterable[Any], labels: Mapping[str, Label] = MappingProxyType({})
) -> tuple[study.Parameter, ...]:
    return tuple(
        study.Parameter(name=one.name, path=one.path, label=labels.get(one.path)) for one in found
    )


def _flows_everywhere(flows: Sequence[Any]) -> tuple[str, ...]:
    """Return the flows that run at every point, in order: those that metrics can be of."""
    at = [[copy.id for copy in written_out(here)] for here in flows]
    return tuple(name for name in at[0] if all(name in others for others in at[1:]))


def _path(point: Point, network: Network, flows: Iterable[Copy]) -> PointPath:
    way = forward_path(network)
    return PointPath(
        point=point,
        bottleneck_rate_bps=network.bottleneck.forward.rate_bps,
        forward_rates_bps=tuple(direction.rate_bps for direction in way),
        base_owd_s=round(math.fsum(direction.owd_s for direction in way), 9),
        base_rtt_s=network.base_rtt_s(),
        loss_frac=round(data_loss_frac(network), 12),
        flows=tuple(_flow(copy) for copy in flows),
    )


def _flow(copy: Copy) -> PathFlow:
    """Return a flow, with the data and the size of its full packets; a rate of 0 is bulk."""
    flow = copy.flow
    headers = HEADER_BYTES[flow.protocol]
    payload_bytes = min(flow.message_bytes, MTU_BYTES - headers)
    return PathFlow(
        flow=copy.id,
        group=flow.group,
        protocol=flow.protocol,
        rate_bps=0 if flow.rate_bps == "bulk" else flow.rate_bps,
        payload_bytes=payload_bytes,
        packet_bytes=payload_bytes + headers,
    )


def _at(read: Study, indexes: Iterable[int]) -> tuple[Point, ...]:
    return tuple(Point.of(read.points[index].values) for index in indexes)


def _published(read: Study) -> publication.Published | None:
    published, texts = read.settings.published, read.document.texts
    if published is None:
        return None

    def printed(section: str, index: int, names: Iterable[str]) -> dict[str, Decimal]:
        return {name: Decimal(texts["published", section, index, "values", name]) for name in names}

    return publication.Published(
        where=published.where,
        rows=tuple(
            publication.PublishedRow(
                point=point,
                where=row.where or published.where,
                values=printed("rows", index, row.values),
            )
            for index, row in enumerate(published.rows)
            for point in _at(read, read.published_points[index])
        ),
        episodes=tuple(
            publication.PublishedEpisode(
                flow=entry.flow,
                episode=entry.episode,
                where=entry.where,
                points=_at(read, read.episode_points[index]),
                grown_s=entry.grown_s,
                values=printed("episodes", index, entry.values),
            )
            for index, entry in enumerate(published.episodes)
        ),
    )


def _figures(read: Study) -> Iterable[FigureWanted]:
    """Return the figures asked for: each with its own keys only, and its points written out."""
    names = {parameter.path: parameter.name for parameter in read.parameters}
    for figure, indexes in zip(read.settings.figures, read.figure_points, strict=True):
        own = ("where", *FIGURES[figure.kind])
        found: dict[str, Any] = {
            field: None if value == "end" else value
            for field, value in figure.model_dump(exclude={"kind", "at"}).items()
            if (type(figure).model_fields[field].alias or field) in own
        }
        if "of" in found:
            found["of"] = figure.of or DRAWN_BY[figure.kind][0]
        if found.get("overlay") is not None:
            found["overlay"] = names[found["overlay"]]
        if "published" in found:
            found["published"] = {
                flow: PublishedLoss(
                    **{**loss, "marks": tuple(PublishedMark(**mark) for mark in loss["marks"])}
                )
                for flow, loss in found["published"].items()
            }
        yield FigureWanted(kind=figure.kind, points=_at(read, indexes), **found)


def _claims(read: Study) -> Iterable[publication.Claim]:
    """Return the claims, each with the comparisons it comes to: all of them, or none."""
    for claim, comparisons in zip(read.settings.claims, read.comparisons, strict=True):
        left_out = _left_out(read, comparisons)
        yield publication.Claim(
            id=claim.id,
            text=claim.text,
            where=claim.where,
            untested=claim.untested,
            left_out=left_out or None,
            suspects=tuple(claim.suspects),
            comparisons=tuple(
                publication.Comparison(
                    **{
                        **dataclasses.asdict(one),
                        "point": _at(read, [one.point])[0],
                        "versus": one.versus and publication.Versus(
                            metric=one.versus[0], point=_at(read, [one.versus[1]])[0]
                        ),
                    }
                )
                for one in (() if left_out else comparisons)
            ),
        )  # fmt: skip


def _hypothesis(one: Hypothesis) -> study.Hypothesis:
    settings = ", ".join(f"{knob.name} {knob.value}" for _, knob in one.knobs())
    how = f"the kernel's patch {one.patch}" if one.patch else settings
    return study.Hypothesis(id=one.id, text=one.text, restores=one.restores, how=how)


def _explanations(read: Study) -> Iterable[study.Explanation]:
    """Return the explanations at the points that are here; one without any is left out."""
    found = zip(read.settings.explanations, read.explanation_points, strict=True)
    for one, indexes in found:
        low, high, strict = bounds(one.is_)
        if points := _at(read, indexes):
            yield study.Explanation(
                claim=one.claim, by=one.by, metric=one.metric, measure=one.measure,
                points=points, low=low, high=high, strict=strict,
            )  # fmt: skip


def _left_out(read: Study, comparisons: Sequence[Comparison]) -> str:
    """Return which points comparisons need that the run leaves out; empty if it has them all."""
    ends = ((one.point, one.versus[1] if one.versus else one.point) for one in comparisons)
    needed = {index for pair in ends for index in pair if index >= len(read.points)}
    if not needed:
        return ""
    words = [read.left_out[index - len(read.points)].words() for index in sorted(needed)]
    more = f" and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
    return f"it needs points that this run leaves out: {'; '.join(words[:MOST_NAMED])}{more}"
