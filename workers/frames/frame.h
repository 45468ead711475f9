/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A frame: planes of samples in host memory, shared by counting references.
 *
 * A decoded frame may be a view of the decoder's own memory, which the decoder still reads from:
 * only frames of vrt_frame_new() or a pool may be written, and only by whoever holds the one
 * reference.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "frames/extra.h"
#include "frames/format.h"

/* Rows of vrt_frame_new() start at multiples of this. */
#define VRT_FRAME_ALIGN_BYTES 64

struct vrt_plane {
    uint8_t *data;              /* the top left sample; uint16_t samples above depth 8 */
    size_t stride_bytes;        /* from one row to the next */
    int width, height;          /* in samples */
};

struct vrt_frame {
    atomic_int n_refs;
    struct vrt_frame_format format;
    struct vrt_plane planes[VRT_FRAME_MAX_PLANES];
    int64_t pts;                /* in the time base of the reader or encoder it belongs to */
    int64_t duration;           /* likewise; 0: unknown */
    int64_t index;              /* 0, 1, 2, ... in presentation order */
    bool concealed;             /* the decoder made some of it up */
    bool repeats;               /* its samples are those of the frame before it */
    bool interlaced, top_first; /* two fields, as file or decoder say, and which is shown first */
    struct vrt_frame_extra extra;
    struct vrt_frame *alpha;    /* a reference: its transparency, gray of full range, of any size
                                 * and depth; 0 is invisible, and colours are not multiplied by
                                 * it. NULL: opaque, or the format has none */
    bool writable;              /* from vrt_frame_new() or a pool */
    void (*release)(struct vrt_frame *frame);   /* gives the samples back; NULL: nobody's */
    void *owner;                /* of the samples, for release() */
    struct {
        int fd;                 /* one of the pool's, where it is of a pool; -1: no file */
        int64_t offset_bytes;   /* of the first sample in it */
    } share;                    /* where another process finds the samples */
};

/* A plane's samples in a file that two processes have mapped. */
struct vrt_frame_share {
    int64_t offset_bytes, stride_bytes;
};

/* In the file of vrt_frame_new_shared(), at most. */
#define VRT_FRAME_PLACES_MAX 40

/* How many frames of a format another process may have in such a file: as many as decoders keep,
 * where they aren't too large. ret_place_bytes is the room of each, enough also for rows and planes
 * as decoders align them. Return: at least 1. Thread: any. */
int vrt_frame_places(const struct vrt_frame_format *format, size_t *ret_place_bytes);

/*
 * A frame that another process is to fill, somewhere in the file of `share`, which has as much room
 * as vrt_frame_places() says: it may write to it at any time, so that what counts is what
 * vrt_frame_take_samples() took. Nothing here may write.
 * Return: 0; -EINVAL: `format` is not valid; -ENOMEM; -EMFILE or the like. Thread: any.
 */
int vrt_frame_new_shared(const struct vrt_frame_format *format, struct vrt_frame **ret_frame)
    VRT_MUST_CHECK;

/*
 * Memory for frames of one format, that new frames take over from those that are gone: to get it
 * from the system anew for each stops all threads for a moment. It is in files without names, so
 * that another process can map it and read it: where a frame is, `share` says.
 */
struct vrt_frame_pool;

/*
 * A frame with planes of its own, for a restored picture; the samples are undefined, padding is 0.
 * Return: 0; -EINVAL: `format` is not valid; -ENOMEM. Thread: any.
 */
int vrt_frame_new(const struct vrt_frame_format *format, struct vrt_frame **ret_frame)
    VRT_MUST_CHECK;

/* Return: 0; -EINVAL: `format` is not valid; -ENOMEM; -EMFILE or the like. */
int vrt_frame_pool_new(const struct vrt_frame_format *format, struct vrt_frame_pool **ret_pool)
    VRT_MUST_CHECK;

/* Frames that are still referred to keep their memory. NULL is fine. Return: NULL. */
struct vrt_frame_pool *vrt_frame_pool_free(struct vrt_frame_pool *pool);

/* As vrt_frame_new(), which it is where no more files can be opened. Return: 0; -ENOMEM. Thread:
 * any. */
int vrt_frame_pool_get(struct vrt_frame_pool *pool, struct vrt_frame **ret_frame) VRT_MUST_CHECK;

/* A frame without samples, the sizes of its planes set, one reference: for who brings samples, and
 * sets `release`. NULL: no memory. Thread: any. */
struct vrt_frame *vrt_frame_alloc(const struct vrt_frame_format *format);

/* Return: the bytes that a frame's planes take as vrt_frame_lay_out() lays them: sides are at most
 * VRT_FRAME_MAX_SIDE, nothing overflows. Thread: any. */
size_t vrt_frame_bytes(const struct vrt_frame_format *format);

/* Sets the planes' strides and where they are, one behind the other, in `data`, which has
 * vrt_frame_bytes(). Thread: any. */
void vrt_frame_lay_out(struct vrt_frame *frame, uint8_t *data);

/* Whether all samples of two frames of the same planes are equal; what differs is found soon.
 * Thread: any. */
bool vrt_frame_same_samples(const struct vrt_frame *a, const struct vrt_frame *b);

/* Copies the samples of a frame to one of the same planes. Thread: any. */
void vrt_frame_copy_samples(const struct vrt_frame *from, struct vrt_frame *to);

/* Likewise, from a frame of vrt_frame_new_shared(), where the other process says that its planes
 * are: it writes to it at any time. Samples are what the depth has room for, and stay. Return: 0;
 * -EBADMSG: nothing can be there. Thread: any. */
int vrt_frame_take_samples(const struct vrt_frame *from, const struct vrt_frame_share *planes,
                           struct vrt_frame *to) VRT_MUST_CHECK;

/* A file of zeros without a name, in memory, that can be mapped and sent; where the system can seal
 * it, nobody changes its size. Return: its descriptor; -errno. Thread: any. */
int vrt_shared_file(const char *name, size_t size);

/* Once it is mapped: nobody adds to what may be done with it, and unless `others_write` nobody else
 * can write to it, where the system can seal that. Return: 0; -errno. Thread: any. */
int vrt_shared_file_seal(int fd, bool others_write);

/* One more reference. Return: frame. Thread: any. */
struct vrt_frame *vrt_frame_ref(struct vrt_frame *frame);

/* One reference less; with the last one the frame goes. NULL is fine. Return: NULL. Thread: any. */
struct vrt_frame *vrt_frame_unref(struct vrt_frame *frame);

VRT_DEFINE_CLEANUP(struct vrt_frame, vrt_frame_unref)
VRT_DEFINE_CLEANUP(struct vrt_frame_pool, vrt_frame_pool_free)
