"""A newer kernel is installed on a Debian in a folder, beside the old one, and goes again.

    python -m pytest tests/long/machines/newer_kernel.py

A minute or two. Whole machines are restarted into theirs in ``tests/long/lab_machine.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from testbed.labs.virtual import kernel, virtual_lab
from tests.support.machines.in_folder import Machine, debian

#: Where what belongs to a kernel lies.
KERNELS = ("boot/", "usr/lib/modules", "etc/apt/sources.list.d/", "var/lib/groundtruth-machine")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    virtual_lab.ensure(kernel.DEFAULT, lambda _what, _done: None)  # builds the image
    with debian(tmp_path_factory.mktemp("machine") / "root") as made:
        yield made


def installed(machine: Machine) -> set[str]:
    """Return the names of the packages that are there, whole or in part."""
    said = machine.run(
        "dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n"
    ).stdout
    return {line.split()[0] for line in said.splitlines() if "not-installed" not in line}


#: Installs what needs the distribution's own kernel, as every Debian has it, without that kernel.
OF_OWN_KERNEL = """
mkdir -p /tmp/own/DEBIAN
cat >/tmp/own/DEBIAN/control <<END
Package: linux-image-amd64
Source: linux-signed-amd64 (6.1)
Version: 6.1
Architecture: amd64
Maintainer: nobody <nobody@localhost>
Description: the newest kernel
END
dpkg-deb --build /tmp/own /tmp/own.deb
dpkg --install /tmp/own.deb
"""


@pytest.mark.timeout(600)
def test_a_newer_kernel_is_installed_beside_the_old_one_and_goes_again(machine: Machine) -> None:
    """As on Debian 12, but that its backports are Debian 13's, and nothing boots in a folder."""
    machine.run("sh", "-euc", OF_OWN_KERNEL).check_returncode()
    before, packages = machine.state(), installed(machine)
    only = ("--tags", "suitable_machine,recent_kernel")
    wanted = {"recent_kernel_least": "999.0", "recent_kernel_codename": "trixie"}

    checked = machine.play("lab_machine.yml", *only, "--check", **wanted)
    assert (checked.status, checked.changed) == (0, 1), checked.said
    assert machine.state() == before

    for _ in range(2):
        made = machine.play("lab_machine.yml", *only, **wanted)
        assert made.status != 0
        said = " ".join(made.said.split())
        assert f"a newer kernel is installed and {os.uname().release} still runs. Restart" in said
        assert made.said.count("fatal:") == 1
        assert len(list((machine.root / "boot").glob("vmlinuz-*"))) == 1
        # Nothing comes to need it, so it can go again.
        own = machine.run("dpkg-query", "--show", "--showformat=${Version}", "linux-image-amd64")
        assert own.stdout == "6.1"

    assert installed(machine) > packages
    undone = machine.play("lab_machine_undo.yml")
    assert undone.status == 0, undone.said
    # What apt renewed for it stays renewed.
    assert installed(machine) == packages
    after = machine.state()
    assert after["etc/apt/sources.list"] == before["etc/apt/sources.list"]
    assert {name for name in after if name.startswith(KERNELS)} == {
        name for name in before if name.startswith(KERNELS)
    }
    assert machine.play("lab_machine_undo.yml").changed == 0
    machine.run("dpkg", "--purge", "linux-image-amd64").check_returncode()
