#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes a natural clip from the Debian package python3-imageio (BSD licence), which need not be
# installed: a cockatoo, 1280x720, 20 frames a second, 14 s; reduced and encoded as H.264.
#
# usage: natural-clip.sh OUTPUT WIDTH HEIGHT [FRAMES]
#
# More FRAMES than the clip has: it is repeated.
set -euo pipefail

output=$1 width=$2 height=$3 frames=${4:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

package=python3-imageio
member=./usr/lib/python3/dist-packages/imageio/resources/images/cockatoo.mp4
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
chmod 755 "$tmp"
if ! (cd "$tmp" && apt-get download -q "$package") >/dev/null 2>&1; then
    # The list of packages may be missing or old.
    "${as_root[@]}" apt-get update -q >/dev/null
    (cd "$tmp" && apt-get download -q "$package") >/dev/null
fi
dpkg-deb --fsys-tarfile "$tmp/$package"_*.deb | tar -xO "$member" >"$tmp/natural.mp4"

loop=()
[ -z "$frames" ] || loop=(-stream_loop -1)
ffmpeg -v error -nostdin "${loop[@]}" -i "$tmp/natural.mp4" ${frames:+-frames:v "$frames"} \
    -vf "scale=$width:$height:flags=bicubic,format=yuv420p" -c:v libx264 -crf 18 -an \
    -y "$tmp/clip.mp4"
mv "$tmp/clip.mp4" "$output"
