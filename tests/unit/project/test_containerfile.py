"""The container file builds from what is in the checkout, with commands that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from testbed.command import cli
from testbed.labs.confinement import preflight

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
STEPS = [line for line in TEXT.replace("\\\n", "").splitlines() if line[:1] not in ("", "#")]


def test_it_begins_with_debian_as_any_registry_has_it() -> None:
    assert STEPS[0] == "FROM debian:trixie-slim"


def test_the_program_is_put_in_as_pinned_and_the_checkout_is_not_left() -> None:
    (install,) = (step for step in STEPS if "pip install" in step)
    assert "--require-hashes --requirement /checkout/requirements/run.txt" in install
    assert "--no-deps /checkout" in install
    assert not [step for step in STEPS if step.startswith(("COPY", "ADD"))]
    for path in re.findall(r"/checkout/([\w./-]+)", install):
        assert (ROOT / path).is_file()
    ignored = (ROOT / ".containerignore").read_text().split()
    assert {".git", ".venv", "results"} <= set(ignored)
    assert "lab.tar.gz" not in ignored


def test_the_lab_is_taken_in_or_built_by_commands_that_there_are() -> None:
    root: Any = typer.main.get_command(cli.app)
    (step,) = (step for step in STEPS if "lab.tar.gz" in step)
    called = re.findall(r"groundtruth ([a-z]+)(?: ([a-z]+))?", step)
    assert called == [("lab", "import"), ("build", "")]
    for name, below in called:
        command = root.commands[name]
        assert below in command.commands if below else not hasattr(command, "commands")
    assert STEPS[-2:] == ['ENTRYPOINT ["groundtruth"]', 'CMD ["--help"]']


def test_engines_are_told_to_allow_what_a_lab_needs() -> None:
    (line,) = re.findall(r'NAMESPACES="(.*)"', TEXT)
    options = re.findall(r"--(?:cap-add|security-opt) \S+", line)
    assert " ".join(options) == line
    asked = re.findall(r"--(?:cap-add|security-opt) [^ ;]+", preflight.CONTAINER)
    # Docker's words for what podman calls unmask; SELinux and AppArmor are no part of podman's.
    only_dockers = {"--security-opt apparmor=unconfined", "--security-opt systempaths=unconfined"}
    assert set(options) == set(asked) - only_dockers
    assert "with podman the last is --security-opt unmask=ALL" in preflight.CONTAINER
