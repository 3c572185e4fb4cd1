#!/bin/bash
# Configure the source in this folder for User-Mode Linux, see that it took every option, and build what is not built yet.
# Runs inside the lab's image, without a network.
# usage: configure-and-make.sh RELEASE_END JOBS TICK_HZ
#        (in: the source, /cell/{kernel.config,kernel-*.config}  out: /cell/{linux,config,scripts.tar})
set -euo pipefail
release_end=$1
jobs=$2
tick_hz=$3
# packetdrill's scripts of this source, for kernels that are to run them.
mkdir -p tools/testing/selftests/net/packetdrill
tar -C tools/testing/selftests/net --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf /cell/scripts.tar packetdrill
# User-Mode Linux's timer frequency is 100 Hz unless it can be asked for: a Kconfig symbol can if it has a prompt.
if [ -f arch/um/Kconfig ] && ! grep -q '"Timer frequency"' arch/um/Kconfig; then
	sed -i '/^config HZ$/,/default/ s/^\tint$/\tint "Timer frequency"/' arch/um/Kconfig
fi
echo "CONFIG_HZ=$tick_hz" >>/cell/kernel.config
sed -i "s/^\(CONFIG_LOCALVERSION=\"[^\"]*\)\"/\1$release_end\"/" /cell/kernel.config
cat /cell/kernel.config /cell/kernel-*.config >/cell/all.config
make ARCH=um KCONFIG_ALLCONFIG=/cell/all.config allnoconfig
# An option that Kconfig dropped silently would be missed only much later.
missing=$(grep -E '^CONFIG_[A-Z0-9_]+=' /cell/kernel.config | grep -vxFf .config || true)
if [ -n "$missing" ]; then
	while IFS= read -r option; do
		symbol=${option%%=*}
		places=$(find . -name 'Kconfig*' -type f -exec grep -HnE "^\s*(menu)?config\s+${symbol#CONFIG_}\s*$" {} + |
			sed -n 's|^\./\([^:]*:[0-9]*\):.*|\1|; 1,2p' | paste -sd ' ' || true)
		echo "this kernel did not take: $option (${places:-in no Kconfig file})" >&2
	done <<<"$missing"
	exit 1
fi
# Fixed, so that every machine builds the same binary from the same source.
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' KBUILD_BUILD_VERSION=1
export KBUILD_BUILD_USER=groundtruth KBUILD_BUILD_HOST=lab
make ARCH=um -j"$jobs" linux
cp .config /cell/config
cp linux /cell/linux
