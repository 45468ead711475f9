/* SPDX-License-Identifier: MIT */
/* client: plots, keys, and what vrtctl top makes of what it sees. */

#include "tests/unit/test.h"

#include <jansson.h>

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
    VRT_CLEANUP(vrt_freep) struct vrt_series *series = calloc(1, sizeof(*series));

    expect_true(series != NULL);
    expect_true(isnan(vrt_series_at(series, 0)));
    expect_true(vrt_series_peak(series, 9) == 0);
    expect_spark(series, 6, true, "      ");
    vrt_series_add(series, 0);
    vrt_series_add(series, NAN);
    vrt_series_add(series, 4);
    vrt_series_add(series, 3);
    vrt_series_add(series, 16);
    /* What isn't known is blank, what is 0 isn't; nothing is more than full. */
    expect_spark(series, 6, true, " \u2581 \u2584\u2583\u2588");
    expect_spark(series, 3, false, "..#");
    expect_true(vrt_series_peak(series, 5) == 16);
    expect_true(vrt_series_at(series, 0) == 16);
    expect_true(vrt_series_at(series, 4) == 0);
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
    struct vrt_job_info jobs[5];
    const struct vrt_job_info *listed[5];
    struct vrt_top top = { .jobs = listed, .n_jobs = 5 };
    static const int states[] = {
        VRT_JOB_PAUSED, VRT_JOB_QUEUED, VRT_JOB_RUNNING, VRT_JOB_FINISHING, VRT_JOB_RUNNING,
    };

    for (int i = 0; i < 5; i++) {
        vrt_job_info_init(&jobs[i]);
        jobs[i].id = i + 1;
        jobs[i].state = states[i];
        jobs[i].frames_total = i == 1 ? VRT_UNKNOWN : 100;
        jobs[i].frames_done = 10 * i;
        jobs[i].priority = i % 2;
        listed[4 - i] = &jobs[i];
    }
    expect_order(&top, VRT_TOP_BY_STATE, "43521");
    expect_int(top.selected_id, 4);
    expect_order(&top, VRT_TOP_BY_PRIORITY, "24135");
    expect_order(&top, VRT_TOP_BY_PROGRESS, "54312");
    expect_int(top.selected_id, 5);
    top.selected_id = 4;
    top.has_typed = true;
    vrt_top_arrange(&top);
    /* Once somebody typed, the selected job stays the same one, wherever it goes; another takes the
     * place of one that is gone. */
    expect_int(top.selected_id, 4);
    expect_int((int)vrt_top_selected(&top), 1);
    top.selected_id = 9;
    vrt_top_arrange(&top);
    expect_int(top.selected_id, 5);
}

/* A second later `done` frames more are done. */
static void look(struct vrt_top *top, struct vrt_job_device *device, int done)
{
    struct vrt_error error = { 0 };
    json_t *reports = json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "cpu:0", "state", "busy",
                                "name", "cpu:1", "state", "ready");

    device->frames_done += done;
    expect_true(vrt_top_take_look(top, reports, &error) == 0);
    json_decref(reports);
}

/* Frames come by shards, and a job's end takes none of them away. */
static void test_rates(void)
{
    struct vrt_job_device device = { .name = "cpu:0", .frames_underway = NAN };
    struct vrt_job_info job;
    const struct vrt_job_info **listed = calloc(1, sizeof(*listed));
    struct vrt_top top = { .jobs = listed, .n_jobs = 1 };
    struct vrt_error error = { 0 };

    expect_true(listed != NULL);
    vrt_job_info_init(&job);
    job.id = 7;
    job.state = VRT_JOB_RUNNING;
    job.fps = 4;
    job.devices = &device;
    job.n_devices = 1;
    device.replica_bytes = 1 << 20;
    device.workspace_bytes = 1 << 20;
    listed[0] = &job;
    look(&top, &device, 100);
    expect_int((int)top.n_devices, 2);
    expect_true(isnan(vrt_series_at(&top.devices[0].fps, 0)));
    for (int i = 0; i < 10; i++)
        look(&top, &device, i % 5 == 0 ? 20 : 0);
    expect_true(vrt_series_at(&top.devices[0].fps, 0) == 4);
    expect_true(vrt_series_at(&top.devices[1].fps, 0) == 0);
    expect_true(vrt_series_at(&vrt_top_seen(&top, 7)->fps, 0) == 4);
    expect_true(vrt_series_at(&vrt_top_seen(&top, 7)->memory, 0) == 2 << 20);
    /* A shard that failed is done again. */
    look(&top, &device, -100);
    expect_true(vrt_series_at(&top.devices[0].fps, 0) == 0);
    /* The daemon is away, and what was seen is remembered. */
    expect_true(vrt_top_take_look(&top, NULL, &error) == 0);
    expect_true(isnan(vrt_series_at(&top.devices[0].fps, 0)));
    expect_true(vrt_top_seen(&top, 7) != NULL);
    top.n_jobs = 0;
    look(&top, &device, 0);
    expect_true(vrt_series_at(&top.devices[0].fps, 0) >= 0);
    expect_true(vrt_top_seen(&top, 7) == NULL);
    expect_int((int)vrt_top_job_bytes(&job), 2 << 20);
    job.state = VRT_JOB_QUEUED;
    expect_int((int)vrt_top_job_bytes(&job), VRT_UNKNOWN);
    vrt_top_forget(&top);
}

TEST_MAIN(
    { "spark", test_spark },
    { "keys", test_keys },
    { "order", test_order },
    { "rates", test_rates },
)
