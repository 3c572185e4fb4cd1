"""Where a cluster is, and how what goes there is kept from others.

Whoever can speak to a scheduler or a worker of dask.distributed can have it run any program.
Invariant: so nothing is spoken in the clear but on this machine; from one machine to another it is
TLS, and both ends show a certificate of one authority, the cluster's own.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.errors import RunError, StudyError, UnsupportedError
from testbed.labs.contract.lab import Properties
from testbed.labs.remote import inventory
from testbed.machine import homes

if TYPE_CHECKING:
    from distributed.security import Security

#: Where a run's cells are sent, or an inventory that says so; empty: they stay on this machine.
VARIABLE = "GROUNDTRUTH_CLUSTER"
#: The folder with the cluster's keys.
KEYS_VARIABLE = "GROUNDTRUTH_CLUSTER_KEYS"
AUTHORITY, CERTIFICATE, KEY = "authority.pem", "certificate.pem", "key.pem"
PORT = 8786
_FORM = re.compile(
    r"(?P<scheme>tls|tcp)://(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/@\[\]]+):(?P<port>[0-9]{1,5})"
)
_MOST_PORT = 65535
#: As certificates' dates are written.
_DATE = "%b %e %H:%M:%S %Y GMT"
_WANTED = f"tls://HOST:PORT, such as tls://lab1:{PORT}, or the file of an Ansible inventory"
#: Of an inventory: the group of the scheduler's host, and that host's variables.
GROUP, ADDRESS_SET, PORT_SET = "scheduler", "cluster_member_address", "cluster_member_port"
#: What names a file, also one that is not there.
_INVENTORIES = (".yml", ".yaml", ".ini", ".json")


class ClusterError(RunError):
    """What has this address is not there, or has no worker for cells (exit status 3).

    It says nothing about any cell, study or kernel.
    """


@dataclass(frozen=True, kw_only=True)
class Address:
    """A scheduler's address; ``str()`` of it is the one that it was read from."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def is_of_this_machine(self) -> bool:
        """Return whether nothing that is sent there leaves this machine."""
        bare = self.host.strip("[]")
        try:
            return ipaddress.ip_address(bare).is_loopback
        except ValueError:
            return bare == "localhost"


def parse(text: str) -> Address:
    """Return the address that a text is.

    Raises:
        StudyError: it is none, or one at which everybody on the way could read and write.
    """
    found = _FORM.fullmatch(text)
    if found is None or not 0 < int(found["port"]) <= _MOST_PORT:
        raise StudyError(
            "not the address of a scheduler", where="CLUSTER", wanted=_WANTED, got=text[:300],
        )  # fmt: skip
    address = Address(scheme=found["scheme"], host=found["host"], port=int(found["port"]))
    if address.scheme == "tcp" and not address.is_of_this_machine:
        raise StudyError(
            "a cluster in the clear", where="CLUSTER",
            wanted="tls:// to any machine but this one", got=text[:300],
            hint="who is on the way could run programs there; groundtruth cluster-keys makes keys",
        )  # fmt: skip
    return address


def named() -> Address | None:
    """Return the cluster that ``GROUNDTRUTH_CLUSTER`` names, or None.

    Raises:
        StudyError: it names none.
        UnsupportedError: it names an inventory that cannot be read.
    """
    given = os.environ.get(VARIABLE, "").strip()
    return read(given) if given else None


def read(given: str) -> Address:
    """Return the address that a text is, or that the inventory in a file of that name has.

    Raises:
        StudyError: it is none, as :func:`parse` and :func:`of_listing` say.
        UnsupportedError: it is an inventory, and Ansible is missing or cannot read it.
    """
    place = homes.expanded(given, "CLUSTER")
    if "://" in given or not (place.exists() or place.suffix in _INVENTORIES):
        return parse(given)
    if not place.exists():
        raise StudyError(
            "no such inventory", where="CLUSTER", wanted=_WANTED, got=str(place),
            hint="docs/guides/campaigns.md has one",
        )  # fmt: skip
    return of_listing(inventory.listing(place), place)


def of_listing(listed: Mapping[str, Any], place: Path) -> Address:
    """Return where the scheduler is of what ``ansible-inventory --list`` says of a file.

    Raises:
        StudyError: it names not one scheduler, or no address of it.
    """
    names = listed.get(GROUP, {}).get("hosts", [])
    if len(names) != 1:
        raise StudyError(
            "an inventory names one scheduler", where=f"CLUSTER={place}, group {GROUP}",
            wanted="one host", got=" ".join(names) or "none",
        )  # fmt: skip
    found = listed.get("_meta", {}).get("hostvars", {}).get(names[0], {})
    host = str(found.get(ADDRESS_SET) or inventory.address_of(names[0], found))
    text = f"tls://{f'[{host}]' if ':' in host else host}:{found.get(PORT_SET, PORT)}"
    try:
        return parse(text)
    except StudyError as error:
        raise StudyError(
            "an inventory gives its scheduler no address", where=f"CLUSTER={place}, {names[0]}",
            wanted=f"{ADDRESS_SET} or ansible_host; {PORT_SET} from 1 to {_MOST_PORT}", got=text,
        ) from error  # fmt: skip


def check_lab(lab: Properties) -> None:
    """Raise :class:`StudyError` for a lab whose cells belong on this machine alone."""
    if lab.clock == "real":
        raise StudyError(
            "a lab in real time on a cluster", where=f"LAB={lab.name}",
            wanted="a lab whose cells can run on any machine, such as virtual",
            hint="leave out CLUSTER",
        )  # fmt: skip


def keys_folder() -> Path:
    """Return the folder with the cluster's keys."""
    if given := os.environ.get(KEYS_VARIABLE, ""):
        return homes.expanded(given, KEYS_VARIABLE)
    return homes.base("XDG_CONFIG_HOME", ".config") / "groundtruth" / "cluster"


def check_keys(address: Address) -> dict[str, Path]:
    """Return the files of the keys by which an address is spoken to, by name; none in the clear.

    Raises:
        UnsupportedError: it is to be TLS, and keys are missing, not of now, or read by others.
    """
    if address.scheme == "tcp":
        return {}
    folder = keys_folder()
    files = {name: folder / name for name in (AUTHORITY, CERTIFICATE, KEY)}
    for path in files.values():
        if not path.is_file():
            raise UnsupportedError(
                "a cluster's key is missing", where=str(path), got="no such file",
                hint=f"groundtruth cluster-keys makes them; {KEYS_VARIABLE} names another folder",
            )  # fmt: skip
    mode = files[KEY].stat().st_mode & 0o077
    if mode:
        raise UnsupportedError(
            "others can read a cluster's key", where=str(files[KEY]), wanted="mode 600",
            got=f"{files[KEY].stat().st_mode & 0o777:o}", hint="chmod 600 it, or make keys anew",
        )  # fmt: skip
    _check_dates(files[AUTHORITY])
    return files


def _check_dates(authority: Path) -> None:
    """Raise for an authority that is none now; its certificate is of the same minute."""
    try:
        found = ssl.create_default_context(cafile=str(authority)).get_ca_certs()
    except OSError as error:
        raise UnsupportedError(
            "a cluster's key cannot be read", where=str(authority), got=str(error),
            hint="copy it again from where groundtruth cluster-keys made it",
        ) from error  # fmt: skip
    for one in found:
        begins, ends = str(one["notBefore"]), str(one["notAfter"])
        now_s = time.time()
        if not ssl.cert_time_to_seconds(begins) <= now_s <= ssl.cert_time_to_seconds(ends):
            raise UnsupportedError(
                "a cluster's keys are not of this time", where=str(authority),
                wanted=f"{begins} to {ends}", got=time.strftime(_DATE, time.gmtime(now_s)),
                hint="set the clock, or have groundtruth cluster-keys make others for all machines",
            )  # fmt: skip


def security(address: Address) -> Security:
    """Return how to speak to this address; raise as :func:`check_keys` does."""
    from distributed.security import Security  # when needed: it takes a second to load

    files = check_keys(address)
    if not files:
        return Security(require_encryption=False)
    given = {
        f"tls_{role}_{part}": str(files[name])
        for role in ("client", "scheduler", "worker")
        for part, name in (("cert", CERTIFICATE), ("key", KEY))
    }
    return Security(tls_ca_file=str(files[AUTHORITY]), require_encryption=True, **given)
