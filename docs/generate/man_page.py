"""``docs/man/groundtruth.1``, the manual page, from the command line as it is declared.

.venv/bin/python -m docs.generate.man_page
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from testbed.command import cli
from testbed.command.version import own_version

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "man" / "groundtruth.1"
NAME = "groundtruth"
#: How a value is written in place of its type's name.
VALUES = {"str": "NAME", "int": "N", "int range": "N", "path": "FOLDER"}
_REQUIRED = "[required]"
_TYPE = re.compile(r"<([^>]*)>")
#: What it reads of its surroundings, and where it keeps things.
ENVIRONMENT = {
    "GROUNDTRUTH_INVENTORY": "the Ansible inventory whose machines --lab remote uses",
    "GROUNDTRUTH_UBUNTU_MIRROR": "a mirror of Ubuntu, for its kernels with --lab stock",
    "XDG_CACHE_HOME": "where the cache is, if not in ~/.cache",
}
FILES = {
    "~/.cache/groundtruth": "what is built once: image, kernels, probes",
    "results/": "run folders; results/latest is the newest",
    "NAME.yaml": "a study; groundtruth new writes one, with an explanation of each key",
}


def text() -> str:
    """Return the page."""
    root = typer.main.get_command(cli.app)
    lines = [
        f'.TH GROUNDTRUTH 1 "" "{NAME} {own_version()}"',
        *_section("NAME"), _plain(f"{NAME} - {_summary()}"),
        *_section("SYNOPSIS"), f".B {NAME}",
        _plain("[--version] COMMAND [OPTION]... [ARGUMENT]..."),
        *_section("DESCRIPTION"), _plain(root.help),
        *_section("COMMANDS"), *_commands(root, (NAME,)),
        *_section("EXIT STATUS"), *_listed(_statuses()),
        *_section("ENVIRONMENT"), *_listed(ENVIRONMENT),
        *_section("FILES"), *_listed(FILES),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _summary() -> str:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^description = "(.*)"$', project, re.MULTILINE)
    if found is None:
        raise ValueError("pyproject.toml: no description")
    return found[1]


def _statuses() -> dict[str, str]:
    """Return what each exit status means, as the command line's own module says it."""
    words = " ".join(str(cli.__doc__).split()).partition("Exit status: ")[2].rstrip(".")
    return dict(part.split(" ", 1) for part in words.split(", "))


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of every command of a group, those of groups in it too."""
    for name, command in group.commands.items():
        here = (*path, name)
        if hasattr(command, "commands"):
            yield from _commands(command, here)
            continue
        arguments, options = (_parameters(command, kind) for kind in ("argument", "option"))
        needed = [
            one if words.endswith(_REQUIRED) else f"[{one.strip('[]')}]"
            for one, words in arguments.items()
        ]
        yield f".SS {_escaped(' '.join([*here, '[OPTION]...', *needed]))}"
        yield _plain(command.help)
        yield from _listed(arguments | options)
        if command.epilog:
            yield ".PP"
            yield _plain(command.epilog)


def _parameters(command: Any, kind: str) -> dict[str, str]:
    """Return a command's arguments or options as they are written, and what they are for."""
    context = typer.Context(command, info_name=command.name)
    records = (
        one.get_help_record(context) for one in command.params if one.param_type_name == kind
    )
    entries = {}
    for written, words in filter(None, records):
        name = _TYPE.sub(lambda found: "" if kind == "argument" else VALUES[found[1]], written)
        entries[name.strip()] = words
    return entries


def _section(name: str) -> tuple[str, ...]:
    return (f".SH {name}",)


def _listed(entries: dict[str, str]) -> Iterator[str]:
    for name, words in entries.items():
        yield ".TP"
        yield f".B {_escaped(name)}"
        yield _plain(words)


def _plain(words: str | None) -> str:
    """Return words as one line of text, which is no request whatever it begins with."""
    line = " ".join(_escaped((words or "").removesuffix(_REQUIRED)).split())
    return f"\\&{line}" if line[:1] in (".", "'") else line


def _escaped(words: str) -> str:
    return words.replace("\\", "\\e").replace("-", "\\-")


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text(), encoding="utf-8")
