"""CITATION.cff is what its format asks for, and of this version."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]


def test_the_citation_is_of_this_program() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= cited.keys()  # what the format requires
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    assert all(author["name"] for author in cited["authors"])
