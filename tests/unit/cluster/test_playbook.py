"""What the playbook of workers says as this program says it: addresses, commands, and its unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment
from typer.main import get_command

from testbed.cluster import address
from testbed.command.cli import app

ANSIBLE = Path(__file__).parents[3] / "ansible"
UNIT = ANSIBLE / "roles/cluster_program/templates/program.service.j2"
NAMES = ("cluster_at", "cluster_host", "cluster_port", "cluster_address", "cluster_jobs")


def _said(name: str, variables: dict[str, Any], of_host: dict[str, Any]) -> Any:
    """Return a variable of the play, for a host with these variables of its own."""
    play = yaml.safe_load((ANSIBLE / "playbooks/workers.yml").read_text())[0]
    known: dict[str, Any] = {
        "groups": {"scheduler": ["lab1"], "workers": ["lab2"]},
        "hostvars": {"lab1": variables}, **of_host,
    }  # fmt: skip
    for one in (*NAMES, name):
        known[one] = NativeEnvironment().from_string(play["vars"][one]).render(known)
    return known[name]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"ansible_host": "192.0.2.7"},
        {"ansible_host": "2001:db8::1", "cluster_member_port": 99},
        {"ansible_host": "outer", "cluster_member_address": "in"},
    ],
)
def test_workers_and_campaigns_are_told_one_address(variables: dict[str, Any]) -> None:
    listed = {
        "scheduler": {"hosts": ["lab1"]}, "_meta": {"hostvars": {"lab1": variables}}
    }  # fmt: skip
    where = str(address.of_listing(listed, Path("pool.yml")))
    assert _said("cluster_address", variables, {}) == where
    assert _said("cluster_worker_words", variables, {}) == [where]


def _unit(name: str, words: list[str], user: str = "someone") -> list[str]:
    """Return the lines of a program's unit."""
    text = NativeEnvironment().from_string(UNIT.read_text()).render(
        cluster_program_name=name, cluster_program_words=words, cluster_member_user=user,
        cluster_member_folder="/there", __cluster_member_code="/there/code",
        __cluster_member_cache="/there/cache", cluster_program_open_files=65536,
        __cluster_program_certificate={"stat": {"checksum": "c0ffee"}},
    )  # fmt: skip
    return str(text).splitlines()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("scheduler", ["tls://0.0.0.0:8786"]),
        ("worker", _said("cluster_worker_words", {}, {"cluster_worker_jobs": 2})),
        (
            "worker",
            _said("cluster_worker_words", {}, {"cluster_worker_scheduler": "tls://[::1]:1"}),
        ),
    ],
)
def test_what_units_run_is_a_command_of_the_program(name: str, words: list[str]) -> None:
    (line,) = [line for line in _unit(name, words) if line.startswith("ExecStart=")]
    program, command, *arguments = line.removeprefix("ExecStart=").split()
    assert (program, command) == ("/there/code/.venv/bin/groundtruth", name)
    commands: Any = get_command(app)
    given = commands.commands[command].make_context(command, arguments).params
    assert words[0] in given.values()
    assert str(address.parse(words[0])) == words[0]


def test_only_a_worker_is_begun_again_after_a_good_end_and_other_keys_are_another_unit() -> None:
    assert "Restart=always" in _unit("worker", ["tls://lab1:8786"])
    assert "Restart=on-failure" in _unit("scheduler", ["tls://0.0.0.0:8786"])
    assert "X-Certificate=c0ffee" in _unit("scheduler", ["tls://0.0.0.0:8786"])
    assert "CapabilityBoundingSet=" in _unit("worker", ["tls://lab1:8786"])
    assert "CapabilityBoundingSet=" not in _unit("worker", ["tls://lab1:8786"], user="root")
