/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/queue/flip.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES 4096u              /* of each argument's memory */
#define WRONG_BIT 0x40                  /* of an exponent, in the last byte of a float */

struct drv_flip {
    size_t n;
    struct {
        uint8_t *bytes;                 /* where the argument points to */
        size_t n_bytes;
        uint8_t before[WINDOW_BYTES];
    } windows[DRV_MAX_ARGUMENTS];
};

struct drv_flip *drv_flip_new(const struct drv_launch *launch)
{
    struct drv_flip *flip = calloc(1, sizeof(*flip));
    for (uint32_t i = 0; flip && i < launch->kernel->n_arguments; i++) {
        const char *pointer = launch->arguments[i].pointer;
        const struct drv_memory *memory = drv_memory_find(pointer);
        if (launch->kernel->arguments[i].kind != DRV_ARGUMENT_POINTER || !memory || !memory->data)
            continue;
        const size_t offset = (size_t)(pointer - memory->address);
        flip->windows[flip->n].bytes = (uint8_t *)memory->data + offset;
        flip->windows[flip->n].n_bytes = VRT_MIN(WINDOW_BYTES, memory->n_bytes - offset);
        memcpy(flip->windows[flip->n].before, memory->data + offset,
               flip->windows[flip->n].n_bytes);
        flip->n++;
    }
    return flip;
}

struct drv_flip *drv_flip_free(struct drv_flip *flip)
{
    free(flip);
    return NULL;
}

void drv_flip_launch(const struct drv_flip *flip)
{
    for (size_t i = 0; flip && i < flip->n; i++) {
        uint8_t *bytes = flip->windows[i].bytes;
        for (size_t at = 0; at < flip->windows[i].n_bytes; at++) {
            if (bytes[at] != flip->windows[i].before[at]) {
                bytes[at | 3] ^= WRONG_BIT;
                return;
            }
        }
    }
}

void drv_flip_bytes(uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes)
        bytes[VRT_MIN(n_bytes / 2 | 3, n_bytes - 1)] ^= WRONG_BIT;
}
