"""Kernels of the virtual lab that are built from a commit of a user's git tree."""

from __future__ import annotations

from testbed.labs.virtual.own_source import given_tree, kept, local_changes
from testbed.study import kernel_names

#: What local changes are called in a kernel's name, before their digest.
LOCAL = "local"


def named(text: str) -> str:
    """Return the name of the kernel that FOLDER[@REVISION] is; what it takes is kept.

    Raises:
        StudyError: it is no git tree of Linux, or has no such revision.
    """
    tree = given_tree.opened(text)
    changes = local_changes.text(tree)
    kept.keep_origin(tree)
    patches = [kept.keep_patch(LOCAL, changes)] if changes else []
    return kernel_names.patched(tree.base, patches)
