/* SPDX-License-Identifier: MIT */

/*
 * Where a frame's samples come from is its own business: whoever made it says how they are given
 * back. A pool's are in one file without a name, in blocks of whole pages, so that another process
 * can be shown them: it is given the file, and a place in it.
 */

#include "frames/frame.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

/* Frames of a pool; no job has so many under way. */
#define BLOCKS_MAX 8192

/* A frame's worth of a pool's memory. */
struct block {
    struct block *next;             /* of those that are free */
    struct vrt_frame_pool *pool;
    uint8_t *data;
    int64_t offset_bytes;           /* in the pool's file */
};

struct vrt_frame_pool {
    /* immutable */
    struct vrt_frame_format format;
    size_t block_bytes;
    int fd;

    pthread_mutex_t lock;
    struct block *free;             /* under lock */
    int n_blocks;                   /* likewise; made so far */
    int n_refs;                     /* likewise: the owner, and frames that are out */
};

struct vrt_frame *vrt_frame_alloc(const struct vrt_frame_format *format)
{
    struct vrt_frame *frame = calloc(1, sizeof(*frame));

    if (!frame)
        return NULL;
    atomic_init(&frame->n_refs, 1);
    frame->format = *format;
    frame->share.fd = -1;
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++)
        vrt_frame_format_plane_size(format, i, &frame->planes[i].width, &frame->planes[i].height);
    return frame;
}

static size_t row_bytes(const struct vrt_frame *frame, int plane)
{
    return (size_t)frame->planes[plane].width *
           (size_t)vrt_frame_format_sample_bytes(&frame->format);
}

size_t vrt_frame_lay_out(struct vrt_frame *frame, uint8_t *data)
{
    const size_t mask = VRT_FRAME_ALIGN_BYTES - 1;
    size_t size = 0;

    for (int i = 0; i < vrt_frame_format_n_planes(&frame->format); i++) {
        struct vrt_plane *plane = &frame->planes[i];
        plane->stride_bytes = (row_bytes(frame, i) + mask) & ~mask;
        if (data)
            plane->data = data + size;
        size += plane->stride_bytes * (size_t)plane->height;
    }
    /* Encoders load whole vectors past the last sample. */
    return size + VRT_FRAME_ALIGN_BYTES;
}

/* Lays the frame out in `data`, which has `size` bytes, its gaps zeros. */
static void adopt(struct vrt_frame *frame, uint8_t *data, size_t size)
{
    vrt_frame_lay_out(frame, data);
    for (int i = 0; i < vrt_frame_format_n_planes(&frame->format); i++) {
        const struct vrt_plane *plane = &frame->planes[i];
        const size_t row = row_bytes(frame, i);
        for (int y = 0; y < plane->height; y++)
            memset(plane->data + (size_t)y * plane->stride_bytes + row, 0,
                   plane->stride_bytes - row);
    }
    memset(data + size - VRT_FRAME_ALIGN_BYTES, 0, VRT_FRAME_ALIGN_BYTES);
    frame->writable = true;
}

static void release_memory(struct vrt_frame *frame)
{
    free(frame->owner);
}

int vrt_frame_new(const struct vrt_frame_format *format, struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;

    if (!vrt_frame_format_is_valid(format))
        return vrt_raise(-EINVAL);
    frame = vrt_frame_alloc(format);
    if (!frame)
        return vrt_raise(-ENOMEM);
    const size_t size = vrt_frame_lay_out(frame, NULL);
    uint8_t *data = aligned_alloc(VRT_FRAME_ALIGN_BYTES, size);
    if (!data)
        return vrt_raise(-ENOMEM);
    frame->owner = data;
    frame->release = release_memory;
    adopt(frame, data, size);
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

int vrt_frame_pool_new(const struct vrt_frame_format *format, struct vrt_frame_pool **ret_pool)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *model = NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE) - 1;

    if (!vrt_frame_format_is_valid(format))
        return vrt_raise(-EINVAL);
    model = vrt_frame_alloc(format);
    struct vrt_frame_pool *pool = calloc(1, sizeof(*pool));
    if (!pool || !model) {
        free(pool);
        return vrt_raise(-ENOMEM);
    }
    int fd = vrt_shared_file("vrt-frames");
    if (fd < 0) {
        free(pool);
        return vrt_raise(fd);
    }
    pthread_mutex_init(&pool->lock, NULL);
    pool->format = *format;
    pool->block_bytes = (vrt_frame_lay_out(model, NULL) + page) & ~page;
    pool->fd = fd;
    pool->n_refs = 1;
    *ret_pool = pool;
    return 0;
}

/* One reference less; `block` (may be NULL) is free again. */
static void pool_unref(struct vrt_frame_pool *pool, struct block *block)
{
    struct block *next;

    pthread_mutex_lock(&pool->lock);
    if (block) {
        block->next = pool->free;
        pool->free = block;
    }
    bool is_last = --pool->n_refs == 0;
    pthread_mutex_unlock(&pool->lock);
    if (!is_last)
        return;
    for (block = pool->free; block; block = next) {
        next = block->next;
        munmap(block->data, pool->block_bytes);
        free(block);
    }
    vrt_closep(&pool->fd);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

struct vrt_frame_pool *vrt_frame_pool_free(struct vrt_frame_pool *pool)
{
    if (pool)
        pool_unref(pool, NULL);
    return NULL;
}

/* One more block, at the end of the file. Under the lock. */
static int make_block(struct vrt_frame_pool *pool, struct block **ret_block)
{
    VRT_CLEANUP(vrt_freep) struct block *block = calloc(1, sizeof(*block));
    const off_t offset = (off_t)pool->n_blocks * (off_t)pool->block_bytes;

    if (!block || pool->n_blocks == BLOCKS_MAX)
        return vrt_raise(-ENOMEM);
    if (ftruncate(pool->fd, offset + (off_t)pool->block_bytes) < 0)
        return vrt_raise(-errno);
    block->data = mmap(NULL, pool->block_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd,
                       offset);
    if (block->data == MAP_FAILED)
        return vrt_raise(-errno);
    pool->n_blocks++;
    block->pool = pool;
    block->offset_bytes = offset;
    *ret_block = VRT_STEAL(block);
    return 0;
}

static void release_block(struct vrt_frame *frame)
{
    struct block *block = frame->owner;

    pool_unref(block->pool, block);
}

int vrt_frame_pool_get(struct vrt_frame_pool *pool, struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = vrt_frame_alloc(&pool->format);
    struct block *block;
    int r = 0;

    if (!frame)
        return vrt_raise(-ENOMEM);
    pthread_mutex_lock(&pool->lock);
    block = pool->free;
    if (block)
        pool->free = block->next;
    else
        r = make_block(pool, &block);
    pool->n_refs += r == 0;
    pthread_mutex_unlock(&pool->lock);
    if (r < 0)
        return vrt_fold(r);
    frame->owner = block;
    frame->release = release_block;
    frame->share.fd = pool->fd;
    frame->share.offset_bytes = block->offset_bytes;
    adopt(frame, block->data, vrt_frame_lay_out(frame, NULL));
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

void vrt_frame_copy_samples(const struct vrt_frame *from, struct vrt_frame *to)
{
    for (int i = 0; i < vrt_frame_format_n_planes(&to->format); i++) {
        const struct vrt_plane *source = &from->planes[i], *target = &to->planes[i];
        for (int y = 0; y < target->height; y++)
            memcpy(target->data + (size_t)y * target->stride_bytes,
                   source->data + (size_t)y * source->stride_bytes, row_bytes(to, i));
    }
}

struct vrt_frame *vrt_frame_ref(struct vrt_frame *frame)
{
    atomic_fetch_add_explicit(&frame->n_refs, 1, memory_order_relaxed);
    return frame;
}

struct vrt_frame *vrt_frame_unref(struct vrt_frame *frame)
{
    if (!frame || atomic_fetch_sub_explicit(&frame->n_refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    if (frame->release)
        frame->release(frame);
    free(frame);
    return NULL;
}
