"""Write what the README quotes of a run into docs/quoted.json, and from there into the README.

    .venv/bin/python -m docs.readme results/latest    after make experiment REPS=10, the figure too
    .venv/bin/python -m docs.readme                   from docs/quoted.json alone

A test holds the README against docs/quoted.json, and that against the study files it is of: when
one of them changes, what is quoted has to be measured again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FIGURE = ROOT / "docs" / "images" / "wireless.svg"
QUOTED, README = ROOT / "docs" / "quoted.json", ROOT / "README.md"
STUDIES = ("wireless", "satellite", "wired")
#: The claims that the README shows, by study.
SHOWN = {
    "wireless": ("sctp-ahead", "peak", "equal-windows", "tcp-third"),
    "satellite": ("sctp-ahead", "fair", "larger-window"),
    "wired": ("tcp-delay", "tcp-jitter"),
}
VERDICTS = ("holds", "refuted", "undecided", "untested")
CLAIM_HEAD = "| study | claim | verdict | decisive evidence | how sure |\n|---|---|---|---|---|\n"
TABLE_HEAD = (
    "| loss | increase in goodput of SCTP over TCP, %: paper | kernel, 95 % interval of the mean | "
    "kernel at equal realised loss | paper's value could be one run of the kernel | "
    "utilisation, %: paper | kernel | could be one run |\n|---|---|---|---|---|---|---|---|\n"
)


def inputs() -> dict[str, str]:
    """Return the digest of each file that decides what a study asks of the lab and claims."""
    files = [ROOT / "studies" / f"{name}.yaml" for name in STUDIES]
    files.append(ROOT / "studies" / "hosts" / "paper.yaml")
    return {
        str(file.relative_to(ROOT)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def measured(results: Path) -> dict[str, Any]:
    """Return what is quoted of a set of runs of all studies."""
    summaries = {
        name: json.loads((results / name / "summary.json").read_text()) for name in STUDIES
    }
    claims = {
        name: {one["id"]: one for one in found["claims"]} for name, found in summaries.items()
    }
    metrics = ("pct_increase", "utilisation_pct")
    kept = ("mean", "ci95", "adjusted", "adjusted_ci95", "published", "published_in_pi95", "n")
    return {
        "inputs": inputs(),
        "verdicts": {
            verdict: sum(
                one["verdict"] == verdict for own in claims.values() for one in own.values()
            )
            for verdict in VERDICTS
        },
        "claims": [
            {"study": name, **{key: claims[name][claim][key] for key in CLAIM_KEYS}}
            for name, shown in SHOWN.items()
            for claim in shown
        ],
        "wireless": [
            {
                "loss_frac": point["point"]["loss_frac"],
                **{name: {key: point["metrics"][name][key] for key in kept} for name in metrics},
            }
            for point in summaries["wireless"]["points"]
        ],
    }


CLAIM_KEYS = ("id", "text", "verdict", "evidence", "p_holds", "p_refuted")


def _sure(claim: dict[str, Any]) -> str:
    p = {"holds": claim["p_holds"], "refuted": claim["p_refuted"]}.get(claim["verdict"])
    if p is None:
        return "-"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _claims(quoted: dict[str, Any]) -> str:
    lines = [CLAIM_HEAD]
    for claim in quoted["claims"]:
        mark = "**" if claim["verdict"] == "refuted" else ""
        cells = (claim["study"], claim["text"].rstrip("."), f"{mark}{claim['verdict']}{mark}")
        lines.append(f"| {' | '.join(cells)} | {claim['evidence']} | {_sure(claim)} |\n")
    return "".join(lines)


def _interval(mean: float, ci95: list[float]) -> str:
    return f"{mean:.1f} ({ci95[0]:.1f} to {ci95[1]:.1f})"


def _table(quoted: dict[str, Any]) -> str:
    lines = [TABLE_HEAD]
    for point in quoted["wireless"]:
        increase, used = point["pct_increase"], point["utilisation_pct"]
        draws = ["yes" if one["published_in_pi95"] else "**no**" for one in (increase, used)]
        cells = (
            f"{point['loss_frac'] * 100:g} %",
            f"{increase['published']} †",
            _interval(increase["mean"], increase["ci95"]),
            _interval(increase["adjusted"], increase["adjusted_ci95"]),
            draws[0],
            f"{used['published']:g}",
            f"{used['mean']:.1f}",
            draws[1],
        )
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def _counts(quoted: dict[str, Any]) -> str:
    count, runs = quoted["verdicts"], quoted["wireless"][0]["pct_increase"]["n"]
    return (
        f"With {runs} seeds (`REPS={runs}`), hosts as published, of the {sum(count.values())} "
        f"claims of the three studies {count['holds']} hold, {count['refuted']} are refuted, "
        f"{count['undecided']} are undecided and {count['untested']} cannot be tested. "
        "Some of them:\n"
    )


def written(text: str, quoted: dict[str, Any]) -> str:
    """Return the README's text with what is quoted between its marks."""
    parts = {"counts": _counts, "claims": _claims, "wireless": _table}
    for name, part in parts.items():
        begin, end = f"<!-- quoted: {name} -->\n", f"<!-- end: {name} -->"
        before, _, rest = text.partition(begin)
        _, mark, after = rest.partition(end)
        if not mark:
            raise ValueError(f"README.md: no {begin.strip()} ... {end}")
        text = f"{before}{begin}{part(quoted)}{end}{after}"
    return text


def main() -> None:
    """Write docs/quoted.json, if a run is given, and the README."""
    if len(sys.argv) > 1:
        quoted = measured(Path(sys.argv[1]))
        QUOTED.write_text(json.dumps(quoted, indent=1, sort_keys=True) + "\n")
        shutil.copy(Path(sys.argv[1], "wireless", "report", "figures", "pct_increase.svg"), FIGURE)
    README.write_text(written(README.read_text(), json.loads(QUOTED.read_text())))


if __name__ == "__main__":
    main()
