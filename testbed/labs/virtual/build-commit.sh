#!/bin/bash
# Make the kept tree that of a commit, file by file, and build what that changes: make goes by the times of files, so
# those that differ are new and all others stay as they are. Runs inside the lab's image, without a network.
# usage: build-commit.sh RELEASE_END JOBS TICK_HZ
#        (in: /cell/{source,removed,changed.tar,kernel.config,kernel-optional.config,kernel-tree.config}  out: /cell/{linux,config})
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
# As in build-kernel.sh; a file that has its prompt already is left alone.
if [ -f arch/um/Kconfig ] && ! grep -q '"Timer frequency"' arch/um/Kconfig; then
	sed -i '/^config HZ$/,/default/ s/^\tint$/\tint "Timer frequency"/' arch/um/Kconfig
fi
echo "CONFIG_HZ=$tick_hz" >>/cell/kernel.config
sed -i "s/^\(CONFIG_LOCALVERSION=\"[^\"]*\)\"/\1$release_end\"/" /cell/kernel.config
cat /cell/kernel.config /cell/kernel-optional.config /cell/kernel-tree.config >/cell/all.config
make ARCH=um KCONFIG_ALLCONFIG=/cell/all.config allnoconfig
missing=$(grep -E '^CONFIG_[A-Z0-9_]+=' /cell/kernel.config | grep -vxFf .config || true)
if [ -n "$missing" ]; then
	echo "this kernel did not take: $missing" | tr '\n' ' ' >&2
	exit 1
fi
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' KBUILD_BUILD_VERSION=1
export KBUILD_BUILD_USER=groundtruth KBUILD_BUILD_HOST=lab
make ARCH=um -j"$jobs" linux
cp .config /cell/config
cp linux /cell/linux
