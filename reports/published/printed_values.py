"""What a publication prints of a metric at a point: in tables, of a group's flows, of a loss. Pure.

Invariant: each printed number stands for all values that round to it, and keeps its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from statistics import mean

from model.run_files.point import Point
from model.run_files.publication import PublishedEpisode
from model.run_files.study import Study
from reports.published.rounding import Span, rounding_span
from reports.published.tables import Printed

#: Metrics of a group that are the mean of one of its flows', and that one.
_MEANS = {f"{name}_{{group}}_s": f"flow_{name}_{{flow}}_s" for name in ("jitter", "owd_mean")}
#: Metrics of a group's losses that are a printed number, if one loss is printed.
_NUMBERS = {
    "dupacks_{group}_pkts": "dupacks",
    **{f"new_data_on_dupack_{k}_{{group}}_pkts": f"new_data_on_dupack_{k}_pkts" for k in (1, 2, 3)},
    "first_new_on_dupack_{group}": "first_new_on_dupack",
    "acks_to_new_data_{group}_pkts": "acks_to_new_data_pkts",
    "regrow_{group}_s": "regrow_s",
    "recover_{group}_s": "recover_s",
}
#: Shares of a group's losses of which something is true: the columns that tell, and what it is.
_TRUTHS: dict[str, tuple[tuple[str, ...], Callable[..., bool]]] = {
    **{f"sends_on_dupack_{k}_{{group}}_frac": ((f"new_data_on_dupack_{k}_pkts",), lambda n: n > 0)
       for k in (1, 2, 3)},
    "repeats_on_dupack_3_{group}_frac": (("dupacks",), lambda n: n == 3),
    "repeats_on_dupack_4_{group}_frac": (("dupacks",), lambda n: n == 4),
    "flight_full_{group}_frac":
        (("flight_at_act_segments", "cwnd_before_segments"), lambda f, c: f + 1 > c),
    "cwnd_stays_{group}_frac": (("cwnd_after", "cwnd_at_recovery"), lambda a, b: a == b),
    "grows_at_recovery_{group}_frac":
        (("cwnd_at_recovery", "cwnd_after_recovery"), lambda a, b: b > a),
}  # fmt: skip
#: How the name of a printed number may go on; numbers are compared in one of these.
_UNITS = ("", "_segments", "_bytes")


@dataclass(frozen=True, kw_only=True)
class Said:
    """A metric's possible values by what is printed, the numbers by name, and their place."""

    span: Span
    shown: Mapping[str, str]
    where: tuple[str, ...]
    example: bool = False

    @property
    def words(self) -> str:
        """The numbers with their names."""
        return ", ".join(f"{name} {value}" for name, value in self.shown.items())


def printed_metrics(study: Study, printed: tuple[Printed, ...]) -> dict[tuple[Point, str], Said]:
    """Return what is printed of each metric at each point, in a table before anything else."""
    found: dict[tuple[Point, str], Said] = {}
    for point, name, said in (*_of_losses(study), *_of_flows(printed), *_in_tables(study)):
        found[point, name] = said
    return found


def _in_tables(study: Study) -> Iterator[tuple[Point, str, Said]]:
    for row in study.published.rows if study.published else ():
        for name, value in row.values.items():
            shown = {name: str(value)}
            yield row.point, name, Said(span=rounding_span(value), shown=shown, where=(row.where,))


def _of_flows(printed: tuple[Printed, ...]) -> Iterator[tuple[Point, str, Said]]:
    """Yield the mean over a group's flows where all of them are printed."""
    for one in printed:
        groups: dict[str, list[str]] = {}
        for flow in one.path.flows if one.path else ():
            groups.setdefault(flow.group, []).append(flow.flow)
        for group, flows in groups.items():
            for name, of_flow in _MEANS.items():
                values = [one.values.get(of_flow.format(flow=flow)) for flow in flows]
                shown_values = [value for value in values if value is not None]
                if len(shown_values) < len(flows):
                    continue
                spans = [rounding_span(value) for value in shown_values]
                low, high = (mean(ends) for ends in zip(*spans, strict=True))
                metric = name.format(group=group)
                shown = {metric: f"{mean(shown_values):.6g}"}
                yield one.point, metric, Said(span=(low, high), shown=shown, where=one.where)


def _of_losses(study: Study) -> Iterator[tuple[Point, str, Said]]:
    """Yield what the printed example of a loss says, where no other packet is lost by chance."""
    for episode in study.published.episodes if study.published else ():
        for point in episode.points:
            path = study.path_at(point)
            if path is None or path.loss_frac or episode.grown_s is not None:
                continue
            group = next((f.group for f in path.flows if f.flow == episode.flow), None)
            if group is not None:
                for name, said in _of_loss(episode):
                    yield point, name.format(group=group), said


def _of_loss(episode: PublishedEpisode) -> Iterator[tuple[str, Said]]:
    values = episode.values
    for name, column in _NUMBERS.items():
        if column in values:
            value = values[column]
            # Counts are exact, times are rounded.
            count = (Fraction(value), Fraction(value))
            span = rounding_span(value) if column.endswith("_s") else count
            yield name, _said(episode, {column: value}, span)
    for name, (columns, true) in _TRUTHS.items():
        for unit in _UNITS:
            names = [f"{column}{unit}" for column in columns]
            if all(one in values for one in names):
                share = Fraction(true(*(values[one] for one in names)))
                yield name, _said(episode, {one: values[one] for one in names}, (share, share))
                break


def _said(episode: PublishedEpisode, shown: Mapping[str, Decimal], span: Span) -> Said:
    words = {name: str(value) for name, value in shown.items()}
    return Said(span=span, shown=words, where=(episode.where,), example=True)
