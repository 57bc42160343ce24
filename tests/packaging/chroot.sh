#!/bin/bash
# The Debian packages in a new Debian with nothing else: they install, what README shows works, and
# C and C++ projects build against them; then they go without a trace. As root.  Usage: chroot.sh
# PACKAGES_FOLDER
set -euo pipefail
packages=$(cd "$1" && pwd) source=$(cd "$(dirname "$0")/../.." && pwd)
root=$(mktemp -d)

# Whatever ends this script, nothing stays: first everything of the trial ends, since it would write
# on.
clean() {
    set +e
    trap '' HUP INT PIPE TERM
    kill -- -"$trial" && wait "$trial"
    for process in /proc/[0-9]*; do
        case $(readlink "$process/root") in "$root"*) kill -KILL "${process#/proc/}" ;; esac
    done
    umount -l "$root/proc" "$root/sys" "$root/dev/pts" "$root/dev"
    rm -rf --one-file-system "$root"
} 2>/dev/null
trial=
trap clean EXIT
trap 'exit 1' HUP INT PIPE TERM

# inside COMMAND: as a user would type it
inside() {
    echo "+ $1"
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive sh -ec "cd /trial; $1"
}

trial() {
    # the same archives as this machine's
    mmdebstrap --quiet --variant=apt bookworm "$root" \
        $(ls /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -E 'list$|sources$')
    mkdir "$root/packages" "$root/trial"
    cp "$packages"/*.deb "$root/packages"
    cp -r "$source/tests/packaging/consumer" "$root/trial"
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
    mount -t devpts devpts "$root/dev/pts"
    mount --bind /sys "$root/sys" # where PoCL learns of memory and processors
    for file in resolv.conf hosts; do [ ! -e "/etc/$file" ] ||
        cp "/etc/$file" "$root/etc/$file"; done

    inside 'apt-get -qq update'
    inside 'apt-get -qq install --no-install-recommends /packages/farfault_*.deb pocl-opencl-icd \
        >/dev/null'
    inside 'farfault --version; farfault list; farfault list systems'
    inside 'farfault run -m 8M -- /usr/lib/*/farfault/programs/streamtriad --size 12M --check' |
        grep 'verified: yes'
    inside 'farfault compare -m 66% --systems nvidia,auto --size 12M --runs 1 jacobi'
    inside 'farfault sim hotspot -g gtx1080ti'
    inside 'farfault sim zipf --untimed -g gtx1080ti -m 25%'
    inside 'farfault train hotspot --distance 30 --output hotspot.model'
    inside 'farfault sim hotspot --systems hlsh-tree:model=hotspot.model'
    inside 'farfault repro batches >/dev/null'
    inside 'farfault record --touches --output t.trace -m 8M -- \
        /usr/lib/*/farfault/programs/streamtriad --size 4M --iterations 1'
    inside 'farfault replay t.trace -m 50%'

    inside 'apt-get -qq install --no-install-recommends /packages/libfarfault0_*.deb \
        /packages/libfarfault-dev_*.deb gcc g++ cmake make pkg-config libc6-dev >/dev/null'
    inside 'farfault compare -m 66% --systems nvidia,auto --size 12M --runs 1 jacobi-cuda'
    inside 'cp -r /usr/share/doc/libfarfault-dev/examples/* .'
    inside 'cc -o saxpy embed/saxpy.c $(pkg-config --cflags --libs farfault) && ./saxpy' |
        grep 'verified: yes'
    inside 'c++ -o count consumer/count.cpp $(pkg-config --cflags --libs farfault) && ./count' |
        grep 'verified: yes'
    inside 'cmake -S consumer -B built -DSAXPY=/trial/embed/saxpy.c >/dev/null &&
        cmake --build built >/dev/null && built/saxpy && built/count' |
        grep -c 'verified: yes' | grep -qx 2
    inside 'cc -shared -fPIC policy/stride.c -o stride.so'
    inside 'farfault sim pathfinder --policy ./stride.so --systems nvidia-1:prefetch=stride'

    inside 'apt-get -qq purge farfault libfarfault0 libfarfault-dev >/dev/null'
    left=$(find "$root/usr" "$root/etc" "$root/var/lib/dpkg/info" -name '*farfault*')
    [ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
}

# in a process group of its own, so that a signal to this script alone ends what it has begun
set -m
trial </dev/null &
trial=$!
wait "$trial"
echo "package test: passed"
