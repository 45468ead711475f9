#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Has nvcc write PTX, which ccache doesn't keep: where VRT_KEPT names a folder it is kept there,
# under a name that is made of all that it depends on.
#
# usage: keep.sh ROOT OUTPUT DEPFILE NVCC ARGUMENT...
set -eu
root=$1 output=$2 depfile=$3
shift 3
[ -n "${VRT_KEPT-}" ] || exec "$@"

name=$({
    "$1" --version
    echo "$*" | sed "s|$root||g"
    cd "$root" && find proto workers -name '*.cu*' -o -name '*.h' | LC_ALL=C sort | xargs cat
} | sha256sum | cut -c 1-32)
kept=$VRT_KEPT/ptx/$name
if [ -e "$kept.ptx" ]; then
    cp "$kept.ptx" "$output"
    sed "s|@ROOT@|$root|g" "$kept.d" >"$depfile"
    exit
fi
"$@"
mkdir -p "$VRT_KEPT/ptx"
sed "s|$root|@ROOT@|g" "$depfile" >"$kept.d"
cp "$output" "$kept.$$"
mv "$kept.$$" "$kept.ptx"
find "$VRT_KEPT/ptx" -type f -mtime +7 -delete
