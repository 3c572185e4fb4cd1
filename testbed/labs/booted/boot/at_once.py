"""The agent with all its modules out of one file, in which a virtual lab starts it.

    python3 -SP at_once.py write FILE     when a lab's code is built: of all that the agent imports
    python3 -SP at_once.pyc               in a lab: be the agent

Python looks for each of two hundred modules in folders and reads it with a dozen system calls, of
which each costs a lab some 15 us of a processor: so their bytecode stands in one file, with an
index, and comes with one call each. It is that of the files which are found otherwise, to the byte.
"""

from __future__ import annotations

import gc
import marshal
import posix
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

#: In a lab; and the length of what tells how long the index is.
MODULES, LENGTH_BYTES = "/gt/code/modules", 8
#: Before the code in a file of bytecode: a magic number, flags, and the source's hash or time.
HEAD_BYTES = 16
#: Where a lab's code is built, and where it is found in a lab.
BUILT, FOUND = "/cell/", "/gt/code/"


def write(place: str, modules: dict[str, ModuleType]) -> None:
    """Write the file: the bytecode of all modules that have any, and an index in front of it."""
    from importlib.util import cache_from_source
    from pathlib import Path

    index, parts, offset = {}, [], 0
    for name, module in modules.items():
        spec = module.__spec__
        if name == "__main__" or spec is None or not spec.origin or not spec.origin.endswith(".py"):
            continue  # built in, frozen or a shared object
        try:
            code = Path(cache_from_source(spec.origin)).read_bytes()[HEAD_BYTES:]
        except FileNotFoundError:
            continue  # it is found as it would be otherwise
        origin = spec.origin.replace(BUILT, FOUND, 1)
        index[name] = offset, len(code), origin, spec.submodule_search_locations is not None
        parts.append(code)
        offset += len(code)
    head = marshal.dumps(index)
    Path(place).write_bytes(len(head).to_bytes(LENGTH_BYTES, "little") + head + b"".join(parts))


class FromOneFile:
    """Finds and loads the modules that the file has; see :pep:`451`."""

    def __init__(self, place: str = MODULES) -> None:
        """Read the index of the file, which stays open."""
        self._file = posix.open(place, posix.O_RDONLY | posix.O_CLOEXEC)
        length = int.from_bytes(posix.pread(self._file, LENGTH_BYTES, 0), "little")
        self._code_at = LENGTH_BYTES + length
        self._index = marshal.loads(posix.pread(self._file, length, LENGTH_BYTES))

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what is known of a module; None if the file has not got it."""
        del path, target
        if name not in self._index:
            return None
        _, _, origin, is_package = self._index[name]
        spec = ModuleSpec(name, self, origin=origin, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        if is_package and spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(origin.rpartition("/")[0])
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Have the module made as any other."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code."""
        offset, length, _, _ = self._index[module.__name__]
        code = posix.pread(self._file, length, self._code_at + offset)
        exec(marshal.loads(code), module.__dict__)  # of the lab's own code


def main() -> int:
    """Write the file, or be the agent."""
    if sys.argv[1:2] == ["write"]:
        import testbed.guest.agent  # noqa: F401  # with all that it imports

        write(sys.argv[2], dict(sys.modules))
        return 0
    gc.disable()  # what is imported stays
    sys.meta_path.insert(0, FromOneFile())
    from testbed.guest import agent

    gc.freeze()
    gc.enable()
    return agent.main()


if __name__ == "__main__":
    sys.exit(main())
