/* SPDX-License-Identifier: MIT */

#include "frames/decode/part.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/mathematics.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "frames/av.h"

/* Packets that there is room for at first. */
#define CAPACITY 64

/* What one takes beside its data: itself, who refers to it, what FFmpeg pads it with, side data. */
#define PACKET_BYTES 512

/* Less than this is read. */
#define LEAP_S 10

/* Key frames from where a leap leads to the part: two, one since an index may have when frames are
 * decoded rather than shown, and one that costs little. */
#define LEAP_KEYS 4

static const AVRational ns_base = { 1, VRT_NS_PER_S };

void vrt_part_place(struct vrt_part *part, int64_t first_pts, AVRational time_base)
{
    const struct vrt_reader_range *range = &part->range;

    part->start = first_pts + av_rescale_q(range->start_ns, ns_base, time_base);
    part->end = range->duration_ns <= 0 ? INT64_MAX :
                first_pts + av_rescale_q(range->start_ns + range->duration_ns, ns_base, time_base);
    part->is_placed = true;
    part->has_begun = range->start_ns <= 0 || part->is_all_seen;
}

static int64_t rescale(int64_t pts, struct vrt_rational of, AVRational time_base)
{
    return av_rescale_q_rnd(pts, vrt_rational_av(of), time_base, AV_ROUND_DOWN);
}

void vrt_part_begin_late(struct vrt_part *part, int64_t pts, struct vrt_rational of,
                         AVRational time_base)
{
    const int64_t start = rescale(pts, of, time_base);

    if (start <= part->start)
        return;
    part->start = start;
    part->has_begun = part->is_all_seen;
}

/* Where the last key frames before the part begin, as far as is known; NULL: there are fewer. */
static const AVIndexEntry *find_keys(const struct vrt_part *part, AVStream *stream)
{
    int n = 0;

    for (int i = avformat_index_get_entries_count(stream) - 1; i >= 0; i--) {
        const AVIndexEntry *entry = avformat_index_get_entry(stream, i);
        n += entry->flags & AVINDEX_KEYFRAME && entry->timestamp <= part->start;
        if (n == LEAP_KEYS)
            return entry;
    }
    return NULL;
}

bool vrt_part_leap(struct vrt_part *part, struct vrt_source *source, const AVStream *stream)
{
    AVFormatContext *format = source->format;
    const int64_t begin = stream->start_time != AV_NOPTS_VALUE ? stream->start_time : 0;
    const bool is_matroska = av_match_name("matroska", format->iformat->name);

    /* An MP4 in fragments has no index of all of them. */
    if (part->has_begun || source->packets || source->size_bytes < 0 ||
        part->start - begin < av_rescale_q(LEAP_S, (AVRational){ 1, 1 }, stream->time_base) ||
        (!is_matroska && !(av_match_name("mov", format->iformat->name) && stream->nb_frames > 0)))
        return true;
    /* By that Matroska's index is read. */
    if (is_matroska && av_seek_frame(format, stream->index, part->start, AVSEEK_FLAG_BACKWARD) < 0)
        return false;
    const AVIndexEntry *entry = find_keys(part, format->streams[stream->index]);
    if (!entry)
        return !is_matroska;
    part->is_behind = true;
    part->n_keys_due = 2;
    return av_seek_frame(format, stream->index, entry->timestamp, AVSEEK_FLAG_BACKWARD) >= 0;
}

bool vrt_part_knows(const struct vrt_part *part)
{
    /* Of others key frames may be but a wish, as in GIF, or times those of packets, as in MPEG-4's
     * part 2, where one has two frames. */
    static const enum AVCodecID known[] = {
        AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_AV1, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9,
        AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_FFV1, AV_CODEC_ID_PRORES,
        AV_CODEC_ID_DNXHD, AV_CODEC_ID_MJPEG, AV_CODEC_ID_JPEG2000, AV_CODEC_ID_DVVIDEO,
        AV_CODEC_ID_RAWVIDEO, AV_CODEC_ID_V210, AV_CODEC_ID_HUFFYUV, AV_CODEC_ID_FFVHUFF,
        AV_CODEC_ID_UTVIDEO,
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++)
        if (part->codec->codec_id == known[i])
            return true;
    return false;
}

bool vrt_part_is_odd(const struct vrt_part *part)
{
    return part->n_keys_due || part->is_set_once;
}

/* Behind the next start code of ITU-T H.264 and H.265, annex B. Return: NULL: there is none. */
static const uint8_t *find_unit(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *one = at;

    while (end - one > 0 && (one = memchr(one, 1, (size_t)(end - one)))) {
        if (one - at >= 2 && one[-1] == 0 && one[-2] == 0)
            return one + 1;
        one++;
    }
    return NULL;
}

/* Bytes of the lengths before units, by the configuration record of ISO/IEC 14496-15 (avcC, hvcC);
 * 0: start codes are. */
static int length_bytes_of(const AVCodecParameters *codec)
{
    const uint8_t *record = codec->extradata;

    if (codec->codec_id == AV_CODEC_ID_H264)
        return codec->extradata_size >= 7 && record[0] == 1 ? (record[4] & 3) + 1 : 0;
    return codec->extradata_size >= 23 && (record[0] || record[1] || record[2] > 1) ?
           (record[21] & 3) + 1 : 0;
}

/* The next unit from *at on, which is left behind it. Return: its bytes; 0: there is none. */
static size_t next_unit(int length_bytes, const uint8_t **at, const uint8_t *end,
                        const uint8_t **ret_unit)
{
    size_t size = 0;

    if (length_bytes) {
        if (end - *at <= length_bytes)
            return 0;
        for (int i = 0; i < length_bytes; i++)
            size = size << 8 | *(*at)++;
        size = VRT_MIN(size, (size_t)(end - *at));
        *ret_unit = *at;
    } else {
        *ret_unit = find_unit(*at, end);
        if (!*ret_unit)
            return 0;
        const uint8_t *next = find_unit(*ret_unit, end);
        size = (size_t)((next ? next - 3 : end) - *ret_unit);
        *at = *ret_unit;
    }
    *at += size;
    return size;
}

/* Kinds of parameter sets in a packet, one bit each, that the container hasn't told bit by bit. */
static unsigned int sets_of(const AVCodecParameters *codec, const AVPacket *packet)
{
    const bool is_h264 = codec->codec_id == AV_CODEC_ID_H264;
    const int length_bytes = length_bytes_of(codec);
    const uint8_t *at = packet->data, *end = packet->data + packet->size, *unit;
    unsigned int sets = 0;
    size_t size;

    while ((size = next_unit(length_bytes, &at, end, &unit)) > 0) {
        const int type = is_h264 ? unit[0] & 31 : unit[0] >> 1 & 63;
        const int set = is_h264 ? type - 7 : type - 32;
        if (set < 0 || set > (is_h264 ? 1 : 2))
            continue;
        /* Of the zero bytes before a start code none is the unit's. */
        while (size > 1 && unit[size - 1] == 0)
            size--;
        if (codec->extradata_size == 0 ||
            !memmem(codec->extradata, (size_t)codec->extradata_size, unit, size))
            sets |= 1U << set;
    }
    return sets;
}

/* Sees whether all key frames bring the parameter sets that any packet brings: else a decoder that
 * begins with one may lack them. */
static void note_sets(struct vrt_part *part, const AVPacket *packet, bool is_key)
{
    const enum AVCodecID id = part->codec->codec_id;

    if (part->is_set_once || (id != AV_CODEC_ID_H264 && id != AV_CODEC_ID_HEVC) ||
        packet->size == 0)
        return;
    const unsigned int sets = sets_of(part->codec, packet);
    part->is_set_once = is_key && (sets & part->sets) != part->sets;
    part->sets |= sets;
}

static int64_t bytes_of(const AVPacket *packet)
{
    return packet->size + PACKET_BYTES;
}

bool vrt_part_next(struct vrt_part *part, AVPacket *packet)
{
    AVPacket *held;

    if (part->is_holding || !part->held || av_fifo_read(part->held, &held, 1) < 0)
        return false;
    part->held_bytes -= bytes_of(held);
    av_packet_move_ref(packet, held);
    av_packet_free(&held);
    return true;
}

static int hold(struct vrt_part *part, AVPacket *packet)
{
    if (!part->held)
        part->held = av_fifo_alloc2(CAPACITY, sizeof(AVPacket *), AV_FIFO_FLAG_AUTO_GROW);
    AVPacket *held = av_packet_alloc();
    if (!part->held || !held || av_fifo_write(part->held, &held, 1) < 0) {
        av_packet_free(&held);
        return vrt_raise(-ENOMEM);
    }
    av_packet_move_ref(held, packet);
    part->held_bytes += bytes_of(held);
    part->n_held_last++;
    return 0;
}

/* A packet isn't decoded: if from it on other parameters are the stream's, as where recordings were
 * joined, the next one tells the decoder. Return: 0, -ENOMEM. */
static int hand_on(const AVPacket *packet, const struct vrt_part *part)
{
    const enum AVPacketSideDataType type = AV_PKT_DATA_NEW_EXTRADATA;
    size_t size = 0;
    const uint8_t *data = av_packet_get_side_data(packet, type, &size);
    AVPacket *next;

    if (!data || av_fifo_peek(part->held, &next, 1, 0) < 0 ||
        av_packet_get_side_data(next, type, NULL))
        return 0;
    uint8_t *copy = av_packet_new_side_data(next, type, size);
    if (!copy)
        return vrt_raise(-ENOMEM);
    memcpy(copy, data, size);
    return 0;
}

/* A key frame comes: of what is kept, only what follows the last one may still be needed. Return:
 * likewise. */
static int forget(struct vrt_part *part)
{
    size_t n = part->held ? av_fifo_can_read(part->held) - part->n_held_last : 0;
    AVPacket *held;
    int r = 0;

    while (r == 0 && n-- > 0 && av_fifo_read(part->held, &held, 1) >= 0) {
        part->held_bytes -= bytes_of(held);
        part->is_behind = true;
        r = hand_on(held, part);
        av_packet_free(&held);
    }
    part->n_held_last = 0;
    return r;
}

/* What is kept is for the decoder. Return: as of vrt_part_end(). */
static int release(struct vrt_part *part)
{
    const bool is_behind = part->is_behind;

    part->is_holding = part->is_behind = false;
    part->n_held_last = 0;
    return is_behind ? VRT_PART_BEGIN : VRT_PART_GO_ON;
}

int vrt_part_take(struct vrt_part *part, AVPacket *packet)
{
    int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    bool is_key = packet->flags & AV_PKT_FLAG_KEY;
    bool is_before = time != AV_NOPTS_VALUE && time < part->start;

    note_sets(part, packet, is_key);
    if (!part->is_placed || part->has_begun)
        return 0;
    if (is_key && part->n_keys_due > 0)
        part->n_keys_due--;
    int r = is_key ? forget(part) : 0;
    if (r < 0)
        return vrt_fold(r);
    r = hold(part, packet);
    if (r < 0)
        return vrt_fold(r);
    part->is_holding = true;
    part->has_begun = time != AV_NOPTS_VALUE && !is_before;
    return part->has_begun || part->held_bytes > VRT_PART_HELD_BYTES_MAX ? release(part) :
                                                                           VRT_PART_HELD;
}

int vrt_part_end(struct vrt_part *part)
{
    part->has_begun = true;
    return part->is_holding ? release(part) : 0;
}

int vrt_part_side(const struct vrt_part *part, int64_t pts, struct vrt_rational of,
                  AVRational time_base)
{
    const int64_t at = rescale(pts, of, time_base);

    return at < part->start ? -1 : at >= part->end;
}

int vrt_part_refuse(const struct vrt_part *part, const char *name, struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-ERANGE), "input.part",
                      "%s has no frame at %.10g s or later: name an earlier time", name,
                      (double)part->range.start_ns / VRT_NS_PER_S);
}

int vrt_part_limit(const struct vrt_part *part, const char *name, struct vrt_reader_info *info,
                   struct vrt_error *error)
{
    const struct vrt_reader_range *range = &part->range;
    int64_t whole_ns = info->duration_ns;

    if (whole_ns <= 0 && range->duration_ns > 0)
        info->duration_ns = range->duration_ns;
    if (whole_ns <= 0)
        return 0;
    if (range->start_ns >= whole_ns)
        return vrt_refuse(error, vrt_raise(-ERANGE), "input.part",
                          "%s is %.10g s long: it has nothing from %.10g s on; name an earlier "
                          "time", name, (double)(whole_ns / 1000000) / 1e3,
                          (double)range->start_ns / VRT_NS_PER_S);
    info->duration_ns -= range->start_ns;
    if (range->duration_ns > 0)
        info->duration_ns = VRT_MIN(info->duration_ns, range->duration_ns);
    info->is_by_duration |= info->duration_ns != whole_ns;
    if (info->n_frames_estimate > 0)
        info->n_frames_estimate = VRT_MAX(av_rescale_rnd(info->n_frames_estimate,
                                                         info->duration_ns, whole_ns, AV_ROUND_UP),
                                          1);
    return 0;
}

void vrt_part_done(struct vrt_part *part)
{
    AVPacket *held;

    while (part->held && av_fifo_read(part->held, &held, 1) >= 0)
        av_packet_free(&held);
    av_fifo_freep2(&part->held);
}
