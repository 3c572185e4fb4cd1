"""Play this project's playbooks for the machines of an inventory."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from model.errors import UnsupportedError
from testbed.labs.booted.lab_code import PROJECT
from testbed.labs.remote import inventory
from testbed.machine.process import tail

PLAYBOOKS = PROJECT / "ansible" / "playbooks"
#: Where the archive is unpacked on a machine, in a folder of its digest.
DEPLOYED = "/var/lib/groundtruth-testbed"
TIMEOUT_S = 1800.0


def play(name: str, place: Path, variables: Mapping[str, str]) -> None:
    """Play one, on all machines at once.

    Raises:
        UnsupportedError: it failed on a machine; the message is the task's own, and names a file
            with all that Ansible said.
    """
    argv = [inventory.program("ansible-playbook"), "-i", str(place), "--forks", "32"]
    # What machines are provisioned with is for people to decide.
    argv += ["--skip-tags", "lab_machine"]
    for key, value in variables.items():
        argv += ["--extra-vars", f"{key}={value}"]
    handle, log = tempfile.mkstemp(prefix="groundtruth-ansible-", suffix=".log")
    with os.fdopen(handle, "wb") as file:
        try:
            status = subprocess.run(
                [*argv, str(PLAYBOOKS / name)], stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False,
                env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_NOCOWS": "1"},
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = 1
    said = Path(log)
    if status != 0:
        failed = [
            line.strip()[:600]
            for line in said.read_text(errors="replace").splitlines()
            if line.startswith(("fatal:", "[ERROR]", "failed:"))
        ]
        raise UnsupportedError(
            "not all machines of the inventory are ready", where=str(place),
            got="\n".join(failed[:3]) or tail(said), hint=f"all that Ansible said: {log}",
        )  # fmt: skip
    said.unlink()
