/* SPDX-License-Identifier: MIT */

/*
 * H.264 and HEVC: SEI messages (ITU-T H.264, H.265, annexes D) in a NAL unit before the first one
 * of the picture; a stream here has start codes. AV1: metadata OBUs (AV1's specification, 5.8 and
 * 6.7) before the frame's. What is said of captions is of ATSC A/53 part 4, 6.2.3.
 */

#include "frames/metadata/insert.h"

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"

/* Types of messages, in H.264 and HEVC and in AV1. */
#define SEI_T35 4
#define SEI_DISPLAY 137
#define SEI_LIGHT 144
#define OBU_LIGHT 1
#define OBU_DISPLAY 2
#define OBU_T35 4

/* Types of what holds them, and of what holds pictures. */
#define NAL_SEI_H264 6
#define NAL_SEI_HEVC 39
#define OBU_METADATA 5
#define OBU_FRAME_HEADER 3
#define OBU_FRAME 6

#define MESSAGE_BYTES_MAX 1024

/* A byte more in every three, and heads. */
#define UNIT_BYTES_MAX (MESSAGE_BYTES_MAX * 3 / 2 + 32)
#define MESSAGES_MAX 4

#define CAPTIONS_HEAD_BYTES 10

struct message {
    unsigned int sei, obu;          /* its types */
    size_t size;
    uint8_t bytes[MESSAGE_BYTES_MAX];
};

struct units {
    size_t size;
    uint8_t bytes[MESSAGES_MAX * UNIT_BYTES_MAX];
};

static void add(struct units *units, unsigned int byte)
{
    vrt_assert(units->size < sizeof(units->bytes));
    units->bytes[units->size++] = (uint8_t)byte;
}

/* A number in SEI's way: as many 255 as it has, and the rest. */
static void add_sei_number(uint8_t *payload, size_t *size, size_t number)
{
    for (; number >= 255; number -= 255)
        payload[(*size)++] = 255;
    payload[(*size)++] = (uint8_t)number;
}

/* The unit, in which no three bytes look like a start code. */
static void add_sei(const struct message *message, bool is_hevc, struct units *units)
{
    uint8_t payload[MESSAGE_BYTES_MAX + 16];
    size_t size = 0;
    int n_zeros = 0;

    add_sei_number(payload, &size, message->sei);
    add_sei_number(payload, &size, message->size);
    memcpy(payload + size, message->bytes, message->size);
    size += message->size;
    payload[size++] = 0x80;

    for (int i = 0; i < 3; i++)
        add(units, 0);
    add(units, 1);
    add(units, is_hevc ? NAL_SEI_HEVC << 1 : NAL_SEI_H264);
    if (is_hevc)
        add(units, 1);
    for (size_t i = 0; i < size; i++) {
        if (n_zeros == 2 && payload[i] <= 3) {
            add(units, 3);
            n_zeros = 0;
        }
        add(units, payload[i]);
        n_zeros = payload[i] ? 0 : n_zeros + 1;
    }
}

/* Seven bits a byte, the lowest first. */
static void add_leb128(size_t number, struct units *units)
{
    for (; number >= 128; number >>= 7)
        add(units, 128 | (unsigned int)(number & 127));
    add(units, (unsigned int)number);
}

/* Its type takes one byte, and so does what ends it. */
static void add_obu(const struct message *message, struct units *units)
{
    add(units, OBU_METADATA << 3 | 2);
    add_leb128(message->size + 2, units);
    add_leb128(message->obu, units);
    for (size_t i = 0; i < message->size; i++)
        add(units, message->bytes[i]);
    add(units, 0x80);
}

static void add_message(enum vrt_codec codec, const struct message *message, struct units *units)
{
    if (codec == VRT_CODEC_AV1)
        add_obu(message, units);
    else
        add_sei(message, codec == VRT_CODEC_HEVC, units);
}

/* A part of 1 as AV1 has it, by 16 bits. */
static unsigned int fraction(int part)
{
    return (unsigned int)VRT_MIN(((int64_t)part * 65536 + VRT_HDR_ONE / 2) / VRT_HDR_ONE, 65535);
}

/* Both halves of it, or it isn't said here: the container may have one alone. */
static void add_display(enum vrt_codec codec, const struct vrt_hdr *hdr, struct units *units)
{
    struct message message = { .sei = SEI_DISPLAY, .obu = OBU_DISPLAY, .size = 24 };
    const bool is_av1 = codec == VRT_CODEC_AV1;
    /* HEVC's order begins with green. */
    const int *const points[] = {
        is_av1 ? hdr->display.red : hdr->display.green,
        is_av1 ? hdr->display.green : hdr->display.blue,
        is_av1 ? hdr->display.blue : hdr->display.red,
        hdr->display.white,
    };
    uint8_t *next = message.bytes;

    if (hdr->display.white[1] <= 0 || hdr->display.max <= 0)
        return;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(points); i++)
        for (int k = 0; k < 2; k++, next += 2)
            AV_WB16(next, is_av1 ? fraction(points[i][k]) : (unsigned int)points[i][k]);
    /* AV1: 24.8 and 18.14 bits. */
    AV_WB32(next, is_av1 ? (uint32_t)(((int64_t)hdr->display.max * 256 + 5000) / 10000) :
                           (uint32_t)hdr->display.max);
    AV_WB32(next + 4, is_av1 ? (uint32_t)(((int64_t)hdr->display.min * 16384 + 5000) / 10000) :
                               (uint32_t)hdr->display.min);
    add_message(codec, &message, units);
}

static void add_light(enum vrt_codec codec, const struct vrt_hdr *hdr, struct units *units)
{
    struct message message = { .sei = SEI_LIGHT, .obu = OBU_LIGHT, .size = 4 };

    if (!vrt_hdr_has_light(hdr))
        return;
    AV_WB16(message.bytes, (unsigned int)hdr->max_light);
    AV_WB16(message.bytes + 2, (unsigned int)hdr->average_light);
    add_message(codec, &message, units);
}

/* The United States' code, ATSC's, and that these are captions. */
static void add_captions(enum vrt_codec codec, const struct vrt_frame_extra *extra,
                         struct units *units)
{
    static const uint8_t head[CAPTIONS_HEAD_BYTES - 2] = { 181, 0, 49, 'G', 'A', '9', '4', 3 };
    struct message message = { .sei = SEI_T35, .obu = OBU_T35 };
    const size_t n = (size_t)extra->n_captions;

    memcpy(message.bytes, head, sizeof(head));
    message.bytes[sizeof(head)] = (uint8_t)(0x40 | n / 3);
    message.bytes[sizeof(head) + 1] = 0xff;
    memcpy(message.bytes + CAPTIONS_HEAD_BYTES, extra->captions, n);
    message.bytes[CAPTIONS_HEAD_BYTES + n] = 0xff;
    message.size = CAPTIONS_HEAD_BYTES + n + 1;
    add_message(codec, &message, units);
}

static void add_hdr10plus(enum vrt_codec codec, const struct vrt_frame_extra *extra,
                          struct units *units)
{
    struct message message = { .sei = SEI_T35, .obu = OBU_T35, .size = (size_t)extra->n_hdr10plus };

    memcpy(message.bytes, extra->hdr10plus, message.size);
    add_message(codec, &message, units);
}

/* Where the first NAL unit of the picture begins, its start code; -1: nowhere. */
static int find_nal(const AVPacket *packet, bool is_hevc)
{
    const uint8_t *data = packet->data;

    for (int i = 0; i + 3 < packet->size; i++) {
        if (data[i] || data[i + 1] || data[i + 2] != 1)
            continue;
        const int type = is_hevc ? data[i + 3] >> 1 & 63 : data[i + 3] & 31;
        if (is_hevc ? type < 32 : type >= 1 && type <= 5)
            return i > 0 && !data[i - 1] ? i - 1 : i;
    }
    return -1;
}

/*
 * Where the first OBU of the picture begins, which is the last of those that the packet has: those
 * before are not shown yet. -1: nowhere.
 */
static int find_obu(const AVPacket *packet)
{
    int at = 0, found = -1;

    while (at < packet->size) {
        const uint8_t head = packet->data[at];
        const int type = head >> 3 & 15;
        int64_t size = 0;
        int next = at + 1 + (head >> 2 & 1);
        if (type == OBU_FRAME || type == OBU_FRAME_HEADER)
            found = at;
        if (!(head & 2))
            return found;
        for (int shift = 0; next < packet->size && shift < 56; shift += 7) {
            const uint8_t byte = packet->data[next++];
            size |= (int64_t)(byte & 127) << shift;
            if (byte < 128)
                break;
        }
        if (size > packet->size - next)
            return found;
        at = next + (int)size;
    }
    return found;
}

/* Puts the units into the packet. */
static int insert(enum vrt_codec codec, const struct units *units, AVPacket *packet)
{
    const int at = codec == VRT_CODEC_AV1 ? find_obu(packet)
                                          : find_nal(packet, codec == VRT_CODEC_HEVC);
    const int size = (int)units->size;

    if (at < 0)
        return vrt_raise(-EBADMSG);
    if (av_grow_packet(packet, size) < 0)
        return vrt_raise(-ENOMEM);
    memmove(packet->data + at + size, packet->data + at, (size_t)(packet->size - size - at));
    memcpy(packet->data + at, units->bytes, units->size);
    return 0;
}

int vrt_metadata_insert(enum vrt_codec codec, AVPacket *packet, const struct vrt_hdr *hdr,
                        const struct vrt_frame_extra *extra)
{
    struct units units = { .size = 0 };

    if (!vrt_codec_facts(codec)->has_metadata)
        return 0;
    if (hdr && packet->flags & AV_PKT_FLAG_KEY) {
        add_display(codec, hdr, &units);
        add_light(codec, hdr, &units);
    }
    if (extra->n_captions > 0)
        add_captions(codec, extra, &units);
    if (extra->n_hdr10plus > 0)
        add_hdr10plus(codec, extra, &units);
    return units.size ? vrt_fold(insert(codec, &units, packet)) : 0;
}
