#!/bin/bash
# Build Debian's linux-source-VERSION for User-Mode Linux, and leave what patches are applied in, with what applies them.
# Runs inside the lab's image, without a network.
# usage: build-kernel.sh VERSION JOBS TICK_HZ    (in: /cell/{linux-source-VERSION,patch}_*.deb, /cell/left-out.patterns,
#                                                 and as configure-and-make.sh
#                                                 out: /cell/{linux,config,version,tree.tar.gz})
set -euo pipefail
version=$1
jobs=$2
tick_hz=$3
cd /cell
deb=$(echo linux-source-"$version"_*.deb)
dpkg-deb -f "$deb" Version >version
sed "s|^|linux-source-$version/|" left-out.patterns >left-out
dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/linux-source-$version.tar.xz" |
	tar -xJ --anchored --wildcards --wildcards-match-slash --exclude-from=left-out
rm -f "$deb"
(cd linux-source-* && bash /cell/configure-and-make.sh '' "$jobs" "$tick_hz")
dpkg-deb -x patch_*.deb tool
# What was linked is linked again, with whatever a patch changes.
rm -f linux-source-*/{linux,vmlinux,vmlinux.o,vmlinux.a,.tmp_vmlinux*}
tar -c linux-source-* tool version | gzip -1 >tree.tar.gz
