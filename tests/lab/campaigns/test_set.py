"""Two small sets with the same seeds give the same summaries, pages and figures to the byte."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.study_file import whole_runs_only

PROJECT = Path(__file__).resolve().parents[3]


def _study(name: str, loss: str) -> str:
    """Return a short form of the wireless study: one point, two seeds, 60 s, nothing claimed."""
    text = whole_runs_only((PROJECT / "studies" / "wireless.yaml").read_text())
    text = text.replace("duration: 1000 s", "duration: 60 s").replace(
        "study: wireless", f"study: {name}"
    )
    text = re.sub(r"^seeds: .*$", "seeds: [1, 2]", text, flags=re.M)
    keep = re.split(r"^(?=[a-z]\w*:)", text, flags=re.M)
    left_out = (
        "published:", "claims:", "figures:", "sweep:", "assumptions:", "replication:",
        "hypotheses:", "explanations:",
    )  # fmt: skip
    kept = [part for part in keep if not part.startswith(left_out)]
    return "".join(kept) + f"\nsweep:\n  network.bottleneck.loss.data: [{loss}]\n"


def _outputs(whole: Path) -> dict[str, bytes]:
    names = ("summary.*", "report/**/*", "*/summary.*", "*/report/**/*")
    files = (path for name in names for path in whole.glob(name) if path.is_file())
    return {str(path.relative_to(whole)): path.read_bytes() for path in files}


def test_equal_sets_are_equal_to_the_byte(tmp_path: Path, lab: VirtualLab) -> None:
    for name, loss in (("short-one", "1 %"), ("short-two", "3 %")):
        (tmp_path / f"{name}.yaml").write_text(_study(name, loss))
    found = []
    for place in ("here", "there"):
        # As users start it: the processes that write the reports load this very file again.
        command = str(Path(sys.executable).with_name("groundtruth"))
        studies = [str(tmp_path / f"short-{number}.yaml") for number in ("one", "two")]
        argv = [command, "run", *studies, "-D", str(tmp_path / place)]
        done = subprocess.run(
            argv, cwd=PROJECT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=250, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(_outputs((tmp_path / place / "latest").resolve()))
    assert {"summary.json", "report/index.html", "short-one/summary.csv"} <= set(found[0])
    assert found[0] == found[1]
