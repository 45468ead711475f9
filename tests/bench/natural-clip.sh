#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes a natural clip from a Debian package, which need not be installed: a cockatoo of
# python3-imageio (BSD licence), 1280x720, 20 frames a second, 14 s. Since Debian 13 that package
# has no videos: then a city of python-kivy-examples (CC0), 720x405, 25 frames a second, 7.6 s. It
# is reduced and encoded as H.264.
#
# usage: natural-clip.sh OUTPUT WIDTH HEIGHT [FRAMES]
#
# More FRAMES than the clip has: it is repeated.
set -euo pipefail

output=$1 width=$2 height=$3 frames=${4:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
chmod 755 "$tmp"

# extract PACKAGE MEMBER: has the package's file in natural.mp4; fails where it has none.
extract()
{
    if ! (cd "$tmp" && apt-get download -q "$1") >/dev/null 2>&1; then
        # The list of packages may be missing or old.
        "${as_root[@]}" apt-get update -q >/dev/null
        (cd "$tmp" && apt-get download -q "$1") >/dev/null
    fi
    dpkg-deb --fsys-tarfile "$tmp/$1"_*.deb | tar -xO "$2" >"$tmp/natural.mp4" 2>"$tmp/log"
}

extract python3-imageio ./usr/lib/python3/dist-packages/imageio/resources/images/cockatoo.mp4 ||
    extract python-kivy-examples ./usr/share/kivy-examples/widgets/cityCC0.mpg || {
    cat "$tmp/log" >&2
    exit 1
}

loop=()
[ -z "$frames" ] || loop=(-stream_loop -1)
ffmpeg -v error -nostdin "${loop[@]}" -i "$tmp/natural.mp4" ${frames:+-frames:v "$frames"} \
    -vf "scale=$width:$height:flags=bicubic,format=yuv420p" -c:v libx264 -crf 18 -an \
    -y "$tmp/clip.mp4"
mv "$tmp/clip.mp4" "$output"
