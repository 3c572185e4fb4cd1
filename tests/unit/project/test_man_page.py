"""The manual page is the one made from the command line, with all of it, and in the wheel."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import typer

from docs.generate import man_page
from testbed.command import cli

PAGE = man_page.PAGE.read_text(encoding="utf-8")
REQUESTS = {".TH", ".SH", ".SS", ".TP", ".PP", ".B"}


def commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_it_is_what_the_command_line_gives() -> None:
    assert man_page.text() == PAGE, "run: .venv/bin/python -m docs.generate.man_page"


def test_every_command_has_its_options_and_what_they_are_for() -> None:
    parts = {
        head.split(" [")[0]: rest
        for head, _, rest in (
            part.partition("\n") for part in PAGE.replace("\\-", "-").split("\n.SS ")[1:]
        )
    }
    found = dict(commands(typer.main.get_command(cli.app), "groundtruth"))
    assert list(parts) == list(found)
    assert {"groundtruth run", "groundtruth lab export"} <= set(found)
    for name, command in found.items():
        for option in command.params:
            if option.param_type_name == "option" and option.name != "help":
                heads = [line for line in parts[name].splitlines() if line.startswith(".B ")]
                assert any(option.opts[0] in head for head in heads), (name, option.name)


def test_it_is_text_that_man_can_show() -> None:
    for line in PAGE.splitlines():
        assert line, "an empty line is a gap on the page"
        assert line.split(" ")[0] in REQUESTS or line[0] not in ".'"
        assert not re.search(r"(?<!\\)-", line.replace('""', "")) or line.startswith(".TH")
    assert [line.split()[-1] for line in PAGE.splitlines() if line.startswith(".SH EXIT")]
    statuses = re.findall(r"^\.B ([0-9])$", PAGE, re.MULTILINE)
    assert statuses == ["0", "1", "2", "3", "4", "5"]


def test_the_wheel_puts_it_where_man_looks() -> None:
    project = tomllib.loads((man_page.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shared = project["tool"]["setuptools"]["data-files"]["share/man/man1"]
    assert [man_page.ROOT / path for path in shared] == [man_page.PAGE]
