"""A lab's packages are listed in one place, which the image builder and Ansible both read."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from testbed.labs.host import kernel_modules

ROOT = Path(__file__).parents[3]
ANSIBLE = ROOT / "ansible"
LIST = ANSIBLE / "roles/lab_packages/defaults/main.yml"
#: A name of which a second list would be made; no other tool or file is called so.
TELL_TALE = "lksctp-tools"


def project_files() -> list[Path]:
    """Return the files git knows or would add."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    ).stdout
    return [ROOT / name for name in names.split("\0") if name]


def test_lists_hold_package_names_in_order_and_once() -> None:
    lists = yaml.safe_load(LIST.read_text())
    assert set(lists) == {"lab_packages_runtime", "lab_packages_build"}
    for names in lists.values():
        assert names == sorted(names)
        assert all(re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name) for name in names)
    assert not set(lists["lab_packages_runtime"]) & set(lists["lab_packages_build"])


def test_no_other_file_lists_them() -> None:
    allowed = {LIST, Path(__file__)}
    elsewhere = [
        path
        for path in project_files()
        if path.suffix != ".md" and path not in allowed and path.is_file()
        if TELL_TALE.encode() in path.read_bytes()
    ]
    assert elsewhere == []


def test_ansible_folder_cannot_shadow_the_ansible_package() -> None:
    assert list(ANSIBLE.rglob("*.py")) == []


def test_machine_loads_the_modules_that_the_lab_wants() -> None:
    role = yaml.safe_load((ANSIBLE / "roles/kernel_sctp/defaults/main.yml").read_text())
    assert sorted(role["kernel_sctp_modules"]) == sorted(kernel_modules.WANTED)


@pytest.mark.parametrize("role", sorted((ANSIBLE / "roles").iterdir()), ids=lambda role: role.name)
def test_role_says_what_it_takes_and_ends_by_reading_back(role: Path) -> None:
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    assert set(specs["main"]["options"]) == set(defaults)
    assert all(name.startswith(f"{role.name}_") for name in defaults)
    tasks = yaml.safe_load((role / "tasks/main.yml").read_text())
    assert all(set(task["tags"]) <= {"provision", "verify", "teardown"} for task in tasks)
    assert "verify" in tasks[-1]["tags"]
