/* SPDX-License-Identifier: MIT */

/* Texts, bars, and tables on wide terminals and narrow ones: what is cut, left out, kept. */

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/terminal/format.h"
#include "client/terminal/progress.h"
#include "client/terminal/table.h"
#include "msg_job.h"
#include "tests/unit/test.h"

static void test_formats(void)
{
    char b[64];

    expect_str(vrt_format_bytes(-1, b, sizeof(b)), "-");
    expect_str(vrt_format_bytes(0, b, sizeof(b)), "0 B");
    expect_str(vrt_format_bytes(1023, b, sizeof(b)), "1023 B");
    expect_str(vrt_format_bytes(1536, b, sizeof(b)), "1.5 KiB");
    expect_str(vrt_format_bytes(1048575, b, sizeof(b)), "1.0 MiB");
    expect_str(vrt_format_bytes(16LL << 30, b, sizeof(b)), "16 GiB");
    expect_str(vrt_format_bytes(INT64_MAX, b, sizeof(b)), "8.0 EiB");
    expect_str(vrt_format_count(0, "shard", b, sizeof(b)), "0 shards");
    expect_str(vrt_format_count(1, "shard", b, sizeof(b)), "1 shard");
    expect_str(vrt_format_count(2, "frame", b, sizeof(b)), "2 frames");
    expect_str(vrt_format_count(-1, "frame", b, sizeof(b)), "- frames");
    expect_str(vrt_format_duration(NAN, b, sizeof(b)), "-");
    expect_str(vrt_format_duration(-1, b, sizeof(b)), "-");
    expect_str(vrt_format_duration(INFINITY, b, sizeof(b)), "-");
    expect_str(vrt_format_duration(6.6, b, sizeof(b)), "0:07");
    expect_str(vrt_format_duration(59.6, b, sizeof(b)), "1:00");
    expect_str(vrt_format_duration(3 * 3600 + 121, b, sizeof(b)), "3:02:01");
    expect_str(vrt_format_duration(2 * 86400 + 3 * 3600, b, sizeof(b)), "2 d 3:00:00");
    expect_str(vrt_format_rate(NAN, b, sizeof(b)), "-");
    expect_str(vrt_format_rate(0, b, sizeof(b)), "0");
    expect_str(vrt_format_rate(0.0421, b, sizeof(b)), "0.042");
    expect_str(vrt_format_rate(12.34, b, sizeof(b)), "12.3");
    expect_str(vrt_format_rate(99.96, b, sizeof(b)), "100");
    expect_str(vrt_format_percent(1, -1, b, sizeof(b)), "-");
    expect_str(vrt_format_percent(0, 0, b, sizeof(b)), "-");
    expect_str(vrt_format_percent(999, 1000, b, sizeof(b)), "99%");
    expect_str(vrt_format_percent(999999, 1000000, b, sizeof(b)), "99%");
    expect_str(vrt_format_percent(1, 1, b, sizeof(b)), "100%");
    expect_str(vrt_format_percent(7, 5, b, sizeof(b)), "100%");
    expect_str(vrt_format_time(0, b, sizeof(b)), "-");
}

static void test_widths(void)
{
    static const struct {
        const char *text;
        int width;
    } cases[] = {
        { "", 0 }, { "abc", 3 }, { "caf\u00e9", 4 }, { "cafe\u0301", 4 },
        { "a\u0300\u036f", 1 }, { "\u1100", 2 }, { "\u6620\u753b.mp4", 8 },
        { "\U0001f3ac", 2 }, { "\u2588", 1 }, { "a\xff", 2 },
    };
    char b[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_int(vrt_text_width(cases[i].text), cases[i].width);
    expect_str(vrt_text_cut("video.mp4", 9, b, sizeof(b)), "video.mp4");
    expect_str(vrt_text_cut("video.mp4", 8, b, sizeof(b)), "video...");
    expect_str(vrt_text_cut("video.mp4", 2, b, sizeof(b)), "vi");
    expect_str(vrt_text_cut("video.mp4", 0, b, sizeof(b)), "");
    expect_str(vrt_text_cut("\u6620\u753b\u6620\u753b", 6, b, sizeof(b)), "\u6620...");
    expect_str(vrt_text_cut("\u6620\u753b\u6620\u753b", 8, b, 8), "\u6620...");
}

static struct vrt_job_device devices[] = {
    { .name = "cpu:0", .shards_running = 2 }, { .name = "cpu:1", .shards_running = 1 },
    { .name = "cpu:2" }, { .name = "cpu:3" }, { .name = "cpu:4" },
};

static struct vrt_job_info example_job(void)
{
    struct vrt_job_info job;

    vrt_job_info_init(&job);
    job.id = 12;
    job.state = VRT_JOB_RUNNING;
    snprintf(job.input_name, sizeof(job.input_name), "video.mp4");
    snprintf(job.output_name, sizeof(job.output_name), "out.mp4");
    job.frames_done = 84;
    job.frames_total = 200;
    job.fps = 12.34;
    job.left_s = 9.4;
    job.elapsed_s = 7;
    job.devices = devices;
    job.n_devices = 2;
    return job;
}

static char *bar(const struct vrt_job_info *job, int width, bool utf8)
{
    const struct vrt_progress_style style = {
        .width = width, .bar_width = VRT_UNKNOWN, .utf8 = utf8,
    };
    struct vrt_buf buf = { 0 };

    expect_int(vrt_progress_bar(job, &style, &buf), 0);
    char *text = vrt_buf_steal(&buf);
    expect_true(text);
    return text;
}

static void test_progress_bar(void)
{
    static const struct {
        int width;
        const char *text;
    } cases[] = {
        { 100, "video.mp4  [###########.................]   42%   84/200   12.3 fps  0:09 left  "
               "cpu:0 cpu:1" },
        { 80, "video.mp4  [######..........]   42%   84/200   12.3 fps  0:09 left  cpu:0 cpu:1" },
        { 60, "video.mp4  [###......]   42%   84/200   12.3 fps  0:09 left" },
        { 50, "video.mp4   42%   84/200   12.3 fps  0:09 left" },
        { 40, "video.mp4   42%   12.3 fps  0:09 left" },
        { 30, "video.mp4   42%  0:09 left" },
        { 16, "video.mp4   42%" },
    };
    struct vrt_job_info job = example_job();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        VRT_CLEANUP(vrt_freep) char *text = bar(&job, cases[i].width, false);
        expect_str(text, cases[i].text);
    }
    expect_near(vrt_progress_frames(&job), 84, 0);
    const struct vrt_progress_style wide = {
        .width = 100, .name_width = 15, .digits = 4, .bar_width = VRT_UNKNOWN,
    };
    struct vrt_buf buf = { 0 };
    expect_int(vrt_progress_bar(&job, &wide, &buf), 0);
    expect_contains(buf.data, "video.mp4        [####");
    /* As wide as beside one of a thousand frames. */
    expect_contains(buf.data, "]   42%     84/200   12.3 fps");
    vrt_buf_done(&buf);
    for (int width = 1; width < 200; width++) {
        VRT_CLEANUP(vrt_freep) char *text = bar(&job, width, width & 1);
        if (width >= 16 && vrt_text_width(text) >= width)
            test_fail("at %d columns: %s", width, text);
    }
}

static void test_progress_states(void)
{
    struct vrt_job_info job = example_job();

    snprintf(job.input_name, sizeof(job.input_name), "\u6620\u753b\x1b[2J\xff.mp4");
    VRT_CLEANUP(vrt_freep) char *utf8 = bar(&job, 120, true);
    expect_contains(utf8, "\u6620\u753b?[2J?.mp4  \u2588\u2588");
    expect_contains(utf8, "\u2591   42%");
    job.n_devices = 5;
    devices[2].shards_running = devices[3].shards_running = 1;
    VRT_CLEANUP(vrt_freep) char *many = bar(&job, 120, true);
    devices[2].shards_running = devices[3].shards_running = 0;
    expect_contains(many, "  4 devices");
    job.frames_total = VRT_UNKNOWN;
    job.fps = job.left_s = NAN;
    VRT_CLEANUP(vrt_freep) char *unknown = bar(&job, 120, false);
    expect_contains(unknown, "..]     -  84      - fps  - left");
    job.state = VRT_JOB_QUEUED;
    VRT_CLEANUP(vrt_freep) char *queued = bar(&job, 120, false);
    expect_contains(queued, "...]  queued");
    job.state = VRT_JOB_FINISHING;
    VRT_CLEANUP(vrt_freep) char *finishing = bar(&job, 120, false);
    expect_contains(finishing, "###]  finishing");
    job.state = VRT_UNKNOWN;
    VRT_CLEANUP(vrt_freep) char *strange = bar(&job, 120, false);
    expect_contains(strange, "unknown");
}

/* What waits says for what, and the cure is seen on a narrow terminal too. */
static void test_progress_waiting(void)
{
    static const struct {
        int state, width;
        const char *text;
    } cases[] = {
        { VRT_JOB_PAUSED, 80, "video.mp4  [###########.................]  paused at 42%: vrtctl "
                              "resume 12" },
        { VRT_JOB_PAUSED, 40, "vid...  paused at 42%: vrtctl resume 12" },
        { VRT_JOB_NEEDS_INPUT, 44, "v...  needs files: vrtctl resume 12 INPU..." },
        { VRT_JOB_NEEDS_INPUT, 110, "video.mp4  needs files: vrtctl resume 12 INPUT (the disk of "
                                    "/var/lib/vrtd is full: 2 GiB are needed)" },
        { VRT_JOB_FETCHING, 50, "video.mp4  [.......]  fetching, 12 MiB of 2.3 GiB" },
        { VRT_JOB_DISK_FULL, 60, "vid...  the disk of /var/lib/vrtd is full: 2 GiB are needed" },
        { VRT_JOB_DISK_FULL, 40, "v...  the disk of /var/lib/vrtd is f..." },
    };
    struct vrt_job_info job = example_job();
    char state[VRT_API_TEXT_BYTES];

    job.state = VRT_JOB_PAUSED;
    expect_contains(vrt_progress_state(&job, state, sizeof(state)), "pausing at 42%: ");
    expect_contains(state, "under way");
    job.n_devices = 0;
    job.fetched_bytes = 12 << 20;
    job.fetch_bytes = 2400LL << 20;
    job.has_error = true;
    snprintf(job.error.message, sizeof(job.error.message),
             "the disk of /var/lib/vrtd is full: 2 GiB are needed");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        job.state = cases[i].state;
        VRT_CLEANUP(vrt_freep) char *text = bar(&job, cases[i].width, false);
        expect_str(text, cases[i].text);
        for (int width = 16; width < 200; width++) {
            VRT_CLEANUP(vrt_freep) char *any = bar(&job, width, width & 1);
            if (vrt_text_width(any) >= width)
                test_fail("at %d columns: %s", width, any);
        }
    }
    job.state = VRT_JOB_FETCHING;
    job.fetch_bytes = VRT_UNKNOWN;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "fetching, 12 MiB");
    job.fetched_bytes = VRT_UNKNOWN;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "fetching");
    job.state = VRT_JOB_DISK_FULL;
    snprintf(job.error.message, sizeof(job.error.message), "\x1b[2J");
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "?[2J");
    job.has_error = false;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "waits for room on a disk");
    job.state = VRT_JOB_PAUSED;
    job.frames_done = 0;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "paused: vrtctl resume 12");
    job.input_name[0] = '\0';
    expect_str(vrt_progress_name(&job, state, sizeof(state)), "-");
    snprintf(job.owner, sizeof(job.owner), "an\x07na");
    expect_str(vrt_progress_name(&job, state, sizeof(state)), "an?na's");
}

/* Its text, which stays until the next call. */
static const char *taken(struct vrt_buf *buf)
{
    static char text[512];

    snprintf(text, sizeof(text), "%s", buf->data);
    vrt_buf_done(buf);
    return text;
}

static const char *line_of(const struct vrt_job_info *job)
{
    struct vrt_buf buf = { 0 };

    expect_int(vrt_progress_line(job, &buf), 0);
    return taken(&buf);
}

/* Seen from /home/a. */
static const char *result_of(const struct vrt_job_info *job)
{
    struct vrt_buf buf = { 0 };

    expect_int(vrt_progress_result(job, "/home/a", &buf), 0);
    return taken(&buf);
}

static void test_progress_lines(void)
{
    struct vrt_job_info job = example_job();

    expect_str(line_of(&job),
               "12 video.mp4: 84 of 200 frames (42%), 12.3 fps, 0:09 left, cpu:0 cpu:1");
    job.frames_estimated = true;
    expect_contains(line_of(&job), "84 of about 200 frames (42%), ");
    job.frames_total = VRT_UNKNOWN;
    expect_contains(line_of(&job), "84 frames so far, 12.3 fps");
    job.state = VRT_JOB_DONE;
    job.frames_done = 200;
    expect_str(result_of(&job),
               "12 video.mp4 -> out.mp4: 200 frames in 0:07 (28.6 fps) on cpu:0 cpu:1");
    snprintf(job.input_path, sizeof(job.input_path), "/home/a/films/video.mp4");
    snprintf(job.output_path, sizeof(job.output_path), "/home/ab/out.mp4");
    expect_contains(result_of(&job), "12 films/video.mp4 -> /home/ab/out.mp4: 200 frames");
    job.state = VRT_JOB_FINISHING;
    job.frames_total = 200;
    job.frames_compared = 50;
    expect_str(line_of(&job), "12 video.mp4: comparing, 25%");
    job.state = VRT_JOB_DONE;
    job.has_comparison = true;
    job.comparison = (struct vrt_compare_report){ .psnr_rgb = 30.126, .psnr_y = NAN,
                                                  .ssim_rgb = 0.87654, .ssim_y = 1 };
    expect_contains(result_of(&job), "cpu:1; PSNR 30.13 dB (Y equal), SSIM 0.8765 (Y 1.0000)");
    job.has_comparison = false;
    snprintf(job.input_path, sizeof(job.input_path), "https://example.org/films/video.mp4");
    job.output_path[0] = '\0';
    job.elapsed_s = 0;
    job.n_devices = 0;
    expect_str(result_of(&job), "12 video.mp4 -> out.mp4: 200 frames in 0:00 (- fps)");
    job.state = VRT_JOB_QUEUED;
    expect_str(line_of(&job), "12 video.mp4: queued");
}

static void test_table(void)
{
    static const struct vrt_column columns[] = {
        { "ID", VRT_ALIGN_RIGHT }, { "STATE", VRT_ALIGN_LEFT }, { "INPUT", VRT_ALIGN_LEFT },
        { NULL, VRT_ALIGN_LEFT },
    };
    static const char *const cells[] = { "7", "running", "caf\u00e9.mp4", "12", "done",
                                         "a-rather-long-name.mp4" };
    struct vrt_table table;
    struct vrt_buf buf = { 0 };

    vrt_table_init(&table, columns);
    for (int i = 0; i < 2; i++)
        expect_int(vrt_table_add(&table, cells + 3 * i), 0);
    expect_int(vrt_table_print(&table, 0, &buf), 0);
    expect_str(buf.data, "ID  STATE    INPUT\n"
                         " 7  running  caf\u00e9.mp4\n"
                         "12  done     a-rather-long-name.mp4\n");
    vrt_buf_done(&buf);
    expect_int(vrt_table_print(&table, 25, &buf), 0);
    expect_str(buf.data, "ID  STATE    INPUT\n"
                         " 7  running  caf\u00e9.mp4\n"
                         "12  done     a-rather-...\n");
    vrt_buf_done(&buf);
    expect_int(vrt_table_print(&table, 5, &buf), 0);
    expect_contains(buf.data, "12  done     a-rather-...\n");
    vrt_buf_done(&buf);
    vrt_table_done(&table);
}

/* What matters less is left out where there is no room, and the rest keeps its order. */
static void test_narrow_table(void)
{
    static const struct vrt_column columns[] = {
        { "ID", VRT_ALIGN_RIGHT }, { "A", VRT_ALIGN_LEFT, .rank = 1 },
        { "BB", VRT_ALIGN_LEFT, .rank = 3 }, { "CCC", VRT_ALIGN_RIGHT, .rank = 2 },
        { "INPUT", VRT_ALIGN_LEFT }, { NULL, VRT_ALIGN_LEFT },
    };
    static const char *const cells[] = { "7", "a", "bb", "ccc", "a-rather-long-name.mp4" };
    static const struct {
        int width;
        const char *text;
    } cases[] = {
        { 0, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-long-name.mp4\n" },
        { 30, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-lo...\n" },
        { 28, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-...\n" },
        { 27, "ID  A  CCC  INPUT\n 7  a  ccc  a-rather-lon...\n" },
        { 23, "ID  A  INPUT\n 7  a  a-rather-long...\n" },
        { 18, "ID  INPUT\n 7  a-rather-lo...\n" },
        { 3, "ID  INPUT\n 7  a-rather-...\n" },
    };
    struct vrt_table table;

    vrt_table_init(&table, columns);
    expect_int(vrt_table_add(&table, cells), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_buf buf = { 0 };
        expect_int(vrt_table_print(&table, cases[i].width, &buf), 0);
        expect_str(buf.data, cases[i].text);
        vrt_buf_done(&buf);
    }
    vrt_table_done(&table);
}

/* A long name in front, and a last column that others give way to. */
static void test_narrow_names(void)
{
    static const struct vrt_column columns[] = {
        { "MODEL", VRT_ALIGN_LEFT }, { "SUM", VRT_ALIGN_LEFT, .rank = 2 },
        { "BY", VRT_ALIGN_LEFT, .rank = 1 }, { "SOURCE", VRT_ALIGN_LEFT, .least = 22 },
        { NULL, VRT_ALIGN_LEFT },
    };
    static const char *const cells[] = { "a-rather-long-name", "1234", "me",
                                         "not here, size unknown" };
    static const struct {
        int width;
        const char *row;
    } cases[] = {
        { 52, "a-rather-long-name  1234  me  not here, size unknown\n" },
        { 51, "a-rather-long-name  me  not here, size unknown\n" },
        { 45, "a-rather-long-name  not here, size unknown\n" },
        { 40, "a-rather-long-name  not here, size un...\n" },
        { 30, "a-rather-long...  not here,...\n" },
        { 3, "a-rather-...  not here,...\n" },
    };
    struct vrt_table table;

    vrt_table_init(&table, columns);
    expect_int(vrt_table_add(&table, cells), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_buf buf = { 0 };
        expect_int(vrt_table_print(&table, cases[i].width, &buf), 0);
        expect_str(strchr(buf.data, '\n') + 1, cases[i].row);
        vrt_buf_done(&buf);
    }
    vrt_table_done(&table);
}

/* What no row has room for: whole, in the order that it came, and never without end. */
static void test_notes(void)
{
    static const struct vrt_column columns[] = {
        { "NAME", VRT_ALIGN_LEFT }, { "STATE", VRT_ALIGN_LEFT }, { NULL, VRT_ALIGN_LEFT },
    };
    struct vrt_table table;
    struct vrt_buf buf = { 0 };

    vrt_table_init(&table, columns);
    expect_int(vrt_table_add(&table, (const char *const[]){ "one", "failed" }), 0);
    for (int i = 1; i <= VRT_TABLE_NOTES_MAX; i++)
        expect_int(vrt_table_note(&table, "note %d is longer than the table", i), 0);
    expect_int(vrt_table_print(&table, 12, &buf), 0);
    expect_contains(buf.data, "NAME  STATE\none   failed\nnote 1 is\nlonger than\nthe table\n"
                              "note 2 is");
    expect_true(!strstr(buf.data, "more like these"));
    vrt_buf_done(&buf);
    expect_int(vrt_table_note(&table, "one more"), 0);
    expect_int(vrt_table_note(&table, "and another"), 0);
    expect_int(vrt_table_print(&table, 0, &buf), 0);
    expect_contains(buf.data, "note 10 is longer than the table\nand 2 more like these\n");
    vrt_buf_done(&buf);
    vrt_table_done(&table);
}

TEST_MAIN(
    { "formats", test_formats },
    { "widths", test_widths },
    { "progress-bar", test_progress_bar },
    { "progress-states", test_progress_states },
    { "progress-waiting", test_progress_waiting },
    { "progress-lines", test_progress_lines },
    { "table", test_table },
    { "narrow-table", test_narrow_table },
    { "narrow-names", test_narrow_names },
    { "notes", test_notes },
)
