/* SPDX-License-Identifier: MIT */

/* A file that is read was written by this daemon, but nothing in it is believed: its size follows
 * from the number of its pictures, and memory is taken only for a file that has that size. */

#include "frames/encode/tail.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io/write.h"
#include "base/macro.h"
#include "frames/encode/crc.h"

static const char magic[8] = { 'V', 'R', 'T', 'T', 'A', 'I', 'L', '2' };

struct head {
    char magic[8];
    uint32_t n, width, height, unused;
};

struct part {
    int64_t pts, duration, index;
    int32_t n;                      /* clips that share it */
    uint32_t concealed;
    float weight, total;
    struct vrt_frame_extra extra;
};

/* More than any clip's neighbours. */
#define SHARERS_MAX 64

/* Summed up while it is in the cache still. */
#define CHUNK_BYTES ((size_t)1 << 20)

/* How far a file is written or read. */
struct place {
    int fd;
    int64_t offset_bytes;
    uint32_t crc;                   /* of all before */
};

void vrt_tail_done(struct vrt_tail *tail)
{
    for (int i = 0; i < tail->n; i++)
        tail->pictures[i] = vrt_picture_unref(tail->pictures[i]);
    tail->n = 0;
}

static int refuse_write(int r, struct vrt_error *error)
{
    if (vrt_is_disk_full(r))
        return vrt_refuse(error, vrt_raise(r), "spool.full", "the working file's disk is full: "
                          "free some space and try again");
    return vrt_refuse(error, vrt_raise(r), "output.write", "the working file cannot be written: "
                      "%s", strerror(-r));
}

static int put(struct place *to, const void *data, size_t size, struct vrt_error *error)
{
    const uint8_t *bytes = data;

    for (size_t n; size > 0; bytes += n, size -= n) {
        n = VRT_MIN(size, CHUNK_BYTES);
        int r = vrt_write_at(to->fd, bytes, n, to->offset_bytes);
        if (r < 0)
            return refuse_write(r, error);
        to->crc = vrt_crc(to->crc, bytes, n);
        to->offset_bytes += (int64_t)n;
    }
    return 0;
}

static int put_picture(struct place *to, const struct vrt_picture *picture,
                       struct vrt_error *error)
{
    const struct part part = {
        .pts = picture->pts,
        .duration = picture->duration,
        .index = picture->index,
        .n = picture->share.n,
        .concealed = picture->concealed,
        .weight = picture->share.weight,
        .total = picture->share.total,
        .extra = picture->extra,
    };
    int r = put(to, &part, sizeof(part), error);

    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(put(to, picture->rgb, vrt_picture_bytes(picture->width, picture->height),
                        error));
}

int vrt_tail_write(int fd, const struct vrt_tail *tail, int64_t *ret_size_bytes,
                   struct vrt_error *error)
{
    struct place to = { .fd = fd };
    struct head head = { .n = (uint32_t)tail->n };

    if (ftruncate(fd, 0) < 0)
        return refuse_write(-errno, error);
    memcpy(head.magic, magic, sizeof(magic));
    head.width = (uint32_t)tail->pictures[0]->width;
    head.height = (uint32_t)tail->pictures[0]->height;
    int r = put(&to, &head, sizeof(head), error);
    for (int i = 0; r == 0 && i < tail->n; i++)
        r = put_picture(&to, tail->pictures[i], error);
    if (r < 0)
        return vrt_fold(r);
    const uint32_t crc = to.crc;
    r = put(&to, &crc, sizeof(crc), error);
    if (r < 0)
        return vrt_fold(r);
    *ret_size_bytes = to.offset_bytes;
    return 0;
}

static int refuse_damaged(struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-EBADMSG), "segment.damaged",
                      "a working file of the restored video is incomplete or damaged on disk: "
                      "retry the job");
}

static int get(struct place *from, void *data, size_t size, struct vrt_error *error)
{
    uint8_t *bytes = data;

    for (size_t n; size > 0; bytes += n, size -= n) {
        n = VRT_MIN(size, CHUNK_BYTES);
        int r = vrt_read_at(from->fd, bytes, n, from->offset_bytes);
        if (r == -ENODATA)
            return refuse_damaged(error);
        if (r < 0)
            return vrt_refuse_errno(error, r, "a working file");
        from->crc = vrt_crc(from->crc, bytes, n);
        from->offset_bytes += (int64_t)n;
    }
    return 0;
}

static bool is_sane(const struct part *part)
{
    return part->index >= 0 && part->duration >= 0 && part->n > 1 &&
           part->n <= SHARERS_MAX && isfinite(part->weight) && part->weight > 0 &&
           isfinite(part->total) && part->total > 0 && vrt_frame_extra_is_valid(&part->extra);
}

static int get_picture(struct place *from, const struct head *head, struct vrt_tail *tail,
                       struct vrt_error *error)
{
    struct vrt_picture *picture;
    struct part part;
    int r = get(from, &part, sizeof(part), error);

    if (r < 0)
        return vrt_fold(r);
    if (!is_sane(&part))
        return refuse_damaged(error);
    if (vrt_picture_new((int)head->width, (int)head->height, &picture) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "blending clips");
    tail->pictures[tail->n++] = picture;
    picture->pts = part.pts;
    picture->duration = part.duration;
    picture->index = part.index;
    picture->concealed = part.concealed;
    picture->extra = part.extra;
    picture->share = (struct vrt_share){ .weight = part.weight, .total = part.total,
                                         .n = part.n };
    return vrt_fold(get(from, picture->rgb,
                        vrt_picture_bytes(picture->width, picture->height), error));
}

/* The head, if it is that of a file of its size. */
static int get_head(struct place *from, int width, int height, struct head *ret_head,
                    struct vrt_error *error)
{
    const int64_t part_bytes = (int64_t)(sizeof(struct part) + vrt_picture_bytes(width, height));
    struct stat st;
    int r = get(from, ret_head, sizeof(*ret_head), error);

    if (r < 0)
        return vrt_fold(r);
    if (fstat(from->fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "a working file");
    if (memcmp(ret_head->magic, magic, sizeof(magic)) != 0 ||
        ret_head->width != (uint32_t)width || ret_head->height != (uint32_t)height ||
        ret_head->n < 1 || ret_head->n > VRT_TAIL_PICTURES_MAX ||
        st.st_size != (int64_t)(sizeof(*ret_head) + sizeof(uint32_t)) + ret_head->n * part_bytes)
        return refuse_damaged(error);
    return 0;
}

int vrt_tail_read(int fd, int width, int height, struct vrt_tail *ret_tail,
                  struct vrt_error *error)
{
    struct place from = { .fd = fd };
    uint32_t crc, stored = 0;
    struct head head;
    int r = get_head(&from, width, height, &head, error);

    ret_tail->n = 0;
    for (uint32_t i = 0; r == 0 && i < head.n; i++)
        r = get_picture(&from, &head, ret_tail, error);
    crc = from.crc;
    if (r == 0)
        r = get(&from, &stored, sizeof(stored), error);
    if (r == 0 && stored != crc)
        r = refuse_damaged(error);
    if (r < 0)
        vrt_tail_done(ret_tail);
    return vrt_fold(r);
}
