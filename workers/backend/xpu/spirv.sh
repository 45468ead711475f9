#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles a kernel in OpenCL C 1.2 to SPIR-V 1.2, and has it checked.
#
# usage: spirv.sh CLANG LLVM_SPIRV SPIRV_VAL DEPFILE INPUT OUTPUT [FLAG...]
#   FLAG   for clang, as -DTILE=16
set -eu
clang=$1 translate=$2 validate=$3 depfile=$4 input=$5 output=$6
shift 6

# LLVM's passes stay off: what they make of loops isn't valid SPIR-V. The driver's own compiler
# optimises.
"$clang" -c -x cl -cl-std=CL1.2 -target spir64 -O2 -Xclang -disable-llvm-passes -emit-llvm \
    -Xclang -finclude-default-header -Wall -Wextra -Werror -Wno-unused-parameter \
    -MD -MF "$depfile" -MT "$output" "$@" -o "$output.bc" "$input"
"$translate" --spirv-max-version=1.2 "$output.bc" -o "$output"
rm "$output.bc"
"$validate" --target-env opencl2.2 "$output"
