#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what is missing, builds vrtd in every way that matters and runs all tests.
#
# usage: check.sh [--quick] [--long]
#   --quick   one build with gcc, its tests, nothing else
#   --long    ... and each fuzzer for 60 seconds, real networks beside ncnn where PyPI is reached,
#             the largest golden cases on the reference device and on simulated cards, ops on one
#             and on eight of these, a hundred kills of vrtd, fifty of vrt-media, ten thousand of
#             its lies, a boot of the units in a container, and what takes sanitizers minutes, on
#             top of all
#
# Ends in a line "N passed, N failed, N skipped"; the exit status is 0 where none failed. Build
# folders and logs are kept in build-check/.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

quick=no long=no
for arg in "$@"; do
    case $arg in
    --quick) quick=yes ;;
    --long) long=yes ;;
    -h | --help) sed -n 's/^# \{0,1\}//; 4,15p' "$0"; exit 0 ;;
    *) echo "check.sh: unknown option '$arg': see check.sh --help" >&2; exit 2 ;;
    esac
done

./deps.sh --test || exit 1
out=build-check
mkdir -p $out
rm -f $out/*.{json,result,built,log}
# What was compiled before, in another clone, too, ccache has: meson finds it by itself, but for a
# compiler that is named. Hundreds of programs are linked by a quick linker, those of the build with
# the least by the usual one, to which the order of libraries matters.
ccache=$(command -v ccache) && ccache+=' '
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=yes
! command -v ld.lld >/dev/null || export CC_LD=lld CXX_LD=lld
# What simulated cards and Intel's driver have compiled, for this processor by this compiler, is kept
# likewise, what nvcc has for the former, which modules Intel's compiler took, clips that this ffmpeg
# made, and what it says of files; of others what is old goes, and files that nobody wanted for two
# weeks.
kept=${XDG_CACHE_HOME:-$HOME/.cache}/vrtd-check
export VRT_KEPT
VRT_KEPT=$kept/$({ clang --version; ffmpeg -version; grep -m 1 ^flags /proc/cpuinfo; } | md5sum |
    cut -c 1-16)
mkdir -p "$VRT_KEPT"
touch "$VRT_KEPT"
find "$kept" -mindepth 1 -maxdepth 1 -mtime +60 -exec rm -rf {} +
[ ! -d "$VRT_KEPT/clips" ] || find "$VRT_KEPT/clips" -maxdepth 1 -type f -atime +14 -delete

# build NAME SUITES SETUP-OPTION...: configures one variant anew, with the compiler CC, and builds
# what is installed and what the suites need; everything where they are ''. What went wrong is in
# NAME.result.
build()
{
    local name=$1 dir=$out/$1 suites=$2 wanted
    shift 2
    rm -rf "$dir"
    # A trace needs lines, not variables: a tenth less to compile.
    if ! meson setup "$dir" --werror -Dc_args=-g1 -Dcpp_args=-g1 "$@" >"$out/$name.setup.log" 2>&1; then
        echo "failed setup" >"$out/$name.result"
        return
    fi
    local folder kept
    for folder in simulators/xpu simulators/mps intel; do
        kept=$VRT_KEPT/${folder##*/}
        [ ! -d "$dir/tests/$folder" ] ||
            { mkdir -p "$kept" && ln -s "$kept" "$dir/tests/$folder/cache"; }
    done
    # Some of what tests need, since meson 1.7, and more of what long ones do, is not built without
    # being asked for.
    wanted="all meson-test-prereq $targets"
    # shellcheck disable=SC2086
    [ -z "$suites" ] || wanted=$(python3 tests/targets.py "$dir" $suites) || wanted=no-targets
    # shellcheck disable=SC2086
    env --default-signal=INT,QUIT ninja -C "$dir" $wanted >"$out/$name.build.log" 2>&1 ||
        echo "failed build" >"$out/$name.result"
}

# of_lane LANE SUITE...: those suites, as options of meson's, that are one lane's: "programs" wait for
# time to pass and compute for a third of it, as tests of whole programs do, "others" compute.
of_lane()
{
    local lane=$1 suite
    shift
    for suite in "$@"; do
        case $suite in
        client | flow* | e2e* | fault*) [ "$lane" != programs ] || echo "--suite=$suite" ;;
        *) [ "$lane" != others ] || echo "--suite=$suite" ;;
        esac
    done
}

# test_variant VARIANT ARGUMENT...: runs tests of it. What runs in the background gets back the signals
# that a shell has it ignore. The sanitizers' options come from the environment.
test_variant()
{
    local variant=$1 environment=("--default-signal=INT,QUIT")
    shift
    [ "$long $variant" != "yes gcc" ] || environment+=(VRTD_LONG=1)
    env "${environment[@]}" meson test -C "$out/$variant" --no-rebuild --timeout-multiplier 3 "$@"
}

# run_lane LANE NICENESS PROCESSES: runs the tests of one lane, a variant after the other, each once it
# is built. No higher than the threads of vrtd's that compute: those of other tests would starve them.
# Whole programs, FFmpeg's among them, don't have meson's MALLOC_PERTURB_, which costs them a tenth of
# their time, since all that codecs allocate is then written to: unit tests have it.
run_lane()
{
    local lane=$1 variant picked started
    renice -n "$2" $BASHPID >/dev/null
    [ "$lane" != programs ] || export MALLOC_PERTURB_=0
    for variant in "${variants[@]}"; do
        until [ -e "$out/$variant.built" ]; do sleep 1; done
        # shellcheck disable=SC2086
        mapfile -t picked < <(of_lane "$lane" ${suites[$variant]})
        if [ ${#picked[@]} -eq 0 ] || grep -qs ^failed "$out/$variant.result"; then
            continue
        fi
        started=$SECONDS
        test_variant "$variant" --logbase "$lane" --num-processes "$3" --print-errorlogs \
            "${picked[@]}" >"$out/$variant.$lane.log" 2>&1 || echo "ran $?" >"$out/$variant.result"
        echo "   $variant: $lane: $((SECONDS - started)) s"
    done
}

# report VARIANT: says what failed and what was skipped, once all tests have run. What failed runs once
# more, alone: a test that then passes is named as unstable.
report()
{
    local name=$1 dir=$out/$1 log failed
    echo "== $name"
    if grep -qs ^failed "$out/$name.result"; then
        tail -n 20 "$out/$name.setup.log"
        grep -sE 'error|warning|FAILED' "$out/$name.build.log" | head -n 40
        return
    fi
    cat "$dir"/meson-logs/{programs,others}.json >"$out/$name.json" 2>/dev/null
    for log in "$out/$name".{programs,others}.log; do
        [ -e "$log" ] || continue
        sed -n '/^ *[0-9]*\/[0-9]* .*\(FAIL\|TIMEOUT\|ERROR\|SKIP\)/p' "$log"
        ! grep -qE 'FAIL|TIMEOUT|ERROR' "$log" || tail -n 150 "$log"
    done
    if [ ! -e "$out/$name.result" ]; then
        echo "ran 0" >"$out/$name.result"
        return
    fi
    mapfile -t failed < <(python3 tests/summary.py --failed "$out/$name.json")
    if [ ${#failed[@]} -gt 0 ]; then
        test_variant "$name" --num-processes 1 "${failed[@]}" >"$out/$name.again.log" 2>&1
        cp "$dir/meson-logs/testlog.json" "$out/$name.again.json" 2>/dev/null
    fi
}

export TSAN_OPTIONS="ignore_noninstrumented_modules=1:halt_on_error=1:second_deadlock_stack=1"
export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"

# nvcc compiles the same kernels everywhere: once is enough. Simulated, with the sanitizers' checks,
# they take minutes to compile, and minutes to run. A recent architecture stands for all that nvcc
# takes minutes to compile for.
#
# By clang, so that both compilers' warnings are looked at, and both are tested; but it takes the
# pragmas of simulated kernels for mistakes, and C++ is g++'s, whose sanitizers are others.
if [ $long = yes ]; then
    targets=for-long-tests archs='' simulated=enabled compiler=gcc
    slow="unit-long flow-long e2e-long fault fault-long"
else
    targets="" archs=90 simulated=disabled compiler=clang slow=""
fi

build_gcc()
{
    build gcc '' -Dbuildtype=debugoptimized -Dgpu_archs=$archs -Dxpu=enabled -Dsimulated_xpu=enabled
}

build_asan_ubsan()
{
    CC=$ccache$compiler build asan-ubsan '' -Db_sanitize=address,undefined -Db_lundef=false \
        -Dcuda=disabled -Dsimulated_cuda=$simulated -Dsimulated_mps=$simulated -Dxpu=enabled \
        -Dsimulated_xpu=enabled
}

build_tsan()
{
    build tsan "unit flow e2e $slow" -Db_sanitize=thread -Dcuda=disabled \
        -Dsimulated_cuda=$simulated -Dsimulated_mps=$simulated -Dxpu=disabled
}

# Without oneDNN there is no CPU device to run flows on, only the reference.
build_bare()
{
    (unset CC_LD CXX_LD; build bare unit -Dauto_features=disabled)
}

# Its unit tests, which are built, are bare's, of the same sources with the same options.
build_engine()
{
    build engine "unit conformance" -Ddaemon=disabled -Dauto_features=disabled
}

build_fuzzers()
{
    CC=${ccache}clang build fuzzers '' -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
        -Dxpu=disabled
}

# The reference device computes large networks for long: once is enough. What the address sanitizer
# sees is run there where nothing else is.
declare -A suites=([gcc]="lint unit unit-slow client flow conformance simulated intel fault e2e fuzz")
variants=(gcc)
if [ $quick = yes ]; then
    suites[gcc]+=" e2e-twice"
else
    suites[gcc]+=" golden macos"
    suites[asan-ubsan]="unit client flow conformance e2e fuzz $slow ${slow:+simulated}"
    suites[tsan]="unit flow e2e $slow"
    suites[bare]=unit
    suites[engine]=conformance
    variants+=(asan-ubsan tsan bare engine)
fi
if [ $long = yes ]; then
    suites[gcc]+=" golden-long simulated-long intel-long fault-long"
    suites[fuzzers]=fuzz-long
    variants+=(fuzzers)
fi

# All but the first are built with the time that tests leave.
for variant in "${variants[@]}"; do
    echo "== build $variant"
    "build_${variant//-/_}"; touch "$out/$variant.built"
    renice -n 19 $BASHPID >/dev/null
done </dev/null &
run_lane others 17 $(($(nproc) * 3 / 2)) &
run_lane programs 14 $(($(nproc) * 2)) &
trap 'kill $(jobs -p); exit 130' INT TERM
wait
for variant in "${variants[@]}"; do
    report "$variant"
done

exec python3 tests/summary.py $out
