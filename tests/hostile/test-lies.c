/* SPDX-License-Identifier: MIT */

/*
 * Asks a vrt-media that lies for all that there is to ask, once for each seed: each call ends with
 * what its contract allows, or with a sentence, and nothing is left behind.
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

static void look_at_streams(const struct vrt_stream_list *list)
{
    expect_true(list->n_all >= 0 && vrt_stream_list_n(list) <= VRT_STREAMS_MAX);
    for (int i = 0; i < vrt_stream_list_n(list); i++) {
        const struct vrt_stream_info *info = &list->streams[i];
        expect_true(info->kind >= 0 && info->kind < VRT_STREAM_KIND_COUNT);
        expect_true(info->fate >= 0 && info->fate < VRT_STREAM_FATE_COUNT);
        expect_true(info->width >= 0 && info->height >= 0 && info->fps_num >= 0);
        expect_true(info->fps_den > 0 && info->sample_rate >= 0 && info->channels >= 0);
        expect_true(info->bitrate >= 0 && info->bitrate <= NUMBER_MAX);
        expect_true(memchr(info->title, '\0', sizeof(info->title)) != NULL);
        for (const char *c = info->title; *c; c++)
            expect_true((unsigned char)*c >= ' ');
    }
}

static void look_at_warnings(const struct vrt_warnings *warnings)
{
    expect_true(warnings->n >= 0 && warnings->n <= VRT_WARNINGS_MAX && warnings->n_lost >= 0);
    for (int i = 0; i < warnings->n; i++)
        expect_true(memchr(warnings->sentences[i], '\0', sizeof(warnings->sentences[i])));
}

static void look_at_info(const struct vrt_reader_info *info)
{
    expect_true(vrt_frame_format_is_valid(&info->format));
    expect_true(info->time_base.num > 0 && info->time_base.den > 0 && info->fps.den > 0);
    expect_true(info->duration_ns >= -1 && info->duration_ns <= NUMBER_MAX);
    expect_true(info->n_frames_estimate >= -1 && info->n_frames_estimate <= NUMBER_MAX);
    expect_true(info->n_frames >= 0 && info->n_concealed >= 0 && info->n_missing >= 0);
    expect_true(info->n_audio >= 0 && info->n_subtitles >= 0 && info->n_attachments >= 0 &&
                info->n_chapters >= 0 && info->n_covers >= 0);
    expect_true(vrt_hdr_is_valid(&info->format.hdr));
    expect_true((unsigned int)info->tonemap < VRT_TONEMAP_COUNT);
    expect_true((unsigned int)info->fields.deinterlace < VRT_DEINTERLACE_COUNT &&
                info->fields.deinterlace != VRT_DEINTERLACE_AUTO &&
                (unsigned int)info->fields.order < VRT_FIELD_ORDER_COUNT);
    expect_true(memchr(info->codec, '\0', sizeof(info->codec)) != NULL);
    look_at_warnings(&info->warnings);
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

/* All that is done with samples before a device gets them. */
static void look_at_frame(const struct vrt_frame *frame, int64_t index, int64_t last_pts)
{
    struct vrt_scene_sketch sketch;
    expect_int(frame->index, index);
    expect_true(index == 0 || frame->pts > last_pts);
    expect_true(llabs(frame->pts) <= NUMBER_MAX);
    expect_true(frame->duration >= 0 && frame->duration <= NUMBER_MAX);
    expect_true(vrt_frame_extra_is_valid(&frame->extra));
    expect_true(is_in_depth(frame));
    vrt_scene_draw(frame, &sketch);
}

/* Whether what was promised of all frames still is so. */
static bool is_alike(const struct vrt_reader_info *a, const struct vrt_reader_info *b)
{
    return vrt_frame_format_same_planes(&a->format, &b->format) &&
           a->time_base.num == b->time_base.num && a->time_base.den == b->time_base.den;
}

/* What the process says of a file that grows is within it by the time that somebody hears of it,
 * and behind its end nobody hears of anything. */
static int feed_more(void *ctx, struct vrt_feed_state *state, struct vrt_error *error)
{
    bool *was_end_told = ctx;

    (void)error;
    expect_true(!*was_end_told);
    expect_true(state->size_bytes >= 0 && state->n_spent >= 0 &&
                state->n_spent <= VRT_FEED_SPENT_MAX);
    for (int i = 0; i < state->n_spent; i++)
        expect_true(state->spent[i].from >= 0 && state->spent[i].from <= state->spent[i].to &&
                    state->spent[i].to <= state->size_bytes);
    state->at_end = *was_end_told = true;
    return 0;
}

static bool read_film(struct vrt_child *child, struct vrt_error *error)
{
    bool was_end_told = false;
    const struct vrt_feed feed = { feed_more, &was_end_told };
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *reader = NULL;
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *last = NULL, *copy = NULL;
    const struct vrt_reader_params params = { .name = "film.mkv", .n_threads = 1,
                                              .feed = &feed };
    struct vrt_reader_info first, looked;

    if (!judge(vrt_child_reader_open(child, input_fd, &params, &reader, error), 0, error))
        return false;
    first = *vrt_child_reader_info(reader);
    look_at_info(&first);
    if (!judge(vrt_child_reader_look(reader, VRT_DEINTERLACE_AUTO, &looked, error), 0, error))
        return false;
    look_at_info(&looked);
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
        look_at_info(vrt_child_reader_info(reader));
        if (r == VRT_READER_END) {
            expect_int(vrt_child_reader_info(reader)->n_frames, i);
            expect_true(is_alike(&first, vrt_child_reader_info(reader)));
            break;
        }
        look_at_frame(frame, i, last ? last->pts : 0);
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
    expect_true(vrt_frame_format_is_valid(&params.format));
    expect_true(params.format.width == 64 && params.format.height == 48);
    look_at_warnings(&warnings);
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
    expect_true(size.width > 0 && size.height > 0);
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
    struct vrt_preview picture = {
        .before_fd = input_fd, .after_fd = input_fd, .picture_fd = output_fd,
        .before_name = "a", .after_name = "b", .time_ns = -1,
    };
    struct vrt_joiner_result result;
    int64_t n_frames = 0;

    if (!judge(vrt_child_joiner_check_segment(child, segment_fd, 0, VRT_JOINER_CHECK_ALL,
                                              &n_frames, error), 0, error))
        return false;
    expect_true(n_frames >= 0 && n_frames <= NUMBER_MAX);
    if (!judge(vrt_child_joiner_preview(child, &preview, &rest, &warnings, error), 0, error))
        return false;
    expect_true(rest.size_bytes >= 0 && rest.size_bytes <= NUMBER_MAX);
    expect_true(rest.n_packets >= 0 && rest.n_packets <= NUMBER_MAX);
    look_at_streams(&rest.streams);
    look_at_warnings(&warnings);
    if (!judge(vrt_child_joiner_run(child, &params, &result, error), 0, error))
        return false;
    look_at_warnings(&result.warnings);
    expect_true(result.n_frames >= 0 && result.n_frames <= NUMBER_MAX);
    expect_true(result.duration_ns >= 0 && result.duration_ns <= NUMBER_MAX);
    expect_true(result.late_ns >= 0 && result.late_ns <= NUMBER_MAX);
    expect_true(result.size_bytes >= 0 && result.size_bytes <= NUMBER_MAX);
    if (!judge(vrt_child_joiner_verify(child, output_fd, &expected, error), 0, error) ||
        !judge(vrt_child_preview(child, &picture, error), 0, error))
        return false;
    expect_true(picture.size.width > 0 && picture.size.height > 0);
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

static void test_lies(void)
{
    static bool (*const asks[])(struct vrt_child *child, struct vrt_error *error) = {
        ask_what_is_missing, read_film, encode, join,
    };
    const long first = number_of("VRT_LIES_FIRST", 1), n = number_of("VRT_LIES", SEEDS);

    input_fd = memfd_create("input", MFD_CLOEXEC);
    output_fd = memfd_create("output", MFD_CLOEXEC);
    segment_fd = memfd_create("segment", MFD_CLOEXEC);
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
    close(input_fd);
    close(output_fd);
    close(segment_fd);
}

/* What was said of a video holds at its end. */
static void test_changes(void)
{
    const long n_before = seen.n_distrusted;

    input_fd = memfd_create("input", MFD_CLOEXEC);
    for (int what = 0; what <= 4; what++) {
        VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
        struct vrt_error error = { .id = NULL };
        char how[40];
        snprintf(how, sizeof(how), "change %d", what);
        setenv("VRT_DOUBLE", how, 1);
        expect_int(vrt_child_new(NULL, &child, &error), 0);
        expect_int(read_film(child, &error), what == 0);
    }
    expect_int(seen.n_distrusted, n_before + 4);
    close(input_fd);
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
    { "changes", test_changes },
    { "exploits", test_exploits },
    { "exploits-of-devices", test_exploits_of_devices },
)
