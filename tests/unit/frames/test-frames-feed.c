/* SPDX-License-Identifier: MIT */

/*
 * A file that grows while it is read gives what the whole one does; and of what is said to be
 * spent nothing is needed when the result is joined: the test spoils it, and looks whether all
 * other streams are still there, packet by packet.
 */

#include <errno.h>
#include <fcntl.h>
#include <libavcodec/packet.h>
#include <libavformat/avformat.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frames/av.h"
#include "frames/decode/source.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/frames/frames-restore.h"
#include "tests/unit/test.h"

#define CLIP "-f lavfi -i testsrc2=size=320x180:rate=25:duration=3 "
#define SOUND "-f lavfi -i sine=frequency=440:duration=3 "

/* Copies one file into another as it is asked to. */
struct dripping {
    int from_fd, to_fd;
    int64_t size_bytes;                 /* of what is copied */
    size_t step_bytes;
    int n_asked, n_nothing;             /* of those, that were told that nothing came */
    int64_t spent_bytes;
};

static int drip(void *ctx, struct vrt_feed_state *state, struct vrt_error *error)
{
    struct dripping *dripping = ctx;
    static uint8_t buffer[1 << 20], spoilt[1 << 20];

    (void)error;
    memset(spoilt, 0xAA, sizeof(spoilt));
    for (int i = 0; i < state->n_spent; i++) {
        const struct vrt_feed_range range = state->spent[i];
        expect_true(range.from >= 0 && range.from < range.to && range.to <= state->size_bytes);
        /* All that was: of y4m. */
        if (range.from == 0) {
            dripping->spent_bytes = range.to;
            continue;
        }
        dripping->spent_bytes += range.to - range.from;
        expect_true(range.to - range.from <= (int64_t)sizeof(spoilt));
        expect_true(pwrite(dripping->to_fd, spoilt, (size_t)(range.to - range.from),
                           range.from) > 0);
    }
    expect_int(state->size_bytes, dripping->size_bytes);
    if (++dripping->n_asked % 3 == 0) {
        dripping->n_nothing++;
        return 0;
    }
    ssize_t n = pread(dripping->from_fd, buffer, dripping->step_bytes, dripping->size_bytes);
    expect_true(n >= 0);
    expect_int(pwrite(dripping->to_fd, buffer, (size_t)n, dripping->size_bytes), (int)n);
    dripping->size_bytes += n;
    state->size_bytes = dripping->size_bytes;
    state->at_end = n == 0;
    return 0;
}

static void read_all(int fd, const struct vrt_feed *feed, struct fixture_reading *ret)
{
    if (fixture_read(fd, &(struct vrt_reader_params){ .n_threads = 1, .name = "clip",
                                                      .feed = feed }, ret) != VRT_READER_END)
        test_fail("%s", ret->error.message);
}

/* Return: a sum over the packets of all streams but the video. */
static uint64_t sum_others(int fd)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    const struct vrt_source_params params = { .fd = fd };
    struct vrt_error error = { 0 };
    uint64_t sum = 1;

    if (vrt_source_open(&params, &source, &error) < 0)
        test_fail("%s", error.message);
    int video = vrt_source_pick_video(source, &error), r;
    expect_true(video >= 0);
    while ((r = vrt_source_next(source, packet, &error)) == 0) {
        for (int i = 0; packet->stream_index != video && i < packet->size; i++)
            sum = sum * 1099511628211U + packet->data[i];
        if (packet->stream_index != video)
            sum = sum * 31 + (uint64_t)packet->pts;
        av_packet_unref(packet);
    }
    expect_int(r, VRT_SOURCE_END);
    return sum;
}

static const struct {
    const char *name, *arguments;
    size_t step_bytes;
    double spent_min;               /* of the file */
} cases[] = {
    { "a.y4m", CLIP "-pix_fmt yuv420p", 100000, 0.9 },
    { "b.y4m", CLIP "-pix_fmt yuv420p", 777, 0.5 },
    { "raw.nut", CLIP SOUND "-c:v rawvideo -pix_fmt yuv420p -c:a pcm_s16le", 50000, 0.8 },
    { "raw.mkv", CLIP SOUND "-c:v rawvideo -pix_fmt yuv420p -c:a pcm_s16le", 50000, 0.8 },
    { "ffv1.mkv", CLIP SOUND "-vf scale=960:540 -c:v ffv1 -c:a flac", 30000, 0.5 },
    { "h264.mkv", CLIP SOUND "-c:v libx264 -threads 1 -c:a aac", 4096, 0 },
    { "h264.ts", CLIP SOUND "-c:v libx264 -threads 1 -c:a aac", 4096, 0 },
};

static void test_growing(void)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const char *path = fixture_make(cases[i].name, "%s", cases[i].arguments);
        VRT_CLEANUP(vrt_closep) int from = fixture_open(path);
        VRT_CLEANUP(vrt_closep) int to = open(fixture_path("grown"), O_RDWR | O_CREAT | O_TRUNC,
                                              0600);
        struct dripping dripping = { from, to, 0, cases[i].step_bytes, 0, 0, 0 };
        const struct vrt_feed feed = { drip, &dripping };
        static struct fixture_reading whole, grown;
        fprintf(stderr, "  %s\n", cases[i].name);
        read_all(from, NULL, &whole);
        read_all(to, &feed, &grown);
        expect_int(grown.n, whole.n);
        expect_true(grown.n >= 75);
        expect_int(memcmp(grown.hashes, whole.hashes, sizeof(whole.hashes)), 0);
        expect_int(memcmp(grown.pts, whole.pts, sizeof(whole.pts)), 0);
        expect_int(memcmp(&grown.info.warnings, &whole.info.warnings,
                          sizeof(whole.info.warnings)), 0);
        expect_true(dripping.n_nothing > 0);
        expect_int(dripping.size_bytes, fixture_size(path));
        if ((double)dripping.spent_bytes < cases[i].spent_min * (double)dripping.size_bytes)
            test_fail("of %lld bytes only %lld are spent", (long long)dripping.size_bytes,
                      (long long)dripping.spent_bytes);
        if (strstr(path, ".y4m") == NULL)
            expect_true(sum_others(to) == sum_others(from));
    }
}

static int never(void *ctx, struct vrt_feed_state *state, struct vrt_error *error)
{
    (void)ctx;
    (void)error;
    state->at_end = true;
    return 0;
}

/* The first time; later it ends. */
static int fail(void *ctx, struct vrt_feed_state *state, struct vrt_error *error)
{
    bool *has_failed = ctx;

    (void)error;
    state->at_end = *has_failed;
    *has_failed = true;
    return -EIO;
}

static void test_nothing(void)
{
    const char *path = fixture_write("empty", "", 0);
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(path);
    bool has_failed = false;
    const struct vrt_feed empty = { never, NULL }, failing = { fail, &has_failed };
    struct vrt_reader_params params = { .name = "a pipe", .feed = &empty };
    struct vrt_reader *reader;
    struct vrt_error error = { 0 };

    expect_true(vrt_reader_open(fd, &params, &reader, &error) < 0);
    expect_str(error.id, "input.empty");
    params.feed = &failing;
    error = (struct vrt_error){ 0 };
    expect_int(vrt_reader_open(fd, &params, &reader, &error), -EIO);
    expect_contains(error.message, "a pipe cannot be read: ");
}

/* Return: why what is read of the file as of a pipe isn't opened. */
static const char *refusal_of(const char *path)
{
    static struct vrt_error error;
    VRT_CLEANUP(vrt_closep) int from = fixture_open(path);
    VRT_CLEANUP(vrt_closep) int to = open(fixture_path("grown"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct dripping dripping = { from, to, 0, 1 << 16, 0, 0, 0 };
    const struct vrt_feed feed = { drip, &dripping };
    const struct vrt_reader_params params = { .n_threads = 1, .name = "a pipe", .feed = &feed };
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = NULL;

    error = (struct vrt_error){ 0 };
    (void)!vrt_reader_open(to, &params, &reader, &error);
    return error.message;
}

/* What a muxer that can go back has written can't be read by who can't. */
static void test_index(void)
{
    const char *last = fixture_make("last.mp4", CLIP "-c:v libx264 -threads 1 -qp 1");

    expect_true(fixture_size(last) > 300000);
    expect_contains(refusal_of(last), "whose index is at its end");
    expect_str(refusal_of(fixture_make("first.mp4", CLIP "-c:v libx264 -threads 1 -qp 1 "
                                       "-movflags faststart")), "");
    expect_str(refusal_of(fixture_make("fragments.mp4", CLIP "-c:v libx264 -threads 1 -qp 1 "
                                       "-movflags frag_keyframe+empty_moov")), "");
}

/* FFmpeg's demuxer takes a part of a frame for the end. */
static void test_cut_off(void)
{
    const char *whole = fixture_make("whole.y4m", CLIP "-pix_fmt yuv420p");
    const int64_t size = fixture_size(whole);
    const char *path = fixture_cut("part.y4m", whole, size - 1000);
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(path);
    static struct fixture_reading part;

    read_all(fd, NULL, &part);
    expect_int(part.n, 74);
    expect_true(strstr(part.info.warnings.sentences[0], "cannot be read beyond frame 74"));

    const struct vrt_reader_params strict = { .n_threads = 1, .name = "a pipe", .strict = true };
    expect_int(fixture_read(fd, &strict, &part), -EBADMSG);
    expect_contains(part.error.message, "a pipe cannot be read beyond frame 74");
}

TEST_MAIN_AFTER(fixture_init(),
    { "growing", test_growing }, { "nothing", test_nothing }, { "index", test_index },
    { "cut off", test_cut_off },
)
