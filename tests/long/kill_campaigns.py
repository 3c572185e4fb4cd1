"""Kill campaigns at random moments, resume them, and compare with an undisturbed one to the byte.

    .venv/bin/python -m tests.long.kill_campaigns --kills 200 --folder /var/tmp/kills

Half of the kills come within 20 ms of a lab's start, the others at any moment of a run, its report
included. After each no process, mount or changed place of the machine may be left; ends with 1 if
anything was.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.support.killing import Campaign, adopt_orphans, short_wireless


def main() -> int:
    """Return 0 if nothing was left and every run came out the same."""
    parser = argparse.ArgumentParser(description="kill campaigns at random moments")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="an empty folder for the runs")
    args = parser.parse_args()
    folder = (args.folder or Path(tempfile.mkdtemp(prefix="kills-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    study = folder / "study.yaml"
    study.write_text(short_wireless(duration="20 s", seeds="[1]"))
    adopt_orphans()
    campaign = Campaign(study=study, folder=folder, chance=random.Random(args.seed))

    def say(text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    campaign.undisturbed()
    say(f"undisturbed: {campaign.took_s:.1f} s, {len(campaign.wanted)} files")
    campaign.disturbed(args.kills, say)
    say(
        f"{campaign.kills} kills, {campaign.kills_at_labs} of them within 20 ms of a lab's start, "
        f"{campaign.runs} runs resumed, {len(campaign.problems)} problems"
    )
    for problem in campaign.problems:
        say(problem)
    return 1 if campaign.problems else 0


if __name__ == "__main__":
    sys.exit(main())
