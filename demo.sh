#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what is missing, builds vrtd, and restores a video with the built-in network on every
# device of this machine, by a daemon of its own in a temporary folder.
#
# usage: demo.sh [VIDEO]
#
# Without VIDEO it takes a natural clip from a Debian package (tests/bench/natural-clip.sh), reduced
# to 480x270. The results are left in demo-output/: the restored video and before-after.png.
set -euo pipefail
cd "$(dirname "$0")"

if [ $# -gt 1 ] || [ "${1:-}" = -h ] || [ "${1:-}" = --help ]; then
    sed -n 's/^# \{0,1\}//; 4,10p' "$0"
    [ $# -le 1 ] && exit 0 || exit 2
fi
case ${1-} in
-*) echo "demo.sh: unknown option '$1': see demo.sh --help" >&2; exit 2 ;;
esac
if [ $# -eq 1 ] && [ ! -r "$1" ]; then
    echo "demo.sh: cannot read '$1': name a video file, or none at all" >&2
    exit 1
fi

./deps.sh --demo
[ -f build/build.ninja ] ||
    meson setup build -Dsimulated_cuda=disabled -Dsimulated_xpu=disabled >/dev/null
echo "demo.sh: building (build/); that takes minutes the first time"
# On a terminal ninja says how far it is, in a line that it writes over.
if [ -t 1 ]; then
    ninja -C build
else
    ninja -C build >build/demo-build.log || { tail -n 30 build/demo-build.log; exit 1; }
fi

tmp=$(mktemp -d)
daemon=
finish()
{
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir -p demo-output
if [ $# -eq 1 ]; then
    input=$1
else
    input=demo-output/natural-480x270.mp4
    if [ ! -s "$input" ]; then
        echo "demo.sh: fetching a natural clip"
        tests/bench/natural-clip.sh "$input" 480 270
    fi
fi
name=$(basename "$input")
output=demo-output/${name%.*}-restored.mp4

export VRTD_SOCKET=$tmp/vrtd.sock
build/daemon/vrtd --socket "$VRTD_SOCKET" --state-dir "$tmp/state" &
daemon=$!
for _ in $(seq 100); do
    build/client/vrtctl status >/dev/null 2>&1 && break
    kill -0 "$daemon" 2>/dev/null || { echo "demo.sh: vrtd did not start" >&2; exit 1; }
    sleep 0.1
done
build/client/vrtctl devices
echo
build/client/vrtctl submit --follow --overwrite --output "$output" "$input"

# One frame from the middle, enlarged plainly (left) and restored (right).
seconds=$(ffprobe -v error -show_entries format=duration -of csv=p=0 "$output")
middle=$(awk "BEGIN { print ${seconds:-0} / 2 }")
ffmpeg -v error -nostdin -ss "$middle" -i "$input" -ss "$middle" -i "$output" -filter_complex \
    '[0:v][1:v]scale2ref=flags=bicubic[a][b];[a]format=rgb24[c];[b]format=rgb24[d];[c][d]hstack' \
    -frames:v 1 -update 1 -y demo-output/before-after.png
echo
echo "restored video:  $PWD/$output"
echo "before | after:  $PWD/demo-output/before-after.png"
