"""The playbook on a Debian in a folder: it installs once, and all of it is taken back.

What loads modules, and newer kernels, are tried in ``tests/long``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.machines.in_folder import Machine, debian


@pytest.fixture(scope="module")
def machine(lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    del lab  # has built the image
    with debian(tmp_path_factory.mktemp("machine") / "root") as made:
        yield made


@pytest.mark.timeout(900)
def test_a_fresh_machine_becomes_one_for_a_lab_and_fresh_again(machine: Machine) -> None:
    before = machine.state()

    checked = machine.play("lab_machine.yml", "--check")
    assert checked.status == 0, checked.said
    assert checked.changed > 0
    assert machine.state() == before

    # A play fails while it installs; before the next, somebody installs one of its packages.
    spoilt = machine.root / "etc/apt/apt.conf.d/99spoilt"
    spoilt.write_text('DPkg::Pre-Install-Pkgs { "echo the disk is on fire >&2; false"; };\n')
    failed = machine.play("lab_machine.yml")
    spoilt.unlink()
    assert failed.status != 0
    assert "the disk is on fire" in failed.said
    assert "df -h" in failed.said
    assert machine.run("apt-get", "install", "--yes", "sensible-utils").returncode == 0
    theirs = machine.state()

    made = machine.play("lab_machine.yml")
    assert made.status == 0, made.said
    assert machine.run("dpkg", "--status", "bubblewrap", "git", "chrony").returncode == 0

    again = machine.play("lab_machine.yml")
    assert (again.status, again.changed) == (0, 0), again.said

    assert machine.run("dpkg", "--purge", "bubblewrap").returncode == 0
    refused = machine.play("lab_machine.yml", "--tags", "verify")
    assert refused.status != 0
    assert "not installed: bubblewrap" in refused.said

    undone = machine.play("lab_machine_undo.yml")
    assert undone.status == 0, undone.said
    after = machine.state()
    theirs = {name: of for name, of in theirs.items() if "lib/groundtruth-machine" not in name}
    assert after == theirs
    assert "usr/bin/sensible-editor" in after


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (
            {"suitable_machine_releases": ["plan9 4"]},
            "this machine has debian 13, wanted one of: plan9 4",
        ),
        ({"suitable_machine_free_mib": 10**9}, "apt-get clean"),
        (
            {"suitable_machine_home_mib": 10**9, "suitable_machine_record": "/none"},
            "qemu-img resize",
        ),
        ({"recent_kernel_least": "999.0"}, "Boot the newest kernel that the distribution has"),
        ({"time_sync_required": True, "time_sync_tries": 1}, "let UDP port 123 out?"),
    ],
    ids=["distribution", "space for packages", "space for a lab", "kernel", "clock"],
)
def test_what_is_not_as_it_must_be_is_said(
    machine: Machine, extra: dict[str, Any], said: str
) -> None:
    before = machine.state()
    refused = machine.play(
        "lab_machine.yml", "--tags", "suitable_machine,recent_kernel,time_sync", **extra
    )
    assert refused.status != 0
    assert said in " ".join(refused.said.split())
    assert refused.said.count("fatal:") == 1
    assert machine.state() == before


def test_who_is_not_root_is_told_how_to_be(machine: Machine) -> None:
    refused = machine.play("lab_machine.yml", user="nobody")
    assert refused.status != 0
    assert "--ask-become-pass" in refused.said
