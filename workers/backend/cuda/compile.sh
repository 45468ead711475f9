#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs nvcc, and keeps what the assembler says of registers and spills in a file instead of the
# terminal.
#
# usage: compile.sh REPORT NVCC ARGUMENT...
report=$1
shift
"$@" --resource-usage >"$report" 2>&1
status=$?
# All that isn't the report is for whoever builds.
grep -vE '^ptxas info|bytes stack frame' "$report" >&2
exit $status
