/* SPDX-License-Identifier: MIT */

/*
 * pwrite() at an offset of our own. The first failure is kept, and nothing is written after it:
 * what FFmpeg makes of it later does not hide what it was.
 */

#include "frames/encode/sink.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/io/write.h"
#include "frames/av.h"

#define BUFFER_BYTES (256 * 1024)  /* written at a time */

static const char what[] = "working file";

/* Writes everything or fails; VRT_AV_WRITE_CONST is FFmpeg's idea of whether `data` is const. */
static int write_all(void *opaque, VRT_AV_WRITE_CONST uint8_t *data, int size)
{
    struct vrt_sink *sink = opaque;

    if (!sink->write_error)
        sink->write_error = vrt_write_at(sink->fd, data, (size_t)size, sink->offset_bytes);
    if (sink->write_error)
        return AVERROR(-sink->write_error);
    sink->offset_bytes += size;
    sink->size_bytes = VRT_MAX(sink->size_bytes, sink->offset_bytes);
    return size;
}

/* AVIO's seek, which counts from the beginning alone: muxers go back to fill in sizes. */
static int64_t seek_to(void *opaque, int64_t offset, int whence)
{
    struct vrt_sink *sink = opaque;

    if (whence == AVSEEK_SIZE)
        return sink->size_bytes;
    if (whence != SEEK_SET || offset < 0)
        return AVERROR(EINVAL);
    sink->offset_bytes = offset;
    return offset;
}

int vrt_sink_open(int fd, struct vrt_sink **ret_sink, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_sink_closep) struct vrt_sink *sink = calloc(1, sizeof(*sink));
    uint8_t *buffer = av_malloc(BUFFER_BYTES);

    if (sink && buffer)
        sink->io = avio_alloc_context(buffer, BUFFER_BYTES, 1, sink, NULL, write_all, seek_to);
    if (!sink || !sink->io) {
        av_free(buffer);
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), what);
    }
    sink->fd = fd;
    if (lseek(fd, 0, SEEK_CUR) < 0)
        return vrt_refuse(error, vrt_raise(-errno), "output.write",
                          "the %s must be a regular file: the index is written into it last, at "
                          "its beginning", what);
    if (ftruncate(fd, 0) < 0)
        return vrt_refuse(error, vrt_raise(-errno), "output.write",
                          "the %s cannot be written: %s", what, strerror(errno));
    *ret_sink = VRT_STEAL(sink);
    return 0;
}

int vrt_sink_check(const struct vrt_sink *sink, int r, struct vrt_error *error)
{
    int w = sink->write_error;

    if (vrt_is_disk_full(w))
        return vrt_refuse(error, vrt_raise(w), "spool.full",
                          "the %s's disk is full: free some space and try again", what);
    if (w == -EFBIG)
        return vrt_refuse(error, vrt_raise(w), "output.write",
                          "the %s grew too large for its file system or the limit on file sizes",
                          what);
    if (w)
        return vrt_refuse(error, vrt_raise(w), "output.write", "the %s cannot be written: %s",
                          what, strerror(-w));
    if (r == AVERROR(ENOMEM))
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), what);
    if (r < 0)
        return vrt_refuse(error, vrt_raise(vrt_av_errno(r)), "output.write",
                          "the %s cannot be written: FFmpeg says \"%s\"", what,
                          av_err2str(r));
    return 0;
}

int vrt_sink_flush(struct vrt_sink *sink, struct vrt_error *error)
{
    avio_flush(sink->io);
    return vrt_fold(vrt_sink_check(sink, sink->io->error, error));
}

int vrt_sink_sync(struct vrt_sink *sink, struct vrt_error *error)
{
    int r = vrt_sink_flush(sink, error);

    if (r < 0)
        return vrt_fold(r);
    /* Where there is nothing to sync (EINVAL), there is nothing to lose. */
    if (fsync(sink->fd) == 0 || errno == EINVAL || errno == ENOTSUP)
        return 0;
    sink->write_error = -errno;
    return vrt_fold(vrt_sink_check(sink, 0, error));
}

struct vrt_sink *vrt_sink_close(struct vrt_sink *sink)
{
    if (!sink)
        return NULL;
    sink->io = vrt_av_io_free(sink->io);
    free(sink);
    return NULL;
}
