/* SPDX-License-Identifier: MIT */

/*
 * A part of a video: its frames are, bit by bit and tick by tick, those that reading the whole
 * gives there, whatever the decoder needs to get to them.
 */

#include <errno.h>
#include <inttypes.h>
#include <libavcodec/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames/decode/part.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/frames/frames-restore.h"
#include "tests/unit/test.h"

#define LONG_CLIP "-f lavfi -i testsrc2=size=96x64:rate=10:duration=40 "
#define CLIP "-f lavfi -i testsrc2=size=96x64:rate=25:duration=12 "
#define SHORT_CLIP "-f lavfi -i testsrc2=size=96x64:rate=25:duration=8 "

static int read_by(const char *path, const struct vrt_reader_params *params,
                   struct fixture_reading *ret_reading)
{
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(path);

    return fixture_read(fd, params, ret_reading);
}

/* With one thread in strict mode: what isn't whole before the part is no damage of it. */
static int read_range(const char *path, struct vrt_reader_range range, int n_threads,
                      struct fixture_reading *ret_reading)
{
    return read_by(path, &(struct vrt_reader_params){
        .range = range,
        .n_threads = n_threads,
        .strict = n_threads == 1,
        .name = "clip",
    }, ret_reading);
}

/* The frames of `whole` that are shown in `range`. */
static void expect_part(const char *path, const struct fixture_reading *whole,
                        struct vrt_reader_range range, int n_threads)
{
    struct fixture_reading part;

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
    { "mpeg2.ts", "-c:v mpeg2video -g 12 -bf 2" }, { "mpeg2.vob", "-c:v mpeg2video -g 12 -bf 2" },
    { "mpeg4.avi", "-c:v mpeg4 -g 20 -bf 2" },
    { "vp9.webm", "-c:v libvpx-vp9 -g 30 -deadline realtime -cpu-used 8" },
    { "keys.mov", "-c:v mjpeg" }, { "raw.y4m", "-pix_fmt yuv420p" },
};

static void test_exact(void)
{
    static const struct vrt_reader_range ranges[] = {
        { 0, 2 * VRT_NS_PER_S }, { 400 * VRT_NS_PER_MS, VRT_NS_PER_S },
        { 2 * VRT_NS_PER_S, 40 * VRT_NS_PER_MS }, { 4980 * VRT_NS_PER_MS, 1500 * VRT_NS_PER_MS },
        { 7 * VRT_NS_PER_S, 0 }, { 11900 * VRT_NS_PER_MS, 60 * VRT_NS_PER_S },
    };
    static struct fixture_reading whole;

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
    static struct fixture_reading whole;
    const char *path = fixture_make("large.avi", "-f lavfi -i testsrc2=size=1280x720:rate=25:"
                                    "duration=3 -c:v ffv1 -g 1000");

    expect_int(read_range(path, (struct vrt_reader_range){ 0 }, 2, &whole), VRT_READER_END);
    expect_part(path, &whole, (struct vrt_reader_range){ 2900 * VRT_NS_PER_MS, 0 }, 2);
}

/* Of packets that hold next to nothing each takes what keeping it takes; behind a large one. */
static void test_small_packets(void)
{
    const AVCodecParameters codec = { .codec_id = AV_CODEC_ID_FFV1 };
    const int room_bytes = 64 << 10;
    struct vrt_part part = { .range = { .start_ns = INT64_MAX / 4 }, .codec = &codec };
    AVPacket *packet = av_packet_alloc();
    int64_t n = 0;
    int r;

    vrt_part_place(&part, 0, (AVRational){ 1, 1000 });
    expect_true(packet);
    do {
        expect_int(av_new_packet(packet, n == 0 ? VRT_PART_HELD_BYTES_MAX - room_bytes : 1), 0);
        packet->pts = n;
        packet->flags = n == 0 ? AV_PKT_FLAG_KEY : 0;
        r = vrt_part_take(&part, packet);
    } while (r == VRT_PART_HELD && ++n < room_bytes / 256);
    expect_int(r, VRT_PART_GO_ON);
    /* All are given out, and nothing is counted any more. */
    for (int64_t i = 0; i <= n; i++) {
        expect_true(vrt_part_next(&part, packet));
        expect_int(packet->pts, i);
        av_packet_unref(packet);
    }
    expect_true(!vrt_part_next(&part, packet));
    expect_int(part.held_bytes, 0);
    vrt_part_done(&part);
    av_packet_free(&packet);
}

/* What a part has is told; that it has nothing at once where the length is known, else when the end
 * is reached. */
static void test_estimates(void)
{
    static struct fixture_reading part;
    const char *path = fixture_make("short.mp4", CLIP "-c:v libx264");
    const struct vrt_reader_range middle = { 3 * VRT_NS_PER_S, 2 * VRT_NS_PER_S };
    const struct vrt_reader_range late = { 20 * VRT_NS_PER_S, VRT_NS_PER_S };

    expect_int(read_range(path, middle, 1, &part), VRT_READER_END);
    expect_int(part.info.duration_ns, 2 * VRT_NS_PER_S);
    expect_int(part.info.n_frames_estimate, 50);
    expect_int(part.n, 50);
    expect_int(read_range(path, late, 1, &part), -ERANGE);
    expect_str(part.error.id, "input.part");
    expect_str(part.error.message, "clip is 12 s long: it has nothing from 20 s on; name an "
                                   "earlier time");
    path = fixture_make("short.h264", CLIP "-c:v libx264");
    expect_int(read_range(path, late, 1, &part), -ERANGE);
    expect_str(part.error.message, "clip has no frame at 20 s or later: name an earlier time");
}

/* A reader of `params` that begins with frame `first`. Return: VRT_READER_END: it gave out what
 * `whole` has there, of which it decoded `n_more_max` more at most; VRT_READER_LOST. */
static int expect_rest(const char *path, const struct fixture_reading *whole,
                       struct vrt_reader_params params, int first, int64_t n_more_max)
{
    static struct fixture_reading rest;

    params.first = first;
    params.first_pts = whole->pts[first];
    params.n_threads = first % 3 + 1;
    int r = read_by(path, &params, &rest);
    if (r < 0)
        test_fail("%s from frame %d: %s", path, first, rest.error.message);
    for (int i = 0; i < rest.n; i++)
        if (rest.pts[i] != whole->pts[first + i] || rest.hashes[i] != whole->hashes[first + i] ||
            rest.durations[i] != whole->durations[first + i])
            test_fail("%s: frame %d is another one, where decoding began with frame %d", path,
                      first + i, first);
    if (r != VRT_READER_END)
        return r;
    expect_int(rest.n, whole->n - first);
    expect_int(rest.info.n_frames, whole->n);
    expect_int(rest.info.warnings.n, whole->info.warnings.n);
    for (int i = 0; i < rest.info.warnings.n; i++)
        expect_str(rest.info.warnings.sentences[i], whole->info.warnings.sentences[i]);
    if (rest.info.n_decoded > rest.n + n_more_max)
        test_fail("%s: %lld frames were decoded for %d", path, (long long)rest.info.n_decoded,
                  rest.n);
    return r;
}

/* Joined by cat, so that the clock jumps. */
static const char *join(const char *name, const char *first, const char *second)
{
    fixture_run("cat '%s' '%s' >'%s'", first, second, name);
    return fixture_path(name);
}

/* The rest of a video, from wherever its decoder could begin: of each way to refer to others. */
static void test_late(void)
{
    static const struct {
        const char *name, *arguments;
        int64_t n_more_max;         /* two groups of pictures, and what a decoder has in hand */
    } late[] = {
        { "late-b.mp4", "-c:v libx264 -g 40 -bf 3", 90 },
        { "late-open.mkv", "-c:v libx264 -x264-params open-gop=1:keyint=40:bframes=3:ref=4", 90 },
        { "late-refresh.ts", "-c:v libx264 -x264-params intra-refresh=1:keyint=40:bframes=0", 90 },
        { "late-fields.ts", "-c:v libx264 -x264-params tff=1:keyint=30:bframes=2", 70 },
        { "late-hevc.mkv", "-c:v libx265 -x265-params log-level=0:keyint=30:open-gop=1", 70 },
        { "late-mpeg2.ts", "-c:v mpeg2video -g 12 -bf 2", 30 },
        { "late-vp9.webm", "-c:v libvpx-vp9 -g 30 -deadline realtime -cpu-used 8 "
                           "-auto-alt-ref 1 -lag-in-frames 10", 70 },
        { "late-vfr.mkv", "-vf setpts='N/25/TB+floor(N/7)*0.013/TB' -fps_mode passthrough "
                          "-c:v libx264 -g 30 -bf 2", 70 },
        { "late-ffv1.mkv", "-c:v ffv1 -g 8", 20 }, { "late-keys.mov", "-c:v mjpeg", 5 },
        { "late-raw.y4m", "-pix_fmt yuv420p", 5 },
    };
    static struct fixture_reading whole;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(late); i++) {
        const char *path = fixture_make(late[i].name, SHORT_CLIP "%s", late[i].arguments);
        expect_int(read_range(path, (struct vrt_reader_range){ 0 }, 2, &whole), VRT_READER_END);
        for (int first = 1; first < whole.n; first += 23) {
            if (!whole.can_go_on[first - 1])
                test_fail("%s: nobody knows whether decoding could begin with frame %d", path,
                          first);
            expect_int(expect_rest(path, &whole, (struct vrt_reader_params){ .name = "clip" },
                                   first, late[i].n_more_max), VRT_READER_END);
        }
    }
}

/* A part of a video, fields that become frames, HDR that becomes SDR, and a clock that jumps. */
static void test_late_filtered(void)
{
    static const struct vrt_fields by_frame = { VRT_DEINTERLACE_FRAME, VRT_FIELD_ORDER_TOP },
                                   by_field = { VRT_DEINTERLACE_FIELD, VRT_FIELD_ORDER_TOP };
    static struct fixture_reading whole;
    const char *path = fixture_make("late-part.mkv", CLIP "-c:v libx264 -g 25 -bf 3 -x264-params "
                                    "open-gop=1");
    const char *joined = join("late-joined.ts", fixture_make("late-one.ts", CLIP
                              "-t 5 -c:v mpeg2video -g 12 -bf 2"), fixture_make("late-two.ts", CLIP
                              "-t 5 -c:v mpeg2video -g 12 -bf 2"));
    const struct {
        const char *path;
        struct vrt_reader_params params;
    } cases[] = {
        { path, { .range = { 2 * VRT_NS_PER_S, 6 * VRT_NS_PER_S } } },
        { path, { .fields = by_frame } },
        { path, { .fields = by_field } },
        { path, { .fields = by_field, .range = { VRT_NS_PER_S, 7 * VRT_NS_PER_S } } },
        { joined, { .n_threads = 1 } },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_reader_params params = cases[i].params;
        params.n_threads = 2;
        expect_int(read_by(cases[i].path, &params, &whole), VRT_READER_END);
        int n_begun = 0;
        for (int first = 1; first < whole.n && whole.can_go_on[first - 1]; first += whole.n / 11) {
            const int r = expect_rest(cases[i].path, &whole, params, first, INT64_MAX / 2);
            if (r != VRT_READER_END && whole.can_go_on[whole.n - 1])
                test_fail("case %zu: decoding can't begin with frame %d", i, first);
            n_begun += r == VRT_READER_END;
        }
        /* Where two recordings meet a decoder may have to make something up. */
        if (whole.can_go_on[whole.n - 1] ? n_begun < 8 : n_begun > 0)
            test_fail("case %zu: decoding could begin in %d places", i, n_begun);
    }
}

/* Where recordings of other parameters were joined, of which a container tells once. */
static void test_new_parameters(void)
{
    static struct fixture_reading whole;
    const struct vrt_reader_params plain = { .name = "clip" };

    fixture_make("one.flv", CLIP "-t 6 -c:v libx264 -g 20 -bf 0 -flvflags no_duration_filesize");
    fixture_make("two.flv", CLIP "-t 6 -c:v libx264 -g 20 -bf 0 -flvflags no_duration_filesize "
                 "-x264-params cabac=0 -output_ts_offset 6");
    /* Without the second one's header. */
    fixture_run("(cat one.flv; tail -c +14 two.flv) >new.flv");
    const char *path = fixture_path("new.flv");
    expect_int(read_by(path, &plain, &whole), VRT_READER_END);
    expect_int(whole.n, 300);
    expect_part(path, &whole, (struct vrt_reader_range){ 9 * VRT_NS_PER_S, 0 }, 1);
    for (int first = 1; first < whole.n; first += 23)
        expect_int(expect_rest(path, &whole, plain, first, 70), VRT_READER_END);
}

/* The same, told once in the pictures' packets: all that follows needs one that may be left out. */
static void test_sets_told_once(void)
{
    static const char *const files[] = { "once-own.ts", "once-joined.ts", "once-joined.mkv" };
    static struct fixture_reading whole;

    fixture_make("once.ts", CLIP "-t 6 -c:v libx264 -g 20 -bf 2");
    fixture_make("once.mkv", CLIP "-t 6 -c:v libx264 -g 20 -bf 2 -x264-params "
                 "open-gop=1:chroma-qp-offset=6");
    /* What gets them into the packets does so where no picture before can be referred to: once. */
    fixture_run("ffmpeg -v error -nostdin -y -i once.mkv -c copy -output_ts_offset 6 once-own.ts");
    fixture_run("cat once.ts once-own.ts >once-joined.ts");
    fixture_run("ffmpeg -v error -nostdin -y -i once-joined.ts -c copy once-joined.mkv");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(files); i++) {
        const char *path = fixture_path(files[i]);
        expect_int(read_by(path, &(struct vrt_reader_params){ .name = "clip" }, &whole),
                   VRT_READER_END);
        expect_int(whole.n, i == 0 ? 150 : 300);
        /* A recording by itself is known by its first. */
        expect_true(whole.can_go_on[100]);
        expect_int(whole.can_go_on[whole.n - 1], i == 0);
    }
}

/* Where it can't be known that the frames will be the same a reader says so: before it gives out
 * another one, or as soon as something in the video is odd. */
static void test_lost(void)
{
    static struct fixture_reading whole;
    const char *path = fixture_make("lost.mkv", CLIP "-c:v libx264 -g 25 -bf 2");
    const struct vrt_reader_params plain = { .name = "clip" };
    struct vrt_reader_params params = plain;

    expect_int(read_by(path, &plain, &whole), VRT_READER_END);
    whole.pts[100]++;
    expect_int(expect_rest(path, &whole, plain, 100, 0), VRT_READER_LOST);
    whole.pts[200] += 1000000;
    expect_int(expect_rest(path, &whole, plain, 200, 0), VRT_READER_LOST);
    /* A film's frames depend on where its telecine begins; and some codecs' on all before. */
    params.fields.deinterlace = VRT_DEINTERLACE_TELECINE;
    path = fixture_make("lost-film.mkv", "-f lavfi -i testsrc2=size=96x64:rate=24000/1001:"
                        "duration=8 -vf telecine -pix_fmt yuv420p -c:v libx264 -g 25");
    expect_int(read_by(path, &params, &whole), VRT_READER_END);
    expect_true(!whole.can_go_on[100]);
    expect_int(expect_rest(path, &whole, params, 100, 0), VRT_READER_LOST);
    path = fixture_make("lost.gif", CLIP "-r 5");
    expect_int(read_by(path, &plain, &whole), VRT_READER_END);
    expect_true(!whole.can_go_on[30]);
    expect_int(expect_rest(path, &whole, plain, 30, 0), VRT_READER_LOST);
    /* Of what nobody has looked at key frames aren't relied on. */
    path = fixture_make("lost-magic.mkv", CLIP "-r 5 -c:v magicyuv");
    expect_int(read_by(path, &plain, &whole), VRT_READER_END);
    expect_true(!whole.can_go_on[30]);
    expect_int(expect_rest(path, &whole, plain, 30, 0), VRT_READER_LOST);
    /* Times that come from other packets' than their own. */
    path = fixture_make("lost.avi", CLIP "-c:v libx264 -g 25 -bf 2");
    expect_int(read_by(path, &plain, &whole), VRT_READER_END);
    expect_true(!whole.can_go_on[100]);
}

/* The bits of a unit of H.264. */
struct bits {
    uint8_t *data;
    int at;
};

static unsigned int take(struct bits *bits, int n)
{
    unsigned int value = 0;

    for (; n > 0; n--, bits->at++)
        value = value << 1 | (bits->data[bits->at / 8] >> (7 - bits->at % 8) & 1U);
    return value;
}

static unsigned int take_number(struct bits *bits)
{
    int n = 0;

    while (!take(bits, 1))
        n++;
    return (1U << n) - 1 + take(bits, n);
}

/* Has a parameter set of the main profile end before it says how many frames are held back. */
static void shorten(uint8_t *data, size_t size)
{
    struct bits bits = { data, 24 };

    take_number(&bits);
    take_number(&bits);
    if (take_number(&bits) == 0)
        take_number(&bits);
    take_number(&bits);
    take(&bits, 1);
    take_number(&bits);
    take_number(&bits);
    if (!take(&bits, 1))
        take(&bits, 1);
    take(&bits, 1);
    for (int i = take(&bits, 1) ? 4 : 0; i > 0; i--)
        take_number(&bits);
    expect_int(take(&bits, 1), 1);
    /* The end's one bit, and nothing behind it. */
    for (int at = bits.at - 1; at < (int)size * 8; at++)
        data[at / 8] = (uint8_t)((data[at / 8] & ~(0x80 >> at % 8)) |
                                 (at == bits.at ? 0x80 >> at % 8 : 0));
}

/* A decoder that has to learn how many frames it holds back drops one where it does: who begins
 * behind that would drop another one. */
static void test_lost_by_delay(void)
{
    static const char begin[] = { 0, 0, 1, 0x67 };
    static struct fixture_reading whole;
    char *path = strdup(fixture_path("delay.ts"));

    fixture_make("delay-0.ts", CLIP "-t 1 -c:v libx264 -profile:v main -g 10 -bf 0");
    fixture_make("delay-2.ts", CLIP "-t 1 -c:v libx264 -profile:v main -g 10 -bf 2 -b_strategy 0");
    fixture_run("printf \"file delay-%%d.ts\\n\" 0 0 2 0 0 2 0 >delay.txt && "
                "ffmpeg -v error -f concat -i delay.txt -c copy delay.ts");
    uint8_t *data = malloc((size_t)fixture_size(path));
    FILE *file = fopen(path, "r+b");
    expect_true(data && file);
    const size_t size = fread(data, 1, (size_t)fixture_size(path), file);
    uint8_t *at = data;
    int n = 0;
    while ((at = memmem(at, size - (size_t)(at - data), begin, sizeof(begin)))) {
        at += sizeof(begin);
        const uint8_t *end = memmem(at, size - (size_t)(at - data), begin, 3);
        shorten(at, (size_t)(end - at));
        n++;
    }
    expect_true(n > 20);
    rewind(file);
    expect_int(fwrite(data, 1, size, file), size);
    expect_int(fclose(file), 0);
    free(data);
    expect_int(read_by(path, &(struct vrt_reader_params){ .name = "clip" }, &whole),
               VRT_READER_END);
    expect_true(whole.n > 150 && whole.can_go_on[20] && !whole.can_go_on[whole.n - 1]);
    for (int first = 1; first < 130; first += 16)
        expect_int(expect_rest(path, &whole, (struct vrt_reader_params){ .name = "clip" }, first,
                               0), VRT_READER_LOST);
    free(path);
}

/* Bytes that this process has read; 0: nobody knows. */
static int64_t n_bytes_read(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    int64_t n = 0;

    if (!file)
        return 0;
    (void)!fscanf(file, "rchar: %" SCNd64, &n);
    fclose(file);
    return n;
}

/* Where a container says where its key frames are what is far before isn't even read. */
static void test_leap(void)
{
    static const struct {
        const char *name, *arguments;
        int of_bytes;           /* of a hundred so many are read at most, for the last frames; what
                                 * FFmpeg looks at first is a quarter */
    } films[] = {
        { "leap.mp4", "-c:v libx264 -g 10 -bf 3", 90 },
        { "leap.mkv", "-c:v libx264 -x264-params open-gop=1:keyint=10:bframes=3:ref=4", 90 },
        { "leap-hevc.mp4", "-c:v libx265 -x265-params log-level=0:keyint=10:open-gop=1", 110 },
        { "leap-vp9.webm", "-c:v libvpx-vp9 -g 10 -deadline realtime -cpu-used 8 "
                           "-auto-alt-ref 1 -lag-in-frames 10", 70 },
        { "leap-keys.mov", "-c:v mjpeg", 50 },
        { "leap-live.mkv", "-c:v libx264 -g 10 -live 1", 110 },
        { "leap-fragments.mp4", "-c:v libx264 -g 10 -movflags frag_keyframe+empty_moov", 110 },
        { "leap-rare.mp4", "-c:v libx264 -g 150 -sc_threshold 0", 110 },
    };
    static struct fixture_reading whole;
    const struct vrt_reader_params plain = { .name = "clip" };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(films); i++) {
        const char *path = fixture_make(films[i].name, LONG_CLIP "%s", films[i].arguments);
        int64_t before = n_bytes_read();
        expect_int(read_by(path, &plain, &whole), VRT_READER_END);
        const int64_t n_whole = n_bytes_read() - before;
        for (int first = 1; first < whole.n; first += 66) {
            before = n_bytes_read();
            expect_true(whole.can_go_on[first - 1]);
            expect_int(expect_rest(path, &whole, plain, first, INT64_MAX / 2),
                       VRT_READER_END);
        }
        const int64_t n = n_bytes_read() - before;
        printf("%s: %" PRId64 " of %" PRId64 " bytes\n", films[i].name, n, n_whole);
        expect_true(n * 100 <= n_whole * films[i].of_bytes);
    }
    /* Too few key frames before, of which nobody knew. */
    const char *path = fixture_make("leap-rare.mkv", LONG_CLIP "-c:v libx264 -g 150 "
                                    "-sc_threshold 0");
    expect_int(read_by(path, &plain, &whole), VRT_READER_END);
    expect_int(expect_rest(path, &whole, plain, 300, 0), VRT_READER_LOST);
}

/* Damage behind the place, and before it. */
static void test_lost_by_damage(void)
{
    static struct fixture_reading whole;
    const char *path = fixture_make("damaged.ts", CLIP "-c:v libx264 -g 25 -bf 2");
    const int64_t size = fixture_size(path);
    FILE *file = fopen(path, "r+b");

    expect_true(file && fseek(file, size * 6 / 10, SEEK_SET) == 0);
    for (int i = 0; i < 900; i++)
        expect_true(fputc(i * 7, file) != EOF);
    expect_int(fclose(file), 0);
    expect_int(read_range(path, (struct vrt_reader_range){ 0 }, 2, &whole), VRT_READER_END);
    expect_true(whole.info.n_concealed + whole.info.n_missing > 0);
    expect_true(whole.can_go_on[100] && !whole.can_go_on[whole.n - 1]);
    for (int first = 50; whole.can_go_on[first - 1]; first += 50)
        expect_int(expect_rest(path, &whole, (struct vrt_reader_params){ .name = "clip" }, first,
                               0), VRT_READER_LOST);
}

TEST_MAIN_AFTER(fixture_init(),
    { "exact", test_exact }, { "late", test_late }, { "late-filtered", test_late_filtered },
    { "new-parameters", test_new_parameters }, { "sets-told-once", test_sets_told_once },
    { "lost", test_lost }, { "lost-by-damage", test_lost_by_damage },
    { "lost-by-delay", test_lost_by_delay }, { "leap", test_leap },
    { "large-packets", test_large_packets }, { "small-packets", test_small_packets },
    { "estimates", test_estimates },
)
