/* SPDX-License-Identifier: MIT */
/* A model file of any format: it is refused with a sentence, or all of it can be used. */

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint.h"

#define ELEMENTS_MAX (1 << 20)

static void use(const struct vrt_checkpoint *cp)
{
    vrt_assert(vrt_checkpoint_n_tensors(cp) > 0);
    for (int i = 0; i < vrt_checkpoint_n_tensors(cp); i++) {
        const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_tensor(cp, i);
        float *values;

        vrt_assert(tensor->name[0] && vrt_checkpoint_find(cp, tensor->name) == tensor);
        vrt_assert(tensor->n_dims >= 0 && tensor->n_dims <= VRT_CHECKPOINT_DIMS_MAX);
        vrt_assert(tensor->n_elements >= 0 && !tensor->data == !tensor->n_elements);
        if (tensor->n_elements > ELEMENTS_MAX)
            continue;
        values = malloc((size_t)tensor->n_elements * sizeof(*values) + 1);
        vrt_assert(values);
        vrt_checkpoint_read_f32(tensor, values);
        free(values);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vrt_checkpoint *cp = NULL;
    struct vrt_error error = { 0 };
    int r = vrt_checkpoint_open_memory(data, size, "file", &cp, &error);

    vrt_assert(!r == !!cp);
    vrt_assert(!r || (error.id && strncmp(error.message, "file", 4) == 0));
    if (cp) {
        vrt_checkpoint_metadata(cp, "network");
        use(cp);
    }
    vrt_checkpoint_free(cp);
    return 0;
}
