"""Room on a machine's disks: what says that there is none."""

from __future__ import annotations

import errno

#: A full disk, one without free inodes, and a user's share of it used up.
FULL = (errno.ENOSPC, errno.EDQUOT)


def is_full(error: BaseException) -> bool:
    """Return whether something failed, or what it came of did, because a disk is full."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in FULL:
            return True
        cause = cause.__cause__
    return False
