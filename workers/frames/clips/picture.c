/* SPDX-License-Identifier: MIT */

#include "frames/clips/picture.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

size_t vrt_picture_bytes(int width, int height)
{
    return (size_t)width * (size_t)height * 3 * sizeof(float);
}

int vrt_picture_new(int width, int height, struct vrt_picture **ret_picture)
{
    struct vrt_picture *picture = calloc(1, sizeof(*picture));

    if (!picture)
        return vrt_raise(-ENOMEM);
    picture->rgb = malloc(vrt_picture_bytes(width, height));
    if (!picture->rgb) {
        free(picture);
        return vrt_raise(-ENOMEM);
    }
    atomic_init(&picture->n_refs, 1);
    picture->width = width;
    picture->height = height;
    *ret_picture = picture;
    return 0;
}

struct vrt_picture *vrt_picture_unref(struct vrt_picture *picture)
{
    if (!picture || atomic_fetch_sub_explicit(&picture->n_refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    free(picture->rgb);
    free(picture);
    return NULL;
}
