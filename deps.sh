#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what vrtd needs on Debian and Ubuntu, and nothing that is there already.
#
# usage: deps.sh [--build | --demo | --test] [--list]
#   --build   what compiling and running needs
#   --demo    ... and the demonstration (the ffmpeg program)
#   --test    ... and all tests (clang, sanitizers, fuzzers): the default
#   --list    only print the names of the packages that are missing
set -euo pipefail

build=(gcc libc6-dev meson ninja-build pkg-config python3
       libuv1-dev libjansson-dev libcurl4-openssl-dev nettle-dev libinih-dev libsqlite3-dev libzip-dev
       libdnnl-dev libavformat-dev libavcodec-dev libavutil-dev libswscale-dev
       libsystemd-dev scdoc node-llhttp ca-certificates)
demo=(ffmpeg dpkg)
test=(g++ clang libclang-rt-dev llvm python3-yaml systemd procps tmux openssl
      libze-dev libze1 spirv-tools pocl-opencl-icd ocl-icd-opencl-dev intel-opencl-icd)
# What turns LLVM's form of a kernel into SPIR-V has the number of the LLVM that clang is of.
llvm=$(apt-cache show clang 2>/dev/null | sed -n 's/^Depends:.*clang-\([0-9]*\).*/\1/p' | head -n 1)
test+=("llvm-spirv-${llvm:-14}")

level=test list=no
for arg in "$@"; do
    case $arg in
    --build | --demo | --test) level=${arg#--} ;;
    --list) list=yes ;;
    -h | --help) sed -n 's/^# \{0,1\}//; 4,11p' "$0"; exit 0 ;;
    *) echo "deps.sh: unknown option '$arg': see deps.sh --help" >&2; exit 2 ;;
    esac
done

wanted=("${build[@]}")
[ "$level" = build ] || wanted+=("${demo[@]}")
[ "$level" != test ] || wanted+=("${test[@]}")

if ! command -v dpkg-query >/dev/null; then
    echo "deps.sh: this is neither Debian nor Ubuntu; install the equivalents of: ${wanted[*]}" >&2
    exit 1
fi

missing=()
for package in "${wanted[@]}"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
if [ $list = yes ]; then
    [ ${#missing[@]} -eq 0 ] || printf '%s\n' "${missing[@]}"
    exit 0
fi
if [ ${#missing[@]} -eq 0 ]; then
    echo "deps.sh: everything is installed"
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps.sh: needs root (or sudo) to install: ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

echo "deps.sh: installing ${missing[*]}"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q
         --no-install-recommends "${missing[@]}")
# A machine whose package list is fresh need not fetch it again.
if ! "${install[@]}" >/dev/null 2>&1; then
    "${as_root[@]}" apt-get update -q
    "${install[@]}"
fi
