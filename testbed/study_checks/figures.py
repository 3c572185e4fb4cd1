"""What the keys of a figure must agree on: with its kind, with each other, with the study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from model import units
from model.run_files.figures import DRAWN_BY
from testbed.study.figures import Figure
from testbed.study.problems import Loc, Problem, one_of
from testbed.study.study_form import Flow, StudyFile
from testbed.study.vocabulary import FIGURES
from testbed.study.written_flows import written_out
from testbed.study.yaml_document import Document
from testbed.study_checks.names import unknown

#: What a figure of bins may hold: one per pixel of a wide print, several times over.
MAX_BINS = 10_000
#: Kinds of which each flow has a figure of its own, unless all are drawn together.
OF_FLOWS = ("cwnd", "time_sequence", "single_loss", "single_loss_cwnd", "over_time", "paths")
#: Where the height of a published event belongs: its key, the field of it, and the kind.
HEIGHTS = (
    ("segment", "segment", "single_loss"),
    ("acknowledged", "acked_segment", "single_loss"),
    ("cwnd_segments", "cwnd_segments", "single_loss_cwnd"),
    ("cwnd_bytes", "cwnd_bytes", "single_loss_cwnd"),
)


def figure_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with figures by themselves."""
    for i, figure in enumerate(study.figures):
        place: Loc = ("figures", i)
        own = FIGURES[figure.kind]
        for key in document.data["figures"][i]:
            if key not in ("kind", "at", "where", *own):
                yield document.problem(
                    (*place, key),
                    f"a figure {figure.kind} has no such key",
                    wanted=one_of([*own, "where", "at"]),
                )
        if figure.of is not None and "of" in own and figure.of not in DRAWN_BY[figure.kind]:
            wanted = one_of(DRAWN_BY[figure.kind])
            what = f"a figure {figure.kind} has none of it"
            yield document.problem((*place, "of"), what, wanted=wanted, got=figure.of)
        if figure.modulo_segments is not None and figure.together:
            what = "all flows in one diagram count on"
            yield document.problem((*place, "modulo"), what, wanted="modulo or together")
        if isinstance(figure.where, dict) and (figure.together or figure.kind not in OF_FLOWS):
            what = "this figure is one of all flows"
            yield document.problem((*place, "where"), what, wanted="a text such as Figure 4")
        if "published" in own:
            yield from _heights(figure, place, document)


def _heights(figure: Figure, place: Loc, document: Document) -> Iterator[Problem]:
    wanted = [key for key, _, kind in HEIGHTS if kind == figure.kind]
    for flow, loss in figure.published.items():
        for i, mark in enumerate(loss.marks):
            given = [key for key, field, _ in HEIGHTS if getattr(mark, field) is not None]
            if len(given) != 1 or given[0] not in wanted:
                yield document.problem(
                    (*place, "published", flow, "marks", i),
                    "at what height?",
                    wanted=f"just {one_of(wanted)}",
                    got=", ".join(given),
                )


def flow_problems(
    i: int, figure: Figure, flows: Sequence[Flow], document: Document
) -> Iterator[Problem]:
    """Yield where a figure names a flow that there is none of, or has no figures, at its point."""
    names = [copy.id for copy in written_out(flows) if copy.flow.protocol != "udp"]
    where = figure.where if isinstance(figure.where, dict) else {}
    for key, given in (("where", where), ("published", figure.published)):
        for name in given:
            yield from unknown(name, names, ("figures", i, key, name), "flow", document)


def share_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield where a share is asked for and nothing is compared."""
    for i, figure in enumerate(study.figures):
        if figure.kind == "share" and study.compare is None:
            yield document.problem(
                ("figures", i), "share needs the key 'compare'", wanted="compare: {of, over}"
            )


def path_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield where paths are to be drawn and no flow has more than one."""
    for i, figure in enumerate(study.figures):
        if figure.kind == "paths" and all(flow.addresses == "first" for flow in study.flows):
            yield document.problem(
                ("figures", i, "kind"), "no flow has several paths",
                wanted="addresses: both of a flow", got="addresses: first",
            )  # fmt: skip


def time_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield where a figure's window of time, or what it is cut into, is none."""
    end = f"{units.format_time(study.duration_s)} (duration)"
    for i, figure in enumerate(study.figures):
        to_s = study.duration_s if figure.to_s == "end" else figure.to_s
        window_s = to_s - figure.from_s
        if to_s > study.duration_s:
            got = units.format_time(to_s)
            what = "after the end of the run"
            yield document.problem(("figures", i, "to"), what, wanted=f"at most {end}", got=got)
        elif window_s <= 0:
            limit = end if figure.to_s == "end" else f"{units.format_time(to_s)} (its to)"
            got, wanted = units.format_time(figure.from_s), f"less than {limit}"
            yield document.problem(("figures", i, "from"), "ends before it begins", wanted=wanted,
                                   got=got)  # fmt: skip
        elif "bin" in FIGURES[figure.kind] and window_s < figure.bin_s:
            got, wanted = units.format_time(figure.bin_s), f"at most {units.format_time(window_s)}"
            what = "longer than what is drawn"
            yield document.problem(("figures", i, "bin"), what, wanted=wanted, got=got)
        elif "bin" in FIGURES[figure.kind] and window_s / figure.bin_s > MAX_BINS:
            got = f"{window_s / figure.bin_s:.0f}"
            what = "too many bins for a figure"
            loc: Loc = ("figures", i, "bin" if "bin_s" in figure.model_fields_set else "kind")
            yield document.problem(loc, what, wanted=f"at most {MAX_BINS}", got=got)
