"""Modules out of one file are those that are found otherwise, and nothing is found that is not."""

from __future__ import annotations

import compileall
import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

from testbed.labs.booted import lab_code
from testbed.labs.booted.boot import at_once

SOURCES = {
    "whole/__init__.py": "from whole import part\nNAME = __name__\n",
    "whole/part.py": "PLACE = __file__\n\ndef fail():\n    raise KeyError('in part')\n",
    "alone.py": "import whole.part\nSUM = 1 + 1\n",
    "without.py": "BYTECODE = None\n",
}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of three modules; their folder is gone, and none is loaded."""
    folder = tmp_path / "lib"
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name in ("alone.py", "whole"):
        path = folder / name
        (compileall.compile_file if path.is_file() else compileall.compile_dir)(path, quiet=1)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("alone", "without"):
        importlib.import_module(name)
    names = ("alone", "whole", "whole.part", "without")
    modules = {name: sys.modules.pop(name) for name in names}
    place = tmp_path / "modules"
    at_once.write(str(place), {**modules, "sys": sys, "__main__": sys.modules["__main__"]})
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(folder)])
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return place


def test_packages_and_modules_come_out_of_it(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = at_once.FromOneFile(str(written))
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    alone = importlib.import_module("alone")
    assert alone.SUM == 2
    package = sys.modules["whole"]
    assert package.NAME == "whole"
    assert list(package.__path__) == [str(written.parent / "lib" / "whole")]
    place = sys.modules["whole.part"].PLACE
    assert place == str(written.parent / "lib" / "whole" / "part.py")
    for name in ("alone", "whole", "whole.part"):
        assert isinstance(sys.modules.pop(name).__loader__, at_once.FromOneFile)


def test_a_failure_names_the_source(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [at_once.FromOneFile(str(written)), *sys.meta_path])
    part = importlib.import_module("whole.part")
    with pytest.raises(KeyError) as told:
        part.fail()
    assert str(told.traceback[-1].path).endswith("part.py")
    for name in ("whole", "whole.part"):
        sys.modules.pop(name)


def test_what_it_lacks_is_looked_for_elsewhere(written: Path) -> None:
    finder = at_once.FromOneFile(str(written))
    for name in ("without", "sys", "__main__", "json", "whole.more"):
        assert finder.find_spec(name) is None


def test_places_are_those_of_a_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (at_once.BUILT, at_once.FOUND) == ("/cell/", "/gt/code/")
    module = type(sys)("placed")
    place = tmp_path / "lib" / "placed.py"
    place.parent.mkdir()
    place.write_text("")
    compileall.compile_file(place, quiet=1)
    module.__spec__ = importlib.util.spec_from_file_location("placed", place)
    monkeypatch.setattr(at_once, "BUILT", f"{tmp_path}/")
    at_once.write(str(tmp_path / "modules"), {"placed": module})
    spec = at_once.FromOneFile(str(tmp_path / "modules")).find_spec("placed")
    assert spec is not None
    assert spec.origin == "/gt/code/lib/placed.py"


def test_a_file_that_is_cut_short_is_no_agent(written: Path) -> None:
    written.write_bytes(written.read_bytes()[:40])
    with pytest.raises((EOFError, ValueError, TypeError)):
        at_once.FromOneFile(str(written))


def test_it_goes_into_a_lab() -> None:
    names = {name for name, _ in lab_code.sources()}
    assert {"guest/at_once.py", "guest/memory_at_once.c"} <= names
