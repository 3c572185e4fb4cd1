"""Write what the README quotes of a run into docs/quoted.json, and from there into the README.

    make showcase                      runs the studies with ten seeds, then all of this
    .venv/bin/python -m docs.readme results/latest    of runs that are there, one folder or several
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
#: The study of one loss, and what the README shows of its first point: by name, in words.
ANATOMY = "anatomy"
LOSS = {
    "dupacks": "sent again at duplicate number",
    "first_new_on_dupack": "new data first sent on duplicate number",
    "cwnd_before": "window before",
    "cwnd_after": "window after",
    "detect_s": "until sent again, s",
    "recover_s": "until recovered, s",
    "regrow_s": "until the window had grown by a segment, s",
}
#: The claims that the README shows, by study.
SHOWN = {
    "wireless": ("sctp-ahead", "peak", "equal-windows", "tcp-third"),
    "satellite": ("sctp-ahead", "fair", "larger-window", "faster-recovery"),
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
    files = [ROOT / "studies" / f"{name}.yaml" for name in (*STUDIES, ANATOMY)]
    files.append(ROOT / "studies" / "hosts" / "paper.yaml")
    return {
        str(file.relative_to(ROOT)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def run_of(name: str, folders: list[Path]) -> Path:
    """Return the folder of a study's run: one of these, or in a set that is one of these."""
    for folder in (*(place / name for place in folders), *folders):
        file = folder / "summary.json"
        if file.is_file() and json.loads(file.read_text()).get("study") == name:
            return folder
    raise SystemExit(f"no run of {name} in {', '.join(map(str, folders))}")


def measured(folders: list[Path]) -> dict[str, Any]:
    """Return what is quoted of runs of all studies."""
    summaries = {
        name: json.loads((run_of(name, folders) / "summary.json").read_text())
        for name in (*STUDIES, ANATOMY)
    }
    claims = {name: {one["id"]: one for one in summaries[name]["claims"]} for name in STUDIES}
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
        "loss": [
            {key: one[key] for key in ("flow", "name", "published", "kernel")}
            for one in summaries[ANATOMY]["points"][0]["published_episodes"]
            if _loss_name(one["name"]) in LOSS
        ],
    }


def _loss_name(name: str) -> str:
    return name.removesuffix("_segments").removesuffix("_bytes")


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


def _loss(quoted: dict[str, Any]) -> str:
    lines = [
        "| loss of data packet 8 | TCP SACK: published | kernel | SCTP: published | kernel |\n"
    ]
    lines.append("|---|---|---|---|---|\n")
    for name, words in LOSS.items():
        cells = [words]
        for flow in ("T", "S"):
            found = [
                one
                for one in quoted["loss"]
                if one["flow"] == flow and _loss_name(one["name"]) == name
            ]
            cells += [_number(one[key], one["name"]) for one in found[:1] for key in SIDES]
            cells += ["-"] * (2 if not found else 0)
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


SIDES = ("published", "kernel")


def _number(value: float | None, name: str) -> str:
    unit = next((u for u in ("segments", "bytes") if name.endswith(u)), "")
    return "-" if value is None else f"{value:.5g} {unit}".strip()


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
    parts = {"counts": _counts, "claims": _claims, "wireless": _table, "loss": _loss}
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
        folders = [Path(name) for name in sys.argv[1:]]
        quoted = measured(folders)
        QUOTED.write_text(json.dumps(quoted, indent=1, sort_keys=True) + "\n")
        figures = run_of("wireless", folders) / "report" / "figures"
        shutil.copy(figures / "pct_increase.svg", FIGURE)
    README.write_text(written(README.read_text(), json.loads(QUOTED.read_text())))


if __name__ == "__main__":
    main()
