/* SPDX-License-Identifier: MIT */

/* Parts are made in a small buffer each and go through the sink; see segment.h for the bytes. */

#include "frames/encode/segment.h"

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <string.h>

#include "frames/encode/crc.h"
#include "frames/encode/segment-layout.h"

#define HEAD_FIELD(field) offsetof(struct vrt_segment_head, field)

const size_t vrt_segment_fields[] = {
    HEAD_FIELD(codec),
    HEAD_FIELD(profile),
    HEAD_FIELD(level),
    HEAD_FIELD(format.width),
    HEAD_FIELD(format.height),
    HEAD_FIELD(format.depth),
    HEAD_FIELD(format.layout),
    HEAD_FIELD(format.chroma_shift_x),
    HEAD_FIELD(format.chroma_shift_y),
    HEAD_FIELD(format.matrix),
    HEAD_FIELD(format.chroma_location),
    HEAD_FIELD(format.sample_aspect.num),
    HEAD_FIELD(format.sample_aspect.den),
    HEAD_FIELD(format.primaries),
    HEAD_FIELD(format.transfer),
    HEAD_FIELD(format.color_space),
    HEAD_FIELD(time_base.num),
    HEAD_FIELD(time_base.den),
    HEAD_FIELD(fps.num),
    HEAD_FIELD(fps.den),
};

const int vrt_segment_n_fields = VRT_ARRAY_SIZE(vrt_segment_fields);

/* Writes `size` bytes and adds them to *crc. */
static void put(struct vrt_sink *sink, const uint8_t *data, size_t size, uint32_t *crc)
{
    avio_write(sink->io, data, (int)size);
    *crc = vrt_crc(*crc, data, size);
}

int vrt_segment_write_head(struct vrt_sink *sink, const struct vrt_segment_head *head,
                           const uint8_t *extradata, int extradata_size, struct vrt_error *error)
{
    uint8_t fields[4 + 4 * VRT_ARRAY_SIZE(vrt_segment_fields) + 4];
    uint8_t *next = fields + 4;
    uint32_t crc = 0;

    for (int i = 0; i < vrt_segment_n_fields; i++, next += 4) {
        int value;
        memcpy(&value, (const char *)head + vrt_segment_fields[i], sizeof(value));
        AV_WL32(next, (uint32_t)value);
    }
    /* What is no int. */
    AV_WL32(next, (head->format.full_range ? VRT_SEGMENT_FULL_RANGE : 0) |
                  (head->format.has_alpha ? VRT_SEGMENT_HAS_ALPHA : 0));
    AV_WL32(fields, (uint32_t)(sizeof(fields) - 4 + (size_t)extradata_size));

    avio_write(sink->io, (const uint8_t *)VRT_SEGMENT_MAGIC, VRT_SEGMENT_MAGIC_BYTES);
    put(sink, fields, sizeof(fields), &crc);
    put(sink, extradata, (size_t)extradata_size, &crc);
    avio_wl32(sink->io, crc);
    return vrt_fold(vrt_sink_check(sink, 0, error));
}

int vrt_segment_write_packet(struct vrt_sink *sink, const struct vrt_segment_packet *packet,
                             const AVPacket *data, struct vrt_error *error)
{
    uint8_t head[VRT_SEGMENT_PART_BYTES] = { 'P', packet->key }, end[4];
    size_t extra_bytes = 0;
    const uint8_t *extra = av_packet_get_side_data(data, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL,
                                                   &extra_bytes);
    const size_t end_bytes = extra ? sizeof(end) : 0;
    uint32_t crc = 0;

    AV_WL16(head + 2, extra != NULL);
    AV_WL32(head + 4, (uint32_t)((size_t)data->size + extra_bytes + end_bytes));
    AV_WL64(head + 8, (uint64_t)packet->index);
    AV_WL64(head + 16, (uint64_t)packet->pts);
    AV_WL64(head + 24, (uint64_t)packet->duration);
    put(sink, head, sizeof(head), &crc);
    AV_WL32(end, (uint32_t)data->size);
    crc = vrt_crc(crc, data->data, (size_t)data->size);
    crc = vrt_crc(crc, extra, extra_bytes);
    avio_wl32(sink->io, vrt_crc(crc, end, end_bytes));
    avio_write(sink->io, data->data, data->size);
    avio_write(sink->io, extra, (int)extra_bytes);
    avio_write(sink->io, end, (int)end_bytes);
    return vrt_fold(vrt_sink_check(sink, 0, error));
}

int vrt_segment_write_end(struct vrt_sink *sink, const struct vrt_segment_end *end,
                          struct vrt_error *error)
{
    uint8_t bytes[VRT_SEGMENT_END_BYTES] = { 'E' };
    const int64_t fields[4] = { end->n_packets, end->delay, end->end_pts, end->n_first };

    AV_WL32(bytes + 4, VRT_SEGMENT_END_BYTES);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fields); i++)
        AV_WL64(bytes + 8 + 8 * i, (uint64_t)fields[i]);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(end->first_pts); i++)
        AV_WL64(bytes + 8 + 8 * (VRT_ARRAY_SIZE(fields) + i), (uint64_t)end->first_pts[i]);
    AV_WL32(bytes + VRT_SEGMENT_END_BYTES - 4,
            vrt_crc(0, bytes, VRT_SEGMENT_END_BYTES - 4));
    avio_write(sink->io, bytes, sizeof(bytes));
    return vrt_fold(vrt_sink_flush(sink, error));
}
