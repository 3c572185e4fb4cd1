"""What is installed is pinned: one version, hashes, and no place to get it from is named."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REQUIREMENTS = ROOT / "requirements"
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ;]+)(?: ; (?P<marker>.+))?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def pins(name: str) -> dict[str, str]:
    """Return package -> version of a requirement file; fail on a line of any other kind."""
    found = {}
    text = "\n".join(
        line for line in (REQUIREMENTS / name).read_text().splitlines() if "#" not in line
    )
    for entry in text.replace("\\\n", "").splitlines():
        pin, *hashes = re.split(r"\s+(?=--)", entry.strip())
        match = PIN.fullmatch(pin)
        assert match, f"{name}: not a pinned package: {entry[:80]}"
        assert hashes, f"{name}: {pin} has no hash"
        assert all(HASH.fullmatch(word) for word in hashes), f"{name}: {pin}: {hashes}"
        assert match["name"] not in found, f"{name}: {match['name']} twice"
        found[match["name"]] = match["version"]
    return found


def wanted(name: str) -> set[str]:
    """Return the packages a .in file asks for."""
    lines = (
        line.partition("#")[0].strip() for line in (REQUIREMENTS / name).read_text().splitlines()
    )
    names = (re.split(r"[<>=\[]", line)[0] for line in lines if line and not line.startswith("-"))
    return {name.replace(".", "-") for name in names}


@pytest.mark.parametrize("name", ["run", "dev", "crate", "s3"])
def test_every_package_asked_for_is_pinned(name: str) -> None:
    assert wanted(f"{name}.in") <= pins(f"{name}.txt").keys()


def test_checks_run_with_what_experiments_run_with() -> None:
    assert pins("run.txt").items() <= pins("dev.txt").items()


@pytest.mark.parametrize("path", sorted(REQUIREMENTS.iterdir()), ids=lambda path: path.name)
def test_no_requirement_file_says_where_packages_come_from(path: Path) -> None:
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", path.read_text())


def test_oldest_python_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    minor = re.search(
        r"^readonly MIN_MINOR=(\d+)", (ROOT / "setup/bootstrap").read_text(), re.MULTILINE
    )
    assert minor
    assert project["project"]["requires-python"] == f">=3.{minor[1]}"
    assert project["tool"]["ruff"]["target-version"] == f"py3{minor[1]}"
    assert project["tool"]["mypy"]["python_version"] == f"3.{minor[1]}"
    assert project["tool"]["uv"]["pip"]["python-version"] == f"3.{minor[1]}"
