"""Six machines for tests of the remote lab, in one: namespaces, each with its own sshd.

Two sources, two routers and two sinks, with a management network of their own and experiment links
between neighbours. Each has its own network, mounts, processes and host name; files they share but
for those that a machine has of its own. Runs wherever root may make namespaces.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed.labs.booted import image, lab_code
from testbed.labs.confinement.host_tools import DEBIAN
from testbed.labs.host.host_lab import SHARED_LIMITS
from testbed.labs.remote import bundle, playbooks
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import cache, contents
from testbed.machine.process import run_logged
from tests.support.machines import quick

SOURCES, ROUTERS, SINKS = ("alpha", "beta"), ("left", "right"), ("psi", "omega")
#: Neighbours: the interface of the first that leads to the second, and of the second to the first.
LINKS = (
    ("alpha", "eth1", "left", "eth1"), ("beta", "eth1", "left", "eth2"),
    ("left", "eth3", "right", "eth3"), ("right", "eth1", "psi", "eth1"),
    ("right", "eth2", "omega", "eth1"),
)  # fmt: skip
MACHINES = (*SOURCES, *ROUTERS, *SINKS)
#: What machines, and who sets them up, call; and Debian's packages with that.
PROGRAMS = ("sshd", "ssh", "ssh-keygen", "ip", "tc", "ps", "pgrep", "pkill")
PACKAGES = ("openssh-server", "openssh-client", "iproute2", "procps")
FETCH_TIMEOUT_S = 300.0
#: What a machine has of its own.
OWN = ("run", "var/lib", "var/tmp", "tmp", "root")

BEGIN = """
set -eu ${TRACE:+-x}
export PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin
W=${OUT:-/tmp}/testbed
rm -rf $W; mkdir -p $W /run/sshd
mount -t tmpfs -o size=90% tmpfs $W
if [ -n "${TOOLS:-}" ]; then
  cp -a $TOOLS $W/tools  # where machines see them as well
  T=$W/tools
  export PATH=$T/usr/sbin:$T/usr/bin:$T/sbin:$T/bin:$PATH
  export LD_LIBRARY_PATH=$T/usr/lib/x86_64-linux-gnu:$T/lib/x86_64-linux-gnu
fi
if [ -n "${DEPLOYED:-}" ]; then
  mkdir $W/deployed
  tar --extract --gzip --no-same-owner --file $ARCHIVE --directory $W/deployed
  touch $W/deployed/complete
fi
ssh-keygen -q -t ed25519 -N '' -f $W/key
grep -v '^sshd:' /etc/passwd >$W/passwd
echo 'sshd:x:64999:65534::/run/sshd:/usr/sbin/nologin' >>$W/passwd
ip link set lo up
"""
MACHINE = """
mkdir -p $W/{name}
ssh-keygen -q -t ed25519 -N '' -f $W/{name}/host_key
cat >$W/{name}/sshd_config <<END
ListenAddress 192.0.2.{number}
HostKey $W/{name}/host_key
AuthorizedKeysFile $W/key.pub
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
PasswordAuthentication no
Subsystem sftp internal-sftp
LogLevel ERROR
MaxStartups 100
SetEnv PATH=$PATH LD_LIBRARY_PATH=${{LD_LIBRARY_PATH:-}}
END
cat >$W/{name}/start <<END
set -e
for own in {own}; do mount -t tmpfs tmpfs /\\$own; done
if [ -n "${{COPIED:-}}" ]; then
  mkdir -p $(dirname "${{DEPLOYED:-}}")
  cp -a $W/deployed "${{DEPLOYED:-}}"
elif [ -n "${{DEPLOYED:-}}" ]; then
  mkdir -p "${{DEPLOYED:-}}"
  mount --bind $W/deployed "${{DEPLOYED:-}}"
fi
mkdir -p /run/sshd
mount --make-rprivate /
mount --bind $W/passwd /etc/passwd
mount -t proc proc /proc
mount -t sysfs sysfs /sys
[ ! -d /sys/kernel/tracing ] || mount -t tracefs tracefs /sys/kernel/tracing
hostname {name}
ip link set lo up
touch $W/{name}/up
until ip link set eth0 up 2>/dev/null; do sleep 0.05; done
ip address add 192.0.2.{number} peer 192.0.2.1 dev eth0
ip route add default via 192.0.2.1
exec $(command -v sshd) -D -f $W/{name}/sshd_config -E $W/{name}/log
END
# Clocks of machines differ, where the kernel can: as if they had been started at other times.
clock=""
[ ! -e /proc/self/ns/time ] || clock="--time --monotonic {number}000"
unshare --mount --net --uts --pid --fork --kill-child $clock \\
  bash $W/{name}/start </dev/null >$W/{name}/said 2>&1 &
echo $! >$W/{name}/pid
until [ -e $W/{name}/up ]; do kill -0 $! || {{ cat $W/{name}/said; exit 1; }}; sleep 0.02; done
inside_{name}=$(pgrep -P $(cat $W/{name}/pid))
ip link add m{number} type veth peer name eth0 netns $inside_{name}
ip address add 192.0.2.1 peer 192.0.2.{number} dev m{number}
ip link set m{number} up
echo "192.0.2.{number} $(cut -d' ' -f1,2 $W/{name}/host_key.pub)" >>$W/known_hosts
"""
#: As somebody has set it up who also uses it: addresses, a way to elsewhere, a neighbour, an MTU.
LINK = """
ip link add {near_if} netns $inside_{near} type veth peer name {far_if} netns $inside_{far}
nsenter -t $inside_{near} -n ip address add 198.51.{number}.1/24 dev {near_if}
nsenter -t $inside_{far} -n ip address add 198.51.{number}.2/24 dev {far_if}
nsenter -t $inside_{near} -n ip link set {near_if} up mtu 1400
nsenter -t $inside_{far} -n ip link set {far_if} up mtu 1400
nsenter -t $inside_{near} -n ip route add 203.0.{number}.1 dev {near_if} scope link
nsenter -t $inside_{near} -n ip route add 203.0.113.{number} via 203.0.{number}.1 metric 7
nsenter -t $inside_{far} -n ip neighbor add 198.51.{number}.9 lladdr 02:00:00:00:00:09 \\
  dev {far_if} nud permanent
"""
END = """
for machine in {machines}; do
  number=$(sed -n 's/^ListenAddress 192.0.2.//p' $W/$machine/sshd_config)
  ssh="ssh -n -i $W/key -o UserKnownHostsFile=$W/known_hosts -o ConnectTimeout=5"
  until $ssh 192.0.2.$number true 2>/dev/null; do sleep 0.2; done
done
export GROUNDTRUTH_INVENTORY=$W/inventory.yml
"""


#: For a script: what machines are like, and runs that are ended by others.
SHELL = """
export PLAY="$(dirname $PYTHON)/ansible-playbook -i $W/inventory.yml"
cd $PYTHONPATH

# All that a run may change on a machine: links and what is on them, settings, processes, files.
state() {
  eval pid=\\$inside_$1
  nsenter -t $pid -m -n -p -- sh -c '
    ip -d address show; ip route show table all; ip neighbor show nud permanent | sort
    tc qdisc show | sort
    for place in core ipv4 sctp ipv4/conf/eth1 ipv4/neigh/eth1; do
      grep -s -d skip . /proc/sys/net/$place/*
    done
    ls -R /run /var/tmp
    ls -d /var/lib/groundtruth-cells 2>/dev/null
    ps ax -o args= | grep -v "sshd:\\|ssh_config\\|^ps \\|^sh -c\\|sort" | sort
  ' | sed -e 's/valid_lft.*//' \\
    -e '/tcp_fastopen_key\\|ip_local_port\\|fs_/d' -e 's/ usecs*.*//; s/ linkdown//' \\
    -e 's/NO-CARRIER,//; s/ state [A-Z]*//'
}
look() {
  mkdir -p $OUT/$1
  for name in $MACHINES; do state $name >$OUT/$1/$name; done
}
same() { diff -r $OUT/$1 $OUT/$2; }
as_before() { state $1 | diff -q $OUT/before/$1 - >/dev/null; }
# begin_run NAME: a run in the background as far as its flows; $run is its process group.
begin_run() {
  setsid $PYTHON -m testbed run $STUDY --lab remote --reps 1 --no-sensitivity -D $OUT/$1 \\
    >$OUT/$1.said 2>&1 &
  run=$!
  until grep -qs 'phase calibrate' $OUT/$1/*/cells/*/console.log; do
    kill -0 $run || { cat $OUT/$1.said; exit 1; }
    sleep 0.2
  done
}
wait_for_end() { wait $run; }
# refused NAME COMMAND CHANGE: with a changed inventory a command says why not.
refused() {
  sed "$3" $W/inventory.yml >$W/$1.yml
  ! GROUNDTRUTH_INVENTORY=$W/$1.yml $PYTHON -m testbed $2 $STUDY --lab remote >$OUT/$1.told 2>&1
}
"""


def inventory(where: str) -> str:
    """Return the inventory, where keys and known hosts are in that folder."""
    links: dict[str, dict[str, str]] = {name: {} for name in MACHINES}
    for near, near_if, far, far_if in LINKS:
        links[near][far] = near_if
        links[far][near] = far_if
    lines = ["all:", "  vars:", "    ansible_user: root"]
    lines += [
        "    ansible_python_interpreter: /usr/bin/python3",
        f"    ansible_ssh_private_key_file: {where}/key",
        f"    ansible_ssh_common_args: -o UserKnownHostsFile={where}/known_hosts",
        "  children:",
    ]
    for group, names in (("sources", SOURCES), ("routers", ROUTERS), ("sinks", SINKS)):
        lines += [f"    {group}:", "      hosts:"]
        for name in names:
            number = 11 + MACHINES.index(name)
            told = ", ".join(f"{to}: {interface}" for to, interface in links[name].items())
            lines.append(f"        {name}: {{ansible_host: 192.0.2.{number}, links: {{{told}}}}}")
    return "\n".join(lines) + "\n"


def tools() -> Path | None:
    """Return a folder of the cache with the programs; None where all are installed."""
    if all(shutil.which(program) for program in PROGRAMS):
        return None
    return cache.entry("tool", "testbed-machines", _fetch)


def _fetch(folder: Path) -> None:
    run_logged(
        [DEBIAN, "needed", str(folder), *PACKAGES], log=folder / "fetch.log",
        what="fetching what machines of tests need", timeout_s=FETCH_TIMEOUT_S,
    )  # fmt: skip


def script(archive: Path | None = None) -> str:
    """Return what begins the machines, in a shell of root; ``$W`` is their folder afterwards.

    With an archive of the remote lab they begin with that deployed.
    """
    parts = [f"echo '{value}' >/proc/sys/{name}\n" for name, value in SHARED_LIMITS.items()]
    if found := tools():
        parts.append(f"TOOLS={found}\n")
    if archive:
        place = f"{playbooks.DEPLOYED}/{bundle.digest(archive)}"
        parts.append(f"ARCHIVE={archive}\nDEPLOYED={place}\n")
    parts.append(BEGIN)
    for number, name in enumerate(MACHINES, 11):
        parts.append(MACHINE.format(name=name, number=number, own=" ".join(OWN)))
    for number, (near, near_if, far, far_if) in enumerate(LINKS):
        words = LINK.format(near=near, near_if=near_if, far=far, far_if=far_if, number=number)
        parts.append(words)
    parts.append(f"cat >$W/inventory.yml <<END\n{inventory('$W')}END\n")
    parts.append(END.format(machines=" ".join(MACHINES)))
    return "".join(parts)


def on_six(lab: VirtualLab, folder: Path, study: Path, body: str, *, copied: bool = False) -> str:
    """Run a shell script where six machines are, with the lab deployed; return what it said.

    It is shown to all of them, or ``copied`` to each, so that it can be removed.
    """
    root = image.built()
    assert root is not None
    archive = bundle.ensure(root, lab_code.ensure(root, contents.digest(root.parent)))
    names = f"MACHINES='{' '.join(MACHINES)}'\nSTUDY={study}\n"
    text = ("COPIED=yes\n" if copied else "") + script(archive) + names + SHELL + body
    return quick.run(lab, folder, text, timeout_s=900.0)
