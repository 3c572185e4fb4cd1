#!/bin/bash
# Make the kept tree that of a commit, file by file, and build what that changes: make goes by the times of files, so
# those that differ are new and all others stay as they are. Runs inside the lab's image, without a network.
# usage: build-commit.sh RELEASE_END JOBS TICK_HZ
#        (in: /cell/{source,removed,changed.tar}, and as configure-and-make.sh  out: /cell/{linux,config})
set -euo pipefail
release_end=$1
jobs=$2
tick_hz=$3
cd /cell/source
xargs -0 --no-run-if-empty rm -rf -- </cell/removed
# A new header may be found before another of its name, which no time of a file tells: what has one of that name is
# compiled again, because make has its command (.NAME.cmd) no more.
tar --list --quoting-style=literal -f /cell/changed.tar | while IFS= read -r file; do
	if [[ $file == */*.h && ! -e $file ]]; then echo "/${file##*/}"; fi
done | sort -u >/cell/new-headers
if [ -s /cell/new-headers ]; then
	find . -name '.*.cmd' -type f -print0 | { xargs -0 --no-run-if-empty grep -lZFf /cell/new-headers || true; } |
		xargs -0 --no-run-if-empty rm -f --
fi
tar -x --touch --recursive-unlink --no-same-owner -f /cell/changed.tar
rm -f /cell/changed.tar
exec bash /cell/configure-and-make.sh "$release_end" "$jobs" "$tick_hz"
