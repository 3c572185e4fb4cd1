#!/bin/bash
# Build a kernel with what packetdrill's scripts need, and leave the scripts that come with its source. Runs inside the lab's image.
# usage: build-with-scripts.sh VERSION JOBS TICK_HZ
#        (in: as build-kernel.sh, and /cell/{linux-source-VERSION_*.deb,packetdrill.config}  out: /cell/{linux,config,version,scripts.tar})
set -euo pipefail
version=$1
cd /cell
mkdir -p selftests/packetdrill
dpkg-deb --fsys-tarfile linux-source-"$version"_*.deb | tar -xO "./usr/src/linux-source-$version.tar.xz" |
	tar -xJ -C selftests --strip-components=5 --wildcards '*/tools/testing/selftests/net/packetdrill/*' ||
	[ -z "$(ls selftests/packetdrill)" ] # a source from before there were any
tar -C selftests --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf scripts.tar packetdrill
rm -r selftests
cat packetdrill.config >>kernel.config
exec bash /cell/build-kernel.sh "$@"
