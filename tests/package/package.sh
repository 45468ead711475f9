#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the Debian packages and tries them in a fresh tree of Debian: installed, a job, upgraded
# beneath a running job, purged. Needs root, debootstrap, debhelper, and a mirror of Debian's.
#
# usage: tests/package/package.sh [--debs FOLDER] [--tree FOLDER] [--with-cuda]
#   --debs FOLDER   packages that are built already
#   --tree FOLDER   a tree that debootstrap made (--variant=minbase), which is copied
#   --with-cuda     build vrtd-cuda, too (CUDA's toolkit; VRTD_GPU_ARCHS=86 for some cards only)
#
# Everything is done in a folder of its own below TMPDIR, which is removed; nothing boots. Exit
# status 77: something that it needs is missing, which was said.
set -euo pipefail
cd "$(dirname "$0")/../.."

debs='' tree='' profiles=''
while [ $# -gt 0 ]; do
    case $1 in
    --debs) debs=$(realpath "$2"); shift ;;
    --tree) tree=$(realpath "$2"); shift ;;
    --with-cuda) profiles=pkg.vrtd.cuda ;;
    -h | --help) sed -n 's/^# \{0,1\}//; 4,13p' "$0"; exit 0 ;;
    *) echo "package.sh: unknown option '$1': see tests/package/package.sh --help" >&2; exit 2 ;;
    esac
    shift
done

skip() { echo "skipped: $*"; exit 77; }

[ "$(id -u)" = 0 ] || skip "only root may enter a tree of Debian"
for program in debootstrap dpkg-buildpackage dh lintian unshare perl; do
    command -v $program >/dev/null || [ "$program" = debootstrap -a -n "$tree" ] ||
        skip "$program is not installed"
done
work=$(mktemp -d "${TMPDIR:-/var/tmp}/vrtd-package-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

# The version of a package, and of the programs in it, becomes 0.1.9: as long a word as this one.
# Whoever mixes both then is found out.
next()
{
    local deb=$1 to=$work/next/$(basename "$1" .deb)
    dpkg-deb -R "$deb" "$to"
    sed -i "s/^Version: .*/Version: $later/; s/(= $version)/(= $later)/" "$to/DEBIAN/control"
    find "$to/usr" -type f \( -perm -u+x -o -name '*.so' \) -exec \
        perl -pi -e "s/(?<![0-9.])\\Q$version\\E(?![0-9.])/$later/g" {} +
    rm -f "$to/DEBIAN/md5sums"
    dpkg-deb --root-owner-group -b "$to" "$work/next/" >/dev/null
    rm -r "$to"
}

if [ -z "$debs" ]; then
    echo "-- the packages are built"
    debs=$work/debs
    mkdir -p "$debs/vrtd"
    git archive HEAD | tar -x -C "$debs/vrtd"
    (cd "$debs/vrtd" && DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS-}" \
        DEB_BUILD_PROFILES=$profiles dpkg-buildpackage -b -us -uc) >"$work/build.log" 2>&1 ||
        { tail -n 40 "$work/build.log"; exit 1; }
fi
echo "-- lintian finds neither errors nor warnings"
lintian --fail-on error,warning --allow-root "$debs"/vrtd*.deb

version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" meson.build)
later=${version%?}9
mkdir "$work/next"
for deb in "$debs"/vrtd_*.deb "$debs"/vrtd-doc_*.deb "$debs"/vrtd-cuda_*.deb; do
    [ ! -e "$deb" ] || next "$deb"
done

root=$work/root
if [ -n "$tree" ]; then
    cp -a "$tree" "$root"
else
    echo "-- a tree of Debian is made"
    . /etc/os-release
    debootstrap --variant=minbase "$VERSION_CODENAME" "$root" >"$work/debootstrap.log" 2>&1 ||
        { tail -n 1 "$work/debootstrap.log"; skip "no tree of Debian can be made"; }
fi
cp /etc/resolv.conf "$root/etc/"
mkdir "$root/packages" "$root/packages/next"
cp "$debs"/vrtd_*.deb "$debs"/vrtd-doc_*.deb "$root/packages"
! ls "$debs"/vrtd-cuda_*.deb >/dev/null 2>&1 || cp "$debs"/vrtd-cuda_*.deb "$root/packages"
cp "$work"/next/*.deb "$root/packages/next"
cp tests/package/inside.sh "$root/packages"

# In namespaces of its own: what it mounts and starts ends with it.
unshare --mount --pid --ipc --fork --kill-child --mount-proc="$root/proc" \
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    bash /packages/inside.sh "$version" "$later"
