/* SPDX-License-Identifier: MIT */

/*
 * Asks a vrt-media that lies for all that there is to ask, once for each seed: each call ends with
 * what its contract allows, or with a sentence, and nothing is left behind. Which numbers are taken
 * is held one by one, here and by frames-places.
 *
 * VRT_LIES=N seeds (400); VRT_LIES_FIRST=N is the first of them (1), to play one again.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames/clips/scene.h"
#include "frames/process/child-compare.h"
#include "frames/process/child-encoder.h"
#include "tests/hostile/double.h"
#include "tests/unit/test.h"

#define SEEDS 400
#define FRAMES 50
#define SEGMENTS 3

#define NUMBER_MAX (INT64_MAX / 1024)

/* No file may ever become so large. */
#define FILE_BYTES_MAX (1LL << 30)

/* How calls went, over all seeds: a test of which none is refused, or all are, shows nothing. */
static struct {
    long n_good, n_refused, n_distrusted, n_ends[4];
} seen;

static int input_fd, output_fd, segment_fd;

/* Whether it was ended by itself, having done what it should not be able to. */
static bool tells_of_success(const struct vrt_error *error)
{
    char how[32];

    snprintf(how, sizeof(how), "by signal %d ", DOUBLE_COULD);
    return strstr(error->message, how);
}

/* A call's outcome. Return: whether the child can be asked more. */
static bool judge(int r, int outcome_max, struct vrt_error *error)
{
    if (r >= 0) {
        expect_true(r <= outcome_max);
        seen.n_good++;
        return true;
    }
    expect_true(error->id && error->message[0]);
    expect_true(!tells_of_success(error));
    for (const char *c = error->message; *c; c++)
        expect_true((unsigned char)*c >= ' ' && *c != 0x7f);
    /* What other jobs would wait for, and what vrtd alone decides. */
    expect_true(strcmp(error->id, "out_of_descriptors") != 0 &&
                strcmp(error->id, "cancelled") != 0);
    seen.n_refused++;
    seen.n_distrusted += r == -EPIPE && strstr(error->message, "what can't be") != NULL;
    *error = (struct vrt_error){ .id = NULL };
    return false;
}

static int64_t size_of(int fd)
{
    struct stat st;

    expect_int(fstat(fd, &st), 0);
    return st.st_size;
}

/* Whether samples are what the depth has room for. */
static bool is_in_depth(const struct vrt_frame *frame)
{
    bool is_good = true;

    for (int p = 0; frame->format.depth > 8 && p < vrt_frame_format_n_planes(&frame->format); p++) {
        const struct vrt_plane *plane = &frame->planes[p];
        for (int y = 0; y < plane->height; y++) {
            const uint8_t *row = plane->data + (size_t)y * plane->stride_bytes;
            for (int x = 0; x < plane->width; x++)
                is_good &= ((const uint16_t *)(const void *)row)[x] >> frame->format.depth == 0;
        }
    }
    return is_good;
}

/* Behind its second piece it ends, and nobody hears of anything. */
static int feed_more(void *ctx, struct vrt_feed_state *state, struct vrt_error *error)
{
    int *n_told = ctx;

    (void)error;
    expect_true(*n_told < 2);
    state->size_bytes = VRT_MAX(state->size_bytes, 200);
    state->at_end = ++*n_told == 2;
    return 0;
}

static bool read_film(struct vrt_child *child, struct vrt_error *error)
{
    int n_told = 0;
    const struct vrt_feed feed = { feed_more, &n_told };
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *reader = NULL;
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *last = NULL, *copy = NULL;
    const struct vrt_reader_params params = { .name = "film.mkv", .n_threads = 1,
                                              .feed = &feed };
    struct vrt_reader_info looked;

    if (!judge(vrt_child_reader_open(child, input_fd, &params, &reader, error), 0, error))
        return false;
    if (!judge(vrt_child_reader_look(reader, VRT_DEINTERLACE_AUTO, &looked, error), 0, error))
        return false;
    /* A size that it made up is as good as another, and takes long to look at. */
    if (vrt_child_reader_info(reader)->format.width > 4096 ||
        vrt_child_reader_info(reader)->format.height > 4096)
        return true;
    expect_int(vrt_frame_new(&vrt_child_reader_info(reader)->format, &copy), 0);
    for (int i = 0; i < FRAMES; i++) {
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        int r = vrt_child_reader_next(reader, &frame, error);
        if (!judge(r, VRT_READER_END, error))
            return false;
        if (r == VRT_READER_END) {
            expect_int(vrt_child_reader_info(reader)->n_frames, i);
            break;
        }
        /* All that is done with samples before a device gets them. */
        struct vrt_scene_sketch sketch;
        expect_true(is_in_depth(frame));
        vrt_scene_draw(frame, &sketch);
        /* Nobody has changed it since. */
        expect_true(!last || vrt_frame_same_samples(last, copy));
        vrt_frame_copy_samples(frame, copy);
        vrt_frame_unref(last);
        last = VRT_STEAL(frame);
    }
    return true;
}

static bool encode(struct vrt_child *child, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_encoder_freep) struct vrt_child_encoder *encoder = NULL;
    VRT_CLEANUP(vrt_frame_pool_freep) struct vrt_frame_pool *pool = NULL;
    struct vrt_warnings warnings = { .n = 0 };
    const struct vrt_frame_format format = {
        .width = 64, .height = 48, .depth = 10, .layout = VRT_LAYOUT_YUV,
        .chroma_shift_x = 1, .chroma_shift_y = 1,
        .chroma_location = VRT_CHROMA_LOCATION_LEFT,
        .primaries = 2, .transfer = 2, .color_space = 2,
        .sample_aspect = { 1, 1 },
    };
    struct vrt_encoder_params params = {
        .codec = VRT_CODEC_FFV1, .n_threads = 1, .time_base = { 1, 1000 }, .fps = { 25, 1 },
    };
    const struct vrt_encoder_pick pick = { params.codec, &format, 64, 48 };
    struct vrt_codec_found found;
    int64_t size_bytes = 0;

    if (!judge(vrt_child_codec_check(child, params.codec, error), 0, error) ||
        !judge(vrt_child_codec_find(child, params.codec, &found, error), 0, error) ||
        !judge(vrt_child_encoder_pick_format(child, &pick, &params.format, &warnings, error), 0,
               error))
        return false;
    if (!judge(vrt_child_encoder_try(child, &params, error), 0, error) ||
        !judge(vrt_child_encoder_new(child, &params, segment_fd, &encoder, error), 0, error))
        return false;
    expect_int(vrt_frame_pool_new(&params.format, &pool), 0);
    for (int i = 0; i < 10; i++) {
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        expect_int(vrt_frame_pool_get(pool, &frame), 0);
        frame->pts = frame->index = i;
        if (!judge(vrt_child_encoder_send(encoder, frame, error), 0, error))
            return false;
    }
    if (!judge(vrt_child_encoder_finish(encoder, &size_bytes, error), 0, error))
        return false;
    expect_int(size_bytes, size_of(segment_fd));
    return judge(vrt_child_encoder_check_segment(child, &params, segment_fd, error), 0, error);
}

static int open_segment(void *ctx, int number)
{
    (void)ctx;
    expect_true(number >= 0 && number < SEGMENTS);
    return dup(segment_fd);
}

static bool compare(struct vrt_child *child, struct vrt_error *error)
{
    const struct vrt_compare_params params = { { input_fd, input_fd }, { "a", "b" }, 0 };
    struct vrt_compare_size size = { 0, 0 };
    struct vrt_pictures pictures;
    struct vrt_compared compared;

    if (!judge(vrt_child_compare_open(child, &params, &size, error), 0, error))
        return false;
    expect_int(vrt_pictures_init(&pictures), 0);
    const bool goes_on =
        judge(vrt_child_compare_show(child, &pictures, error), 0, error) &&
        judge(vrt_child_compare_next(child, &compared, error), VRT_COMPARE_END, error);
    vrt_pictures_done(&pictures);
    return goes_on;
}

static bool join(struct vrt_child *child, struct vrt_error *error)
{
    struct vrt_warnings warnings = { .n = 0 };
    struct vrt_joiner_rest rest = { 0 };
    const struct vrt_joiner_preview preview = { .input_fd = input_fd, .input_name = "film.mkv" };
    const struct vrt_joiner_params params = {
        .segments = { .n = SEGMENTS, .open = open_segment },
        .input_fd = input_fd, .input_name = "film.mkv", .output_fd = output_fd,
    };
    const struct vrt_joiner_expected expected = { .n_frames = 1 };
    const struct vrt_joiner_picture one = {
        .segment_fd = segment_fd, .original_fd = -1, .output_fd = output_fd,
        .container = VRT_CONTAINER_PNG,
    };
    struct vrt_preview picture = {
        .before_fd = input_fd, .after_fd = input_fd, .picture_fd = output_fd,
        .before_name = "a", .after_name = "b", .time_ns = -1,
    };
    struct vrt_joiner_result result;
    int64_t n_frames = 0, size_bytes = 0;

    if (!judge(vrt_child_joiner_check_segment(child, segment_fd, 0, VRT_JOINER_CHECK_ALL,
                                              &n_frames, error), 0, error))
        return false;
    if (!judge(vrt_child_joiner_preview(child, &preview, &rest, &warnings, error), 0, error))
        return false;
    if (!judge(vrt_child_joiner_picture(child, &one, &size_bytes, &warnings, error), 0, error))
        return false;
    expect_int(size_bytes, size_of(output_fd));
    if (!judge(vrt_child_joiner_run(child, &params, &result, error), 0, error))
        return false;
    if (!judge(vrt_child_joiner_verify(child, output_fd, &expected, error), 0, error) ||
        !judge(vrt_child_preview(child, &picture, error), 0, error))
        return false;
    return compare(child, error);
}

static bool ask_what_is_missing(struct vrt_child *child, struct vrt_error *error)
{
    const char *missing = vrt_child_missing(child, error);

    for (const char *c = missing ? missing : ""; *c; c++)
        expect_true((unsigned char)*c >= ' ');
    return judge(missing ? 0 : -EPIPE, 0, error);
}

static long number_of(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : otherwise;
}

static void make_files(void)
{
    input_fd = memfd_create("input", MFD_CLOEXEC);
    output_fd = memfd_create("output", MFD_CLOEXEC);
    segment_fd = memfd_create("segment", MFD_CLOEXEC);
}

static void close_files(void)
{
    close(input_fd);
    close(output_fd);
    close(segment_fd);
}

static void test_lies(void)
{
    static bool (*const asks[])(struct vrt_child *child, struct vrt_error *error) = {
        ask_what_is_missing, read_film, encode, join,
    };
    const long first = number_of("VRT_LIES_FIRST", 1), n = number_of("VRT_LIES", SEEDS);

    make_files();
    const int n_before = test_open_fds();
    for (long seed = first; seed < first + n; seed++) {
        struct vrt_error error = { .id = NULL };
        char how[40];
        snprintf(how, sizeof(how), "lie %ld", seed);
        setenv("VRT_DOUBLE", how, 1);
        /* One that is caught is not asked again: the others get one that wasn't. */
        for (size_t i = 0; i < VRT_ARRAY_SIZE(asks); i++) {
            VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
            expect_int(ftruncate(output_fd, 0) + ftruncate(segment_fd, 0), 0);
            expect_int(vrt_child_new(NULL, &child, &error), 0);
            seen.n_ends[i] += asks[i](child, &error);
            /* Nor when what it said wasn't believed. */
            expect_true(size_of(output_fd) < FILE_BYTES_MAX);
            expect_true(size_of(segment_fd) < FILE_BYTES_MAX);
        }
        expect_int(test_open_fds(), n_before);
        expect_int(waitpid(-1, NULL, WNOHANG), -1);
    }
    printf("%ld seeds: %ld good answers, %ld refusals, %ld of them for what can't be\n", n,
           seen.n_good, seen.n_refused, seen.n_distrusted);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(asks); i++)
        expect_true(n < 100 || seen.n_ends[i] > 0);
    expect_true(n < 100 || seen.n_distrusted > n / 4);
    close_files();
}

/* A number of the nth answer of a kind, and what it may be. */
struct number {
    bool (*ask)(struct vrt_child *child, struct vrt_error *error);
    enum vrt_message_kind kind;
    int n;
    size_t at, size;
    int64_t least, most;
    int n_like;                 /* so many, one behind the other; 0: it alone */
};

#define NUMBER(member) \
    offsetof(struct vrt_message, member), sizeof(((struct vrt_message *)0)->member)
#define READ(kind, n, member, ...) \
    { read_film, VRT_MESSAGE_READER_##kind, n, NUMBER(member), __VA_ARGS__ }
#define INFO(kind, n, member, ...) READ(kind, n, body.info.member, __VA_ARGS__)
#define NEXT(n, member, ...) READ(NEXT, n, body.reader_next.member, __VA_ARGS__)
#define ENCODE(kind, n, member, ...) \
    { encode, VRT_MESSAGE_ENCODER_##kind, n, NUMBER(body.member), __VA_ARGS__ }
#define JOIN(kind, member, ...) { join, VRT_MESSAGE_##kind, 0, NUMBER(member), __VA_ARGS__ }
#define ONE INT64_C(1000000000)

static const struct number numbers[] = {
    INFO(OPEN, 0, n_frames, 0, 0), INFO(OPEN, 0, n_audio, 0, INT32_MAX),
    READ(LOOK, 0, kind, 2, 2), INFO(LOOK, 0, n_frames, 0, 0), INFO(LOOK, 0, format.width, 64, 64),
    NEXT(0, frame.pts, -NUMBER_MAX, 39), NEXT(39, frame.pts, 1521, NUMBER_MAX),
    NEXT(0, frame.duration, 0, NUMBER_MAX), NEXT(9, frame.index, 9, 9),
    NEXT(0, frame.concealed, 0, 1), NEXT(0, frame.extra.n_captions, 0, 0),
    NEXT(0, frame.extra.n_hdr10plus, 0, VRT_HDR10PLUS_BYTES_MAX), NEXT(9, n_frames, 10, 10),
    NEXT(39, n_concealed, 0, 40), NEXT(39, n_decoded, 0, NUMBER_MAX),
    READ(MORE, 0, body.reader_more.n_spent, 0, VRT_FEED_SPENT_MAX),
    READ(MORE, 0, body.reader_more.spent[0].from, 0, 20),
    READ(MORE, 0, body.reader_more.spent[0].to, 10, 100),
    READ(MORE, 0, body.reader_more.spent[1].to, 20, 100),
    READ(MORE, 1, body.reader_more.size_bytes, 200, 200),
    /* What was said of a video holds at its end. */
    READ(NEXT, 40, result, 1, 1), INFO(NEXT, 40, n_frames, 40, 40),
    INFO(NEXT, 40, format.width, 64, 64), INFO(NEXT, 40, time_base.num, 1, 1),
    INFO(NEXT, 40, time_base.den, 1000, 1000),
    ENCODE(PICK, 0, pick.format.width, 64, 64), ENCODE(PICK, 0, pick.format.height, 48, 48),
    ENCODE(PICK, 0, pick.format.depth, 8, 16),
    ENCODE(PICK, 0, pick.warnings.n, 0, VRT_WARNINGS_MAX),
    ENCODE(SEND, 0, encoder_send.n_held, 0, 1), ENCODE(SEND, 9, encoder_send.n_held, 0, 1),
    ENCODE(FINISH, 0, segment.number, 10000, 10000),
    JOIN(SEGMENT_CHECK, body.segment.number, 0, NUMBER_MAX),
    JOIN(JOIN_PREVIEW, body.previewed.n_packets, 0, NUMBER_MAX, 2),
    JOIN(JOIN_PREVIEW, body.previewed.streams.n_all, 0, 1),
    JOIN(JOIN_PREVIEW, body.previewed.warnings.n, 0, VRT_WARNINGS_MAX),
    JOIN(JOIN_PICTURE, body.joined.size_bytes, 1000, 1000),
    JOIN(JOIN_PICTURE, body.joined.warnings.n, 0, VRT_WARNINGS_MAX),
    JOIN(JOIN_SEGMENT, body.segment.number, 0, SEGMENTS - 1),
    JOIN(JOIN, body.joined.n_frames, 0, NUMBER_MAX, 4),
    JOIN(JOIN, body.joined.warnings.n, 0, VRT_WARNINGS_MAX),
    JOIN(PREVIEW, body.preview.width, 1, 2 * VRT_PAIR_SIDE_MAX + 64),
    JOIN(PREVIEW, body.preview.height, 1, VRT_PAIR_SIDE_MAX),
    JOIN(PREVIEW, body.preview.shown_ns, -NUMBER_MAX, NUMBER_MAX),
    JOIN(COMPARE_OPEN, body.compare_open.width, 1, VRT_FRAME_MAX_SIDE, 2),
    JOIN(COMPARE_NEXT, result, 0, VRT_COMPARE_END),
    JOIN(COMPARE_NEXT, body.compare_next.time_ns, -NUMBER_MAX, NUMBER_MAX),
    JOIN(COMPARE_NEXT, body.compare_next.error_rgb, 0, 255 * 255 * ONE, 2),
    JOIN(COMPARE_NEXT, body.compare_next.ssim_rgb, -ONE, ONE, 2),
};

/* Has a process say that of the kth such number. Return: whether it is believed. */
static bool is_believed(const struct number *number, int k, int64_t value)
{
    const long n_before = seen.n_distrusted;
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct vrt_error error = { .id = NULL };
    char how[96];

    snprintf(how, sizeof(how), "twist %u %d %zu %zu %lld", number->kind, number->n,
             number->at + (size_t)k * number->size, number->size, (long long)value);
    setenv("VRT_DOUBLE", how, 1);
    expect_int(ftruncate(output_fd, 0) + ftruncate(segment_fd, 0), 0);
    expect_int(vrt_child_new(NULL, &child, &error), 0);
    const bool goes_on = number->ask(child, &error);
    expect_int(seen.n_distrusted - n_before, !goes_on);
    return goes_on;
}

/* Each number is believed up to its ends, and not beyond. */
static void test_numbers(void)
{
    make_files();
    for (size_t i = 0; i < VRT_ARRAY_SIZE(numbers); i++)
        for (int k = 0; k < VRT_MAX(numbers[i].n_like, 1); k++) {
            fprintf(stderr, "  number %zu, %d\n", i, k);
            expect_true(is_believed(&numbers[i], k, numbers[i].least));
            expect_true(is_believed(&numbers[i], k, numbers[i].most));
            expect_true(!is_believed(&numbers[i], k, numbers[i].least - 1));
            expect_true(!is_believed(&numbers[i], k, numbers[i].most + 1));
        }
    close_files();
}

/* Has a process try what it shouldn't, behind walls for which this machine and this build have all
 * that it takes. Return: what it could do. */
static const char *try_exploits(const char *sandbox, struct vrt_child **ret_child)
{
    const bool has_both = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0 &&
                          prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
    struct vrt_error error = { .id = NULL };

    setenv("VRT_DOUBLE", "exploit", 1);
    setenv("VRT_DOUBLE_SANDBOX", sandbox, 1);
    expect_int(vrt_child_new(NULL, ret_child, &error), 0);
    const char *done = vrt_child_missing(*ret_child, &error);
    expect_true(done != NULL);
    if (strncmp(done, "skip: no sandbox for", 20) == 0 ||
        (!has_both && strncmp(done, "skip:", 5) == 0))
        test_skip(done);
    return done;
}

/* What the system says of our last child. */
static void look_at_limits(bool has_devices)
{
    static const char *const said[] = { "Name:\tvrt-media\n", "CapPrm:\t0000000000000000\n",
                                        "NoNewPrivs:\t1\n", "Seccomp:\t2\n", "\n1000\n" };
    const rlim_t half = (rlim_t)sysconf(_SC_PHYS_PAGES) / 2 * (rlim_t)sysconf(_SC_PAGESIZE);
    const rlim_t room = VRT_MIN(VRT_MAX(half, (rlim_t)4 << 30), (rlim_t)64 << 30);
    struct rlimit ours, its;
    expect_int(getrlimit(RLIMIT_NPROC, &ours), 0);
    const struct {
        __rlimit_resource_t resource;
        rlim_t most;
    } limits[] = {
        { RLIMIT_CORE, 0 }, { RLIMIT_MSGQUEUE, 0 }, { RLIMIT_DATA, room },
        { RLIMIT_NOFILE, has_devices ? 512 : 64 },
        { RLIMIT_AS, has_devices ? RLIM_INFINITY : room },
        { RLIMIT_MEMLOCK, has_devices ? RLIM_INFINITY : 0 },
        /* Half of the user's are left to others. */
        { RLIMIT_NPROC, ours.rlim_cur == RLIM_INFINITY ? RLIM_INFINITY : ours.rlim_cur / 2 },
    };
    char command[128], text[4096];
    int pid = 0;

    FILE *told = fopen("/proc/thread-self/children", "r");
    expect_true(told);
    while (fscanf(told, "%d", &pid) == 1)
        continue;
    fclose(told);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(limits); i++) {
        expect_int(getrlimit(limits[i].resource, &ours), 0);
        expect_int(prlimit(pid, limits[i].resource, NULL, &its), 0);
        expect_int(its.rlim_max, VRT_MIN(ours.rlim_max, limits[i].most));
    }
    snprintf(command, sizeof(command), "cat /proc/%d/status /proc/%d/oom_score_adj", pid, pid);
    told = popen(command, "r");
    text[fread(text, 1, sizeof(text) - 1, told)] = '\0';
    pclose(told);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(said); i++)
        expect_contains(text, said[i]);
}

/* Who may use cards may ask them, and do nothing else. */
static void test_exploits_of_devices(void)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;

    expect_str(try_exploits("devices", &child), "ioctl");
    look_at_limits(true);
}

/* Without the walls most of it can be done, with them nothing. */
static void test_exploits(void)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *unlocked = NULL, *locked = NULL;
    int n = 0;

    for (const char *c = try_exploits("none", &unlocked); *c; c++)
        n += *c == ' ';
    expect_true(n >= 20);
    expect_str(try_exploits("plain", &locked), "");
    look_at_limits(false);
}

TEST_MAIN(
    { "lies", test_lies },
    { "numbers", test_numbers },
    { "exploits", test_exploits },
    { "exploits-of-devices", test_exploits_of_devices },
)
