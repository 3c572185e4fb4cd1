"""The playbook's role for kernel modules on Debian's own kernel, which loads and unloads them.

    .venv/bin/python -m pytest tests/long/kernel_modules.py

Takes minutes. This machine's files, booted by QEMU with its time counted in instructions; what the
role writes is in memory.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.machines import emulated, quick

RECORD = "/tmp/record/modules"
#: Prints what is loaded, and how it is written down; then plays, with what was said in $OUT.
SCRIPT = f"""
cp -a /etc /tmp/etc 2>/dev/null # but what only another root may read
mount --bind /tmp/etc /etc
[ -e /usr/sbin/tc ] || ln -s $IMAGE/usr/sbin/tc /usr/sbin/tc
export ANSIBLE_HOME=/tmp/ansible ANSIBLE_REMOTE_TMP=/tmp/remote ANSIBLE_NOCOLOR=1
look() {{
  sed 's/ .*//' /proc/modules | sort >$OUT/loaded-$1
  cat {RECORD} >$OUT/record-$1 2>/dev/null || true
  cat /etc/modules-load.d/groundtruth.conf >$OUT/at_boot-$1 2>/dev/null || true
}}
play() {{
  name=$1 book=$2; shift 2
  $(dirname $PYTHON)/ansible-playbook -i localhost, -c local $PYTHONPATH/ansible/playbooks/$book \\
    -e kernel_sctp_record={RECORD} "$@" >$OUT/said-$name 2>&1 ||
    {{ cat $OUT/said-$name; exit 1; }}
  look $name
}}
look before
play checked lab_machine.yml --tags kernel_sctp --check
play made lab_machine.yml --tags kernel_sctp
play again lab_machine.yml --tags kernel_sctp
play undone lab_machine_undo.yml --tags teardown
"""
#: Modules a cell is made of, which nothing holds once nobody uses them.
GOING = {"sch_netem", "ifb", "act_mirred", "cls_flower", "veth", "sctp_diag", "tcp_diag"}


def names(folder: Path, what: str) -> set[str]:
    return set((folder / what).read_text().split())


@pytest.mark.timeout(1200)
def test_modules_are_loaded_recorded_and_taken_back(tmp_path: Path) -> None:
    said = quick.run(emulated.debian(), tmp_path, SCRIPT, timeout_s=1100.0)
    changed = {}
    for play in ("checked", "made", "again", "undone"):
        found = re.search(
            r"^localhost .*changed=(\d+) .*unreachable=0 +failed=0 ",
            (tmp_path / f"said-{play}").read_text(), re.MULTILINE,
        )  # fmt: skip
        assert found, said
        changed[play] = int(found[1])

    before = names(tmp_path, "loaded-before")
    assert not before & {*GOING, "sctp"}
    assert changed["checked"] > 0
    assert names(tmp_path, "loaded-checked") == before
    assert names(tmp_path, "record-checked") == names(tmp_path, "at_boot-checked") == set()

    made = names(tmp_path, "loaded-made")
    assert {*GOING, "sctp"} <= made
    assert names(tmp_path, "record-made") == made - before
    assert {*GOING, "sctp"} <= names(tmp_path, "at_boot-made")

    assert changed["again"] == 0
    assert not names(tmp_path, "loaded-undone") & GOING
    assert names(tmp_path, "record-undone") == names(tmp_path, "at_boot-undone") == set()
