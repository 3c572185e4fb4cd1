"""What the settings of a link's loss must agree on: which keys a model has, and where it may be."""

from __future__ import annotations

from collections.abc import Iterator

from model import units
from testbed.study.problems import Loc, Problem
from testbed.study.study_form import Loss, StudyFile
from testbed.study.yaml_document import Document

#: The keys of data loss that each model has, with the field of each.
KEYS = {
    "independent": {"data": "loss_frac"},
    "gilbert_elliott": {
        "to_bad": "to_bad_frac", "to_good": "to_good_frac",
        "loss_bad": "loss_bad_frac", "loss_good": "loss_good_frac",
    },
    "periodic": {"every": "every_pkts", "first": "first_pkt"},
}  # fmt: skip
LINKS = ("source_access", "bottleneck", "destination_access")
PROCESS: Loc = ("network", "bottleneck", "loss", "process")
#: Why models have no process but the shared one: what is said of each, and the hint.
WITHOUT_PROCESS = {
    "gilbert_elliott": (
        "losses in bursts have no other process",
        "a burst is of packets in a row, whoever sent them",
    ),
    "periodic": (
        "periodic losses have no other process", "each flow's own data packets are counted",
    ),
}  # fmt: skip


def loss_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Return what is wrong with the loss of the network's links."""
    for name in LINKS:
        loss: Loss = getattr(study.network, name).loss
        place: Loc = ("network", name, "loss")
        yield from _keys(loss, place, document)
        if name != "bottleneck":
            yield from _at_bottleneck(loss, place, document)


def by_number(loss: Loss) -> tuple[str, str, str] | None:
    """Return what makes a loss one by packets' numbers: key, its value if it were none, and is."""
    if loss.model == "periodic":
        return "model", "independent", loss.model
    return None if loss.process == "shared" else ("process", "shared", loss.process)


def numbering_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Return why flows' data packets cannot be numbered, or not all flows lose equally many."""
    loss = study.network.links()[1].loss
    numbered = by_number(loss)
    if numbered is None:
        return
    key, wanted, got = numbered
    for flow in study.flows:
        generator = study.generator if flow.generator == "study" else flow.generator
        if generator == "iperf3":
            yield document.problem(
                (*PROCESS[:-1], key),
                "cannot number the data packets of iperf3",
                wanted=f"{wanted}, or generator probe",
                got=f"{got}, and flow {flow.id} over iperf3",
                hint="its control connection has the same port",
            )
    if loss.process == "equal_drops":
        yield from _equal(study, document)


def _equal(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Return why it makes no sense that all of these flows lose equally many packets."""
    reacting = [flow for flow in study.flows if flow.protocol != "udp"]
    if sum(flow.copies for flow in reacting) < 2:
        yield document.problem(
            PROCESS,
            "too few flows to lose equally many",
            wanted="shared, or two flows of tcp or sctp",
            got=f"equal_drops, and {sum(flow.copies for flow in reacting)} of them",
            hint="what is sent over udp is the same whatever is lost",
        )
    for flow in study.flows[1:]:
        times = [(one.start_s, one.start_spread_s, one.stop_s) for one in (study.flows[0], flow)]
        if times[0] != times[1]:
            yield document.problem(
                PROCESS,
                "not all flows last as long",
                wanted="shared, or the same start, start_spread and stop for all flows",
                got=f"equal_drops, and flow {flow.id} unlike {study.flows[0].id}",
                hint="a flow that is not there cannot lose what the others do",
            )


def _keys(loss: Loss, place: Loc, document: Document) -> Iterator[Problem]:
    own = KEYS[loss.model]
    for key, field in own.items():
        if getattr(loss, field) is None:
            wanted = Loss.model_fields[field].description or ""
            yield document.problem((*place, key), "missing key", wanted=wanted)
    for model, keys in KEYS.items():
        for key, field in keys.items() if model != loss.model else ():
            if getattr(loss, field) is not None:
                what = f"a model {loss.model} has no such key"
                yield document.problem(
                    (*place, key), what, wanted=f"no such key, or model: {model}"
                )
    if loss.process != "shared" and loss.model in WITHOUT_PROCESS:
        what, hint = WITHOUT_PROCESS[loss.model]
        yield document.problem(
            (*place, "process"), what, wanted="shared, or model: independent", got=loss.process,
            hint=hint,
        )  # fmt: skip
    if loss.model == "gilbert_elliott":
        yield from _bursts(loss, place, document)


def _bursts(loss: Loss, place: Loc, document: Document) -> Iterator[Problem]:
    for key, frac in (("to_bad", loss.to_bad_frac), ("to_good", loss.to_good_frac)):
        if frac == 0:
            what = "a state that is never left or never reached"
            yield document.problem((*place, key), what, wanted="more than 0 %", got="0 %")
    if None not in (loss.loss_bad_frac, loss.loss_good_frac):
        bad, good = loss.loss_bad_frac or 0.0, loss.loss_good_frac or 0.0
        if bad <= good:
            yield document.problem(
                (*place, "loss_bad"),
                "the bad state loses no more than the good one",
                wanted=f"more than {units.format_frac(good)} (loss_good)",
                got=units.format_frac(bad),
            )


def _at_bottleneck(loss: Loss, place: Loc, document: Document) -> Iterator[Problem]:
    for key, value, plain in (
        ("model", loss.model, "independent"),
        ("process", loss.process, "shared"),
    ):
        if value != plain:
            yield document.problem(
                (*place, key), "only the bottleneck has it", wanted=plain, got=value,
                hint="what is lost there is measured and counted by flow",
            )  # fmt: skip
