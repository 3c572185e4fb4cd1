"""What goes into a lab is what the agent imports, no more and no less; only that is in the key."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from testbed.labs.booted import lab_code

ROOT = Path(__file__).parents[3]
OURS = ("model", "testbed", "mininet_topos", "probes", "collectors", "reports")


def module_path(name: str) -> Path | None:
    """Return the file of a module of the project; None for other names."""
    if name.partition(".")[0] not in OURS:
        return None
    place = ROOT.joinpath(*name.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def imports(path: Path) -> set[str]:
    """Return every name a module imports, each with the packages it lies in."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    parents = {name.rpartition(".")[0] for name in found}
    return found | (parents - {""})


def closure(start: str) -> tuple[set[Path], set[str]]:
    """Return the project's files an import reaches, and the top names of all others."""
    todo, files, foreign = [start, start.partition(".")[0]], set(), set()
    while todo:
        name = todo.pop()
        path = module_path(name)
        if path is None:
            if name.partition(".")[0] not in OURS:
                foreign.add(name.partition(".")[0])
        elif path not in files:
            files.add(path)
            todo += imports(path)
    return files, foreign


FILES, FOREIGN = closure("testbed.guest.agent")


def test_what_the_agent_reaches_goes_in() -> None:
    assert {path for _, path in lab_code.sources()} >= FILES


def test_no_folder_goes_in_that_the_agent_does_not_need() -> None:
    needed = {str(path.parent.relative_to(ROOT)) for path in FILES}
    # Programs in C, beside the drivers that start them.
    apart = ("probes/", "mininet_topos/aodv/")
    programs = {name for name in lab_code.FOLDERS if name.startswith(apart)}
    assert needed == {*lab_code.FOLDERS, *lab_code.PACKAGES} - programs


def test_the_agent_needs_the_standard_library_and_mininet_only() -> None:
    assert FOREIGN - sys.stdlib_module_names - {"__future__"} == {"mininet"}


def test_sources_are_there_once_and_are_sources() -> None:
    sources = lab_code.sources()
    names = [name for name, _ in sources]
    assert names == sorted(set(names))
    assert all(path.is_file() for _, path in sources)
    assert {Path(name).suffix for name in names} <= {".py", ".c", ".h", ""}
    assert {name for name in names if not Path(name).suffix} == {
        "lib/mininet_topos/aodv/Makefile",
        "lib/probes/Makefile",
    }
    for name in (
        "guest/host_view.c",
        "guest/init.c",
        "guest/seeded_random.c",
        "lib/testbed/guest/agent.py",
    ):
        assert name in names


def test_key_changes_with_a_source_and_the_image_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    for name, path in lab_code.sources():
        if name.startswith("lib/"):
            copy = project / name.removeprefix("lib/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    first = lab_code.key("image")
    monkeypatch.setattr(lab_code, "PROJECT", project)
    assert lab_code.key("image") == first
    assert lab_code.key("another image") != first
    (project / "testbed" / "__main__.py").write_text("not in a lab")
    (project / "probes" / "README.md").write_text("no source")
    (project / "probes" / "tcp_send").write_text("a program built by hand")
    assert lab_code.key("image") == first
    with (project / "probes" / "driver.py").open("a") as file:
        file.write("\n")
    assert lab_code.key("image") != first
