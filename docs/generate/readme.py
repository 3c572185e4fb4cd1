"""Write what the docs quote of a run into quoted.json, and from there into README and metrics.md.

    make showcase                             runs the studies with ten seeds, then all of this
    python -m docs.generate.readme RESULTS    of runs that are there, one folder or several
    python -m docs.generate.readme            from quoted.json alone

A test holds both pages against quoted.json, and that against the study files it is of: when
one of them changes, what is quoted has to be measured again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from docs.generate.marks import between

ROOT = Path(__file__).resolve().parents[2]
FIGURE = ROOT / "docs" / "images" / "wireless.svg"
QUOTED, README = ROOT / "docs" / "generate" / "kept" / "quoted.json", ROOT / "README.md"
METRICS = ROOT / "docs" / "metrics.md"
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
        "equal_drops": _equal_drops(summaries["wireless"]),
        "adjustment": {
            name: {**adjusted, "points": len(summaries[name]["points"])}
            for name in STUDIES
            if (adjusted := summaries[name]["loss_adjustment"]) and adjusted["reason"] is None
        },
        "loss": [
            {key: one[key] for key in ("flow", "name", "published", "kernel")}
            for one in summaries[ANATOMY]["points"][0]["published_episodes"]
            if _loss_name(one["name"]) in LOSS
        ],
    }


def _equal_drops(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the increase by loss if both protocols lose as many packets, and two verdicts."""
    (tried,) = (one for one in summary["sensitivity"] if one["settings"] == {"process": EQUAL})
    increases = [
        {"loss_frac": one["point"]["loss_frac"],
         **{key: one["metrics"]["pct_increase"][key] for key in ("mean", "n")}}
        for one in tried["points"]
    ]  # fmt: skip
    verdicts = {one["id"]: one["verdict"] for one in tried["claims"] if one["id"] in EQUAL_CLAIMS}
    return {"increases": increases, "verdicts": verdicts}


#: The alternative whose numbers are quoted, and the claims whose verdicts are.
EQUAL, EQUAL_CLAIMS = "equal_drops", ("sctp-ahead", "peak")


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


def _equal(quoted: dict[str, Any]) -> str:
    found, spread = quoted["equal_drops"], quoted["adjustment"]["wireless"]
    increases = ", ".join(
        f"{one['mean']:.0f} % at {one['loss_frac'] * 100:g} %" for one in found["increases"]
    )
    ahead, peak = (found["verdicts"][name] for name in EQUAL_CLAIMS)
    said = {"holds": "holds", "refuted": "is refuted", "undecided": "is undecided"}
    return (
        "If both protocols are made to lose the same number of packets, as the authors aimed at, "
        f"it is {increases} ({found['increases'][0]['n']} seeds): that SCTP is ahead {said[ahead]} "
        f"there too, that its lead peaks at 1 % {said[peak]}\n"
        "([alternatives](docs/replication.md#sensitivity-to-assumptions)). Much of the spread "
        "between runs is unequal luck with losses: "
        "[at equal realised loss](docs/metrics.md#increase-at-equal-loss) it is "
        f"{spread['residual_sd']:.1f} points instead of {spread['plain_sd']:.1f}.\n"
    )


def _adjustment(quoted: dict[str, Any]) -> str:
    lines = [ADJUSTMENT_HEAD]
    for name, one in quoted["adjustment"].items():
        low, high = one["slope_ci95"]
        seeds = one["runs"] // one["points"]
        factor = one["plain_sd"] / one["residual_sd"]
        tests = f"p = {one['equal_slopes_p']:.2g}, p = {one['equal_spread_p']:.2g}"
        lines.append(
            f"| `{name}` | {one['points']} points, {seeds} seeds | {one['slope']:.1f} "
            f"({low:.1f} to {high:.1f}) | {one['plain_sd']:.1f} points | {one['residual_sd']:.1f} "
            f"| {factor:.1f} | {tests} |\n"
        )
    one = quoted["adjustment"]["wireless"]
    seeds = one["runs"] / one["points"]
    alike = seeds * (one["plain_sd"] / one["residual_sd"]) ** 2
    errors = (one[name] / seeds**0.5 for name in ("plain_sd", "residual_sd"))
    plain, adjusted = (f"{error:.1f}" for error in errors)
    lines.append(
        f"\nIn `wireless` the standard error of a point's increase falls from {plain} points "
        f"(pooled) to {adjusted}: {seeds:.0f} runs tell as much as {alike:.0f} without it.\n"
    )
    return "".join(lines)


ADJUSTMENT_HEAD = """Measured on the kernel and the hosts of the studies:

| study | runs | slope | spread of runs: plain | at equal loss | factor | one slope, one spread |
|---|---|---|---|---|---|---|
"""
#: What is quoted on each page, by the name of its mark.
PARTS = {
    README: {"counts": _counts, "claims": _claims, "wireless": _table, "equal": _equal,
             "loss": _loss},
    METRICS: {"adjustment": _adjustment},
}  # fmt: skip


def written(page: Path, text: str, quoted: dict[str, Any]) -> str:
    """Return a page's text with what is quoted between its marks."""
    for name, part in PARTS[page].items():
        begin, end = f"<!-- quoted: {name} -->\n", f"<!-- end: {name} -->"
        text = between(text, begin, part(quoted), end, page.name)
    return text


def main() -> None:
    """Write docs/generate/kept/quoted.json, if a run is given, and the pages that quote it."""
    if len(sys.argv) > 1:
        folders = [Path(name) for name in sys.argv[1:]]
        quoted = measured(folders)
        QUOTED.write_text(json.dumps(quoted, indent=1, sort_keys=True) + "\n")
        figures = run_of("wireless", folders) / "report" / "figures"
        shutil.copy(figures / "pct_increase.svg", FIGURE)
    quoted = json.loads(QUOTED.read_text())
    for page in PARTS:
        page.write_text(written(page, page.read_text(), quoted))


if __name__ == "__main__":
    main()
