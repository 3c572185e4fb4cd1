"""The rooms of the house: none left out of the import rules, none overfull, no way in circles."""

import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import grimp
import pytest

from docs.generate import rooms

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RULES = PROJECT["tool"]["importlinter"]
#: More files than this in a folder, and nobody sees what it is for.
MOST_FILES = 20


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*RULES["root_packages"], cache_dir=None)


def named_in_layers() -> set[str]:
    """Return every package the layers name."""
    layers = [
        layer for rule in RULES["contracts"] if rule["type"] == "layers" for layer in rule["layers"]
    ]
    return {name for layer in layers for name in re.findall(r"[\w.]+", layer)}


def test_every_package_has_a_layer(graph: grimp.ImportGraph) -> None:
    roomy = {"testbed", "collectors", "reports"}  # packages of packages
    rooms = {child for name in roomy for child in graph.find_children(name)}
    assert rooms | set(RULES["root_packages"]) - roomy <= named_in_layers()


def test_the_picture_of_the_rooms_is_that_of_the_imports() -> None:
    assert rooms.FILE.read_text() == rooms.written()


def test_folders_with_python_are_packages_of_the_project_or_tests() -> None:
    top = {path.parent.name for path in ROOT.glob("[a-z]*/__init__.py")}
    assert top == set(RULES["root_packages"])


def test_nothing_is_imported_in_circles(graph: grimp.ImportGraph) -> None:
    packages = {name.rpartition(".")[0] for name in graph.modules} - {""}
    circles = {name: graph.nominate_cycle_breakers(name) for name in packages}
    assert {name: found for name, found in circles.items() if found} == {}


def test_no_room_uses_itself_by_way_of_others() -> None:
    # Also a parent and its child: grimp looks for circles among siblings only.
    assert rooms.circles(rooms.rooms()) == []
    assert rooms.circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c"]


def test_no_folder_is_overfull() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    there = [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    lying = Counter(str(path.parent) for path in there)
    assert {name: count for name, count in lying.items() if count > MOST_FILES} == {}
