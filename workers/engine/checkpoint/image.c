/* SPDX-License-Identifier: MIT */

#include "engine/checkpoint/image.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/checkpoint.h"

/* The most that is copied; the largest checkpoint of any video network is well below it. */
#define COPY_BYTES_MAX (8LL << 30)

static bool is_ours_alone(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int read_whole(int fd, size_t size_bytes, void **ret_data)
{
    VRT_CLEANUP(vrt_freep) char *data = malloc(size_bytes);
    size_t n_read = 0;

    if (!data)
        return vrt_raise(-ENOMEM);
    while (n_read < size_bytes) {
        ssize_t n = pread(fd, data + n_read, size_bytes - n_read, (off_t)n_read);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return vrt_raise(-errno);
        if (n == 0)
            return vrt_raise(-ENODATA);         /* it became shorter since fstat() */
        n_read += (size_t)n;
    }
    *ret_data = VRT_STEAL(data);
    return 0;
}

static int map_whole(int fd, size_t size_bytes, void **ret_data)
{
    void *data = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);

    if (data == MAP_FAILED)
        return vrt_raise(-errno);
    *ret_data = data;
    return 0;
}

int vrt_image_init(struct vrt_image *image, int fd, const char *name, struct vrt_error *error)
{
    char shown[160];
    struct stat st;
    void *data = NULL;
    int r;

    vrt_printable(name, shown, sizeof(shown));
    if (fstat(fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), shown);
    if (!S_ISREG(st.st_mode))
        return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID,
                          "%s is not a regular file, so it cannot be a model", shown);
    if (st.st_size == 0)
        return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID, "%s is empty", shown);

    bool is_mapped = is_ours_alone(&st);
    if ((uint64_t)st.st_size > SIZE_MAX / 2 || (!is_mapped && st.st_size > COPY_BYTES_MAX))
        return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID,
                          "%s has %lld bytes, which is more than a model may have", shown,
                          (long long)st.st_size);
    r = is_mapped ? map_whole(fd, (size_t)st.st_size, &data)
                  : read_whole(fd, (size_t)st.st_size, &data);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), shown);
    *image = (struct vrt_image){ .data = data, .size_bytes = (size_t)st.st_size,
                                 .is_mapped = is_mapped };
    return 0;
}

void vrt_image_done(struct vrt_image *image)
{
    if (image->is_mapped)
        munmap((void *)(uintptr_t)image->data, image->size_bytes);
    else
        free((void *)(uintptr_t)image->data);
    *image = (struct vrt_image){ 0 };
}
