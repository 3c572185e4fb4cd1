"""What the settings of a link's loss must agree on: which keys a model has, and where it may be."""

from __future__ import annotations

from collections.abc import Iterator

from testbed import units
from testbed.spec.document import Document
from testbed.spec.problems import Loc, Problem
from testbed.spec.study import Loss, StudyFile

#: The keys of data loss that each model has, with the field of each.
KEYS = {
    "independent": {"data": "loss_frac"},
    "gilbert_elliott": {
        "to_bad": "to_bad_frac", "to_good": "to_good_frac",
        "loss_bad": "loss_bad_frac", "loss_good": "loss_good_frac",
    },
}  # fmt: skip
LINKS = ("source_access", "bottleneck", "destination_access")


def loss_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Return what is wrong with the loss of the network's links."""
    for name in LINKS:
        loss: Loss = getattr(study.network, name).loss
        at: Loc = ("network", name, "loss")
        yield from _keys(loss, at, document)
        if name != "bottleneck":
            yield from _at_bottleneck(loss, at, document)


def pairing_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Return why the data packets of a flow cannot be numbered, where losses are paired."""
    if study.network.bottleneck.loss.process != "paired":
        return
    for flow in study.flows:
        generator = study.generator if flow.generator == "study" else flow.generator
        if generator == "iperf3":
            yield document.problem(
                ("network", "bottleneck", "loss", "process"),
                "cannot number the data packets of iperf3",
                wanted="shared, or generator probe",
                got=f"paired, and flow {flow.id} over iperf3",
                hint="its control connection has the same port",
            )


def _keys(loss: Loss, at: Loc, document: Document) -> Iterator[Problem]:
    own = KEYS[loss.model]
    for key, field in own.items():
        if getattr(loss, field) is None:
            wanted = Loss.model_fields[field].description or ""
            yield document.problem((*at, key), "missing key", wanted=wanted)
    for model, keys in KEYS.items():
        for key, field in keys.items() if model != loss.model else ():
            if getattr(loss, field) is not None:
                what = f"a model {loss.model} has no such key"
                yield document.problem((*at, key), what, wanted=f"no such key, or model: {model}")
    if loss.model == "gilbert_elliott":
        yield from _bursts(loss, at, document)


def _bursts(loss: Loss, at: Loc, document: Document) -> Iterator[Problem]:
    if loss.process == "paired":
        yield document.problem(
            (*at, "process"),
            "losses in bursts cannot be paired",
            wanted="shared, or model: independent",
            got="paired",
            hint="a burst is of packets in a row, whoever sent them",
        )
    for key, frac in (("to_bad", loss.to_bad_frac), ("to_good", loss.to_good_frac)):
        if frac == 0:
            what = "a state that is never left or never reached"
            yield document.problem((*at, key), what, wanted="more than 0 %", got="0 %")
    if None not in (loss.loss_bad_frac, loss.loss_good_frac):
        bad, good = loss.loss_bad_frac or 0.0, loss.loss_good_frac or 0.0
        if bad <= good:
            yield document.problem(
                (*at, "loss_bad"),
                "the bad state loses no more than the good one",
                wanted=f"more than {units.format_frac(good)} (loss_good)",
                got=units.format_frac(bad),
            )


def _at_bottleneck(loss: Loss, at: Loc, document: Document) -> Iterator[Problem]:
    for key, value, plain in (
        ("model", loss.model, "independent"),
        ("process", loss.process, "shared"),
    ):
        if value != plain:
            yield document.problem(
                (*at, key), "only the bottleneck has it", wanted=plain, got=value,
                hint="what is lost there is measured and counted by flow",
            )  # fmt: skip
