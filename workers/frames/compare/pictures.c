/* SPDX-License-Identifier: MIT */

#include "frames/compare/pictures.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "frames/frame.h"

#define SIDE VRT_PICTURES_SIDE
#define FILE_BYTES (2 * VRT_PICTURE_SAMPLES * sizeof(uint16_t))

/* Parts of white in a step of 8 bits. */
#define STEP (65535.0 / 255)

int vrt_pictures_map(int fd, struct vrt_pictures *ret_pictures)
{
    void *samples = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (samples == MAP_FAILED)
        return vrt_raise(-errno);
    *ret_pictures = (struct vrt_pictures){ -1, samples };
    return 0;
}

int vrt_pictures_init(struct vrt_pictures *pictures)
{
    VRT_CLEANUP(vrt_closep) int fd = vrt_shared_file("vrt-pictures", FILE_BYTES);

    if (fd < 0)
        return vrt_fold(fd);
    int r = vrt_pictures_map(fd, pictures);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_shared_file_seal(fd, true);
    if (r < 0) {
        vrt_pictures_done(pictures);
        return vrt_fold(r);
    }
    pictures->fd = VRT_STEAL_FD(fd);
    return 0;
}

void vrt_pictures_done(struct vrt_pictures *pictures)
{
    if (!pictures->samples)
        return;
    munmap(pictures->samples, FILE_BYTES);
    vrt_closep(&pictures->fd);
    *pictures = (struct vrt_pictures){ .fd = -1 };
}

/* Between which two of n samples one of the square's is, and how far from the first. */
struct between {
    int first, second;
    double share;
};

static struct between place(int i, int n)
{
    const double at = VRT_MAX((i + 0.5) * n / SIDE - 0.5, 0);
    const int first = (int)at;

    return (struct between){ first, VRT_MIN(first + 1, n - 1), at - first };
}

void vrt_pictures_put(const struct vrt_pictures *pictures, int which,
                      const struct vrt_quality_picture *picture, int width, int height)
{
    uint16_t *out = pictures->samples + (size_t)which * VRT_PICTURE_SAMPLES;

    for (int y = 0; y < SIDE; y++) {
        const struct between rows = place(y, height);
        const uint8_t *above = picture->rgb + (size_t)rows.first * picture->stride_bytes;
        const uint8_t *below = picture->rgb + (size_t)rows.second * picture->stride_bytes;

        for (int x = 0; x < SIDE; x++) {
            const struct between columns = place(x, width);
            const int left = 3 * columns.first, right = 3 * columns.second;

            for (int c = 0; c < 3; c++) {
                const double upper = above[left + c] +
                                     (above[right + c] - above[left + c]) * columns.share;
                const double lower = below[left + c] +
                                     (below[right + c] - below[left + c]) * columns.share;
                *out++ = (uint16_t)((upper + (lower - upper) * rows.share) * STEP + 0.5);
            }
        }
    }
}
