"""Write the last screen of the README's first command into the README, from a run of it.

    make experiment
    .venv/bin/python -m docs.generate.last_screen results/latest         of that run
    .venv/bin/python -m docs.generate.last_screen                        of what is recorded
    .venv/bin/python -m docs.generate.last_screen --like results/latest  compare, write nothing

``last_screen.json`` records what the screen shows of the run's summaries, in numbers and words as
they were, with the digests of the study files it is of. The screen is drawn from that by the
program's own code: a change of either is a change of the README. ``--like`` says whether a run of
the same studies, with however many seeds, tells of the same claims in the same words.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.generate import readme
from docs.generate.marks import between
from model.run_files.cells import RunWarning
from reports.store.run import read_run
from reports.terminal.last_screen import last_screen
from reports.verdict.summary import Summary, summarise
from reports.verdict.verdicts import Judged, Verdict
from testbed.command.runs.run_and_report import places

RECORD = Path(__file__).with_name("kept") / "last_screen.json"
BEGIN = "<!-- shown: last screen, written by docs.generate.last_screen -->\n"
END = "<!-- end: last screen -->"
COLUMNS = 80


def inputs() -> dict[str, str]:
    """Return the digest of each file that decides what the command's studies ask and claim."""
    anatomy = f"studies/{readme.ANATOMY}.yaml"
    return {name: digest for name, digest in readme.inputs().items() if name != anatomy}


def recorded(folder: Path) -> dict[str, Any]:
    """Return what the last screen of a set of runs shows."""
    names = json.loads((folder / "set.json").read_text())["studies"]
    summaries = [summarise(read_run(folder / name)) for name in names]
    return {
        "inputs": inputs(),
        "places": places(summaries, Path("results") / folder.resolve().name),
        "studies": [
            {
                "study": one.study,
                "title": one.title,
                "ran": one.ran,
                "warnings": [{"rule": found.rule, "text": found.text} for found in one.warnings],
                "claims": [
                    {
                        "id": claim.id,
                        "text": claim.text,
                        "verdict": claim.verdict,
                        "number": claim.decisive.short if claim.decisive else "",
                    }
                    for claim in one.verdicts
                ],
            }
            for one in summaries
        ],
    }


def screen(record: Mapping[str, Any]) -> list[str]:
    """Return the lines of the last screen."""
    summaries = [_summary(one) for one in record["studies"]]
    return [line.text for line in last_screen(summaries, record["places"], COLUMNS)]


def _summary(one: Mapping[str, Any]) -> Summary:
    """Return a summary with what the last screen shows, and nothing else."""
    warnings = (RunWarning(where="", **found) for found in one["warnings"])
    return Summary(
        study=one["study"], title=one["title"], ran=one["ran"], warnings=tuple(warnings),
        verdicts=tuple(map(_verdict, one["claims"])), parameters=(), groups=(), compare=None,
        flows=(), headline=(), published_where=None, points=(), cells=(),
    )  # fmt: skip


def _verdict(claim: Mapping[str, Any]) -> Verdict:
    not_shown: Any = None
    decisive = Judged(
        comparison=not_shown, found=not_shown, verdict=claim["verdict"], what="", result="",
        wanted="", short=claim["number"],
    )  # fmt: skip
    return Verdict(
        id=claim["id"], text=claim["text"], verdict=claim["verdict"], decisive=decisive, where="",
        evidence="", p_holds=None, p_refuted=None, comparisons=(),
    )  # fmt: skip


def written(text: str, record: Mapping[str, Any]) -> str:
    """Return the README with the last screen in it."""
    lines = "".join(f"    {line}".rstrip() + "\n" for line in screen(record))
    return between(text, BEGIN, f"\n{lines}\n", END, readme.README.name)


def differences(record: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return what two records tell of that the other does not: studies, claims, their words."""
    told = [
        {(one["study"], claim["id"], claim["text"]) for one in each["studies"]
         for claim in one["claims"]}
        for each in (record, other)
    ]  # fmt: skip
    return [": ".join(words) for words in sorted(told[0] ^ told[1])]


def main(words: Sequence[str]) -> int:
    """Record a run if one is given, and write the README; or compare. Return the exit status."""
    if words[:1] == ["--like"]:
        found = differences(json.loads(RECORD.read_text()), recorded(Path(words[1])))
        sys.stdout.writelines(f"not in both: {line}\n" for line in found)
        return 1 if found else 0
    if words:
        RECORD.write_text(json.dumps(recorded(Path(words[0])), indent=1, ensure_ascii=False) + "\n")
    text = readme.README.read_text()
    readme.README.write_text(written(text, json.loads(RECORD.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
