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
    static const struct {
        int64_t bytes;
        const char *text;
    } sizes[] = {
        { -1, "-" }, { 0, "0 B" }, { 1023, "1023 B" }, { 1024, "1.0 KiB" }, { 10188, "9.9 KiB" },
        { 10189, "10 KiB" }, { 1048063, "1023 KiB" }, { 1048064, "1.0 MiB" },
        { 16LL << 30, "16 GiB" }, { 1023LL << 40, "1023 TiB" }, { INT64_MAX, "8.0 EiB" },
    };
    static const struct {
        double value;
        const char *text;
    } durations[] = {
        { NAN, "-" }, { -1, "-" }, { INFINITY, "-" }, { 2e12, "-" }, { 0, "0:00" }, { 6.6, "0:07" },
        { 59.6, "1:00" }, { 3599.4, "59:59" }, { 3 * 3600 + 121, "3:02:01" }, { 86399, "23:59:59" },
        { 86400, "1 d 0:00:00" }, { 183845, "2 d 3:04:05" }, { 1e12, "11574074 d 1:46:40" },
    }, rates[] = {
        { NAN, "-" }, { INFINITY, "-" }, { -1, "-" }, { 0, "0" }, { 0.0994, "0.099" },
        { 0.0996, "0.1" }, { 0.5, "0.5" }, { 99.94, "99.9" }, { 99.96, "100" }, { 1234.6, "1235" },
    };
    static const struct {
        double done, total;
        const char *text;
    } percents[] = {
        { 1, -1, "-" }, { 0, 0, "-" }, { -1, 9, "-" }, { 0, 0.5, "0%" }, { 1, 3, "33%" },
        { 29, 100, "29%" }, { 999, 1000, "99%" }, { 1, 1, "100%" }, { 7, 5, "100%" },
        { 1 - 1e-9, 1, "99%" },
    };
    static const struct {
        const char *path, *name, *folder, *text;
    } paths[] = {
        { "/h/a/x", "n", "/h/a", "x" }, { "/h/a/x", "n", "/h", "a/x" }, { "/h", "n", "/", "/h" },
        { "/ha/x", "n", "/h", "/ha/x" }, { "", "a\x1b", "/h", "a?" }, { "h/x", "n", "h", "n" },
    };
    char b[64];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++)
        expect_str(vrt_format_bytes(sizes[i].bytes, b, sizeof(b)), sizes[i].text);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(durations); i++)
        expect_str(vrt_format_duration(durations[i].value, b, sizeof(b)), durations[i].text);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rates); i++)
        expect_str(vrt_format_rate(rates[i].value, b, sizeof(b)), rates[i].text);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(percents); i++)
        expect_str(vrt_format_percent(percents[i].done, percents[i].total, b, sizeof(b)),
                   percents[i].text);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(paths); i++)
        expect_str(vrt_format_path(paths[i].path, paths[i].name, paths[i].folder, b, sizeof(b)),
                   paths[i].text);
    expect_str(vrt_format_count(0, "shard", b, sizeof(b)), "0 shards");
    expect_str(vrt_format_count(1, "shard", b, sizeof(b)), "1 shard");
    expect_str(vrt_format_count(-1, "frame", b, sizeof(b)), "- frames");
    expect_str(vrt_format_part(0, 8, b, sizeof(b)), "0:08");
    expect_str(vrt_format_part(0.6, 8, b, sizeof(b)), "0:08 from 0:01");
    expect_str(vrt_format_ratio(5, 2, b, sizeof(b)), "5/2");
    expect_str(vrt_format_ratio(5, 1, b, sizeof(b)), "5");
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
        /* Of each range that has another width than 1, and of what lies between. */
        { "\u0483\u0591\u064b\u1ab0\u1dc0\u200b\u2028\u20d0\ufe00\ufe20\ufeff", 0 },
        { "\u2e80", 2 }, { "\u3041", 2 }, { "\uac00", 2 }, { "\uf900", 2 }, { "\ufe30", 2 },
        { "\uff00", 2 }, { "\uffe0", 2 }, { "\U0001f300", 2 }, { "\U0001f680", 2 },
        { "\U0001f900", 2 }, { "\U00020000", 2 }, { "\u00e9\u1160\u303f\U0001f650", 4 },
    };
    char b[64];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++)
        expect_int(vrt_text_width(cases[i].text), cases[i].width);
    expect_str(vrt_text_cut("video.mp4", 9, b, sizeof(b)), "video.mp4");
    expect_str(vrt_text_cut("video.mp4", 8, b, sizeof(b)), "video...");
    expect_str(vrt_text_cut("video.mp4", 9, b, sizeof("video.mp4") - 1), "video...");
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

#define NAME "\u6620\u753b?[2J?.mp4"
#define LONG_NAME "a-rather-long-name.mp4"

static void test_progress_bar(void)
{
    static const struct {
        int width;
        const char *text, *name;
    } cases[] = {
        { 100, "video.mp4  [###########.................]   42%   84/200   12.3 fps  0:09 left  "
               "cpu:0 cpu:1" },
        { 80, "video.mp4  [######..........]   42%   84/200   12.3 fps  0:09 left  cpu:0 cpu:1" },
        { 60, "video.mp4  [###......]   42%   84/200   12.3 fps  0:09 left" },
        { 50, "video.mp4   42%   84/200   12.3 fps  0:09 left" },
        { 40, "video.mp4   42%   12.3 fps  0:09 left" },
        { 30, "video.mp4   42%  0:09 left" },
        { 16, "video.mp4   42%" },
        { 91, LONG_NAME "  [#####.........]   42%   84/200   12.3 fps  0:09 left  cpu:0 cpu:1",
          LONG_NAME },
        { 71, LONG_NAME "  [##.....]   42%   84/200   12.3 fps  0:09 left", LONG_NAME },
        { 69, LONG_NAME "   42%   84/200   12.3 fps  0:09 left", LONG_NAME },
        { 49, "a-rather...   42%   84/200   12.3 fps  0:09 left", LONG_NAME },
        { 48, "a-rathe...   42%   84/200   12.3 fps  0:09 left", LONG_NAME },
        { 47, "a-rathe...   42%   12.3 fps  0:09 left", LONG_NAME },
        { 38, "a-rathe...   42%  0:09 left", LONG_NAME },
        { 27, "a-rathe...   42%", LONG_NAME }, { 11, "a...   42%", LONG_NAME },
        { 9, "a...   4", LONG_NAME },
    };
    struct vrt_job_info job = example_job();

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        snprintf(job.input_name, sizeof(job.input_name), "%s",
                 cases[i].name ? cases[i].name : "video.mp4");
        VRT_CLEANUP(vrt_freep) char *text = bar(&job, cases[i].width, false);
        expect_str(text, cases[i].text);
    }
    job = example_job();
    expect_near(vrt_progress_frames(&job), 84, 0);
    job.frames_underway = 15.5;
    expect_near(vrt_progress_frames(&job), 99.5, 0);
    job.frames_underway = 116;
    expect_near(vrt_progress_frames(&job), 199.9, 1e-9);
    job = example_job();
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
    static const struct {
        int state, n_devices, n_busy;
        int64_t total;
        bool utf8;
        const char *text;
    } cases[] = {
        { VRT_JOB_RUNNING, 2, 2, 200, true,
          NAME "  \u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588"
          "\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591"
          "   42%   84/200   12.3 fps  0:09 left  cpu:0 cpu:1" },
        { VRT_JOB_RUNNING, 5, 4, 200, false,
          NAME "  [#########.............]   42%   84/200   12.3 fps  0:09 left  4 devices" },
        { VRT_JOB_RUNNING, 5, 3, VRT_UNKNOWN, false,
          NAME "  [...................]     -  84   12.3 fps  0:09 left  cpu:0 cpu:1 cpu:2" },
        { VRT_JOB_RUNNING, 5, 0, 1, false,
          NAME "  [##########################]  100%  1/1   12.3 fps  0:09 left  5 devices" },
        { VRT_JOB_RUNNING, 3, 0, 1, false,
          NAME "  [##################]  100%  1/1   12.3 fps  0:09 left  cpu:0 cpu:1 cpu:2" },
        { VRT_JOB_QUEUED, 2, 2, 200, false, NAME "  [###########.................]  queued" },
        { VRT_JOB_FINISHING, 2, 2, 200, false, NAME "  [############################]  finishing" },
        { VRT_UNKNOWN, 2, 2, 200, false, NAME "  [###########.................]  unknown" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_job_info job = example_job();
        snprintf(job.input_name, sizeof(job.input_name), "\u6620\u753b\x1b[2J\xff.mp4");
        job.state = cases[i].state;
        job.n_devices = (size_t)cases[i].n_devices;
        for (int k = 0; k < cases[i].n_devices; k++)
            devices[k].shards_running = k < cases[i].n_busy;
        job.frames_total = cases[i].total;
        job.frames_done = cases[i].total == 1 ? 1 : 84;
        VRT_CLEANUP(vrt_freep) char *text = bar(&job, 88, cases[i].utf8);
        expect_str(text, cases[i].text);
    }
    devices[0].shards_running = 2;
    devices[1].shards_running = 1;
    devices[2].shards_running = devices[3].shards_running = devices[4].shards_running = 0;
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
    expect_str(vrt_progress_state(&job, state, sizeof(state)),
               "pausing at 42%: 3 shards are under way");
    job.devices = &devices[1];
    job.n_devices = 1;
    expect_str(vrt_progress_state(&job, state, sizeof(state)),
               "pausing at 42%: 1 shard is under way");
    job.n_devices = 0;
    job.fetched_bytes = 12 << 20;
    job.fetch_bytes = 2400LL << 20;
    job.has_error = true;
    snprintf(job.error.message, sizeof(job.error.message),
             "the disk of /var/lib/vrtd is full: 2 GiB are needed");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
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
    job.fetched_bytes = 0;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "fetching, 0 B");
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
    expect_str(line_of(&job), "12 video.mp4: 84 of about 200 frames (42%), 12.3 fps, 0:09 left, "
                              "cpu:0 cpu:1");
    job.frames_total = VRT_UNKNOWN;
    job.n_devices = 0;
    expect_str(line_of(&job), "12 video.mp4: 84 frames so far, 12.3 fps, 0:09 left");
    job.n_devices = 2;
    job.state = VRT_JOB_DONE;
    job.frames_done = 200;
    expect_str(result_of(&job),
               "12 video.mp4 -> out.mp4: 200 frames in 0:07 (28.6 fps) on cpu:0 cpu:1");
    snprintf(job.input_path, sizeof(job.input_path), "/home/a/films/video.mp4");
    snprintf(job.output_path, sizeof(job.output_path), "/home/ab/out.mp4");
    job.state = VRT_JOB_FINISHING;
    job.frames_total = 200;
    job.frames_compared = 50;
    expect_str(line_of(&job), "12 video.mp4: comparing, 25%");
    job.state = VRT_JOB_DONE;
    job.has_comparison = true;
    job.comparison = (struct vrt_compare_report){ .psnr_rgb = 30.126, .psnr_y = NAN,
                                                  .ssim_rgb = 0.87654, .ssim_y = 1 };
    expect_str(result_of(&job), "12 films/video.mp4 -> /home/ab/out.mp4: 200 frames in 0:07 (28.6 "
                                "fps) on cpu:0 cpu:1; PSNR 30.13 dB (Y equal), SSIM 0.8765 (Y "
                                "1.0000)");
    job.state = VRT_JOB_FAILED;
    expect_str(result_of(&job), "12 films/video.mp4: failed");
    job.state = VRT_JOB_DONE;
    job.has_comparison = false;
    snprintf(job.input_path, sizeof(job.input_path), "https://example.org/films/video.mp4");
    job.output_path[0] = '\0';
    job.elapsed_s = 0;
    job.n_devices = 0;
    expect_str(result_of(&job), "12 video.mp4 -> out.mp4: 200 frames in 0:00 (- fps)");
    job.state = VRT_JOB_QUEUED;
    expect_str(line_of(&job), "12 video.mp4: queued");
}

static void expect_table(const struct vrt_column *columns, const char *const *cells, int width,
                         const char *text)
{
    struct vrt_table table;
    struct vrt_buf buf = { 0 };

    vrt_table_init(&table, columns);
    for (; *cells; cells += table.n_columns)
        expect_int(vrt_table_add(&table, cells), 0);
    expect_int(vrt_table_print(&table, width, &buf), 0);
    expect_str(buf.data, text);
    vrt_buf_done(&buf);
    vrt_table_done(&table);
}

static const struct vrt_column jobs[] = {
    { "ID", VRT_ALIGN_RIGHT }, { "STATE", VRT_ALIGN_LEFT }, { "INPUT", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
}, ranked[] = {
    { "ID", VRT_ALIGN_RIGHT }, { "A", VRT_ALIGN_LEFT, .rank = 1 },
    { "BB", VRT_ALIGN_LEFT, .rank = 3 }, { "CCC", VRT_ALIGN_RIGHT, .rank = 2 },
    { "INPUT", VRT_ALIGN_LEFT }, { NULL, VRT_ALIGN_LEFT },
}, models[] = {
    /* A long name in front, and a last column that others give way to. */
    { "MODEL", VRT_ALIGN_LEFT }, { "SUM", VRT_ALIGN_LEFT, .rank = 2 },
    { "BY", VRT_ALIGN_LEFT, .rank = 1 }, { "SOURCE", VRT_ALIGN_LEFT, .least = 22 },
    { NULL, VRT_ALIGN_LEFT },
};

/* What matters less is left out where there is no room, and the rest keeps its order. */
static void test_tables(void)
{
    static const char *const two[] = { "7", "running", "caf\u00e9.mp4", "12", "done",
                                       "a-rather-long-name.mp4", NULL },
        *const wide[] = { "7", "a", "bb", "ccc", "a-rather-long-name.mp4", NULL },
        *const named[] = { "a-rather-long-name", "1234", "me", "not here, size unknown", NULL };
    static const struct {
        const struct vrt_column *columns;
        const char *const *cells;
        int width;
        const char *text;
    } cases[] = {
        { jobs, two, 0, "ID  STATE    INPUT\n"
                        " 7  running  caf\u00e9.mp4\n"
                        "12  done     a-rather-long-name.mp4\n" },
        { jobs, two, 5, "ID  STATE    INPUT\n"
                        " 7  running  caf\u00e9.mp4\n"
                        "12  done     a-rather-...\n" },
        { ranked, wide, 0, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-long-name.mp4\n" },
        { ranked, wide, 30, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-lo...\n" },
        { ranked, wide, 28, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-...\n" },
        { ranked, wide, 27, "ID  A  CCC  INPUT\n 7  a  ccc  a-rather-lon...\n" },
        { ranked, wide, 23, "ID  A  INPUT\n 7  a  a-rather-long...\n" },
        { ranked, wide, 18, "ID  INPUT\n 7  a-rather-lo...\n" },
        { ranked, wide, 3, "ID  INPUT\n 7  a-rather-...\n" },
        { models, named, 52, "MODEL               SUM   BY  SOURCE\n"
                             "a-rather-long-name  1234  me  not here, size unknown\n" },
        { models, named, 51, "MODEL               BY  SOURCE\n"
                             "a-rather-long-name  me  not here, size unknown\n" },
        { models, named, 45, "MODEL               SOURCE\n"
                             "a-rather-long-name  not here, size unknown\n" },
        { models, named, 40, "MODEL               SOURCE\n"
                             "a-rather-long-name  not here, size un...\n" },
        { models, named, 30, "MODEL             SOURCE\na-rather-long...  not here,...\n" },
        { models, named, 3, "MODEL         SOURCE\na-rather-...  not here,...\n" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++)
        expect_table(cases[i].columns, cases[i].cells, cases[i].width, cases[i].text);
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
    { "tables", test_tables },
    { "notes", test_notes },
)
