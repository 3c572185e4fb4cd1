#!/bin/bash
# Build Debian's linux-source-VERSION for User-Mode Linux. Runs inside the lab's image, without a network.
# usage: build-kernel.sh VERSION JOBS TICK_HZ    (in: /cell/{linux-source-VERSION_*.deb,kernel.config,kernel-optional.config}
#                                                 out: /cell/{linux,config,version})
set -euo pipefail
version=$1
jobs=$2
tick_hz=$3
cd /cell
deb=$(echo linux-source-"$version"_*.deb)
dpkg-deb -f "$deb" Version >version
dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/linux-source-$version.tar.xz" | tar -xJ \
	--exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/net/ethernet/*.[ch]' --exclude='*/sound/*.[ch]' \
	--exclude='*/Documentation/*/*' --exclude='*/tools/testing/*'
rm -f "$deb"
cd linux-source-*
# User-Mode Linux's timer frequency is 100 Hz unless it can be asked for: a Kconfig symbol can if it has a prompt.
sed -i '/^config HZ$/,/default/ s/^\tint$/\tint "Timer frequency"/' arch/um/Kconfig
echo "CONFIG_HZ=$tick_hz" >>/cell/kernel.config
cat /cell/kernel.config /cell/kernel-optional.config >/cell/all.config
make ARCH=um KCONFIG_ALLCONFIG=/cell/all.config allnoconfig
# An option that Kconfig dropped silently would be missed only much later.
missing=$(grep -E '^CONFIG_[A-Z0-9_]+=' /cell/kernel.config | grep -vxFf .config || true)
if [ -n "$missing" ]; then
	echo "this kernel did not take: $missing" | tr '\n' ' ' >&2
	exit 1
fi
# Fixed, so that every machine builds the same binary from the same source.
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' KBUILD_BUILD_VERSION=1
export KBUILD_BUILD_USER=groundtruth KBUILD_BUILD_HOST=lab
make ARCH=um -j"$jobs" linux
cp .config /cell/config
cp linux /cell/linux
