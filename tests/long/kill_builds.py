"""Kill builds of the lab's image and kernel at random moments, and look what is left.

    .venv/bin/python -m tests.long.kill_builds --images 10 --kernels 10 --folder /var/tmp/kills

Each build has an empty cache of its own below the folder, but what it needs is taken from the
user's cache by hard links. After each kill no process, mount or changed place of the machine may be
left; the next build must remove what the killed one left. ``--finish`` lets the last builds end and
compares the kernel with the user's. Ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from testbed.labs.booted import image
from testbed.labs.confinement import host_tools
from testbed.labs.virtual import kernel
from testbed.machine import cache, trees
from tests.support.killing import Machine, adopt_orphans, kill_after, left_behind, start


def say(text: str) -> None:
    """Tell how far it is."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def prepared(home: Path, *, with_image: bool) -> Path:
    """Return a cache with the host's tools, and with the image if asked for, by hard links."""
    into = home / "groundtruth"
    into.mkdir(parents=True)
    names = [f"tool-{tool.package}" for tool in (host_tools.MMDEBSTRAP, host_tools.BUBBLEWRAP)]
    names += [f"image-{image.key()}"] if with_image else []
    for name in names:
        if (cache.root() / name).is_dir():
            shutil.copytree(cache.root() / name, into / name, symlinks=True, copy_function=os.link)
    return into


def killed(kind: str, count: int, most_s: float, folder: Path, chance: random.Random) -> list[str]:
    """Kill so many builds, one after the other in one cache; return what was wrong."""
    home = folder / kind
    into = prepared(home, with_image=kind == "kernel")
    before, problems = Machine.seen(folder), []
    for number in range(1, count + 1):
        after_s = chance.uniform(0, most_s)
        child = start(["build"], folder / f"{kind}.log", home)
        ended = "killed" if kill_after(child, after_s) else "ended before"
        left = left_behind(before, folder)
        half = [path.name for path in into.glob(f"{cache.BUILDING}*")]
        if len(half) > 2:  # a tool's and what needs it, not those of earlier builds
            left.append(f"left over: {half}")
        say("; ".join((f"{kind} {number}: {ended} {after_s:.1f} s after the start", *left)))
        problems += [f"{kind} {number}: {line}" for line in left]
    return problems


def finished(folder: Path, kind: str) -> list[str]:
    """Let a build end where others were killed; return what was wrong."""
    home = folder / kind
    before = Machine.seen(folder)
    status = start(["build"], folder / f"{kind}.log", home).wait(timeout=7200)
    problems = left_behind(before, folder)
    if status:
        problems.append(f"{kind}: ended with status {status}")
    problems += [f"left over: {path}" for path in (home / "groundtruth").glob(f"{cache.BUILDING}*")]
    name = f"kernel-{kernel.DEFAULT}-{kernel.key(kernel.DEFAULT, image.key())}/linux"
    made, ours = home / "groundtruth" / name, cache.root() / name
    if ours.is_file() and made.read_bytes() != ours.read_bytes():
        problems.append(f"{kind}: the kernel is not the same as {ours}")
    say(f"{kind}: built to the end, {len(problems)} problems")
    return problems


def main() -> int:
    """Return 0 if nothing was left."""
    parser = argparse.ArgumentParser(description="kill builds at random moments")
    parser.add_argument("--images", type=int, default=10)
    parser.add_argument("--kernels", type=int, default=10)
    parser.add_argument("--most", type=float, default=90.0, help="latest moment of a kill, seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finish", action="store_true", help="let the last builds end")
    parser.add_argument("--folder", type=Path, help="a folder with room for two caches")
    args = parser.parse_args()
    folder = (args.folder or Path(tempfile.mkdtemp(prefix="kill-builds-"))).resolve()
    chance = random.Random(args.seed)
    adopt_orphans()
    problems = []
    for kind, count in (("image", args.images), ("kernel", args.kernels)):
        if count:
            problems += killed(kind, count, args.most, folder, chance)
        if count and args.finish:
            problems += finished(folder, kind)
        trees.remove(folder / kind)
    say(f"{args.images} image and {args.kernels} kernel builds killed, {len(problems)} problems")
    for problem in problems:
        say(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
