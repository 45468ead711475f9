/* SPDX-License-Identifier: MIT */
/* A checkpoint of any names and shapes: no network, with a sentence, or one that can be built. */

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/build.h"

#include <string.h>

#include "engine/checkpoint.h"
#include "model/network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vrt_checkpoint *checkpoint = NULL;
    struct vrt_network *network = NULL;
    struct vrt_error error = { 0 };

    if (vrt_checkpoint_open_memory(data, size, "file", &checkpoint, NULL) != 0)
        return 0;
    int r = vrt_network_new(checkpoint, "file", &network, &error);
    vrt_checkpoint_free(checkpoint);
    vrt_assert(!r == !!network);
    vrt_assert(!r || (error.id && strncmp(error.message, "file ", 5) == 0));
    if (network)
        fuzz_build(network);
    vrt_network_unref(network);
    return 0;
}
