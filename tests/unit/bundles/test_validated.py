"""A bundle's description is accepted by the validator of RO-Crates, which finds what is wrong."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from testbed.bundles import archive
from testbed.command.cli import command_status
from tests.support.fake_lab import FakeLab
from tests.unit.bundles.conftest import run_one

ROOT = Path(__file__).parents[3]
LIMIT_S = 240


def validated(folder: Path) -> tuple[int, str]:
    """Return the validator's exit status and words about a folder."""
    found = subprocess.run(
        [str(ROOT / "setup" / "crate_validator")],
        capture_output=True, text=True, check=True, timeout=LIMIT_S,
    )  # fmt: skip
    done = subprocess.run(
        [found.stdout.strip(), str(ROOT / "tests" / "support" / "validate_crate.py"),
         str(folder), str(folder.parent / "cache")],
        capture_output=True, text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("evidence", [[], ["--evidence"]])
def test_bundles_meet_all_that_ro_crate_requires(
    lab: FakeLab, evidence: list[str], tmp_path: Path
) -> None:
    run = run_one("two.yaml")
    assert command_status(["bundle", str(run), "--to", "b.tar.gz", *evidence]) == 0
    (tmp_path / "into").mkdir()
    folder = archive.unpack(Path("b.tar.gz"), tmp_path / "into")
    assert folder.name == run.name
    status, said = validated(folder)
    assert status == 0, said
    assert int(said.split()[0]) >= 40

    description = folder / "ro-crate-metadata.json"
    content = json.loads(description.read_text())
    root = next(one for one in content["@graph"] if one["@id"] == "./")
    del root["license"]
    description.write_text(json.dumps(content))
    status, said = validated(folder)
    assert status == 1
    assert "license" in said
