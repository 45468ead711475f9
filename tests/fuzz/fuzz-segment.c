/* SPDX-License-Identifier: MIT */
/*
 * Working files: a segment, alone and twice in a video, and a tail. What is damaged is refused with
 * a sentence; of what is taken, every number is within its bounds. No fuzzer guesses a checksum:
 * a first byte that is odd has them all put right.
 */

#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "frames/av.h"
#include "frames/join/join-video.h"
#include "frames/encode/crc.h"
#include "frames/encode/segment-layout.h"
#include "frames/encode/tail.h"

#define TAIL_SIDE 2

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* As far as the sizes in it are right; the end lies where the file ends. */
static void mend_segment(uint8_t *data, size_t size)
{
    const size_t end = size - VRT_SEGMENT_END_BYTES;
    size_t at = VRT_SEGMENT_MAGIC_BYTES;

    if (size < VRT_SEGMENT_END_BYTES + VRT_SEGMENT_MAGIC_BYTES + 8)
        return;
    put_u32(data + size - 4, vrt_crc(0, data + end, VRT_SEGMENT_END_BYTES - 4));
    size_t n = get_u32(data + at);
    if (n > end - at - 8)
        return;
    put_u32(data + at + 4 + n, vrt_crc(0, data + at, 4 + n));
    at += 8 + n;
    while (end - at >= VRT_SEGMENT_PART_BYTES + 4) {
        n = get_u32(data + at + 4);
        if (n > end - at - VRT_SEGMENT_PART_BYTES - 4)
            return;
        uint32_t crc = vrt_crc(0, data + at, VRT_SEGMENT_PART_BYTES);
        put_u32(data + at + VRT_SEGMENT_PART_BYTES,
                vrt_crc(crc, data + at + VRT_SEGMENT_PART_BYTES + 4, n));
        at += VRT_SEGMENT_PART_BYTES + 4 + n;
    }
}

static void try_segment(int fd)
{
    VRT_CLEANUP(vrt_segment_reader_closep) struct vrt_segment_reader *reader = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    struct vrt_error error = { .id = NULL };
    struct vrt_segment_packet info;

    vrt_assert(packet != NULL);
    int r = vrt_segment_reader_open(fd, 1, &reader, &error);
    while (r == 0) {
        r = vrt_segment_reader_next(reader, &info, packet, &error);
        vrt_assert(r != 0 || (info.index >= 0 && info.index < reader->end.n_packets));
    }
    vrt_assert(r == VRT_SEGMENT_END || (error.id && error.message[0]));
}

static int open_again(void *ctx, int number)
{
    (void)number;
    int fd = dup(*(const int *)ctx);
    return fd < 0 ? -errno : fd;
}

static void try_video(int fd)
{
    const struct vrt_joiner_segments segments = { .open = open_again, .ctx = &fd, .n = 2 };
    VRT_CLEANUP(vrt_join_video_closep) struct vrt_join_video *video = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    struct vrt_error error = { .id = NULL };

    vrt_assert(packet != NULL);
    int r = vrt_join_video_open(&segments, &video, &error);
    while (r == 0)
        r = vrt_join_video_next(video, packet, &error);
    vrt_assert(r == VRT_SEGMENT_END || (error.id && error.message[0]));
}

static void try_tail(int fd)
{
    VRT_CLEANUP(vrt_tail_done) struct vrt_tail tail = { .n = 0 };
    struct vrt_error error = { .id = NULL };
    int r = vrt_tail_read(fd, TAIL_SIDE, TAIL_SIDE, &tail, &error);

    vrt_assert(r == 0 ? tail.n > 0 : tail.n == 0 && error.id && error.message[0]);
    for (int i = 0; i < tail.n; i++)
        vrt_assert(tail.pictures[i]->index >= 0 && tail.pictures[i]->share.weight > 0);
}

/* The open file, emptied and filled with these bytes. */
static void fill(int fd, const uint8_t *data, size_t size)
{
    vrt_assert(ftruncate(fd, 0) == 0);
    vrt_assert(pwrite(fd, data, size, 0) == (ssize_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *file;
    VRT_CLEANUP(vrt_freep) uint8_t *mended = NULL;

    vrt_log_set_level(VRT_LOG_ERROR);
    if (!file)
        file = tmpfile();
    vrt_assert(file != NULL);
    if (size < 2)
        return 0;
    const bool mend = data[0] & 1;
    mended = malloc(--size);
    vrt_assert(mended != NULL);
    memcpy(mended, data + 1, size);
    if (mend)
        mend_segment(mended, size);
    fill(fileno(file), mended, size);
    try_segment(fileno(file));
    try_video(fileno(file));

    memcpy(mended, data + 1, size);
    if (mend && size > 4) {
        put_u32(mended + size - 4, vrt_crc(0, mended, size - 4));
        fill(fileno(file), mended, size);
    }
    try_tail(fileno(file));
    return 0;
}
