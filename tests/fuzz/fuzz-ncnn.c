/* SPDX-License-Identifier: MIT */
/* An ncnn network, text and weights: no network, with a sentence, or one that can be built. */

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/build.h"

#include <string.h>

#include "engine/dag/read.h"
#include "model/network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct vrt_dag_file file = {
        .data = data, .size_bytes = size, .name = "file",
        .error = &(struct vrt_error){ 0 },
    };
    struct vrt_network *network = NULL;
    struct vrt_dag *dag = NULL;

    int r = vrt_ncnn_read(&file, &dag);
    vrt_assert(!r == !!dag);
    if (dag)
        r = vrt_network_new_dag(dag, "file", &network, file.error);
    vrt_assert(!r == !!network);
    vrt_assert(!r || (file.error->id && strncmp(file.error->message, "file ", 5) == 0));
    if (network)
        fuzz_build(network);
    vrt_network_unref(network);
    return 0;
}
