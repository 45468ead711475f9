/* SPDX-License-Identifier: MIT */

/* Tail files: every bit comes back, and nothing that isn't one is taken for one. */

#include "frames/encode/tail.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"

#define WIDTH 7
#define HEIGHT 5
#define N_PICTURES 3

/* Of the file: see frames/encode/tail.h. */
#define HEAD_BYTES 24
#define PART_BYTES (40 + sizeof(struct vrt_frame_extra) + WIDTH * HEIGHT * 12)
#define TAIL_BYTES ((int64_t)(HEAD_BYTES + N_PICTURES * PART_BYTES + 4))

static int temporary_file(void)
{
    char name[] = "/tmp/vrt-tail-XXXXXX";
    int fd = mkstemp(name);

    expect_true(fd >= 0);
    unlink(name);
    return fd;
}

/* Pictures with every kind of float in them. */
static void make(struct vrt_tail *ret_tail)
{
    static const float values[] = { 0.5f, -0.0f, 1e-42f, -16.0f, 1.0000001f, 3e38f };

    ret_tail->n = N_PICTURES;
    for (int i = 0; i < N_PICTURES; i++) {
        struct vrt_picture *picture;
        expect_int(vrt_picture_new(WIDTH, HEIGHT, &picture), 0);
        ret_tail->pictures[i] = picture;
        picture->share = (struct vrt_share){ .weight = 0.25f * (float)(i + 1), .total = 0.6f,
                                             .n = 2 + 31 * i };
        picture->pts = 1000 - 40 * i;
        picture->duration = 40 * i;
        picture->index = i % 2;
        picture->concealed = i == 1;
        picture->extra.n_captions = 3 * i;
        picture->extra.captions[2] = (uint8_t)(100 + i);
        for (int k = 0; k < WIDTH * HEIGHT * 3; k++)
            picture->rgb[k] = values[(k + i) % 6];
    }
}

static void expect_same(const struct vrt_tail *a, const struct vrt_tail *b)
{
    expect_int(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        const struct vrt_picture *one = a->pictures[i], *other = b->pictures[i];
        expect_int(one->pts, other->pts);
        expect_int(one->duration, other->duration);
        expect_int(one->index, other->index);
        expect_int(one->concealed, other->concealed);
        expect_true(memcmp(&one->extra, &other->extra, sizeof(one->extra)) == 0);
        expect_true(memcmp(&one->share, &other->share, sizeof(one->share)) == 0);
        expect_true(memcmp(one->rgb, other->rgb, vrt_picture_bytes(WIDTH, HEIGHT)) == 0);
    }
}

static void test_round_trip(void)
{
    VRT_CLEANUP(vrt_closep) int fd = temporary_file();
    VRT_CLEANUP(vrt_tail_done) struct vrt_tail tail = { .n = 0 }, back = { .n = 0 };
    struct vrt_error error = { .id = NULL };
    int64_t size_bytes = 0;

    make(&tail);
    /* Something longer was there before. */
    expect_int(ftruncate(fd, 100000), 0);
    expect_int(vrt_tail_write(fd, &tail, &size_bytes, &error), 0);
    expect_int(size_bytes, TAIL_BYTES);
    expect_int(vrt_tail_read(fd, WIDTH, HEIGHT, &back, &error), 0);
    expect_same(&tail, &back);
}

static void refuse(int fd, int width, int height)
{
    struct vrt_tail tail = { .n = 1 };
    struct vrt_error error = { .id = NULL };

    expect_int(vrt_tail_read(fd, width, height, &tail, &error), -EBADMSG);
    expect_str(error.id, "segment.damaged");
    expect_int(tail.n, 0);
}

/* A bit anywhere, a byte more or less, a picture more or less, another size of picture. */
static void test_damage(void)
{
    VRT_CLEANUP(vrt_closep) int fd = temporary_file();
    VRT_CLEANUP(vrt_tail_done) struct vrt_tail tail = { .n = 0 };
    struct vrt_error error = { .id = NULL };
    int64_t size_bytes;

    make(&tail);
    expect_int(vrt_tail_write(fd, &tail, &size_bytes, &error), 0);
    for (int64_t at = 0; at < size_bytes; at++) {
        uint8_t byte, flipped;
        expect_int(pread(fd, &byte, 1, at), 1);
        flipped = byte ^ (uint8_t)(1 << at % 8);
        expect_int(pwrite(fd, &flipped, 1, at), 1);
        refuse(fd, WIDTH, HEIGHT);
        expect_int(pwrite(fd, &byte, 1, at), 1);
    }
    refuse(fd, HEIGHT, WIDTH);
    refuse(fd, WIDTH, HEIGHT + 1);
    for (int64_t size = size_bytes - 1; size >= 0; size -= size > 50 ? 37 : 1) {
        expect_int(ftruncate(fd, size), 0);
        refuse(fd, WIDTH, HEIGHT);
    }
    expect_int(ftruncate(fd, size_bytes + 1), 0);
    refuse(fd, WIDTH, HEIGHT);
}

/* Fields that no writer would write, with a right size: no memory is taken, nothing overflows. */
static void test_hostile_fields(void)
{
    static const uint32_t counts[] = { 0, 257, 0x7fffffff, 0xffffffff };
    VRT_CLEANUP(vrt_closep) int fd = temporary_file();
    VRT_CLEANUP(vrt_tail_done) struct vrt_tail tail = { .n = 0 };
    struct vrt_error error = { .id = NULL };
    int64_t size_bytes;

    make(&tail);
    expect_int(vrt_tail_write(fd, &tail, &size_bytes, &error), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(counts); i++) {
        expect_int(pwrite(fd, &counts[i], 4, 8), 4);
        refuse(fd, WIDTH, HEIGHT);
    }
    /* With checksums that are right: what is written with bad shares is refused all the same. */
    const struct vrt_share bad[] = {
        { .weight = NAN, .total = 1, .n = 2 },      { .weight = 1, .total = INFINITY, .n = 2 },
        { .weight = 0, .total = 1, .n = 2 },        { .weight = 1, .total = 0, .n = 2 },
        { .weight = 1, .total = 1, .n = 1 },        { .weight = 1, .total = 1, .n = 65 },
        { .weight = 1, .total = 1, .n = -2 },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(bad); i++) {
        tail.pictures[1]->share = bad[i];
        expect_int(vrt_tail_write(fd, &tail, &size_bytes, &error), 0);
        refuse(fd, WIDTH, HEIGHT);
    }
    tail.pictures[1]->share = (struct vrt_share){ .weight = 1, .total = 1, .n = 2 };
    tail.pictures[1]->index = -1;
    expect_int(vrt_tail_write(fd, &tail, &size_bytes, &error), 0);
    refuse(fd, WIDTH, HEIGHT);
}

TEST_MAIN(
    { "round-trip", test_round_trip }, { "damage", test_damage },
    { "hostile-fields", test_hostile_fields },
)
