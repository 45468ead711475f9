/* SPDX-License-Identifier: MIT */

/*
 * A part of a video: its frames are, bit by bit and tick by tick, those that reading the whole
 * gives there, whatever the decoder needs to get to them.
 */

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

#define MAX_FRAMES 512
#define CLIP "-f lavfi -i testsrc2=size=96x64:rate=25:duration=12 "

/* What a reader gave out. */
struct reading {
    int n;
    uint64_t hashes[MAX_FRAMES];
    int64_t pts[MAX_FRAMES];
    struct vrt_reader_info info;
    struct vrt_error error;
};

/* With one thread in strict mode: what isn't whole before the part is no damage of it. */
static int read_range(const char *path, struct vrt_reader_range range, int n_threads,
                      struct reading *ret_reading)
{
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = NULL;
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(path);
    const struct vrt_reader_params params = { .range = range, .n_threads = n_threads,
                                              .strict = n_threads == 1, .name = "clip" };
    struct vrt_frame *frame = NULL;

    *ret_reading = (struct reading){ .n = 0 };
    int r = vrt_reader_open(fd, &params, &reader, &ret_reading->error);
    while (r == 0) {
        r = vrt_reader_next(reader, &frame, &ret_reading->error);
        if (r != 0)
            break;
        expect_true(ret_reading->n < MAX_FRAMES);
        expect_int(frame->index, ret_reading->n);
        ret_reading->hashes[ret_reading->n] = fixture_hash(frame);
        ret_reading->pts[ret_reading->n++] = frame->pts;
        frame = vrt_frame_unref(frame);
    }
    if (reader)
        ret_reading->info = *vrt_reader_info(reader);
    return r;
}

/* The frames of `whole` that are shown in `range`. */
static void expect_part(const char *path, const struct reading *whole,
                        struct vrt_reader_range range, int n_threads)
{
    struct reading part;

    int r = read_range(path, range, n_threads, &part);
    if (r != VRT_READER_END)
        test_fail("%s: %s", path, part.error.message);
    double tick_s = (double)part.info.time_base.num / part.info.time_base.den;
    int n = 0;
    for (int i = 0; i < whole->n; i++) {
        double after_ns = (double)(whole->pts[i] - whole->pts[0]) * tick_s * 1e9 + 1;
        if (after_ns < (double)range.start_ns ||
            (range.duration_ns && after_ns >= (double)(range.start_ns + range.duration_ns)))
            continue;
        if (n >= part.n || part.pts[n] != whole->pts[i] || part.hashes[n] != whole->hashes[i])
            test_fail("%s: frame %d of the part from %.2f s is not frame %d", path, n,
                      (double)range.start_ns / 1e9, i);
        n++;
    }
    expect_int(part.n, n);
    expect_int(part.info.n_frames, n);
    expect_true(n > 0);
    expect_int(part.info.n_concealed, 0);
    if (part.info.warnings.n > whole->info.warnings.n)
        test_fail("%s: the part has a warning that the whole has not: %s", path,
                  part.info.warnings.sentences[part.info.warnings.n - 1]);
}

/* Each way of a codec to refer to other frames. */
static const struct {
    const char *name, *arguments;
} videos[] = {
    { "closed.mp4", "-c:v libx264 -g 50 -bf 3" },
    { "open.mkv", "-c:v libx264 -x264-params open-gop=1:keyint=40:bframes=3:ref=4" },
    { "refresh.ts", "-c:v libx264 -x264-params intra-refresh=1:keyint=40:bframes=0" },
    { "one-key.mp4", "-c:v libx264 -g 1000" },
    { "hevc.mkv", "-c:v libx265 -x265-params log-level=0:keyint=30:open-gop=1" },
    { "mpeg2.ts", "-c:v mpeg2video -g 12 -bf 2" },
    { "mpeg2.vob", "-c:v mpeg2video -g 12 -bf 2" },
    { "mpeg4.avi", "-c:v mpeg4 -g 20 -bf 2" },
    { "vp9.webm", "-c:v libvpx-vp9 -g 30 -deadline realtime -cpu-used 8" },
    { "keys.mov", "-c:v mjpeg" },
    { "raw.y4m", "-pix_fmt yuv420p" },
};

static void test_exact(void)
{
    static const struct vrt_reader_range ranges[] = {
        { 0, 2 * VRT_NS_PER_S },
        { 400 * VRT_NS_PER_MS, VRT_NS_PER_S },
        { 2 * VRT_NS_PER_S, 40 * VRT_NS_PER_MS },
        { 4980 * VRT_NS_PER_MS, 1500 * VRT_NS_PER_MS },
        { 7 * VRT_NS_PER_S, 0 },
        { 11900 * VRT_NS_PER_MS, 60 * VRT_NS_PER_S },
    };
    static struct reading whole;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(videos); i++) {
        const char *path = fixture_make(videos[i].name, CLIP "%s", videos[i].arguments);
        expect_int(read_range(path, (struct vrt_reader_range){ 0 }, 2, &whole), VRT_READER_END);
        expect_true(whole.n >= 298);
        for (size_t k = 0; k < VRT_ARRAY_SIZE(ranges); k++)
            expect_part(path, &whole, ranges[k], k % 2 ? 1 : 4);
    }
}

/* What is kept until the part begins is bounded: beyond, decoding begins earlier. */
static void test_large_packets(void)
{
    static struct reading whole;
    const char *path = fixture_make("large.avi", "-f lavfi -i testsrc2=size=1280x720:rate=25:"
                                    "duration=3 -c:v ffv1 -g 1000");

    expect_int(read_range(path, (struct vrt_reader_range){ 0 }, 2, &whole), VRT_READER_END);
    expect_part(path, &whole, (struct vrt_reader_range){ 2900 * VRT_NS_PER_MS, 0 }, 2);
}

static void test_estimates(void)
{
    static struct reading part;
    const char *path = fixture_make("estimates.mp4", CLIP "-c:v libx264");
    const struct vrt_reader_range middle = { 3 * VRT_NS_PER_S, 2 * VRT_NS_PER_S };

    expect_int(read_range(path, middle, 1, &part), VRT_READER_END);
    expect_int(part.info.duration_ns, 2 * VRT_NS_PER_S);
    expect_int(part.info.n_frames_estimate, 50);
    expect_int(part.n, 50);
}

/* Where the length is known it is refused at once, else when the end is reached. */
static void test_nothing(void)
{
    static struct reading part;
    const char *path = fixture_make("short.mp4", CLIP "-c:v libx264");
    const struct vrt_reader_range late = { 20 * VRT_NS_PER_S, VRT_NS_PER_S };

    expect_int(read_range(path, late, 1, &part), -ERANGE);
    expect_str(part.error.id, "input.part");
    expect_str(part.error.message, "clip is 12 s long: it has nothing from 20 s on; name an "
                                   "earlier time");
    path = fixture_make("short.h264", CLIP "-c:v libx264");
    expect_int(read_range(path, late, 1, &part), -ERANGE);
    expect_str(part.error.message, "clip has no frame at 20 s or later: name an earlier time");
}

TEST_MAIN_AFTER(fixture_init(),
    { "exact", test_exact },
    { "large-packets", test_large_packets },
    { "estimates", test_estimates },
    { "nothing", test_nothing },
)
