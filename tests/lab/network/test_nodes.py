"""A node of a lab's network is a Mininet node: its shell starts with its first command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab

SCRIPT = """
cd /cell
PYTHONPATH=/gt/code/lib:/usr/lib/python3/dist-packages python3 -B -S >said.txt 2>&1 <<'EOF'
import subprocess
from mininet.link import Link
from mininet_topos import netns
from mininet_topos.nodes import LabNode

a, b = (LabNode(space) for space in netns.create(["a", "b"], netns.Journal()).values())
print(a.shell, b.shell)
Link(a, b)
print(a.cmd("ip -color=never -br link show type veth").split()[0])
print(a.cmd("false; echo $?").strip())
print(b.pexec("ip -br link show type veth")[0].split()[0])
print(subprocess.run(["ip", "-n", "b", "-br", "link", "show", "type", "veth"],
                     capture_output=True, text=True).stdout.split()[0])
EOF
"""


def test_a_mininet_node_has_a_shell_once_one_is_needed(script: Callable[..., Path]) -> None:
    said = (script(SCRIPT) / "said.txt").read_text()
    # Mininet's own link and its own way to start a program beside the shell; iproute2's names.
    assert said.split() == ["None", "None", "a-eth0@if2", "1", "b-eth0@if2", "b-eth0@if2"]
