"""The playbook of workers on two fresh machines: checked, made, again, a campaign there, undone.

    .venv/bin/python -m pytest tests/long/workers.py

Needs root, cgroup2 and a committed checkout whose machine has Debian 12's own Python, as the
machines have. They fetch packages, and take over the lab: some ten minutes where nothing else runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.cluster import address, keys
from tests.support.machines import contained
from tests.support.machines.contained import Contained
from tests.support.runs import clusters

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 3600.0
KERNEL = "6.12"
#: Below a machine's root: what is no part of its state.
PASSING = re.compile(r"(var/(cache|log|lib/apt)|tmp|run|dev|proc|sys|root/[.]ansible)(/|$)|.*-$")
#: What is left of packages that others keep a record of: a user of chrony's, a boot's random seed.
CHANGING = re.compile(r"var/lib/(dpkg|systemd|chrony|pam|ucf)|etc/[.]pwd[.]lock|.*-old$")


@dataclass(frozen=True)
class Pool:
    """Two machines in an inventory, with keys of their own."""

    machines: list[Contained]
    inventory: Path
    environment: dict[str, str]

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the checkout's environment."""
        return subprocess.run(
            [str(ROOT / ".venv/bin" / argv[0]), *argv[1:]],
            cwd=self.inventory.parent, env=self.environment, capture_output=True, text=True,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip

    def play(self, name: str, *options: str) -> tuple[int, int, str]:
        """Run a playbook; return its status, how much changed on all machines, what it said."""
        done = self.run(
            "ansible-playbook", "-i", str(self.inventory), *options,
            str(ROOT / "ansible/playbooks" / name),
        )  # fmt: skip
        said = done.stdout + done.stderr
        counts = re.findall(r"^\w+ +: .*changed=(\d+)", said, re.MULTILINE)
        return done.returncode, sum(map(int, counts)), said

    def state(self) -> list[dict[str, str]]:
        """Return what each machine's files are, by name."""
        return [_files(one.root) for one in self.machines]


def _files(root: Path) -> dict[str, str]:
    found = {}
    for folder, folders, files in os.walk(root):
        here = os.path.relpath(folder, root)
        folders[:] = [
            one for one in folders if not PASSING.match(os.path.normpath(f"{here}/{one}"))
        ]
        for name in (*folders, *files):
            path, place = Path(folder, name), os.path.normpath(f"{here}/{name}")
            if PASSING.match(place) or CHANGING.match(place):
                continue
            is_file = path.is_file() and not path.is_symlink()
            found[place] = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else "other"
    return found


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("pool")
    keys.make(folder / "keys")
    with contained.booted("bookworm", ["lab1", "lab2"], folder) as machines:
        one, other = (machine.variables for machine in machines)
        one |= {
            "cluster_member_address": "127.0.0.1", "cluster_member_port": clusters.free_port()
        }  # fmt: skip
        listed = {
            "vars": {"time_sync_required": False, "cluster_member_kernel": KERNEL},
            "children": {
                "scheduler": {"hosts": {"lab1": one}},
                "workers": {"hosts": {"lab1": {}, "lab2": other | {"cluster_worker_jobs": 1}}},
            },
        }
        (folder / "pool.yml").write_text(json.dumps({"all": listed}))
        environment = os.environ | {
            "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1",
            address.KEYS_VARIABLE: str(folder / "keys"), "GROUNDTRUTH_STORE": "off",
        }  # fmt: skip
        yield Pool(machines, folder / "pool.yml", environment)


@pytest.mark.timeout(14400)
def test_fresh_machines_become_workers_and_fresh_again(pool: Pool) -> None:
    before = pool.state()
    status, changed, said = pool.play("workers.yml", "--check")
    assert (status, changed > 0) == (0, True), said
    assert pool.state() == before

    status, _, said = pool.play("workers.yml")
    assert status == 0, said
    assert "PRIVATE KEY" not in said
    for options in ([], ["--check"]):
        status, changed, said = pool.play("workers.yml", *options)
        assert (status, changed) == (0, 0), said

    pool.environment[address.VARIABLE] = str(pool.inventory)
    ran = pool.run(
        "groundtruth", "run", "anatomy", "--reps", "1", "--no-sensitivity", "--kernel", KERNEL,
        "-D", "results",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    verified = pool.run("groundtruth", "verify", "results/latest")
    assert "every file the same to the byte" in verified.stdout, verified.stderr

    assert pool.machines[1].run("systemctl stop groundtruth-worker").returncode == 0
    status, _, said = pool.play(
        "workers.yml", "--tags", "verify", "-e", "cluster_complete_within_s=1"
    )
    assert status != 0
    assert "0 workers of lab2, wanted 1" in " ".join(said.split())

    status, _, said = pool.play("workers_undo.yml")
    assert status == 0, said
    after = pool.state()
    assert [set(one) for one in after] == [set(one) for one in before]
    status, changed, said = pool.play("workers_undo.yml")
    assert (status, changed) == (0, 0), said
