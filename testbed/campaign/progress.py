"""Progress on the terminal: bars where there is one, a plain line now and then where not.

Words go to standard error, so that standard output stays data.
"""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from testbed.campaign.run_cells import Progress as CellProgress
from testbed.machine.process import MOST_TOLD_FRAC

PLAIN_EVERY_S = 10.0


def duration_text(duration_s: float) -> str:
    """Return a duration as people say it: ``8 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = max(0, round(duration_s))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Display:
    """Shows builds and campaigns; use as a context manager.

    ``remaining`` times are from the pace so far: nothing is known of a machine beforehand.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            transient=False,
        )
        self._tasks: dict[str, TaskID] = {}
        self._began_s: dict[str, float] = {}
        self._said_s: dict[str, float] = {}
        self._failure = ""
        self._said: set[str] = set()

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            for task in self._tasks.values():
                self._bars.update(task, completed=1.0, note="")
        if self._console.is_terminal:
            self._bars.stop()

    def building(self, what: str, done_frac: float) -> None:
        """Show how far a one-time build is."""
        left = self._left(f"building {what}", done_frac) if done_frac < MOST_TOLD_FRAC else ""
        self._show(f"building {what}", done_frac, left)

    def exporting(self, done_cells: int, total_cells: int) -> None:
        """Show how far an export is."""
        name, done_frac = "exporting captures", done_cells / total_cells
        left = self._left(name, done_frac)
        note = f"{done_cells}/{total_cells} cells{', ' if left else ''}{left}"
        self._show(name, done_frac, note)

    def writing(self, done_files: int, total_files: int) -> None:
        """Show how many files of an export are written."""
        done_frac = done_files / (total_files or 1)
        self._show("exporting", done_frac, f"{done_files}/{total_files} files")

    def cases(self, done_cases: int, total_cases: int) -> None:
        """Show how many of a test suite's cases have run."""
        name, done_frac = "running scripts", done_cases / (total_cases or 1)
        left = self._left(name, done_frac)
        note = f"{done_cases}/{total_cases} cases{', ' if left else ''}{left}"
        self._show(name, done_frac, note)

    def reading(self, done_files: int, total_files: int) -> None:
        """Show how many files that a user brings are read."""
        done_frac = done_files / (total_files or 1)
        self._show("reading", done_frac, f"{done_files}/{total_files} files")

    def reporting(self, done_runs: int, total_runs: int) -> None:
        """Show how many of a set's reports are written."""
        self._show("writing reports", done_runs / total_runs, f"{done_runs}/{total_runs} studies")

    def cells(self, progress: CellProgress, name: str = "running cells") -> None:
        """Show how far a campaign is, and why the first cell that failed did, at once."""
        if progress.first_failure != self._failure:
            self._failure = progress.first_failure
            self._console.print(
                f"failed, the others go on: {self._failure}", markup=False, highlight=False,
                soft_wrap=True,
            )  # fmt: skip
        for words in progress.said:
            if words not in self._said:
                self._said.add(words)
                line = f"warning: {words}"
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        ended = progress.done_cells + progress.failed_cells
        # Of cells that all came from the store none has taken any virtual time.
        all_done = float(0 < ended == progress.total_cells)
        total = progress.total_virtual_s
        done_frac = progress.done_virtual_s / total if total else all_done
        note = f"{ended}/{progress.total_cells} cells"
        if progress.stored_cells:
            note += f", {progress.stored_cells} from the store"
        if progress.retried_cells:
            note += f", {progress.retried_cells} to be tried again"
        if progress.failed_cells:
            note += f", {progress.failed_cells} failed"
        if progress.at_once is not None:
            note += f", {progress.at_once} at once"
        began_s = self._began_s.setdefault(name, time.monotonic())
        elapsed_s = time.monotonic() - began_s
        if progress.done_virtual_s and elapsed_s > 1:
            note += f", {progress.done_virtual_s / elapsed_s:.0f} virtual s per s"
        left = self._left(name, done_frac)
        self._show(name, done_frac, f"{note}{', ' if left else ''}{left}")

    def _left(self, name: str, done_frac: float) -> str:
        began_s = self._began_s.setdefault(name, time.monotonic())
        elapsed_s = time.monotonic() - began_s
        if done_frac < 0.02 or done_frac >= 1 or elapsed_s < 2:
            return ""
        return f"{duration_text(elapsed_s * (1 - done_frac) / done_frac)} left"

    def _show(self, name: str, done_frac: float, note: str) -> None:
        if self._console.is_terminal:
            if name not in self._tasks:
                self._tasks[name] = self._bars.add_task(name, total=1.0, note=note)
            self._bars.update(self._tasks[name], completed=done_frac, note=note)
            return
        now_s = time.monotonic()
        first = name not in self._said_s
        if first or done_frac >= 1 or now_s - self._said_s[name] >= PLAIN_EVERY_S:
            self._said_s[name] = now_s
            line = f"{name}: {done_frac * 100:3.0f} %  {note}".rstrip()
            self._console.print(line, soft_wrap=True)
