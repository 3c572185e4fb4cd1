"""The playbook of workers on two fresh machines: checked, made, again, a campaign there, undone.

    .venv/bin/python -m pytest tests/long/workers.py [-k trixie]

Needs root, cgroup2 and a committed checkout. It is played on a third machine of the same release,
which has this checkout's commit, since all of a pool have one Python. Machines fetch packages, and
take over the lab: some fifteen minutes for each release where nothing else runs. Ubuntu needs the
address of a mirror (``tests/support/machines/disk.py``).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from testbed.cluster import address
from testbed.labs.stock.distributions import UBUNTU_MIRROR
from testbed.labs.virtual import virtual_lab
from testbed.machine import carried
from testbed.machine.process import output_of
from tests.support.machines import contained, disk
from tests.support.machines.contained import Contained
from tests.support.runs import clusters

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 3600.0
KERNEL = "6.12"
#: Who plays on the third machine: root of a contained machine may not confine a lab.
PLAYER = "player"
HOME = f"/home/{PLAYER}"
CHECKOUT = f"{HOME}/groundtruth"
#: What the checkout and its lab need there.
PACKAGES = "bubblewrap ca-certificates git iproute2 make openssh-client python3-venv uidmap"
#: Below a machine's root: what is no part of its state.
#: systemd's own services come and go, and their folders for temporary files with them.
PASSING = re.compile(
    r"(var/(cache|log|lib/apt|tmp/systemd-private-[0-9a-f]+-systemd-[^/]+)"
    r"|tmp|run|dev|proc|sys|root/[.]ansible)(/|$)|.*-$"
)
#: What is left of packages that others keep a record of: a user of chrony's, a boot's random seed.
CHANGING = re.compile(r"var/lib/(dpkg|systemd|chrony|pam|ucf)|etc/[.]pwd[.]lock|.*-old$")


@dataclass(frozen=True)
class Pool:
    """Two machines in an inventory, and a third on which the playbook is played."""

    release: str
    control: Contained
    machines: list[Contained]

    def run(self, *argv: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the checkout's environment there, in the player's home."""
        given = {"ANSIBLE_NOCOLOR": "1", **variables}
        return self.control.run(
            _as_player(
                *(f"{name}={value}" for name, value in given.items()),
                f"{CHECKOUT}/.venv/bin/{argv[0]}", *argv[1:],
            ),
            TIMEOUT_S,
        )  # fmt: skip

    def play(self, name: str, *options: str, of: str = "pool") -> tuple[int, int, str]:
        """Run a playbook; return its status, how much changed on all machines, what it said."""
        done = self.run(
            "ansible-playbook", "-i", f"{HOME}/{of}.yml", *options,
            f"{CHECKOUT}/ansible/playbooks/{name}",
        )  # fmt: skip
        said = done.stdout + done.stderr
        counts = re.findall(r"^\w+ +: .*changed=(\d+)", said, re.MULTILINE)
        return done.returncode, sum(map(int, counts)), said

    def write(self, of: str, scheduler: object, workers: object) -> None:
        """Write an inventory where it is played."""
        listed = {
            "vars": {"time_sync_required": False, "cluster_member_kernel": KERNEL},
            "children": {"scheduler": {"hosts": scheduler}, "workers": {"hosts": workers}},
        }
        (_there(self.control, HOME) / f"{of}.yml").write_text(json.dumps({"all": listed}))

    def reach(self, one: Contained) -> dict[str, object]:
        """Give the player the key of a machine and of those beside it; return how it is reached."""
        known = f"{HOME}/{one.name}"
        _there(self.control, known).mkdir()
        for name in ("key", "known_hosts"):
            shutil.copy(one.folder / name, _there(self.control, known) / name)
        _do(self.control, f"chown -R {PLAYER}: {known}")
        return replace(one, folder=Path(known)).variables


def _there(one: Contained, place: str) -> Path:
    return one.root / place.lstrip("/")


def _as_player(*argv: str) -> str:
    within = ["runuser", f"--user={PLAYER}", "--", "env", f"--chdir={HOME}", f"HOME={HOME}"]
    return shlex.join([*within, *argv])


def _state(machines: list[Contained]) -> list[dict[str, str]]:
    """Return what each machine's files are, by name."""
    return [_files(one.root) for one in machines]


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


def _do(one: Contained, command: str) -> None:
    done = one.run(command, TIMEOUT_S)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def _set_up(control: Contained) -> None:
    """Give a machine a player with this checkout's commit, its tools, its lab, a cluster's keys."""
    _do(control, f"useradd --create-home {PLAYER}")
    output_of(
        ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(_there(control, CHECKOUT))]
    )
    lab = virtual_lab.ensure(KERNEL, lambda _what, _done: None)
    carried.pack(lab.parts(), _there(control, HOME) / "lab.tar.gz", lambda _what, _done: None)
    _do(control, f"chown -R {PLAYER}: {HOME}")
    _do(control, f"apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install "
        f"--no-install-recommends {PACKAGES}")  # fmt: skip
    _do(control, _as_player(f"{CHECKOUT}/setup/bootstrap", "dev"))
    for words in (("lab", "import", "lab.tar.gz"), ("cluster-keys",)):
        _do(control, _as_player(f"{CHECKOUT}/.venv/bin/groundtruth", *words))


@pytest.fixture(scope="module", params=sorted(disk.RELEASES))
def pool(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pool]:
    if request.param == "noble" and UBUNTU_MIRROR not in os.environ:
        pytest.skip(f"no mirror of Ubuntu is known: {UBUNTU_MIRROR} is not set")
    folder = tmp_path_factory.mktemp("pool")
    with contained.booted(request.param, ["control", "lab1", "lab2"], folder) as machines:
        control, one, other = machines
        made = Pool(request.param, control, [one, other])
        _set_up(control)
        at = {"cluster_member_address": "127.0.0.1", "cluster_member_port": clusters.free_port()}
        made.write(
            "pool", {"lab1": made.reach(one) | at},
            {"lab1": {}, "lab2": made.reach(other) | {"cluster_worker_jobs": 1}},
        )  # fmt: skip
        yield made


@pytest.mark.timeout(14400)
def test_fresh_machines_become_workers_and_fresh_again(pool: Pool) -> None:
    before = _state(pool.machines)
    status, changed, said = pool.play("workers.yml", "--check")
    assert (status, changed > 0) == (0, True), said
    assert _state(pool.machines) == before

    status, _, said = pool.play("workers.yml")
    assert status == 0, said
    assert "PRIVATE KEY" not in said
    for options in ([], ["--check"]):
        status, changed, said = pool.play("workers.yml", *options)
        assert (status, changed) == (0, 0), said

    ran = pool.run(
        "groundtruth", "run", "anatomy", "--reps", "1", "--no-sensitivity", "--kernel", KERNEL,
        "-D", "results",
        **{address.VARIABLE: f"{HOME}/pool.yml", "GROUNDTRUTH_STORE": "off"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    verified = pool.run("groundtruth", "verify", "results/latest")
    assert "every file the same to the byte" in verified.stdout, verified.stderr

    verify = ["workers.yml", "--tags", "verify", "-e", "cluster_complete_within_s=1"]
    status, _, said = pool.play(*verify, "-e", "cluster_complete_jobs=3")
    assert status != 0
    assert "the scheduler has 1 workers of lab2, wanted 3" in " ".join(said.split()), said
    assert pool.machines[1].run("systemctl stop groundtruth-worker").returncode == 0
    status, _, said = pool.play(*verify)
    assert status != 0
    assert "groundtruth-worker.service is inactive, wanted active" in " ".join(said.split()), said

    status, _, said = pool.play("workers_undo.yml")
    assert status == 0, said
    after = _state(pool.machines)
    stayed = [set(one) ^ set(other) for one, other in zip(before, after, strict=True)]
    assert stayed == [set(), set()]
    status, changed, said = pool.play("workers_undo.yml")
    assert (status, changed) == (0, 0), said


@pytest.mark.timeout(14400)
def test_a_machine_of_another_python_is_refused_before_anything_is_brought(
    pool: Pool, tmp_path: Path
) -> None:
    release = "trixie" if pool.release == "bookworm" else "bookworm"
    with contained.booted(release, ["lab3"], tmp_path) as machines:
        before = _state(machines)
        pool.write("other", {"lab3": pool.reach(machines[0])}, {"lab3": {}})
        for options in (["--check"], []):
            status, changed, said = pool.play("workers.yml", *options, of="other")
            assert (status, changed) == (2, 0), said
            words = " ".join(said.split())
            assert re.search(r"Python of lab3: wanted 3[.]\d+[.]\d+, .*; got 3[.]\d+[.]\d+ ", words)
        assert _state(machines) == before
