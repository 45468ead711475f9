#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the engine where there is a GPU and little else, tests it there, measures it beside
# PyTorch, and ends in one table.
#
# usage: tests/gpu.sh [--quick] [--sanitizer] [--out DIR] [--seconds N]
#   --quick      the shortest benchmarks only
#   --sanitizer  conformance under compute-sanitizer, too
#   --out DIR    where the build and the logs go; default: build-gpu, or a new folder in TMPDIR
#   --seconds N  to be done within; default 540
#
# Needs compilers of C and C++, Python, meson, ninja and CUDA's nvcc; PyTorch, if it is there, is
# measured against. Nothing is installed or downloaded. A stage that fails, or takes too long,
# doesn't keep the others from running; who stops it gets the table of what was done. Exit status:
# 0; 1 if a stage that shows whether results are right failed; 77 if there is no GPU, when all that
# needs none has passed; 130 if it was stopped; 2 for wrong usage.
set -uo pipefail
started=$SECONDS
source=$(cd "$(dirname "$0")/.." && pwd)

quick=no sanitizer=no out='' seconds=540 device=cuda:0 stopped=no
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=yes ;;
    --sanitizer) sanitizer=yes ;;
    --out | --seconds | --device)
        [ $# -ge 2 ] || { echo "gpu.sh: $1 needs a value" >&2; exit 2; }
        case $1 in --out) out=$2 ;; --seconds) seconds=$2 ;; *) device=$2 ;; esac
        shift ;;
    -h | --help) sed -n 's/^# \{0,1\}//; 4,17p' "$0"; exit 0 ;;
    *) echo "gpu.sh: unknown option '$1': see gpu.sh --help" >&2; exit 2 ;;
    esac
    shift
done
kind=${device%%:*}
# can_run FOLDER: whether programs can be put there and run.
can_run()
{
    mkdir -p "$1" 2>/dev/null && printf '#!/bin/sh\n' 2>/dev/null >"$1/trial" &&
        chmod +x "$1/trial" && "$1/trial" 2>/dev/null
    local status=$?
    rm -f "$1/trial"
    return $status
}
if [ -z "$out" ]; then
    out=$source/build-gpu
    can_run "$out" || out=$(mktemp -d -t vrtd-gpu.XXXXXX) || exit 1
    can_run "$out" || { rm -rf "$out"; out=$(mktemp -d /var/tmp/vrtd-gpu.XXXXXX) || exit 1; }
fi
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
can_run "$out" || { echo "gpu.sh: programs in $out can't be run: name another --out" >&2; exit 1; }
# What ccache, PyTorch and the driver keep, where there is no home for it.
[ -w "${HOME-/nonexistent}" ] || export HOME=$out
export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-$out/inductor}
rm -f "$out"/*.log "$out"/*.tsv "$out"/bench.json "$out"/report.txt
build=$out/build rows=$out/rows.tsv
: >"$rows"
failed=0

# row WHAT RESULT [FIGURE [GOAL]]: a line of the table. One that begins with FAILED counts.
row()
{
    # What was stopped has not failed.
    [ $stopped = no ] || { [ "$2" = passed ] || set -- "$1" 'not done'; }
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "${3-}" "${4-}" >>"$rows"
    [ "$2" != FAILED ] || failed=$((failed + 1))
    echo "== $1: $2 ${3-}"
}

# left SECONDS: so many, or what is left of the time for everything, but 1 at least.
left()
{
    local rest=$((seconds - (SECONDS - started) - 5))
    echo $(($1 < rest ? $1 : rest > 1 ? rest : 1))
}

# waited SECONDS COMMAND...: runs it so long at most, beside us, so that a signal is taken at once.
running=''
waited()
{
    local status
    [ $stopped = no ] || return 130
    timeout -k 5 "$@" </dev/null &
    running=$!
    wait "$running"
    status=$?
    # It is told, and what it leaves behind is waited for.
    [ $stopped = no ] || wait "$running"
    running=''
    return $status
}
stop()
{
    stopped=yes seconds=0
    [ -z "$running" ] || kill -TERM "$running" 2>/dev/null
}
trap stop INT TERM HUP

# limited SECONDS LOG COMMAND...: runs it so long at most, its output appended to the log.
limited()
{
    local limit log=$2
    limit=$(left "$1")
    shift 2
    printf '$ %s\n' "$*" >>"$log"
    waited "$limit" "$@" >>"$log" 2>&1
    local status=$?
    [ $status -ne 124 ] || echo "stopped after $limit s" >>"$log"
    return $status
}

# first COMMAND...: the first line of what it prints, or nothing.
first()
{
    timeout 90 "$@" 2>/dev/null </dev/null | head -n 1
}

meson=$(command -v meson) || meson="python3 -m mesonbuild.mesonmain"
ninja=$(command -v ninja || command -v ninja-build) || ninja="python3 -m ninja"
compute_sanitizer=$(command -v compute-sanitizer ||
    ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
python=python3 torch='' cublaslt='' cudnn=''
for candidate in python3 /usr/bin/python3; do
    torch=$(first "$candidate" -c 'import numpy, torch; print(torch.__version__)')
    [ -z "$torch" ] || { python=$candidate; break; }
done

# Also where Python's packages have it.
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || "$python" -c '
import glob, nvidia
print(*(f for p in nvidia.__path__ for f in glob.glob(p + "/*/bin/nvcc")), sep="\n")' 2>/dev/null |
    head -n 1)
nvcc_fails=''
if [ -n "$nvcc" ]; then
    printf '#include <cuda_runtime.h>\n__global__ void nothing() {}\n' >"$out/trial.cu"
    nvcc_fails=$(timeout 90 "$nvcc" -c "$out/trial.cu" -o "$out/trial.o" 2>&1 </dev/null) &&
        nvcc_fails=''
    rm -f "$out"/trial.*
fi

# The machine: what is there, and what is left out for want of it

describe_machine()
{
    local commit
    # Of this tree, whoever owns it; not of one that it lies in.
    local git=(git -c safe.directory='*' -C "$source" rev-parse)
    commit=${VRT_COMMIT-}
    [ -n "$commit" ] || [ -n "$("${git[@]}" --show-cdup 2>&1)" ] ||
        commit=$("${git[@]}" --short HEAD 2>/dev/null)
    date -u '+date       %Y-%m-%d %H:%M UTC'
    echo "commit     ${commit:-unknown}"
    echo "processor  $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
        "$(nproc) threads"
    if [ -n "$gpu" ]; then
        echo "GPU        $gpu"
    else
        echo "GPU        none that nvidia-smi or the driver knows"
    fi
    echo "nvcc       ${nvcc:-none: the plugin for CUDA is left out}" \
        "${nvcc:+$("$nvcc" --version | sed -n 's/^.*release \([0-9.]*\).*/(\1)/p')}"
    echo "compiler   $(first "${CC:-cc}" --version)"
    echo "PyTorch    ${torch:-none: ours is measured alone}"
    echo "sanitizer  ${compute_sanitizer:-none}"
    echo "logs       $out"
}
# gpus_of_driver: what the driver says, where nvidia-smi isn't, or too old for the question.
gpus_of_driver()
{
    timeout 60 "$python" - 2>/dev/null <<'END'
import ctypes
driver, n, value = ctypes.CDLL('libcuda.so.1'), ctypes.c_int(), ctypes.c_int()
assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(n)) == 0
for i in range(n.value):
    name, parts = ctypes.create_string_buffer(100), []
    driver.cuDeviceGetName(name, 100, i)
    for attribute in (75, 76):
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, i)
        parts.append(str(value.value))
    print(f'{name.value.decode()}, {".".join(parts)}')
END
}
gpu=$({ timeout 20 nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap \
    --format=csv,noheader 2>/dev/null | grep ', [0-9]*\.[0-9]$' || gpus_of_driver; } |
    head -n 8 | paste -sd ';' -)
describe_machine | tee "$out/report.txt"

# add_python_packages: what came with Python's packages is found where there are no other libraries.
add_python_packages()
{
    local folder library
    for folder in $("$python" -c 'import nvidia; print(*nvidia.__path__, sep="\n")' 2>/dev/null); do
        for library in "$folder"/*/lib/lib{cudnn,nccl,cublasLt,nvrtc}.so.*; do
            [ ! -e "$library" ] || LD_LIBRARY_PATH+=:$(dirname "$library")
        done
    done
}
# find_library NAME FUNCTION: its version, by the function that tells it as M*10000 + m*100 + p.
find_library()
{
    "$python" - "$@" 2>/dev/null <<'END' || echo none
import ctypes, sys
tell = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])
tell.restype = ctypes.c_size_t
version = tell()
print(f'{version // 10000}.{version // 100 % 100}.{version % 100}')
END
}

if [ -n "$nvcc_fails" ]; then
    row 'nvcc' FAILED "$(grep -m 1 -i 'fatal\|error' <<<"$nvcc_fails")"
    nvcc=''
elif [ -z "$nvcc" ] && [ "$kind" = cuda ] && [ -n "$gpu" ]; then
    row 'nvcc' FAILED 'there is none: put it on PATH'
fi
if [ -n "$nvcc" ]; then
    toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    export PATH=$(dirname "$nvcc"):$PATH
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$toolkit/lib64:$toolkit/lib
    add_python_packages
    cuda_major=$("$nvcc" --version | sed -n 's/^.*release \([0-9]*\).*/\1/p')
    cublaslt=$(find_library "libcublasLt.so.$cuda_major" cublasLtGetVersion)
    cudnn=$(find_library libcudnn.so.9 cudnnGetVersion)
    echo "libraries  cuBLASLt $cublaslt, cuDNN $cudnn" | tee -a "$out/report.txt"
fi

# The build

build_engine()
{
    local archs options=(-Ddaemon=disabled -Dauto_features=disabled -Dbuildtype=release)
    # Of the cards that are there, each once: "9.0" is 90. What nvcc doesn't know yet is left to
    # the driver, which compiles for it what is for the newest before it.
    archs=$(tr ';' '\n' <<<"$gpu" | sed -n 's/.*, \([0-9]*\)\.\([0-9]\)$/\1\2/p' |
        while read -r arch; do
            "$nvcc" --list-gpu-arch | sed -n 's/^compute_\([0-9]*\)$/\1/p' | sort -n |
                awk -v "arch=$arch" '$1 <= arch { best = $1 } END { if (best) print best }'
        done | sort -nu | paste -sd , -)
    [ -z "$nvcc" ] || options+=(-Dcuda=enabled "-Dgpu_archs=${archs:-90}")
    [ "$kind" != cpu ] || options+=(-Dcpu=enabled)
    rm -rf "$build"
    limited 60 "$out/build.log" $meson setup "$build" "$source" "${options[@]}" &&
        limited 240 "$out/build.log" $ninja -C "$build" gpu-tests
}
stage_started=$SECONDS
if build_engine; then
    row 'build' passed "$((SECONDS - stage_started)) s"
else
    row 'build' FAILED "$(grep -m 1 -E 'ERROR:|fatal|error:|^stopped' "$out/build.log" |
        cut -c 1-200)"
    tail -n 30 "$out/build.log"
fi
# The simulated device's tests say which folder the plugin is in by the same variable.
export VRTD_PLUGIN_DIR=${VRTD_PLUGIN_DIR-$build/workers/backend/cuda}
unit=$build/tests/unit/model bench=$build/tests/bench

has_device()
{
    limited 60 "$out/device.log" "$bench/bench-engine" --device "$device" --network vrt:0 \
        --frames 2 --repeat 1 --debug
}
# why_none: what keeps the device from being found, or else the last that was said.
why_none()
{
    { grep -o 'no CUDA devices.*' "$out/device.log" || tail -n 1 "$out/device.log"; } | head -n 1
}
present=no
if [ ! -x "$bench/bench-engine" ]; then
    row 'device' 'not tried' 'there is no build'
elif has_device; then
    present=yes
    row 'device' passed "$(sed -n 's/^device *//p' "$out/device.log")"
elif ! grep -q 'has no device' "$out/device.log"; then
    # There is one, which can't compute all: what it can, it shall show.
    present=yes
    row 'device' FAILED "$(why_none)"
elif [ -n "$gpu" ]; then
    row 'device' FAILED "$(why_none)"
fi

# Whether results are right

# run_one FOLDER PROGRAM [PREFIX...]: one of them, its output and status put into the folder.
run_one()
{
    local folder=$1 program=$2
    shift 2
    "$@" "$build/tests/conformance/$program" "@$kind" >"$folder/$program.out" 2>&1 </dev/null
    echo $? >"$folder/$program.status"
}
export -f run_one
export build kind

# conformance NAME SECONDS [PREFIX...]: conf-OP of all ops, four at a time, each behind the prefix.
conformance()
{
    local name=$1 limit=$2 all good bad skipped
    shift 2
    local folder=$out/$name
    rm -rf "$folder"
    mkdir -p "$folder"
    # shellcheck disable=SC2016
    find "$build/tests/conformance" -maxdepth 1 -name 'conf-*' -type f -perm -u+x -printf '%f\n' |
        sort >"$folder/list"
    waited "$(left "$limit")" xargs -a "$folder/list" -P 4 -I{} \
        bash -c 'run_one "$@"' _ "$folder" {} "$@"
    all=$(find "$build/tests/conformance" -maxdepth 1 -name 'conf-*' -type f -perm -u+x | wc -l)
    good=$(cat "$folder"/*.status 2>/dev/null | grep -cx 0)
    skipped=$(cat "$folder"/*.status 2>/dev/null | grep -cx 77)
    bad=$(cat "$folder"/*.status 2>/dev/null | grep -cvxE '0|77')
    for status in "$folder"/*.status; do
        [ -e "$status" ] || continue
        echo "== $(basename "$status" .status): exit status $(cat "$status")"
        cat "${status%.status}.out"
    done >"$out/$name.log"
    rm -rf "$folder"
    local figure="$good of $all ops"
    [ "$skipped" -eq 0 ] || figure+=", $skipped not there"
    [ $((good + skipped + bad)) -eq "$all" ] || figure+=", $((all - good - skipped - bad)) not done"
    if [ "$bad" -gt 0 ] || { [ "$good" -lt "$all" ] && [ "$name" = conformance ]; }; then
        row "$name" FAILED "$figure"
        sed -n '/exit status 0$/!s/^== /   /p' "$out/$name.log"
        grep -E '@.*: (element|it wrote|the error|its output)|[1-9][0-9]* failed|ERROR' \
            "$out/$name.log" | head -n 20
    elif [ "$good" -eq "$all" ]; then
        row "$name" passed "$figure" "$all of $all"
    else
        row "$name" 'in part' "$figure" "$all of $all"
    fi
}

# has_libraries: whether both are there; without them our own kernels would pass in their place.
has_libraries()
{
    [ "$cublaslt" != none ] && [ "$cudnn" != none ]
}

# products NAME GOOD WANTED LOG: the row of so many programs that passed of those wanted.
products()
{
    local figure="$2 of $3 ops"
    if [ "$2" -eq "$3" ]; then
        row "$1" passed "$figure" "$3 of $3"
    else
        row "$1" FAILED "$figure" "$3 of $3"
        grep -E '@.*: (element|it wrote|the error|its output)|[1-9][0-9]* failed|warning|ERROR' \
            "$4" | head -n 10
    fi
}

# by_libraries: the ops that NVIDIA's libraries may compute, all that they can by them.
by_libraries()
{
    local op log=$out/libraries.log good=0
    if ! has_libraries; then
        row 'conformance, by libraries' skipped "cuBLASLt $cublaslt, cuDNN $cudnn" '2 of 2'
        return
    fi
    for op in linear conv2d; do
        VRT_TEST_CUDA_LIBRARIES=all VRT_CONF_ALL_IN_ARENA=1 limited 60 "$log" \
            "$build/tests/conformance/conf-$op" "@$kind" && good=$((good + 1))
    done
    if grep -q 'nothing from now on\|what a library should' "$log"; then
        row 'conformance, by libraries' FAILED 'a library gave up' '2 of 2'
        grep 'warning' "$log" | head -n 10
    else
        products 'conformance, by libraries' $good 2 "$log"
    fi
}

# large NAME [VARIABLE=VALUE...]: products as large as a card takes its largest tiles for.
large()
{
    local op name=$1 log=$out/large.log good=0
    shift
    for op in linear conv2d deform_conv2d; do
        limited 60 "$log" env VRT_CONF_LARGE=1 "$@" "$build/tests/conformance/conf-$op" "@$kind" \
            --plain && good=$((good + 1))
    done
    products "$name" $good 3 "$log"
}

# golden_one FOLDER PRECISION CASE: one of them, its output and status put into the folder.
golden_one()
{
    local program=test-vrt-golden name=${3//\//-}
    [ "${3%%/*}" != "$3" ] || program=test-model-parity
    "$unit/$program" "$device" "$2" "$3" >"$1/$name.out" 2>&1 </dev/null
    echo $? >"$1/$name.status"
}
export -f golden_one
export unit device

# golden PRECISION [HOW]: pictures' networks and VRT against what was computed elsewhere.
golden()
{
    local folder=$out/golden status good skipped goal='1e-4'
    local cases=(compact-x2 compact-x4 esrgan-x2 esrgan-x4 swinir-shuffle swinir-jpeg span-x4
        spanf3-x2 basicvsr-x4 basicvsr-same-odd rife-v4_25 vrt/vfi vrt/deblur vrt/denoise
        vrt/sr-pa2 vrt/sr-pa2-odd vrt/sr-pa4 vrt/sr-pa6 flow/sr-pa2 flow/sr-pa2-odd flow/sr-pa6)
    # The reference device takes minutes for the larger ones.
    [ "$kind" != ref ] || cases=("${cases[@]:0:12}")
    [ "$1" = f32 ] || goal='2e-2, 50 dB, flows of f32'
    rm -rf "$folder"
    mkdir -p "$folder"
    # shellcheck disable=SC2016
    printf '%s\n' "${cases[@]}" >"$folder/list"
    waited "$(left 90)" xargs -a "$folder/list" -P 4 -I{} \
        bash -c 'golden_one "$@"' _ "$folder" "$1" {}
    good=$(cat "$folder"/*.status 2>/dev/null | grep -cx 0)
    skipped=$(cat "$folder"/*.status 2>/dev/null | grep -cx 77)
    for status in "$folder"/*.out; do
        [ -e "$status" ] && cat "$status"
    done >"$out/golden-$1${2-}.log"
    rm -rf "$folder"
    if [ "$skipped" -eq ${#cases[@]} ] && [ "$kind" != cuda ]; then
        row "golden, $1${2-}" skipped \
            "$(sed -n 's/^skipped: //p' "$out/golden-$1${2-}.log" | head -n 1)" "$goal"
    elif [ "$good" -eq ${#cases[@]} ]; then
        row "golden, $1${2-}" passed "$good of ${#cases[@]} cases" "$goal"
    else
        row "golden, $1${2-}" FAILED "$good of ${#cases[@]} cases" "$goal"
        grep -E '^[^ ]*\.c:[0-9]+: ' "$out/golden-$1${2-}.log" | head -n 14
    fi
}

# workers NAME RUNS ARGUMENT...: two workers on the device at once: the same bits; how busy it is.
workers()
{
    local log=$out/workers.log name=$1 runs=$2 busy
    shift 2
    limited 60 "$log" "$bench/bench-engine" --device "$device" --workers 2 --repeat "$runs" "$@"
    local status=$? figure
    figure=$(tail -n 1 "$log")
    case $figure in
    workers*'the same to the bit'*)
        row "two workers, $name" passed 'the same bits' 'the same bits' ;;
    *) row "two workers, $name" FAILED "$figure (exit status $status)" 'the same bits' ;;
    esac
    busy=$(sed -n 's/^workers.* s: \([0-9.]*\) % of it.*/\1/p' <<<"$figure")
    [ -n "$busy" ] || return
    row "device busy computing, $name" \
        "$(awk "BEGIN { print ($busy >= 95) ? \"reached\" : \"missed\" }")" "$busy %" '95 %'
}

if [ $present = yes ]; then
    conformance conformance 120
    large 'conformance, large'
    if [ "$kind" = cuda ]; then
        by_libraries
        ! has_libraries || large 'conformance, large, by libraries' VRT_TEST_CUDA_LIBRARIES=all \
            VRT_CONF_ALL_IN_ARENA=1
    fi
    for precision in f32 f16 bf16; do
        golden $precision
    done
    if [ "$kind" = cuda ] && has_libraries; then
        VRT_TEST_CUDA_LIBRARIES=all golden f16 ', by libraries'
    fi
    # The reference device takes long for anything larger.
    if [ "$kind" = ref ]; then
        workers Compact 2 --network compact --size 48x32
    else
        workers 'smallest VRT' 5 --network vrt:0 --frames 3
    fi
    if [ "$kind" = cuda ]; then
        workers 'VRT 001, f16' 10 --network vrt:1 --frames 6 --size 320x180 --precision f16
    fi
    row 'timeline of vrtd' skipped 'this build has no vrtd' '95 %'
    if [ $sanitizer = no ]; then
        row 'compute-sanitizer' skipped 'only with --sanitizer' 'no error'
    elif [ "$kind" != cuda ] || [ -z "$compute_sanitizer" ]; then
        row 'compute-sanitizer' skipped 'there is none, or no GPU' 'no error'
    else
        for tool in memcheck racecheck; do
            conformance $tool 100 "$compute_sanitizer" --tool $tool --error-exitcode 9 \
                --launch-timeout 0
        done
    fi

    # How fast it is

    options=(--device "$device" --python "$python" --log "$out/bench.json"
        --rows "$out/bench.tsv" --errors "$out/bench-pytorch.log")
    [ $quick = no ] || options+=(--quick --rounds 1)
    [ "$kind" = cuda ] || options+=(--small --rounds 1)
    if [ "$kind" = ref ]; then
        row 'benchmarks' skipped 'the reference device is as slow as can be'
    elif [ "$(left 60)" -lt 20 ]; then
        row 'benchmarks' 'not measured' 'no time was left'
    else
        budget=$(left 420)
        limited "$budget" "$out/bench.log" "$python" "$source/tests/bench/bench-gpu.py" "$build" \
            "${options[@]}" --seconds $((budget - 10)) ||
            row 'benchmarks' 'not measured' "see $out/bench.log"
        cat "$out/bench.tsv" >>"$rows" 2>/dev/null
    fi
fi

# The table

print_table()
{
    local what result figure goal count
    printf '\n%-58s %-13s %-46s %s\n' STAGE RESULT FIGURE GOAL
    while IFS= read -r line; do
        IFS='|' read -r what result figure goal <<<"${line//$'\t'/|}"
        printf '%-58s %-13s %-46s %s\n' "$what" "$result" "$figure" "$goal"
    done <"$rows"
    count=$(cut -f 2 "$rows" | sort | uniq -c | awk '{
        n = $1; $1 = ""; printf "%s%d%s", sep, n, $0; sep = ", " }')
    if [ $stopped = yes ]; then
        echo "gpu.sh: stopped: $count; $((SECONDS - started)) s; logs in $out"
    elif [ $failed -gt 0 ]; then
        echo "gpu.sh: FAILED: $count; $((SECONDS - started)) s; logs in $out"
    elif [ $present = no ]; then
        echo "gpu.sh: there is no device $device here, so that only the build was tried: $count;" \
            "$((SECONDS - started)) s"
    else
        echo "gpu.sh: passed: $count; $((SECONDS - started)) s; logs in $out"
    fi
}
print_table | tee -a "$out/report.txt"
[ $stopped = no ] || exit 130
[ $failed -eq 0 ] || exit 1
[ $present = yes ] || exit 77
exit 0
