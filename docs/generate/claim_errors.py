"""Write docs/claim-errors.md: how often verdicts are wrong, by simulation; checked by a unit test.

    .venv/bin/python -m docs.generate.claim_errors

Each case has its mean exactly on a bound, which is where a verdict is wrong most often. Pure but
for writing the file; the seed is fixed, so it comes out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from docs.generate import columns
from reports.inference.decision import by_spread, by_t
from reports.inference.replication import next_runs

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]

DRAWS = 20_000
SIZES = (5, 10, 20)
#: A level as such, and for one of eight claims.
LEVELS = (0.05, 0.05 / 8)
AT_LEAST, AT_MOST = 5, 40
#: Spread of one run in half-widths wanted.
SPREADS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 5.0)
FILE = columns.FOLDER / "claim-errors.md"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Runs that are drawn many times; ``limit`` is what none can pass, on the side wanted."""

    name: str
    draw: Draw
    limit: float | None = None


def _lopsided(skewness: float) -> Draw:
    shape = 4 / skewness**2

    def draw(rng: np.random.Generator, draws: int, runs: int) -> Floats:
        lopsided: Floats = (shape - rng.gamma(shape, 1.0, (draws, runs))) / np.sqrt(shape)
        return lopsided

    return draw


def _ratio(rng: np.random.Generator, draws: int, runs: int) -> Floats:
    """20 % ahead, and 20 % wanted; both as lognormal as their spread makes them."""
    of, over = (rng.lognormal(-(s**2) / 2, s, (draws, runs)) for s in (0.035, 0.045))
    return 1.2 * of - 1.2 * over


def _difference(rng: np.random.Generator, draws: int, runs: int) -> Floats:
    """Two windows of the same runs, a tolerance of one apart."""
    shared = rng.normal(0, 0.3, (draws, runs))
    a, b = (rng.normal(8, 0.35, (draws, runs)) for _ in range(2))
    return (a + shared) - (b + shared)


def _rare_slow(rng: np.random.Generator, draws: int, runs: int) -> Floats:
    """One run in 20 is 5 standard deviations less than the others."""
    return rng.normal(0, 1, (draws, runs)) + 0.25 - 5 * (rng.random((draws, runs)) < 1 / 20)


def _share(rng: np.random.Generator, draws: int, runs: int) -> Floats:
    """Of 200 losses nine in ten, and nine in ten wanted."""
    return rng.binomial(200, 0.9, (draws, runs)) / 200 - 0.9


def _jain(flows: int, ahead: float, sd: float) -> Case:
    """Half of the flows ahead, the goodput of each with this spread over runs."""

    def index(rng: np.random.Generator, draws: int, runs: int) -> Floats:
        means = 1 + ahead * (np.arange(flows) % 2)
        x = rng.normal(means, sd / np.sqrt(2), (draws, runs, flows))
        found: Floats = x.sum(axis=2) ** 2 / (flows * (x**2).sum(axis=2))
        return found

    mean = float(index(np.random.default_rng(3), 400_000 // flows, 10).mean())
    return Case(
        name=f"Jain's index {mean:.4f} of {flows} flows, half of them {100 * ahead:.0f} % ahead, "
        f"increase with sd {100 * sd:.0f} points",
        draw=lambda rng, draws, runs: index(rng, draws, runs) - mean,
        limit=1 - mean,
    )


def cases() -> tuple[Case, ...]:
    """Return what is tried."""
    return (
        Case(name="normal", draw=lambda rng, draws, runs: rng.normal(0, 1, (draws, runs))),
        Case(name="skewness -0.35, the most of the goodputs, shares and windows of 70 runs of "
             "`wireless`", draw=_lopsided(0.35)),
        Case(name="skewness -0.65", draw=_lopsided(0.65)),
        Case(name="skewness -2", draw=_lopsided(2.0)),
        Case(name="ratio of goodputs that spread by 3.5 and 4.5 %", draw=_ratio),
        Case(name="difference of two windows, paired", draw=_difference),
        Case(name="one run in 20 far below the others", draw=_rare_slow),
        Case(name="share of 200 losses, 90 %", draw=_share, limit=0.1),
        *(_jain(2, ahead, sd) for ahead, sd in ((0, 0.1), (0.2, 0.1), (0.2, 0.2))),
        *(_jain(8, ahead, sd) for ahead, sd in ((0.2, 0.1), (0.2, 0.2))),
    )  # fmt: skip


def p_values(case: Case, margins: Floats) -> tuple[Floats, Floats]:
    """Return p(inside) and p(outside) as verdicts have them."""
    parts = np.array_split(margins, 20)  # each takes memory for all quantiles
    inside, outside = np.hstack([by_spread(part, case.limit) for part in parts])
    return inside, outside


@dataclass(frozen=True, kw_only=True)
class Errors:
    """How often something is wrong where ``level`` is allowed: to hold, and to be refuted."""

    level: float
    holds: float
    refuted: float


def errors(case: Case, runs: int, draws: int, *, plain: bool = False) -> tuple[Errors, ...]:
    """Return the errors at each level; ``plain``: by Student's t alone."""
    margins = case.draw(np.random.default_rng((runs, 1)), draws, runs)
    with np.errstate(invalid="ignore"):  # a share that is the same in all runs
        inside, outside = by_t(margins) if plain else p_values(case, margins)
    return tuple(
        Errors(level=level, holds=float((inside <= level).mean()),
               refuted=float((outside <= level).mean()))
        for level in LEVELS
    )  # fmt: skip


def added(values: Floats, half_width: float | None) -> npt.NDArray[np.int64]:
    """Return with how many of its values each row stops, as ``--reps auto`` adds them.

    ``half_width`` None: 5 % of the mean so far.
    """
    stopped = np.full(len(values), AT_MOST)
    going = np.ones(len(values), bool)
    runs = AT_LEAST
    while runs < AT_MOST:
        so_far = values[:, :runs]
        half = stats.t.ppf(0.975, runs - 1) * so_far.std(axis=1, ddof=1) / np.sqrt(runs)
        wanted = 0.05 * np.abs(so_far.mean(axis=1)) if half_width is None else half_width
        stopped[going & (half <= wanted)] = runs
        going &= half > wanted
        runs = next_runs(runs, AT_MOST)
    return stopped


@dataclass(frozen=True, kw_only=True)
class Auto:
    """What stopping does: runs taken, how often the interval holds the mean, wrong verdicts."""

    runs: float
    covered: float
    uncorrected: float
    wrong: float


def auto(spread: float, draws: int, *, relative: bool, level: float) -> Auto:
    """Return what ``--reps auto`` does to a claim false by a hair, in the worse direction.

    ``spread``: of one run, in half-widths wanted; ``relative``: these are 5 % of the mean so far.
    """
    rng = np.random.default_rng((int(10 * spread), int(relative)))
    mean, half = (1.0, None) if relative else (0.0, 1.0)
    values = rng.normal(mean, spread * (0.05 if relative else 1.0), (draws, AT_MOST))
    stopped, rounds = added(values, half), (5, 10, 20, 40)
    p = np.empty((2, draws))
    for runs in rounds:
        rows = stopped == runs
        p[:, rows] = by_t(values[rows, :runs] - mean)
    return Auto(
        runs=float(stopped.mean()),
        covered=float((p.min(axis=0) > 0.025).mean()),
        uncorrected=float((p <= level).mean(axis=1).max()),
        wrong=float((len(rounds) * p <= level).mean(axis=1).max()),
    )


HEAD = f"""# How often verdicts are wrong

Made by `python -m docs.generate.claim_errors`: {
    DRAWS
} studies each, all with the mean exactly on the bound,
where a verdict is wrong most often. [claims.md](claims.md) says what is tested how. Numbers are per
cent of the studies; a verdict is to be wrong in at most as many as its level says. Standard error:
0.15 at 5 %, 0.06 at 0.625 %.

## A fixed number of runs

*Holds* is said wrongly of what is to be at least so much, *refuted* the other way round: a long
tail downwards misleads the first. Where there is a limit, Student's t alone is shown below what is
used.

| runs that are drawn | runs | {
    " | ".join(f"{what} at {100 * frac:g} %" for frac in LEVELS for what in ("holds", "refuted"))
} |
|---|---|---|---|---|---|
"""
AUTO_HEAD = """
## Seeds as needed

`REPS=auto`, 5 to 40 runs, normal values, one claim at 1.25 % (one of four) in the worse direction.
*As it is*: corrected for the four numbers of runs at which a point can stop.

| half-width wanted | sd / half-width | runs, mean | intervals that hold the mean | \
wrong if not corrected | wrong as it is |
|---|---|---|---|---|---|
"""


def rows(draws: int) -> Iterator[str]:
    """Return the rows of the first table."""
    for case in cases():
        kinds = ((False, case.name), (True, "the same, by t alone"))
        for plain, name in kinds if case.limit is not None else kinds[:1]:
            for runs in SIZES:
                found = errors(case, runs, draws, plain=plain)
                cells = [f"{100 * e:.2f}" for one in found for e in (one.holds, one.refuted)]
                yield f"| {name} | {runs} | {' | '.join(cells)} |\n"


def auto_rows(draws: int) -> Iterator[str]:
    """Return the rows of the second table."""
    for relative, name in ((False, "fixed"), (True, "5 % of the mean")):
        for spread in SPREADS:
            found = auto(spread, draws, relative=relative, level=0.0125)
            parts = (found.covered, found.uncorrected, found.wrong)
            cells = " | ".join(f"{100 * part:.2f}" for part in parts)
            yield f"| {name} | {spread} | {found.runs:.1f} | {cells} |\n"


def written(draws: int = DRAWS) -> str:
    """Return the content of claim-errors.md."""
    return "".join((HEAD, *rows(draws), AUTO_HEAD, *auto_rows(draws)))


if __name__ == "__main__":
    FILE.write_text(written())
