/* SPDX-License-Identifier: MIT */

/*
 * A segment may have been cut by a crash or spoilt by the disk: every size is compared with what
 * is there before it is used, every part with its checksum. The end is read first.
 */

#include "frames/encode/segment.h"

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/write.h"
#include "frames/av.h"
#include "frames/encode/crc.h"
#include "frames/encode/segment-layout.h"

/* No encoder writes more; a damaged size ends here rather than in an allocation. */
#define MAX_PACKET_BYTES (1 << 30)
#define MAX_EXTRADATA_BYTES (1 << 20)

/* Of time stamps, in any time base: sums and differences of a few stay within 64 bits. */
#define MAX_PTS (INT64_C(1) << 60)

static int refuse_damaged(const struct vrt_segment_reader *reader, struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-EBADMSG), "segment.damaged",
                      "segment %d of the restored video is incomplete or damaged on disk: retry "
                      "the job", reader->number);
}

/* Reads exactly `size` bytes at `offset`. Return: 0; -EBADMSG, -errno with a sentence. */
static int read_at(const struct vrt_segment_reader *reader, int64_t offset, uint8_t *bytes,
                   size_t size, struct vrt_error *error)
{
    if (offset < 0 || offset > reader->size_bytes ||
        size > (uint64_t)(reader->size_bytes - offset))
        return refuse_damaged(reader, error);
    int r = vrt_read_at(reader->fd, bytes, size, offset);
    if (r == -ENODATA)
        return refuse_damaged(reader, error);
    return r < 0 ? vrt_refuse_errno(error, r, "a segment of the restored video") : 0;
}

/* Fields that a newer version might add would come with another magic: none is skipped. */
static int read_head(struct vrt_segment_reader *reader, struct vrt_error *error)
{
    const size_t fixed = 4 * ((size_t)vrt_segment_n_fields + 1);
    uint8_t start[VRT_SEGMENT_MAGIC_BYTES + 4];

    int r = read_at(reader, 0, start, sizeof(start), error);
    if (r < 0)
        return vrt_fold(r);
    size_t size = AV_RL32(start + VRT_SEGMENT_MAGIC_BYTES);
    if (memcmp(start, VRT_SEGMENT_MAGIC, VRT_SEGMENT_MAGIC_BYTES) != 0 || size < fixed ||
        size - fixed > MAX_EXTRADATA_BYTES)
        return refuse_damaged(reader, error);

    VRT_CLEANUP(vrt_freep) uint8_t *bytes = malloc(size + 4);
    reader->extradata_size = (int)(size - fixed);
    reader->extradata = av_mallocz(size - fixed + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!bytes || !reader->extradata)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    r = read_at(reader, sizeof(start), bytes, size + 4, error);
    if (r < 0)
        return vrt_fold(r);
    uint32_t crc = vrt_crc(0, start + VRT_SEGMENT_MAGIC_BYTES, 4);
    if (vrt_crc(crc, bytes, size) != AV_RL32(bytes + size))
        return refuse_damaged(reader, error);
    for (int i = 0; i < vrt_segment_n_fields; i++) {
        int value = (int)AV_RL32(bytes + 4 * i);
        memcpy((char *)&reader->head + vrt_segment_fields[i], &value, sizeof(value));
    }
    const uint32_t flags = AV_RL32(bytes + fixed - 4);
    reader->head.format.full_range = flags & VRT_SEGMENT_FULL_RANGE;
    reader->head.format.has_alpha = flags & VRT_SEGMENT_HAS_ALPHA;
    memcpy(reader->extradata, bytes + fixed, size - fixed);
    reader->offset_bytes = (int64_t)(sizeof(start) + size + 4);
    return 0;
}

static bool is_time(int64_t pts)
{
    return pts > -MAX_PTS && pts < MAX_PTS;
}

/* What is there is no larger than the file, and can be computed with. */
static bool is_end_sane(const struct vrt_segment_reader *reader)
{
    const struct vrt_segment_end *end = &reader->end;

    if (end->n_packets < 0 || end->n_packets > reader->size_bytes / VRT_SEGMENT_PART_BYTES ||
        end->delay < 0 || end->delay > VRT_SEGMENT_MAX_DELAY || end->n_first < 0 ||
        end->n_first > VRT_SEGMENT_MAX_DELAY + 1 || !is_time(end->end_pts))
        return false;
    for (int64_t i = 0; i < end->n_first; i++)
        if (!is_time(end->first_pts[i]))
            return false;
    return true;
}

/* Its place is known from the file's size, so a file that was cut off shows at once. */
static int read_end(struct vrt_segment_reader *reader, struct vrt_error *error)
{
    struct vrt_segment_end *end = &reader->end;
    uint8_t bytes[VRT_SEGMENT_END_BYTES];
    int64_t fields[VRT_SEGMENT_END_FIELDS];

    int r = read_at(reader, reader->size_bytes - VRT_SEGMENT_END_BYTES, bytes, sizeof(bytes),
                    error);
    if (r < 0)
        return vrt_fold(r);
    if (bytes[0] != 'E' || AV_RL32(bytes + 4) != VRT_SEGMENT_END_BYTES ||
        AV_RL32(bytes + VRT_SEGMENT_END_BYTES - 4) !=
            vrt_crc(0, bytes, VRT_SEGMENT_END_BYTES - 4))
        return refuse_damaged(reader, error);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fields); i++)
        fields[i] = (int64_t)AV_RL64(bytes + 8 + 8 * i);
    end->n_packets = fields[0];
    end->delay = fields[1];
    end->end_pts = fields[2];
    end->n_first = fields[3];
    memcpy(end->first_pts, fields + 4, sizeof(end->first_pts));
    if (!is_end_sane(reader))
        return refuse_damaged(reader, error);
    reader->size_bytes -= VRT_SEGMENT_END_BYTES;
    return 0;
}

int vrt_segment_reader_open(int fd, int number, struct vrt_segment_reader **ret_reader,
                            struct vrt_error *error)
{
    VRT_CLEANUP(vrt_segment_reader_closep) struct vrt_segment_reader *reader = NULL;
    struct stat st;

    reader = calloc(1, sizeof(*reader));
    if (!reader)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    reader->fd = fd;
    reader->number = number;
    if (fstat(fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "a segment of the restored video");
    reader->size_bytes = st.st_size;
    int r = read_end(reader, error);
    if (r < 0)
        return vrt_fold(r);
    r = read_head(reader, error);
    if (r < 0)
        return vrt_fold(r);
    if (!vrt_frame_format_is_valid(&reader->head.format) || reader->head.time_base.num <= 0 ||
        reader->head.time_base.den <= 0 || (unsigned int)reader->head.codec >= VRT_CODEC_COUNT)
        return refuse_damaged(reader, error);
    *ret_reader = VRT_STEAL(reader);
    return 0;
}

/* What stands before the next packet's data, of which *ret_size is the size. Return: 0;
 * VRT_SEGMENT_END; -errno with a sentence. */
static int read_packet_head(const struct vrt_segment_reader *reader,
                            uint8_t head[VRT_SEGMENT_PART_BYTES + 4], uint32_t *ret_size,
                            struct vrt_error *error)
{
    if (reader->offset_bytes == reader->size_bytes && reader->n_read == reader->end.n_packets)
        return VRT_SEGMENT_END;
    int r = read_at(reader, reader->offset_bytes, head, VRT_SEGMENT_PART_BYTES + 4, error);
    if (r < 0)
        return vrt_fold(r);
    const uint32_t size = AV_RL32(head + 4);
    if (head[0] != 'P' || size > MAX_PACKET_BYTES ||
        size > reader->size_bytes - reader->offset_bytes)
        return refuse_damaged(reader, error);
    *ret_size = size;
    return 0;
}

int vrt_segment_reader_skip(struct vrt_segment_reader *reader, struct vrt_error *error)
{
    uint8_t head[VRT_SEGMENT_PART_BYTES + 4];
    uint32_t size = 0;
    int r = read_packet_head(reader, head, &size, error);

    if (r != 0)
        return vrt_fold(r);
    reader->offset_bytes += (int64_t)sizeof(head) + size;
    reader->n_read++;
    return 0;
}

/* Takes what goes along with the packet out of its data. Return: 0; -EBADMSG, -ENOMEM with a
 * sentence. */
static int split(const struct vrt_segment_reader *reader, AVPacket *packet, struct vrt_error *error)
{
    const int end = packet->size - 4;
    const uint32_t size = end >= 0 ? AV_RL32(packet->data + end) : 0;

    if (end < 0 || size > (uint32_t)end)
        return refuse_damaged(reader, error);
    const size_t extra_bytes = (size_t)end - size;
    uint8_t *extra = av_packet_new_side_data(packet, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL,
                                             extra_bytes);
    if (!extra)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    memcpy(extra, packet->data + size, extra_bytes);
    av_shrink_packet(packet, (int)size);
    return 0;
}

int vrt_segment_reader_next(struct vrt_segment_reader *reader, struct vrt_segment_packet *packet,
                            AVPacket *data, struct vrt_error *error)
{
    uint8_t head[VRT_SEGMENT_PART_BYTES + 4];
    uint32_t size = 0;

    int r = read_packet_head(reader, head, &size, error);
    if (r != 0)
        return vrt_fold(r);
    av_packet_unref(data);
    if (av_new_packet(data, (int)size) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    r = read_at(reader, reader->offset_bytes + (int64_t)sizeof(head), data->data, size, error);
    if (r < 0)
        return vrt_fold(r);
    uint32_t crc = vrt_crc(0, head, VRT_SEGMENT_PART_BYTES);
    if (vrt_crc(crc, data->data, size) != AV_RL32(head + VRT_SEGMENT_PART_BYTES))
        return refuse_damaged(reader, error);

    r = AV_RL16(head + 2) ? split(reader, data, error) : 0;
    if (r < 0)
        return vrt_fold(r);

    packet->key = head[1];
    packet->index = (int64_t)AV_RL64(head + 8);
    packet->pts = (int64_t)AV_RL64(head + 16);
    packet->duration = (int64_t)AV_RL64(head + 24);
    if (packet->index < 0 || packet->index >= reader->end.n_packets || !is_time(packet->pts) ||
        !is_time(packet->duration))
        return refuse_damaged(reader, error);
    reader->offset_bytes += (int64_t)sizeof(head) + size;
    reader->n_read++;
    return 0;
}

struct vrt_segment_reader *vrt_segment_reader_close(struct vrt_segment_reader *reader)
{
    if (!reader)
        return NULL;
    av_freep(&reader->extradata);
    free(reader);
    return NULL;
}
