/* SPDX-License-Identifier: MIT */

/* What hostile files make FFmpeg do: read for ever, or open other files; and what the process has
 * given up that reads them. And by which clock a file's streams go on. */

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames/av.h"
#include "frames/decode/source.h"
#include "frames/process/child-spawn.h"
#include "frames/process/child.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/frames/frames-restore.h"
#include "tests/unit/test.h"

#define CLIP "-f lavfi -i testsrc2=size=160x90:rate=25 "

/* Opens with so much time. Return: what vrt_reader_open() did, which without an end to it would be
 * busy for longer than this test may take. */
static int open_in_time(int fd, int64_t time_ns, struct vrt_error *error)
{
    const int64_t start_ns = vrt_clock_now_ns();
    const struct vrt_reader_params params = {
        .n_threads = 1,
        .name = "clip",
        .open_deadline_ns = start_ns + time_ns,
    };
    struct vrt_reader *reader = NULL;
    struct vrt_frame *frame = NULL;

    *error = (struct vrt_error){ .id = NULL };
    int r = vrt_reader_open(fd, &params, &reader, error);
    if (r < 0)
        return r;
    /* It is over with the opening: what is read then may take its time. */
    while (vrt_clock_now_ns() < params.open_deadline_ns)
        usleep(10000);
    while ((r = vrt_reader_next(reader, &frame, error)) == 0)
        vrt_frame_unref(frame);
    vrt_reader_close(reader);
    return r;
}

/* Files that FFmpeg would read for minutes or for ever: those who open may set an end to it. */
static void test_deadline(void)
{
    const int64_t time_ns = VRT_NS_PER_S / 3;
    const int64_t huge = INT64_C(1) << 40;
    struct vrt_error error;
    int fds[2];

    expect_int(pipe(fds), 0);
    expect_int(open_in_time(fds[0], time_ns, &error), -ETIMEDOUT);
    expect_str(error.id, "input.timeout");
    expect_contains(error.message, "clip could not be looked at in time");
    close(fds[0]);
    close(fds[1]);

    /* Matroska's next piece is looked for, byte by byte, in a hole of a terabyte. */
    fixture_make("sought.mkv", CLIP "-t 1 -c:v libx264");
    const char *path = fixture_cut("hole.mkv", fixture_path("sought.mkv"), 500);
    if (truncate(path, huge) == 0) {
        int fd = fixture_open(path);
        expect_int(open_in_time(fd, time_ns, &error), -ETIMEDOUT);
        expect_str(error.id, "input.timeout");
        close(fd);
    }

    int fd = fixture_open(fixture_path("sought.mkv"));
    int64_t enough_ns = VRT_NS_PER_S;
    int r;
    while ((r = open_in_time(fd, enough_ns, &error)) == -ETIMEDOUT)
        enough_ns *= 2;         /* the machine is busy */
    expect_int(r, VRT_READER_END);
    close(fd);
}

/* Little-endian as in AVI, big-endian as in MOV. */
enum endian { LITTLE, BIG };

static void put_u32(uint8_t *at, enum endian endian, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * (endian == BIG ? 3 - i : i));
}

static uint32_t get_u32(const uint8_t *at, enum endian endian)
{
    return endian == BIG ? AV_RB32(at) : AV_RL32(at);
}

/* A file that is being changed. */
struct bytes {
    uint8_t data[1 << 18];
    size_t size;
};

static void load(struct bytes *bytes, const char *path)
{
    FILE *file = fopen(path, "rb");

    expect_true(file);
    bytes->size = fread(bytes->data, 1, sizeof(bytes->data), file);
    expect_true(bytes->size > 0 && bytes->size < sizeof(bytes->data) / 2);
    fclose(file);
}

/* Where `tag` is, from `from` on. */
static size_t find(const struct bytes *bytes, size_t from, const char *tag)
{
    const uint8_t *at = memmem(bytes->data + from, bytes->size - from, tag, 4);

    if (!at)
        test_fail("no %s", tag);
    return (size_t)(at - bytes->data);
}

static void insert(struct bytes *bytes, size_t offset, const void *data, size_t size)
{
    memmove(bytes->data + offset + size, bytes->data + offset, bytes->size - offset);
    memcpy(bytes->data + offset, data, size);
    bytes->size += size;
}

static void grow(struct bytes *bytes, size_t at, enum endian endian, size_t size)
{
    put_u32(bytes->data + at, endian, get_u32(bytes->data + at, endian) + (uint32_t)size);
}

/* A MOV whose samples are said to be in another file, by its absolute path and one beside it. */
static const char *make_reference(const char *name, const char *target)
{
    static const char *const boxes[] = { "moov", "trak", "mdia", "minf", "dinf", "dref" };
    static struct bytes bytes;
    uint8_t alias[512] = "";
    size_t length = strlen(target), padded = (length + 1) & ~(size_t)1, at = 0;
    size_t size = 162 + 4 + padded + 4;

    load(&bytes, fixture_make("plain.mov", CLIP "-frames:v 3 -c:v mjpeg"));
    expect_true(size <= sizeof(alias));
    put_u32(alias, BIG, (uint32_t)size);
    memcpy(alias + 4, "alis", 4);
    /* One level up from here and one down is a file beside this one. */
    alias[12 + 10 + 28 + 12 + 64 + 16 + 1] = 1;
    alias[12 + 10 + 28 + 12 + 64 + 16 + 3] = 1;
    alias[162 + 1] = 2;
    alias[162 + 3] = (uint8_t)length;
    memcpy(alias + 166, target, length);
    memset(alias + 166 + padded, 0xff, 2);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(boxes); i++) {
        at = find(&bytes, at, boxes[i]);
        grow(&bytes, at - 4, BIG, size);
    }
    /* The first entry is the one that the samples refer to. */
    grow(&bytes, at + 8, BIG, 1);
    insert(&bytes, at + 12, alias, size);
    return fixture_write(name, bytes.data, bytes.size);
}

/* An AVI with a stream of text, whose one packet holds a whole file, as subtitles may. */
static const char *make_packed(const char *name, const char *inner)
{
    static struct bytes bytes;
    uint8_t stream[8 + 4 + 64 + 48] = "LIST", packet[1024] = "01tx";
    const size_t inner_size = strlen(inner), payload = 17 + inner_size;
    const size_t padded = 8 + ((payload + 1) & ~(size_t)1);

    load(&bytes, fixture_make("plain.avi", CLIP "-frames:v 3 -c:v mpeg4"));
    put_u32(stream + 4, LITTLE, sizeof(stream) - 8);
    memcpy(stream + 8, "strlstrh", 8);
    put_u32(stream + 16, LITTLE, 56);
    memcpy(stream + 20, "txts", 4);
    put_u32(stream + 20 + 20, LITTLE, 1);
    put_u32(stream + 20 + 24, LITTLE, 25);
    put_u32(stream + 20 + 32, LITTLE, 1);
    memcpy(stream + 76, "strf", 4);
    put_u32(stream + 80, LITTLE, 40);

    expect_true(padded <= sizeof(packet));
    put_u32(packet + 4, LITTLE, (uint32_t)payload);
    memcpy(packet + 8, "GAB2\0\2", 7);
    packet[8 + 11] = 4;
    put_u32(packet + 8 + 13, LITTLE, (uint32_t)inner_size);
    memcpy(packet + 8 + 17, inner, inner_size);

    memcpy(bytes.data + find(&bytes, 0, "idx1"), "JUNK", 4);
    const size_t movi = find(&bytes, 0, "movi");
    grow(&bytes, movi - 4, LITTLE, padded);
    insert(&bytes, movi + 4, packet, padded);
    const size_t first = find(&bytes, 0, "strl") - 4;
    insert(&bytes, first + 4 + get_u32(bytes.data + first, LITTLE), stream, sizeof(stream));
    grow(&bytes, find(&bytes, 0, "hdrl") - 4, LITTLE, sizeof(stream));
    grow(&bytes, find(&bytes, 0, "avih") + 8 + 24, LITTLE, 1);
    grow(&bytes, 4, LITTLE, padded + sizeof(stream));
    return fixture_write(name, bytes.data, bytes.size);
}

/* How often `watch` has seen its file opened since the last call. */
static int count_opens(int watch)
{
    char events[4096];
    ssize_t size = read(watch, events, sizeof(events));

    return size > 0 ? (int)(size / (ssize_t)sizeof(struct inotify_event)) : 0;
}

/* Reads `path` to its end. Return: "id: sentence" of the first failure; "": it can be read. */
static const char *read_under(const char *path, const char *name)
{
    static char text[600];
    const struct vrt_reader_params params = { .n_threads = 1, .name = name };
    static struct fixture_reading reading;
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(path);

    int r = fixture_read(fd, &params, &reading);
    fprintf(stderr, "  %s: %s\n", name, r < 0 ? reading.error.message : "read");
    if (r > 0)
        return "";
    snprintf(text, sizeof(text), "%s: %s", reading.error.id, reading.error.message);
    expect_int(r, vrt_error_is(&reading.error, "input.playlist") ? -EPERM : -EBADMSG);
    return text;
}

/* The files that others name, and those that are no text; `list` is packed into one. */
static void make_nested(const char *list)
{
    fixture_make("target.ts", CLIP "-t 1 -c:v libx264");
    fixture_make("target.mp4", CLIP "-t 1 -c:v libx264");
    fixture_make("target.mov", CLIP "-t 1 -c:v mjpeg");
    fixture_write("target.sub", "\0\0\1\xba", 4);
    fixture_make("picture-001.png", CLIP "-frames:v 1");
    fixture_run("cp picture-001.png 'picture-%%03d.png' && cp picture-001.png 'picture-*.png'");
    make_reference("outside.mov", fixture_path("target.mov"));
    make_packed("packed.avi", list);
}

/*
 * Files that name another one, which FFmpeg opens if it is let: `lured` shows that it does. The
 * reader, in the folder of both, never does.
 */
static void test_nested(void)
{
    static const struct {
        const char *name, *content, *target, *lured, *said;
    } cases[] = {
        { "list.txt", "ffconcat version 1.0\nfile target.ts\n", "target.ts",
          "ffprobe -f concat list.txt", "input.playlist: list.txt is a concat script, not" },
        { "list.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\ntarget.ts\n"
          "#EXT-X-ENDLIST\n", "target.ts", "ffprobe list.m3u8",
          "input.playlist: list.m3u8 is an HLS playlist, not a video: give the video file" },
        { "list.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MAP:URI=\"target.ts\"\n"
          "#EXTINF:1,\ntarget.ts\n#EXT-X-ENDLIST\n", "target.ts",
          "ffprobe -f hls list.mp4", "input.playlist: list.mp4 is an HLS playlist" },
        { "list.mpd", "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
          "profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\" type=\"static\" "
          "mediaPresentationDuration=\"PT1S\"><Period><AdaptationSet contentType=\"video\">"
          "<Representation id=\"0\" bandwidth=\"1\"><BaseURL>target.mp4</BaseURL>"
          "</Representation></AdaptationSet></Period></MPD>", "target.mp4", NULL,
          "input.playlist: list.mpd is a DASH manifest" },
        { "target.idx", "# VobSub index file, v7 (do not modify this line!)\nsize: 720x576\n"
          "id: en, index: 0\ntimestamp: 00:00:00:000, filepos: 000000000\n", "target.sub",
          "ffprobe target.idx", "input.playlist: target.idx is a subtitle index" },
        { "list.sdp", "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
          "a=control:target.ts\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n", "target.ts",
          NULL, "input.playlist: list.sdp is a session description" },
        { "picture-%03d.png", NULL, "picture-001.png", "ffprobe -f image2 picture-%03d.png",
          "" },
        { "picture-*.png", NULL, "picture-001.png",
          "ffprobe -f image2 -pattern_type glob 'picture-0*.png'", "" },
        { "outside.mov", NULL, "target.mov",
          "ffprobe -enable_drefs 1 -use_absolute_path 1 outside.mov", "input.damaged: " },
        { "packed.avi", NULL, "target.ts", NULL, "" },
    };

    make_nested(cases[1].content);
    expect_int(chdir(fixture_path(".")), 0);

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const char *path = fixture_path(cases[i].name);
        if (cases[i].content)
            fixture_write(cases[i].name, cases[i].content, strlen(cases[i].content));
        int watch = inotify_init1(IN_NONBLOCK);
        expect_true(inotify_add_watch(watch, fixture_path(cases[i].target), IN_OPEN) >= 0);
        const char *said = read_under(path, cases[i].name);
        expect_int(count_opens(watch), 0);
        expect_contains(said, cases[i].said);
        expect_int(said[0], cases[i].said[0]);
        /* That the test would see it. */
        if (cases[i].lured) {
            fixture_run("%s >/dev/null 2>&1 || true", cases[i].lured);
            expect_true(count_opens(watch) > 0);
        }
        close(watch);
    }
    expect_int(chdir("/"), 0);
}

/* The AVI's inner file is indeed looked at: subtitles in it are found. */
static void test_packed(void)
{
    make_packed("subtitled.avi", "1\n00:00:00,000 --> 00:00:00,080\nHello\n\n");
    expect_contains(fixture_run("ffprobe -v error -show_entries stream=codec_name -of csv=p=0 "
                                "subtitled.avi"), "subrip");
    expect_str(read_under(fixture_path("subtitled.avi"), "subtitled.avi"), "");
}

/* Of recordings: one clock for all, where they have the same streams; else what begins so late is
 * left out. Where the pictures' clock alone jumps, they wait for the sound's to do so in vain. */
static void test_joined(void)
{
#define RECORDED CLIP "-f lavfi -i sine -t 3 -c:v mpeg2video -bf 0 -c:a mp2 "
    static const struct {
        const char *name;
        int n[2], n_jumps;
        bool has_late;
    } rows[] = {
        { "twice.ts", { 150, 230 }, 1, false }, { "late.ts", { 75, 115 }, 0, true },
        { "silent.ts", { 97, 115 }, 2, false },
    };
    fixture_make("one.ts", RECORDED);
    fixture_make("other.ts", RECORDED "-mpegts_start_pid 0x300 -mpegts_pmt_start_pid 0x1100");
    fixture_run("for i in 500 900; do ffmpeg -v error -i one.ts -c copy -an -t 0.4 "
                "-output_ts_offset $i $i.ts; done; cat one.ts one.ts >twice.ts; "
                "cat one.ts other.ts >late.ts; cat one.ts 900.ts 500.ts >silent.ts");
    for (size_t k = 0; k < VRT_ARRAY_SIZE(rows); k++) {
        const char *path = fixture_path(rows[k].name);
        VRT_CLEANUP(vrt_closep) int fd = fixture_open(path);
        VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
        VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
        struct vrt_error error = { .id = NULL };
        int64_t last[2] = { AV_NOPTS_VALUE, AV_NOPTS_VALUE };
        int n[2] = { 0 }, r;

        expect_int(vrt_source_open(&(struct vrt_source_params){ .fd = fd }, &source, &error), 0);
        expect_int(source->n_streams, 2);
        while ((r = vrt_source_next(source, packet, &error)) == 0) {
            const int i = packet->stream_index;
            expect_true(i < 2);
            /* 90 kHz: one after the other, also where the second recording begins. */
            if (last[i] != AV_NOPTS_VALUE && n[i] != (i ? 115 : 75))
                expect_near(packet->dts - last[i], i ? 1152 * 90000.0 / 44100 : 3600, 1);
            expect_true(last[i] == AV_NOPTS_VALUE || packet->dts > last[i]);
            last[i] = packet->dts;
            n[i]++;
            av_packet_unref(packet);
        }
        expect_int(r, VRT_SOURCE_END);
        expect_int(n[0], rows[k].n[0]);
        expect_int(n[1], rows[k].n[1]);
        expect_int(vrt_source_n_jumps(source), rows[k].n_jumps);
        expect_int(source->has_late, rows[k].has_late);
    }
}

/* A process that reads others' files has no more of anything than it needs. */
static void test_sandbox(void)
{
    static const char *const given_up[] = {
        "Max open files +64 +64 ", "Max core file size +0 +0 ",
        "Max locked memory +0 +0 ", "Max msgqueue size +0 +0 ", "CapPrm:.0+$", "CapEff:.0+$",
        "NoNewPrivs:.1$", "Seccomp:.2$", "^1000$",
    };
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct vrt_error error = { .id = NULL };
    struct rlimit was, few;

    expect_int(getrlimit(RLIMIT_NPROC, &was), 0);
    few = was;
    few.rlim_cur = VRT_MIN(was.rlim_cur, 60000);
    expect_int(setrlimit(RLIMIT_NPROC, &few), 0);
    const int r = vrt_child_new(NULL, &child, &error);
    expect_int(setrlimit(RLIMIT_NPROC, &was), 0);
    expect_int(r, 0);
    const char *missing = vrt_child_missing(child, &error);
    expect_true(missing && !strstr(missing, "limits"));
    if (missing[0]) {
        fprintf(stderr, "  not here: %s\n", missing);
        return;
    }
    fixture_run("for p in $(cat /proc/%d/task/%d/children); do grep -qs media /proc/$p/comm && "
                "cat /proc/$p/limits /proc/$p/status /proc/$p/oom_score_adj; done >given-up; true",
                getpid(), getpid());
    for (size_t i = 0; i < VRT_ARRAY_SIZE(given_up); i++)
        fixture_run("grep -Eq '%s' given-up", given_up[i]);
    /* Half of what there is stays for others' threads. */
    fixture_run("grep -Eq 'Max processes +%d +%d ' given-up", (int)few.rlim_cur / 2,
                (int)few.rlim_cur / 2);
}

/* The program that is open is run, whatever is at its path by then. */
static void test_program(void)
{
    VRT_CLEANUP(vrt_closep) int program = fixture_open("/bin/sh"), text = fixture_open("/dev/null");
    char path[32], wanted[32];
    const int size = snprintf(wanted, sizeof(wanted), "/proc/%d/fd/%d", getpid(), program) + 1;

    expect_str(vrt_child_path(program, "other", path, size), wanted);
    expect_str(vrt_child_path(program, "other", path, size - 1), "other");
    expect_str(vrt_child_path(text, "other", path, sizeof(path)), "other");
}

TEST_MAIN_AFTER(fixture_init(),
    { "program", test_program }, { "deadline", test_deadline }, { "nested", test_nested },
    { "packed", test_packed }, { "sandbox", test_sandbox }, { "joined", test_joined },
)
