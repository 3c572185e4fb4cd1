#!/bin/bash
# Patch a tree in which a kernel was built, and build what that changes. Runs inside the lab's image, without a network.
# usage: build-patched.sh RELEASE_END JOBS PATCH...    (in: /gt/tree.tar.gz, /cell/PATCH  out: /cell/{linux,config,version})
set -euo pipefail
release_end=$1
jobs=$2
shift 2
cd /cell
tar -xzf /gt/tree.tar.gz
cd linux-source-*
for patch in "$@"; do
	# A patch is for just these lines: nothing is taken that only looks like them.
	/cell/tool/usr/bin/patch --strip=1 --fuzz=0 --forward --no-backup-if-mismatch <"/cell/$patch"
done
sed -i "s/^\(CONFIG_LOCALVERSION=\"[^\"]*\)\"/\1$release_end\"/" .config
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' KBUILD_BUILD_VERSION=1
export KBUILD_BUILD_USER=groundtruth KBUILD_BUILD_HOST=lab
make ARCH=um -j"$jobs" linux
cp .config /cell/config
cp linux /cell/linux
