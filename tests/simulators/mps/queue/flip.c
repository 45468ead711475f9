/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/queue/flip.h"

#include <stdlib.h>
#include <string.h>

#define WRONG_BIT 0x40                  /* of an exponent, in the last byte of a float */

struct mtl_flip {
    struct {
        char *bytes;                    /* NULL: none of this index */
        char *before;
        size_t n;
    } buffers[VRT_MSL_BUFFERS];
};

struct mtl_flip *mtl_flip_new(const struct mtl_dispatch *dispatch)
{
    const struct vrt_msl_kernel *kernel = dispatch->grid.kernel;
    struct mtl_flip *flip = mtl_allocate(sizeof(*flip));

    for (unsigned i = 0; i < kernel->n_parameters; i++) {
        const unsigned index = kernel->parameters[i].index;
        const struct mtl_buffer *buffer = dispatch->buffers[index];

        if (kernel->parameters[i].space != VRT_MSL_DEVICE || !buffer)
            continue;
        flip->buffers[index].bytes = dispatch->grid.buffers[index].data;
        flip->buffers[index].n = (size_t)(buffer->memory.data + buffer->memory.n_bytes -
                                          flip->buffers[index].bytes);
        flip->buffers[index].before = mtl_allocate(flip->buffers[index].n);
        memcpy(flip->buffers[index].before, flip->buffers[index].bytes, flip->buffers[index].n);
    }
    return flip;
}

void mtl_flip_free(struct mtl_flip *flip)
{
    if (!flip)
        return;
    for (size_t i = 0; i < VRT_MSL_BUFFERS; i++)
        free(flip->buffers[i].before);
    free(flip);
}

void mtl_flip_strike(const struct mtl_flip *flip)
{
    for (size_t i = 0; flip && i < VRT_MSL_BUFFERS; i++) {
        for (size_t at = 0; at < flip->buffers[i].n; at++) {
            if (flip->buffers[i].bytes[at] == flip->buffers[i].before[at])
                continue;
            flip->buffers[i].bytes[VRT_MIN(at | 3, flip->buffers[i].n - 1)] ^= WRONG_BIT;
            return;
        }
    }
}

void mtl_flip_bytes(char *bytes, size_t n_bytes)
{
    if (n_bytes)
        bytes[VRT_MIN(n_bytes / 2 | 3, n_bytes - 1)] ^= WRONG_BIT;
}
