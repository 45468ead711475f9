/* SPDX-License-Identifier: MIT */
/* An ONNX file. */

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_read(vrt_onnx_read, data, size);
}
