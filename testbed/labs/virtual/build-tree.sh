#!/bin/bash
# Build the kernel as build-kernel.sh does, and leave the tree it was built in, with what applies patches to it.
# usage: build-tree.sh VERSION JOBS TICK_HZ    (in: as build-kernel.sh, and /cell/patch_*.deb  out: /cell/tree.tar.gz)
set -euo pipefail
bash /cell/build-kernel.sh "$@"
cd /cell
dpkg-deb -x patch_*.deb tool
tar -c linux-source-* tool version | gzip -1 >tree.tar.gz
