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
       zlib1g-dev libdnnl-dev libavformat-dev libavfilter-dev libavcodec-dev libavutil-dev
       libprotobuf-c-dev protobuf-c-compiler libswscale-dev libseccomp-dev libsystemd-dev scdoc ca-certificates)
demo=(ffmpeg dpkg)
test=(g++ ccache lld clang libclang-rt-dev llvm python3-yaml systemd procps strace tmux openssl fish zsh)

# is_missing PACKAGE: whether it is to be installed.
is_missing()
{
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" != installed ]
}

# is_known PACKAGE: whether apt has it.
is_known()
{
    apt-cache show "$1" >/dev/null 2>&1
}

# The parser of HTTP is a library since Debian 13; before, node-llhttp has its sources.
if [ ! -e /usr/share/llhttp/llhttp.c ] && is_known libllhttp-dev; then
    build+=(libllhttp-dev)
else
    build+=(node-llhttp)
fi

# The browser that tests of the page drive. Ubuntu has it as no package.
! is_known chromium || test+=(chromium)

# What Intel GPUs need, and their tests. Left out where apt has it not: vrtd does without.
# What turns LLVM's form of a kernel into SPIR-V has the number of the LLVM that clang is of. (The
# package clang would make it the machine's C++ compiler, too, where there is no other.)
llvm=$({ dpkg-query -W -f='Depends: ${Depends}\n' clang || apt-cache show clang; } 2>/dev/null |
    sed -n 's/^Depends:.*clang-\([0-9]*\).*/\1/p' | head -n 1) || true
xpu=(libze1 libze-dev spirv-tools "clang-${llvm:-14}" "llvm-spirv-${llvm:-14}")
xpu_test=(pocl-opencl-icd ocl-icd-opencl-dev intel-opencl-icd valgrind)
# Their driver, where there is one: Debian 12 has the second name only, Debian 13 neither.
if grep -qs 0x8086 /sys/class/drm/renderD*/device/vendor; then
    if is_known libze-intel-gpu1; then
        xpu+=(libze-intel-gpu1)
    else
        xpu+=(intel-opencl-icd)
    fi
fi

level=test list=no
for arg in "$@"; do
    case $arg in
    --build | --demo | --test) level=${arg#--} ;;
    --list) list=yes ;;
    -h | --help) sed -n 's/^# \{0,1\}//; 4,11p' "$0"; exit 0 ;;
    *) echo "deps.sh: unknown option '$arg': see deps.sh --help" >&2; exit 2 ;;
    esac
done

optional=("${xpu[@]}")
[ "$level" != test ] || optional+=("${xpu_test[@]}")
wanted=("${build[@]}")
[ "$level" = build ] || wanted+=("${demo[@]}")
[ "$level" != test ] || wanted+=("${test[@]}")

if ! command -v dpkg-query >/dev/null; then
    echo "deps.sh: this is neither Debian nor Ubuntu; install the equivalents of: ${wanted[*]};" \
        "for Intel GPUs: ${optional[*]}" >&2
    exit 1
fi

missing=() missing_optional=()
for package in "${wanted[@]}"; do
    ! is_missing "$package" || missing+=("$package")
done
for package in "${optional[@]}"; do
    [[ " ${wanted[*]} " == *" $package "* ]] || ! is_missing "$package" ||
        missing_optional+=("$package")
done
if [ $list = yes ]; then
    printf '%s\n' "${missing[@]}" "${missing_optional[@]}" | sed '/^$/d'
    exit 0
fi
if [ $((${#missing[@]} + ${#missing_optional[@]})) -eq 0 ]; then
    echo "deps.sh: everything is installed"
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps.sh: needs root (or sudo) to install: ${missing[*]} ${missing_optional[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

# A machine whose package list is fresh need not fetch it again. One that has none can't say which
# LLVM it has, nor what the parser of HTTP is called.
if { [ -z "$llvm" ] || ! is_known "${build[-1]}"; } && [ -z "${DEPS_HAVE_LIST-}" ]; then
    "${as_root[@]}" apt-get update -q
    DEPS_HAVE_LIST=yes exec "$0" "$@"
fi

left_out=()
for package in "${missing_optional[@]}"; do
    if is_known "$package"; then
        missing+=("$package")
    else
        left_out+=("$package")
    fi
done
[ ${#left_out[@]} -eq 0 ] ||
    echo "deps.sh: not to be had here, and only for Intel GPUs: ${left_out[*]}"
if [ ${#missing[@]} -eq 0 ]; then
    echo "deps.sh: everything else is installed"
    exit 0
fi

echo "deps.sh: installing ${missing[*]}"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q
         --no-install-recommends "${missing[@]}")
if ! "${install[@]}" >/dev/null 2>&1; then
    "${as_root[@]}" apt-get update -q
    "${install[@]}"
fi
