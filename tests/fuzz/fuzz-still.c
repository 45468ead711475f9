/* SPDX-License-Identifier: MIT */
/* A file of a picture: what of it is taken for EXIF, and what becomes of it as a picture that has
 * EXIF and a profile put into it. */

#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/cleanup.h"
#include "frames/still/embed.h"
#include "frames/still/exif.h"

static void try_embed(const uint8_t *data, size_t size, const struct vrt_buf *exif)
{
    static const uint8_t profile[70000];
    const struct vrt_still_parts parts = {
        .picture = { data, size },
        .exif = { (const uint8_t *)exif->data, exif->size_bytes },
        .icc = { profile, sizeof(profile) },
        .width = 3,
        .height = 2,
    };

    for (int i = VRT_CONTAINER_PNG; i < VRT_CONTAINER_COUNT; i++) {
        VRT_CLEANUP(vrt_buf_done) struct vrt_buf out = { .limit_bytes = 0 };
        if (vrt_still_embed((enum vrt_container)i, &parts, &out) == 0)
            vrt_assert(out.size_bytes >= size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *file;
    struct vrt_exif exif;

    vrt_log_set_level(VRT_LOG_ERROR);
    if (!file)
        file = tmpfile();
    vrt_assert(file != NULL && ftruncate(fileno(file), 0) == 0);
    vrt_assert(pwrite(fileno(file), data, size, 0) == (ssize_t)size);
    vrt_assert(vrt_exif_read(fileno(file), &exif) == 0);
    vrt_assert(exif.block.size_bytes <= VRT_EXIF_BYTES_MAX);
    const int orientation = vrt_exif_orientation((const uint8_t *)exif.block.data,
                                                 exif.block.size_bytes);
    vrt_assert(orientation >= 1 && orientation <= 8);
    /* A file may be a block, too. */
    (void)vrt_exif_orientation(data, size);
    try_embed(data, size, &exif.block);
    vrt_buf_done(&exif.block);
    return 0;
}
