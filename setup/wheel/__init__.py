"""The installed program. The project's tree lies in ``tree`` beside this file, as in a checkout.

So one name is taken of all that can be imported, and every part finds its files as it does there.
"""

from __future__ import annotations

import sys
from pathlib import Path

TREE = Path(__file__).resolve().with_name("tree")


def main() -> None:
    """Run the command and exit with its status."""
    sys.path.insert(0, str(TREE))
    from testbed.__main__ import main as run

    run()
