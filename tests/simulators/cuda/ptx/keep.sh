#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Has nvcc write PTX, which ccache doesn't keep: where VRT_KEPT names a folder it is kept there,
# under a name that is made of all the files that it depended on when it was compiled last.
#
# usage: keep.sh ROOT OUTPUT DEPFILE NVCC ARGUMENT...
set -eu
root=$1 output=$2 depfile=$3
shift 3
[ -n "${VRT_KEPT-}" ] || exec "$@"

arguments=$({
    "$1" --version
    echo "$*" | sed "s|$root||g"
} | sha256sum | cut -c 1-32)
known=$VRT_KEPT/ptx/$arguments.d

# Where PTX of what the files are now would be kept.
place()
{
    {
        echo "$arguments"
        tr -s ' \\\n' '\n' <"$known" | sed -n "s|^@ROOT@|$root|p" | xargs cat
    } 2>&1 | sha256sum | sed "s|^\(.\{32\}\).*|$VRT_KEPT/ptx/\1.ptx|"
}

if [ -e "$known" ] && kept=$(place) && [ -e "$kept" ]; then
    cp "$kept" "$output"
    sed "s|@ROOT@|$root|g" "$known" >"$depfile"
    touch "$known" "$kept"
    exit
fi
"$@"
mkdir -p "$VRT_KEPT/ptx"
sed "s|$root|@ROOT@|g" "$depfile" >"$known.$$"
mv "$known.$$" "$known"
kept=$(place)
cp "$output" "$kept.$$"
mv "$kept.$$" "$kept"
find "$VRT_KEPT/ptx" -type f -mtime +7 -delete
