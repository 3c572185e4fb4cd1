"""The import rules leave no module out."""

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RULES = PROJECT["tool"]["importlinter"]


def named_in_layers() -> set[str]:
    """Return every module the layers name."""
    layers = next(rule["layers"] for rule in RULES["contracts"] if rule["type"] == "layers")
    return {name for layer in layers for name in re.findall(r"[\w.]+", layer)}


def test_every_module_of_testbed_has_a_layer() -> None:
    children = [
        path for path in (ROOT / "testbed").iterdir() if path.suffix == ".py" or path.is_dir()
    ]
    names = {f"testbed.{path.stem}" for path in children} - {
        "testbed.__init__",
        "testbed.__pycache__",
    }
    assert names <= named_in_layers()


def test_every_other_package_has_a_layer() -> None:
    assert set(RULES["root_packages"]) - {"testbed"} <= named_in_layers()


def test_folders_with_python_are_packages_of_the_project_or_tests() -> None:
    top = {path.parent.name for path in ROOT.glob("[a-z]*/__init__.py")}
    assert top == set(RULES["root_packages"])
