/* SPDX-License-Identifier: MIT */

/*
 * Where a frame's samples come from is its own business: whoever made it says how they are given
 * back. A pool's are in files without names, each of which has room for many and one size for
 * ever: another process that is shown a frame is given its file, and can look at what is there,
 * but neither change it, nor take it away, nor make more of it. The one frame that it may fill is
 * in a file of its own.
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

/* Of a file that another process fills; what of it was never used takes no memory. */
#define PLACES_BYTES_MAX ((size_t)256 << 20)

/* By which decoders enlarge sides, for whole blocks and edges beside them. */
#define PLACE_SLACK 128

/* Of the first chunk; each further one is as large as all before it, so that there are few. As much
 * memory a process can take by looking where nothing is yet. */
#define CHUNK_BYTES_FIRST ((size_t)32 << 20)

/* A frame's worth of a pool's memory. */
struct block {
    struct block *next;             /* of those that are free */
    struct vrt_frame_pool *pool;
    const struct chunk *chunk;
    uint8_t *data;
};

/* A file with room for some blocks; what of it was never used takes no memory. */
struct chunk {
    struct chunk *next;
    int fd;
    uint8_t *data;
    size_t size;
    struct block blocks[];
};

struct vrt_frame_pool {
    /* immutable */
    struct vrt_frame_format format;
    size_t block_bytes;

    pthread_mutex_t lock;
    struct chunk *chunks;           /* under lock */
    struct block *free;             /* likewise */
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

/* From a row of `width` samples to the next. */
static size_t stride_bytes(const struct vrt_frame_format *format, int width)
{
    const size_t mask = VRT_FRAME_ALIGN_BYTES - 1;

    return ((size_t)width * (size_t)vrt_frame_format_sample_bytes(format) + mask) & ~mask;
}

size_t vrt_frame_bytes(const struct vrt_frame_format *format)
{
    /* Encoders load whole vectors past the last sample. */
    size_t bytes = VRT_FRAME_ALIGN_BYTES;

    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        int width, height;
        vrt_frame_format_plane_size(format, i, &width, &height);
        bytes += stride_bytes(format, width) * (size_t)height;
    }
    return bytes;
}

void vrt_frame_lay_out(struct vrt_frame *frame, uint8_t *data)
{
    for (int i = 0; i < vrt_frame_format_n_planes(&frame->format); i++) {
        struct vrt_plane *plane = &frame->planes[i];
        plane->stride_bytes = stride_bytes(&frame->format, plane->width);
        plane->data = data;
        data += plane->stride_bytes * (size_t)plane->height;
    }
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
    const size_t size = vrt_frame_bytes(&frame->format);
    uint8_t *data = aligned_alloc(VRT_FRAME_ALIGN_BYTES, size);
    if (!data)
        return vrt_raise(-ENOMEM);
    frame->owner = data;
    frame->release = release_memory;
    adopt(frame, data, size);
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

static struct chunk *chunk_free(struct chunk *chunk)
{
    if (!chunk)
        return NULL;
    if (chunk->data)
        munmap(chunk->data, chunk->size);
    vrt_closep(&chunk->fd);
    free(chunk);
    return NULL;
}

VRT_DEFINE_CLEANUP(struct chunk, chunk_free)

/* One reference less; `block` (may be NULL) is free again. */
static void pool_unref(struct vrt_frame_pool *pool, struct block *block)
{
    struct chunk *next;

    pthread_mutex_lock(&pool->lock);
    if (block) {
        block->next = pool->free;
        pool->free = block;
    }
    bool is_last = --pool->n_refs == 0;
    pthread_mutex_unlock(&pool->lock);
    if (!is_last)
        return;
    for (struct chunk *chunk = pool->chunks; chunk; chunk = next) {
        next = chunk->next;
        chunk_free(chunk);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

struct vrt_frame_pool *vrt_frame_pool_free(struct vrt_frame_pool *pool)
{
    if (pool)
        pool_unref(pool, NULL);
    return NULL;
}

/* A chunk with n blocks, that are left undefined. */
static int chunk_new(size_t size, int n, bool others_write, struct chunk **ret_chunk)
{
    VRT_CLEANUP(chunk_freep) struct chunk *chunk =
        calloc(1, sizeof(*chunk) + (size_t)n * sizeof(chunk->blocks[0]));

    if (!chunk)
        return vrt_raise(-ENOMEM);
    chunk->size = size;
    chunk->fd = vrt_shared_file("vrt-frames", size);
    if (chunk->fd < 0)
        return vrt_raise(chunk->fd);
    uint8_t *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, chunk->fd, 0);
    if (data == MAP_FAILED)
        return vrt_raise(-errno);
    chunk->data = data;
    int r = vrt_shared_file_seal(chunk->fd, others_write);
    if (r < 0)
        return vrt_fold(r);
    *ret_chunk = VRT_STEAL(chunk);
    return 0;
}

static void release_chunk(struct vrt_frame *frame)
{
    chunk_free(frame->owner);
}

int vrt_frame_places(const struct vrt_frame_format *format, size_t *ret_place_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE) - 1;
    struct vrt_frame_format place = *format;

    place.width = (format->width + 2 * PLACE_SLACK - 1) & ~(PLACE_SLACK - 1);
    place.height = (format->height + 2 * PLACE_SLACK - 1) & ~(PLACE_SLACK - 1);
    *ret_place_bytes = (vrt_frame_bytes(&place) + page) & ~page;
    return (int)VRT_MAX(VRT_MIN(PLACES_BYTES_MAX / *ret_place_bytes, VRT_FRAME_PLACES_MAX), 1);
}

int vrt_frame_new_shared(const struct vrt_frame_format *format, struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    struct chunk *chunk = NULL;
    size_t place_bytes;

    if (!vrt_frame_format_is_valid(format))
        return vrt_raise(-EINVAL);
    frame = vrt_frame_alloc(format);
    if (!frame)
        return vrt_raise(-ENOMEM);
    const int n = vrt_frame_places(format, &place_bytes);
    int r = chunk_new((size_t)n * place_bytes, 0, true, &chunk);
    if (r < 0)
        return vrt_fold(r);
    frame->owner = chunk;
    frame->release = release_chunk;
    frame->share.fd = chunk->fd;
    vrt_frame_lay_out(frame, chunk->data);
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

/* Adds a chunk, its blocks free. Under the lock. Return: 0; -EMFILE and the like; -ENOMEM. */
static int add_chunk(struct vrt_frame_pool *pool)
{
    const int n_first = (int)VRT_MAX(CHUNK_BYTES_FIRST / pool->block_bytes, 1);
    const int n = VRT_MIN(VRT_MAX(pool->n_blocks, n_first), BLOCKS_MAX - pool->n_blocks);
    struct chunk *chunk = NULL;

    if (n == 0)
        return vrt_raise(-ENOMEM);
    int r = chunk_new((size_t)n * pool->block_bytes, n, false, &chunk);
    if (r < 0)
        return vrt_fold(r);
    for (int i = n - 1; i >= 0; i--) {
        chunk->blocks[i] = (struct block){
            pool->free, pool, chunk, chunk->data + (size_t)i * pool->block_bytes,
        };
        pool->free = &chunk->blocks[i];
    }
    pool->n_blocks += n;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    return 0;
}

int vrt_frame_pool_new(const struct vrt_frame_format *format, struct vrt_frame_pool **ret_pool)
{
    VRT_CLEANUP(vrt_frame_pool_freep) struct vrt_frame_pool *pool = NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE) - 1;

    if (!vrt_frame_format_is_valid(format))
        return vrt_raise(-EINVAL);
    pool = calloc(1, sizeof(*pool));
    if (!pool)
        return vrt_raise(-ENOMEM);
    pthread_mutex_init(&pool->lock, NULL);
    pool->format = *format;
    pool->block_bytes = (vrt_frame_bytes(format) + page) & ~page;
    pool->n_refs = 1;
    int r = add_chunk(pool);
    if (r < 0)
        return vrt_fold(r);
    *ret_pool = VRT_STEAL(pool);
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
    struct block *block = NULL;
    int r = 0;

    if (!frame)
        return vrt_raise(-ENOMEM);
    pthread_mutex_lock(&pool->lock);
    if (!pool->free)
        r = add_chunk(pool);
    block = pool->free;
    if (block) {
        pool->free = block->next;
        pool->n_refs++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (r == -EMFILE || r == -ENFILE)
        return vrt_fold(vrt_frame_new(&pool->format, ret_frame));
    if (r < 0)
        return vrt_fold(r);
    frame->owner = block;
    frame->release = release_block;
    frame->share.fd = block->chunk->fd;
    frame->share.offset_bytes = block->data - block->chunk->data;
    adopt(frame, block->data, vrt_frame_bytes(&frame->format));
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

bool vrt_frame_same_samples(const struct vrt_frame *a, const struct vrt_frame *b)
{
    for (int i = 0; i < vrt_frame_format_n_planes(&a->format); i++) {
        const struct vrt_plane *x = &a->planes[i], *y = &b->planes[i];
        /* From the middle on: above there may be a film's black bar. */
        for (int k = 0; k < x->height; k++) {
            const size_t row = (size_t)((x->height / 2 + k) % x->height);
            if (memcmp(x->data + row * x->stride_bytes, y->data + row * y->stride_bytes,
                       row_bytes(a, i)) != 0)
                return false;
        }
    }
    return true;
}

/* A row of samples that nobody else writes to, without those that the depth has no room for. */
static void bound(uint16_t *row, int width, int depth)
{
    const uint16_t most = (uint16_t)((1U << depth) - 1);

    for (int x = 0; x < width; x++)
        row[x] = VRT_MIN(row[x], most);
}

/* Whether the plane lies in a file of `size` bytes. */
static bool is_within(const struct vrt_frame_share *share, const struct vrt_plane *plane,
                      size_t bytes_of_row, size_t size)
{
    const uint64_t offset = (uint64_t)share->offset_bytes, stride = (uint64_t)share->stride_bytes;

    /* Neither is larger than the file: nothing overflows. */
    return share->offset_bytes >= 0 && offset <= size && stride >= bytes_of_row &&
           stride <= size &&
           offset + stride * (uint64_t)(plane->height - 1) + bytes_of_row <= size;
}

int vrt_frame_take_samples(const struct vrt_frame *from, const struct vrt_frame_share *planes,
                           struct vrt_frame *to)
{
    const struct chunk *chunk = from->owner;
    const int depth = to->format.depth;

    for (int i = 0; i < vrt_frame_format_n_planes(&to->format); i++)
        if (!is_within(&planes[i], &to->planes[i], row_bytes(to, i), chunk->size))
            return vrt_raise(-EBADMSG);
    for (int i = 0; i < vrt_frame_format_n_planes(&to->format); i++) {
        const struct vrt_plane *target = &to->planes[i];
        const uint8_t *source = chunk->data + planes[i].offset_bytes;
        for (int y = 0; y < target->height; y++) {
            uint8_t *row = target->data + (size_t)y * target->stride_bytes;
            memcpy(row, source + (size_t)y * (size_t)planes[i].stride_bytes, row_bytes(to, i));
            if (depth != 8 && depth != 16)
                bound((uint16_t *)(void *)row, target->width, depth);
        }
    }
    return 0;
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
    vrt_frame_unref(frame->alpha);
    if (frame->release)
        frame->release(frame);
    free(frame);
    return NULL;
}
