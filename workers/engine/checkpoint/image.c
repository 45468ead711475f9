/* SPDX-License-Identifier: MIT */

#include "engine/checkpoint/image.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "engine/checkpoint.h"

/* The largest checkpoint of any video network is well below it. */
#define FILE_BYTES_MAX (8LL << 30)

/* What is read at a time. */
#define PIECE_BYTES ((size_t)1 << 20)

int vrt_image_init(struct vrt_image *image, int fd, const char *name, struct vrt_error *error)
{
    char shown[160];
    struct stat st;

    vrt_printable(name, shown, sizeof(shown));
    if (fstat(fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), shown);
    if (!S_ISREG(st.st_mode))
        return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID,
                          "%s is not a regular file, so it cannot be a model", shown);
    if (st.st_size == 0)
        return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID, "%s is empty", shown);
    if (st.st_size > FILE_BYTES_MAX || (uint64_t)st.st_size > SIZE_MAX / 2)
        return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID,
                          "%s has %lld bytes, which is more than a model may have", shown,
                          (long long)st.st_size);

    *image = (struct vrt_image){ .size_bytes = (size_t)st.st_size, .fd = fd };
    image->is_there = calloc(image->size_bytes / PIECE_BYTES + 1, 1);
    void *data = image->is_there ? mmap(NULL, image->size_bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) :
                                   MAP_FAILED;
    if (data == MAP_FAILED) {
        vrt_image_done(image);
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), shown);
    }
    image->data = data;
    return 0;
}

int vrt_image_copy(const struct vrt_image *image, size_t begin, void *to, size_t n_bytes)
{
    char *at = to;

    while (n_bytes > 0) {
        ssize_t n = pread(image->fd, at, VRT_MIN(n_bytes, PIECE_BYTES), (off_t)begin);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return vrt_raise(-errno);
        if (n == 0)
            return vrt_raise(-ENODATA);
        at += n;
        begin += (size_t)n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

int vrt_image_need(struct vrt_image *image, size_t begin, size_t n_bytes)
{
    if (n_bytes == 0)
        return 0;
    for (size_t i = begin / PIECE_BYTES; i <= (begin + n_bytes - 1) / PIECE_BYTES; i++) {
        size_t at = i * PIECE_BYTES;
        if (image->is_there[i])
            continue;
        int r = vrt_image_copy(image, at, image->data + at,
                               VRT_MIN(PIECE_BYTES, image->size_bytes - at));
        if (r < 0)
            return vrt_fold(r);
        image->is_there[i] = true;
    }
    return 0;
}

void vrt_image_done(struct vrt_image *image)
{
    if (image->data)
        munmap(image->data, image->size_bytes);
    free(image->is_there);
    *image = (struct vrt_image){ 0 };
}
