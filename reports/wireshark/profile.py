"""Install the Wireshark profile that shows Groundtruth's captures as they are meant to be seen.

Invariants: a file of the profile that the user (or Wireshark, for the user) changed is overwritten
only when told so, and then nothing else is touched; either all files are installed or none.
"""

from __future__ import annotations

from pathlib import Path

from model import plain_files
from model.errors import RunError, StudyError

PROFILE = "Groundtruth"
SOURCE = Path(__file__).with_name(PROFILE)
FILES = ("preferences", "colorfilters", "dfilter_buttons", "io_graphs")


def install_profile(config: Path, *, force: bool) -> Path:
    """Copy the profile below Wireshark's ``profiles`` folder; return where it is.

    Args:
        config: the user's configuration folder: ``~/.config``.
        force: overwrite files that are not as they were installed.

    Raises:
        StudyError: a file there is another one, and ``force`` is not given.
        RunError: it cannot be written.
    """
    target = config / "wireshark" / "profiles" / PROFILE
    wanted = {name: (SOURCE / name).read_bytes() for name in FILES}
    try:
        changed = [name for name in FILES if _differs(target / name, wanted[name])]
        if changed and not force:
            raise StudyError(
                "the installed profile was changed, or is of another version",
                where=str(target), got=", ".join(changed), hint="--force overwrites it",
            )  # fmt: skip
        for name in FILES:
            plain_files.write(target / name, wanted[name], unlocked=True)
    except OSError as error:
        raise RunError("cannot install the profile", where=str(target), got=str(error)) from error
    return target


def _differs(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() != content
    except FileNotFoundError:
        return False
