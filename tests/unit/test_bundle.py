"""What goes into a lab is what the agent imports, no more and no less; only that is in the key."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from testbed.labs import bundle

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
OURS = ("testbed", "mininet_topos", "probes", "collectors", "reports")


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


FILES, FOREIGN = closure("testbed.agent")


def test_testbed_modules_are_those_the_agent_reaches() -> None:
    reached = {
        str(path.relative_to(ROOT / "testbed"))
        for path in FILES
        if ROOT / "testbed" in path.parents
    }
    assert sorted(bundle.TESTBED_MODULES) == sorted(reached)
    assert list(bundle.TESTBED_MODULES) == sorted(bundle.TESTBED_MODULES)


def test_other_packages_the_agent_reaches_go_in_whole() -> None:
    reached = {path.relative_to(ROOT).parts[0] for path in FILES} - {"testbed"}
    assert reached == set(bundle.PACKAGES)
    bundled = {path for _, path in bundle.sources()}
    assert bundled >= FILES


def test_parsers_stay_on_the_host() -> None:
    bundled = {path for _, path in bundle.sources()}
    assert ROOT / "collectors" / "capture_live.py" in bundled
    assert [path for path in bundled if path.name.endswith("_parse.py")] == []


def test_the_agent_needs_the_standard_library_and_mininet_only() -> None:
    assert FOREIGN - sys.stdlib_module_names - {"__future__"} == {"mininet"}


def test_sources_are_there_once_and_are_sources() -> None:
    sources = bundle.sources()
    names = [name for name, _ in sources]
    assert names == sorted(set(names))
    assert all(path.is_file() for _, path in sources)
    assert {Path(name).suffix for name in names} <= {".py", ".c", ".h", ""}
    assert {name for name in names if not Path(name).suffix} == {"lib/probes/Makefile"}
    for name in (
        "guest/host_view.c",
        "guest/init.c",
        "guest/seeded_random.c",
        "lib/testbed/agent.py",
    ):
        assert name in names


def test_key_changes_with_a_source_and_the_image_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    for name, path in bundle.sources():
        if name.startswith("lib/"):
            copy = project / name.removeprefix("lib/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    first = bundle.key("image")
    monkeypatch.setattr(bundle, "PROJECT", project)
    assert bundle.key("image") == first
    assert bundle.key("another image") != first
    (project / "testbed" / "cli.py").write_text("not in a lab")
    (project / "probes" / "README.md").write_text("no source")
    (project / "probes" / "tcp_send").write_text("a program built by hand")
    assert bundle.key("image") == first
    with (project / "probes" / "driver.py").open("a") as file:
        file.write("\n")
    assert bundle.key("image") != first
