#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# usage: run-long.sh FUZZER SECONDS DICTIONARY FOLDER SEEDS...
#
# Fuzzes for so long. FOLDER, made here, takes what is worth keeping and what fails.
set -eu
fuzzer=$1 seconds=$2 dictionary=$3 folder=$4
shift 4
mkdir -p "$folder"
# A fuzzer takes folders only; what begins as a single file begins in its own.
folders=()
for seed; do
    if [ -d "$seed" ]; then
        folders+=("$seed")
    else
        cp "$seed" "$folder"
    fi
done
exec "$fuzzer" -max_total_time="$seconds" -dict="$dictionary" -rss_limit_mb=2048 -timeout=10 \
    -max_len=8192 -artifact_prefix="$folder/fail-" -verbosity=0 -print_final_stats=1 \
    "$folder" "${folders[@]}"
