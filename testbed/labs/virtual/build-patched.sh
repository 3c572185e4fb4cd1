#!/bin/bash
# Patch a tree in which a kernel was built, and build what that changes. Runs inside the lab's image, without a network.
# usage: build-patched.sh RELEASE_END JOBS TICK_HZ PATCH...
#        (in: /gt/tree.tar.gz, /cell/PATCH, and as configure-and-make.sh  out: /cell/{linux,config,version})
set -euo pipefail
release_end=$1
jobs=$2
tick_hz=$3
shift 3
cd /cell
tar -xzf /gt/tree.tar.gz
cd linux-source-*
for patch in "$@"; do
	# A patch is for just these lines: nothing is taken that only looks like them.
	/cell/tool/usr/bin/patch --strip=1 --fuzz=0 --forward --no-backup-if-mismatch <"/cell/$patch"
done
# What is off or on is asked again: a patch may change Kconfig's files. What stays as it was is not compiled again.
exec bash /cell/configure-and-make.sh "$release_end" "$jobs" "$tick_hz"
