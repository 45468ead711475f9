/* SPDX-License-Identifier: MIT */
/* An ncnn network, text and weights. */

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_read(vrt_ncnn_read, data, size);
}
