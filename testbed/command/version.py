"""The version of the program, as the project declares it."""

from __future__ import annotations

import tomllib
from pathlib import Path


def own_version() -> str:
    """Return the version of the program."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"  # the wheel has it too
    return str(tomllib.loads(project.read_text())["project"]["version"])
