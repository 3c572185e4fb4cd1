"""Play this project's playbooks for the machines of an inventory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from model.errors import RunError, UnsupportedError
from testbed.labs.booted.lab_code import PROJECT
from testbed.labs.remote import inventory
from testbed.machine.process import run_logged

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
    # There is no run yet that it could belong to: where this fails it stays, by the name told.
    handle, name_of_log = tempfile.mkstemp(prefix="groundtruth-ansible-", suffix=".log")
    os.close(handle)
    log = Path(name_of_log)
    try:
        run_logged(
            [*argv, str(PLAYBOOKS / name)], log=log, what=f"the playbook {name}",
            timeout_s=TIMEOUT_S,
            env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_NOCOWS": "1"},
        )  # fmt: skip
    except RunError as error:
        failed = [
            line.strip()[:600]
            for line in log.read_text(errors="replace").splitlines()
            if line.startswith(("fatal:", "[ERROR]", "failed:"))
        ]
        raise UnsupportedError(
            "not all machines of the inventory are ready", where=str(place),
            got="\n".join(failed[:3]) or str(error), hint=f"all that Ansible said: {log}",
        ) from error  # fmt: skip
    except BaseException:  # interrupted: nothing names it
        log.unlink()
        raise
    log.unlink()
