"""The modules a cell's network needs of a machine's kernel: which, loaded, and unloaded again."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from model.errors import UnsupportedError
from testbed.study.vocabulary import CONGESTION_CONTROLS

#: Of Linux; a kernel may have some built in. The last are loaded by the kernel when they are asked
#: for: they must be there, and are ours to unload.
WANTED = (
    "veth", "ifb", "dummy", "sctp", "sch_netem", "sch_ingress", "cls_flower", "cls_matchall",
    "cls_bpf", "act_mirred", "act_gact", "inet_diag", "tcp_diag", "udp_diag", "sctp_diag",
)  # fmt: skip
#: What the kernel loads by itself when a cell asks for it, or for what a link has unless it is
#: told otherwise: ours to unload as well.
ON_DEMAND = (*(f"tcp_{name}" for name in CONGESTION_CONTROLS), "sch_fq", "sch_fq_codel")
#: With such a module go all its links, whoever made them: nothing counts them as its users.
OF_LINKS = frozenset({"veth", "ifb", "dummy"})
#: Links that a module makes for everybody when it is loaded, unless told not to.
PARAMETERS = {"ifb": "numifbs=0", "dummy": "numdummies=0"}
LOADED = Path("/proc/modules")
LOCKDOWN = Path("/sys/kernel/security/lockdown")
TIMEOUT_S = 60.0
#: A network ends some time after its last process: the kernel takes it apart by and by.
UNLOAD_WITHIN_S, AGAIN_S = 5.0, 0.25
PROGRAMS = "/usr/sbin:/sbin:/usr/bin:/bin"
#: Of a rule, and of what is told of it.
INSTALL = "install"
#: Of a kernel that takes no modules, what is not built in.
NO_MODULES = "not built into this kernel, which takes no modules"
#: What an administrator's line in /etc/modprobe.d has done in place of loading a module.
_INSTEAD = re.compile(r"^install (\S*(?:true|false)\b.*)$", re.MULTILINE)


def _run(*argv: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
            env={**os.environ, "PATH": PROGRAMS, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(
            "cannot load the kernel's modules", got=str(error), hint="install the package kmod"
        ) from error


def loaded() -> set[str]:
    """Return the names of the modules that are loaded."""
    try:
        return {line.split(maxsplit=1)[0] for line in LOADED.read_text().splitlines()}
    except FileNotFoundError:  # a kernel without modules
        return set()


def lockdown() -> str:
    """Return what Secure Boot or the administrator locks: "none", "integrity", ..."""
    try:
        found = re.search(r"\[(\w+)\]", LOCKDOWN.read_text())
    except OSError:
        return "none"
    return found[1] if found else "none"


def missing() -> dict[str, str]:
    """Return the modules that could not be loaded, with modprobe's reason; loads nothing."""
    return _asked("--dry-run")


def load() -> None:
    """Load all of them; a kernel that knows no modules has what it has.

    Raises:
        UnsupportedError: one is not there, or is refused.
    """
    _raise_if_any(_asked())


def check() -> None:
    """Raise :class:`UnsupportedError` if one could not be loaded; load nothing."""
    _raise_if_any(missing())


def _raise_if_any(refused: Mapping[str, str]) -> None:
    if refused:
        name, why = next(iter(refused.items()))
        raise UnsupportedError(
            "this machine's kernel has not what a lab needs",
            where=f"kernel {os.uname().release}",
            wanted=" ".join(refused),
            got=f"{name}: {why}",
            hint=advice(why),
        )


def _asked(*options: str) -> dict[str, str]:
    """Load all, or whatever the options say; return those refused, with the reason."""
    if not LOADED.exists():
        return {} if _has_sctp() else {"sctp": NO_MODULES}
    usual = [name for name in WANTED if name not in PARAMETERS]
    done = [
        _run("modprobe", *options, "--all", *usual),
        *(_run("modprobe", *options, *one) for one in PARAMETERS.items()),
        shown := _run("modprobe", "--show-depends", "--all", *WANTED),
    ]
    if not any(one.returncode for one in done) and not _INSTEAD.search(shown.stdout):
        return {}
    found = ((name, _refusal(name, options)) for name in WANTED)
    return {name: why for name, why in found if why}


def _has_sctp() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP).close()
    except OSError:
        return False
    return True


def _refusal(name: str, options: Sequence[str]) -> str:
    """Return why a module cannot be loaded; "" if it can."""
    if instead := _INSTEAD.search(_run("modprobe", "--show-depends", name).stdout):
        return f"{INSTALL} {name} {instead[1].strip()}"
    parameters = [PARAMETERS[name]] if name in PARAMETERS else []
    done = _run("modprobe", *options, name, *parameters)
    return (done.stderr.strip() or "refused").splitlines()[-1] if done.returncode else ""


def advice(why: str) -> str:
    """Return what to do about a module that cannot be loaded."""
    if why.startswith(INSTALL):
        return (
            f"an administrator's rule forbids it: remove the line {why!r} from /etc/modprobe.d, "
            "or use another machine"
        )
    if "not found" not in why and ("Key was rejected" in why or lockdown() != "none"):
        return (
            f"the kernel is locked down ({lockdown()}) and takes signed modules only: use the "
            "distribution's own kernel with its own modules, or switch Secure Boot off"
        )
    if "not permitted" in why:
        return "a container may not load modules: use a virtual or a real machine, as root"
    return (
        "install a kernel that has it, and restart into it: linux-image-amd64 on Debian (its cloud "
        "kernel has fewer), linux-modules-extra-$(uname -r) on Ubuntu"
    )


def with_those_they_need() -> list[str]:
    """Return the names of all modules that loading these may load, then or while cells run."""
    if not LOADED.exists():
        return []
    names = []
    for line in _run("modprobe", "--show-depends", "--all", *WANTED).stdout.splitlines():
        if line.startswith("insmod "):
            file = Path(line.split()[1]).name
            names.append(file.partition(".ko")[0].replace("-", "_"))
    return list(dict.fromkeys([*names, *ON_DEMAND]))


def unload(names: Collection[str]) -> tuple[list[str], list[str]]:
    """Unload these as far as nobody uses them; return those that are gone, and those that stay.

    Those of links stay in any case: somebody may have made some meanwhile.
    """
    gone: list[str] = []
    deadline_s = time.monotonic() + UNLOAD_WITHIN_S
    while left := sorted(loaded() & set(names) - OF_LINKS):
        # Not modprobe's way: it takes along what these needed, which others may have loaded.
        ended = [name for name in left if _run("rmmod", name).returncode == 0]
        gone += ended
        if not ended:
            if time.monotonic() > deadline_s:
                break
            time.sleep(AGAIN_S)
    return gone, sorted(loaded() & set(names))
