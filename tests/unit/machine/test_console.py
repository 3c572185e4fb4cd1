"""What is printed comes out letter by letter, whatever it looks like."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.table import Table

from testbed.command.cli import command_status
from testbed.machine.console import out, words
from tests.support.study_file import ROOT, UNPUBLISHED, edited, line_of

#: An emoji's name, markup, a closing tag of nothing, and what a console would colour.
TRICKY = "sat.yaml:100: [bold]x[/bold] [/nothing] :smile: 'text' 1.5 /path"


def test_text_is_printed_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    table = Table(TRICKY, box=None)
    table.add_row(TRICKY)
    for console in (out(), words()):
        console.print(TRICKY)
        console.print(table)
    said = capsys.readouterr()
    assert said.out.count(TRICKY) == said.err.count(TRICKY) == 3
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said.out)
    assert plain.count(TRICKY) == 3


@pytest.mark.parametrize("name", ["sat", "[bold]", "[/nothing]"])
def test_a_warning_names_its_line_and_a_mistake_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(f"{name}.yaml")
    text = edited(UNPUBLISHED, ("hosts: paper", "hosts: stock"))
    # Line 100 gives an emoji where names between colons are looked for.
    at = text.index("network:")
    text = text[:at] + "#\n" * (100 - 1 - text[:at].count("\n")) + text[at:]
    text = text.replace("hosts: stock", "").replace("network:", "hosts: stock\nnetwork:", 1)
    assert line_of(text, "hosts: stock") == 100
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    assert command_status(["validate", str(file)]) == 0
    assert f"{file}:100: saved-tcp-metrics: " in capsys.readouterr().out
    file.write_text(text.replace("hosts: stock", "hosts: 100"))
    assert command_status(["validate", str(file)]) == 2
    assert f"groundtruth: {file}:" in capsys.readouterr().err


def test_every_console_is_made_in_one_place() -> None:
    makers = [
        path.relative_to(ROOT).as_posix()
        for folder in ("testbed", "reports", "collectors", "mininet_topos", "probes", "docs")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\bConsole\(|import print\b", path.read_text())
    ]
    assert makers == ["testbed/machine/console.py"]
