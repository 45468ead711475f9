/* SPDX-License-Identifier: MIT */
/* client: plots, keys, and what vrtctl top makes of what it sees. */

#include "tests/unit/test.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "client/terminal/keys.h"
#include "client/terminal/spark.h"
#include "client/top/top.h"

static void expect_spark(const struct vrt_series *series, int columns, bool utf8,
                         const char *text)
{
    struct vrt_buf buf = { 0 };

    expect_int(vrt_spark_print(series, columns, 8, utf8, &buf), 0);
    expect_str(buf.data, text);
    vrt_buf_done(&buf);
}

static void test_spark(void)
{
    static const double values[] = { 0, NAN, 4, 3, 16 };
    VRT_CLEANUP(vrt_freep) struct vrt_series *series = calloc(1, sizeof(*series));

    expect_true(series != NULL);
    expect_true(isnan(vrt_series_at(series, 0)) && vrt_series_peak(series, 9) == 0);
    expect_spark(series, 6, true, "      ");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(values); i++)
        vrt_series_add(series, values[i]);
    /* What isn't known is blank, what is 0 isn't; nothing is more than full. */
    expect_spark(series, 6, true, " \u2581 \u2584\u2583\u2588");
    expect_spark(series, 3, false, "..#");
    expect_true(vrt_series_peak(series, 5) == 16);
    expect_true(vrt_series_at(series, 0) == 16 && vrt_series_at(series, 4) == 0);
    expect_true(isnan(vrt_series_at(series, 5)));
    vrt_series_add(series, 1);
    expect_true(vrt_series_peak(series, 1) == 1);
    /* The oldest give way. */
    for (int i = 0; i < VRT_SERIES_MAX; i++)
        vrt_series_add(series, 2);
    expect_true(vrt_series_peak(series, 2 * VRT_SERIES_MAX) == 2);
    expect_true(isnan(vrt_series_at(series, VRT_SERIES_MAX)));
}

static void test_keys(void)
{
    static const struct {
        const char *bytes;
        size_t n;               /* taken; 0: more is to come */
        int key;
    } cases[] = {
        { "q", 1, 'q' }, { "qp", 1, 'q' }, { "\033", 0, 0 }, { "\033[", 0, 0 },
        { "\033[A", 3, VRT_KEY_UP }, { "\033OB", 3, VRT_KEY_DOWN },
        { "\033[5~q", 4, VRT_KEY_PAGE_UP }, { "\033[6", 0, 0 }, { "\033[6~", 4, VRT_KEY_PAGE_DOWN },
        { "\033[H", 3, VRT_KEY_HOME }, { "\033[F", 3, VRT_KEY_END },
        { "\033[1;5A", 6, VRT_KEY_UNKNOWN }, { "\033[99~", 5, VRT_KEY_UNKNOWN },
        { "\033q", 1, VRT_KEY_ESCAPE }, { "\xc3\xa4", 1, VRT_KEY_UNKNOWN },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        int key = 0;
        expect_int((int)vrt_key_decode(cases[i].bytes, strlen(cases[i].bytes), &key),
                   (int)cases[i].n);
        if (cases[i].n)
            expect_int(key, cases[i].key);
    }
}

/* The jobs' numbers, in their order. */
static void expect_order(struct vrt_top *top, enum vrt_top_sort sort, const char *numbers)
{
    char text[40] = "";

    top->sort = sort;
    vrt_top_arrange(top);
    for (size_t i = 0; i < top->n_jobs; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d", (int)top->jobs[i]->id);
    expect_str(text, numbers);
}

static void test_order(void)
{
    struct vrt_job_info jobs[8];
    const struct vrt_job_info *listed[8];
    struct vrt_top top = { .jobs = listed, .n_jobs = 8 };
    static const int states[] = {
        VRT_JOB_PAUSED, VRT_JOB_QUEUED, VRT_JOB_RUNNING, VRT_JOB_FINISHING, VRT_JOB_RUNNING,
        VRT_JOB_DISK_FULL, VRT_JOB_FETCHING, VRT_JOB_NEEDS_INPUT,
    };

    for (int i = 0; i < 8; i++) {
        vrt_job_info_init(&jobs[i]);
        jobs[i].id = i + 1;
        jobs[i].state = states[i];
        jobs[i].frames_total = i == 0 ? VRT_UNKNOWN : i == 1 ? 1 : 100;
        jobs[i].frames_done = i == 1 ? 0 : 10 * i;
        jobs[i].priority = i % 2;
        listed[7 - i] = &jobs[i];
    }
    expect_order(&top, VRT_TOP_BY_STATE, "43572186");
    expect_int(top.selected_id, 4);
    expect_order(&top, VRT_TOP_BY_PRIORITY, "24681357");
    expect_order(&top, VRT_TOP_BY_PROGRESS, "87654321");
    expect_int(top.selected_id, 8);
    top.selected_id = 4;
    top.has_typed = true;
    vrt_top_arrange(&top);
    /* Once somebody typed, the selected job stays the same one, wherever it goes; another takes the
     * place of one that is gone. */
    expect_int(top.selected_id, 4);
    expect_int((int)vrt_top_selected(&top), 4);
    top.selected_id = 9;
    vrt_top_arrange(&top);
    expect_int(top.selected_id, 8);
}

/* A second later `done` frames more are done. */
static void look(struct vrt_top *top, struct vrt_job_device *device, int done)
{
    struct vrt_error error = { 0 };
    json_t *reports = json_pack("[{s:s, s:s, s:{s:i, s:i}}, {s:s, s:s}]", "name", "cpu:0", "state",
                                "busy", "memory", "replica_bytes", 0, "workspace_bytes", 0,
                                "name", "cpu:1", "state", "ready");

    device->frames_done += done;
    expect_true(vrt_top_take_look(top, reports, &error) == 0);
    json_decref(reports);
}

/* Frames come by shards, and a job's end takes none of them away. */
static void test_rates(void)
{
    struct vrt_job_device devices[] = { { .name = "cpu:1", .frames_underway = NAN },
                                        { .name = "cpu:0", .frames_underway = NAN } };
    struct vrt_job_device *const device = &devices[1];
    struct vrt_job_info job;
    const struct vrt_job_info **listed = calloc(1, sizeof(*listed));
    struct vrt_top top = { .jobs = listed, .n_jobs = 1 };
    struct vrt_error error = { 0 };

    expect_true(listed != NULL);
    vrt_job_info_init(&job);
    job.id = 7;
    job.state = VRT_JOB_RUNNING;
    job.fps = 4;
    job.devices = devices;
    job.n_devices = 2;
    device->replica_bytes = 1 << 20;
    device->workspace_bytes = 1 << 20;
    listed[0] = &job;
    look(&top, device, 100);
    expect_int((int)top.n_devices, 2);
    expect_true(isnan(vrt_series_at(&top.devices[0].fps, 0)));
    for (int i = 0; i < 10; i++)
        look(&top, device, i % 5 == 0 ? 20 : 0);
    expect_true(vrt_series_at(&top.devices[0].fps, 0) == 4);
    expect_true(vrt_series_at(&top.devices[0].memory, 0) == 0);
    expect_true(vrt_series_at(&top.devices[1].fps, 0) == 0);
    expect_true(vrt_series_at(&vrt_top_seen(&top, 7)->fps, 0) == 4);
    expect_true(vrt_series_at(&vrt_top_seen(&top, 7)->memory, 0) == 2 << 20);
    /* A shard that failed is done again. */
    look(&top, device, -100);
    expect_true(vrt_series_at(&top.devices[0].fps, 0) == 0);
    /* The daemon is away, and what was seen is remembered. */
    expect_true(vrt_top_take_look(&top, NULL, &error) == 0);
    expect_true(isnan(vrt_series_at(&top.devices[0].fps, 0)));
    expect_true(isnan(vrt_series_at(&top.devices[0].memory, 0)));
    expect_true(isnan(vrt_series_at(&vrt_top_seen(&top, 7)->fps, 0)));
    expect_true(isnan(vrt_series_at(&vrt_top_seen(&top, 7)->memory, 0)));
    top.n_jobs = 0;
    look(&top, device, 0);
    expect_true(vrt_series_at(&top.devices[0].fps, 0) >= 0);
    expect_true(vrt_top_seen(&top, 7) == NULL);
    expect_int((int)vrt_top_job_bytes(&job), 2 << 20);
    device->replica_bytes = VRT_UNKNOWN;
    device->workspace_bytes = 1;
    expect_int((int)vrt_top_job_bytes(&job), 1);
    job.state = VRT_JOB_QUEUED;
    expect_int((int)vrt_top_job_bytes(&job), VRT_UNKNOWN);
    vrt_top_forget(&top);
}

#define BOLD "\033[1m"
#define INVERSE "\033[7m"
#define PLAIN "\033[m"
#define KEYS "q quit  p pause  r resume  c cancel  + - priority  s sort  ? help"
#define HEAD "1 queued, 2 running, 1 paused, 12.3 frames/s, by state\n"
#define TABLES HEAD \
    BOLD "DEVICE  STATE  FPS  FRAMES/S    MEMORY       OF  BUSY  DESCRIPTION" PLAIN "\n" \
    "cuda:0  busy   4.2  ___..::|#  3.0 GiB  8.0 GiB   97%  A card?\n" \
    "cpu:0   ready    -  _________        -  8.0 GiB     -  Two cores\n" \
    "cpu:1   lost     -  _________        -        -     -  \n\n" \
    BOLD "ID  STATE    PRIO  DONE   FPS  FRAMES/S    MEMORY  LEFT  INPUT" PLAIN "\n" \
    INVERSE " 9  running     3   38%  12.3  _...::||#  3.0 GiB  0:09  third.mp4     "
#define REST \
    "10  running     6    0%     -                   -     -  \u6620\u753b.mp4\n" \
    " 7  queued     -3    0%     -                   -     -  video.mp4\n" \
    " 8  paused      0    0%     -                   -     -  other.mp4\n\n" \
    BOLD "9 third.mp4: 77 of 200 frames (38%), 12.3 fps, 0:09 left, cuda:0" PLAIN "\n" \
    "frames/s"

static const struct page {
    int columns, rows, mode, selected_id;
    bool is_away;
    const char *text;
} pages[] = {
    { 73, 25, VRT_TOP_JOBS, 9, false,
      TABLES " " PLAIN "\n" REST "                            memory\n"
      "     12.3 |                      #    3.0 GiB |                      #\n"
      "          |                    ###            |                    ###\n"
      "          |                   ####            |                   ####\n"
      "          |                  #####            |                 ######\n"
      "          |                #######            |                #######\n"
      "          |               ########            |              #########\n"
      "          |              #########            |             ##########\n"
      "        0 |            ###########        0 B |           ############\n\n\n"
      INVERSE KEYS "       " PLAIN "\n" },
    { 72, 21, VRT_TOP_JOBS, 9, false, TABLES PLAIN "\n" REST "\n"
      "     12.3 |                                                        ##\n"
      "          |                                                      ####\n"
      "          |                                                    ######\n"
      "          |                                                  ########\n"
      "        0 |                                               ###########\n\n"
      INVERSE KEYS "      " PLAIN "\n" },
    { 45, 9, VRT_TOP_ASKING, 8, false, "1 queued, 2 running, 1 paused, 12.3 frame...\n"
      BOLD "DEVICE  STATE  FPS   MEMORY  DESCRIPTION" PLAIN "\n"
      "cuda:0  busy   4.2  3.0 GiB  A card?\n"
      "and 2 more\n\n"
      BOLD "ID  STATE   PRIO  DONE  FPS  LEFT  INPUT" PLAIN "\n"
      INVERSE " 8  paused     0    0%    -     -  other.mp4" PLAIN "\n"
      BOLD "cancel job 9, and remove what is done of ..." PLAIN "\n"
      INVERSE "q quit  p r c  + -  s sort  ? help          " PLAIN "\n" },
    { 40, 10, VRT_TOP_JOBS, 8, false, "1 queued, 2 running, 1 paused, 12.3 ...\n"
      BOLD "DEVICE  STATE  FPS   MEMORY  DESCRIP..." PLAIN "\n"
      "cuda:0  busy   4.2  3.0 GiB  A card?\n"
      "cpu:0   ready    -        -  Two cores\n"
      "cpu:1   lost     -        -  \n\n"
      BOLD "ID  STATE   DONE  FPS  LEFT  INPUT" PLAIN "\n"
      INVERSE " 8  paused    0%    -     -  other.mp4 " PLAIN "\n\n"
      INVERSE "q quit  p r c  + -  s sort  ? help     " PLAIN "\n" },
    { 67, 6, VRT_TOP_HELP, 8, false, HEAD "\n"
      "up down, k j      select a job; page up, page down, home, end\n"
      "p                 pause it\n\n"
      INVERSE KEYS " " PLAIN "\n" },
    { 30, 8, VRT_TOP_JOBS, 8, true, "1 queued, 2 running, 1 pau...\n"
      BOLD "ID  STATE    DONE  INPUT" PLAIN "\n"
      " 9  running   38%  third.mp4\n"
      "10  running    0%  \u6620\u753b.mp4\n"
      " 7  queued     0%  video.mp4\n"
      INVERSE " 8  paused     0%  other.mp4 " PLAIN "\n"
      "vrtd is away; this goes on...\n"
      INVERSE "q quit  p r c  + -  s sort..." PLAIN "\n" },
    { 5, 4, VRT_TOP_JOBS, 9, false, "1...\n\n\n" INVERSE "q..." PLAIN "\n" },
    { 66, 2, VRT_TOP_JOBS, 9, false, "\n"
      INVERSE KEYS PLAIN "\n" },
    { 65, 1, VRT_TOP_JOBS, 9, false, INVERSE "q quit  p r c  + -  s sort  ? help"
      "                              " PLAIN "\n" },
    { 1, 1, VRT_TOP_JOBS, 9, false, INVERSE "q" PLAIN "\n" },
};

static void expect_page(struct vrt_top *top, const struct page *page)
{
    const struct winsize size = { (unsigned short)page->rows, (unsigned short)page->columns, 0, 0 };
    const int before = dup(STDOUT_FILENO), terminal = posix_openpt(O_RDWR | O_NOCTTY);

    if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0)
        test_skip("there are no pseudo-terminals");
    const int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    expect_true(ioctl(side, TIOCSWINSZ, &size) == 0 && dup2(side, STDOUT_FILENO) >= 0);
    top->mode = page->mode;
    top->selected_id = page->selected_id;
    top->is_there = !page->is_away;
    top->first = top->n_jobs;
    top->drawn_ns = INT64_MAX;      /* one of another size isn't put off */
    vrt_top_draw(top);
    dup2(before, STDOUT_FILENO);
    close(before);
    close(side);
    close(terminal);
    expect_str(top->drawn.data, page->text);
}

/* All that there is to see, on terminals that have room for it, or for some of it. */
static void test_pages(void)
{
    static const struct {
        int64_t id;
        int state;
        const char *name;
    } seen[] = {
        { 7, VRT_JOB_QUEUED, "video.mp4" }, { 8, VRT_JOB_PAUSED, "other.mp4" },
        { 9, VRT_JOB_RUNNING, "third.mp4" }, { 10, VRT_JOB_RUNNING, "\u6620\u753b.mp4" },
    };
    struct vrt_job_device device = { .name = "cuda:0", .frames_underway = 16 };
    struct vrt_job_info jobs[4];
    struct vrt_top top = { .jobs = calloc(4, sizeof(*top.jobs)), .n_jobs = 4 };
    struct vrt_error error = { 0 };
    json_t *reports = json_pack(
        "[{s:s, s:s, s:s, s:{s:i}, s:{s:I, s:I}, s:{s:i}}, {s:s, s:s, s:s, s:{s:I}}, {s:s, s:s}]",
        "name", "cuda:0", "state", "busy", "description", "A card\x1b", "card", "number", 0,
        "memory", "total_bytes", 8LL << 30, "free_bytes", 5LL << 30, "sensors",
        "utilization_percent", 97, "name", "cpu:0", "state", "ready", "description", "Two cores",
        "memory", "total_bytes", 8LL << 30, "name", "cpu:1", "state", "lost");

    for (int i = 0; i < 4; i++) {
        vrt_job_info_init(&jobs[i]);
        jobs[i].id = seen[i].id;
        jobs[i].state = seen[i].state;
        snprintf(jobs[i].input_name, sizeof(jobs[i].input_name), "%s", seen[i].name);
        jobs[i].priority = 3 * i - 3;
        jobs[i].frames_total = 200;
        top.jobs[i] = &jobs[i];
    }
    jobs[2].devices = &device;
    jobs[2].n_devices = 1;
    jobs[2].left_s = 9.4;
    jobs[1].fps = 5;                /* before it was paused */
    for (int i = 0; i < 12; i++) {
        jobs[2].fps = 12.34 * i / 11;
        jobs[2].frames_done = 7 * i;
        device.frames_done = i * i / 4;
        device.replica_bytes = device.workspace_bytes = (i + 1LL) << 27;
        expect_int(vrt_top_take_look(&top, reports, &error), 0);
    }
    json_decref(reports);
    vrt_top_arrange(&top);
    top.asked_id = 9;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(pages); i++)
        expect_page(&top, &pages[i]);
    vrt_top_forget(&top);
}

TEST_MAIN(
    { "spark", test_spark },
    { "keys", test_keys },
    { "order", test_order },
    { "rates", test_rates },
    { "pages", test_pages },
)
