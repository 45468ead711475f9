/* SPDX-License-Identifier: MIT */
/* daemon/jobs/history: bounded however long a job runs, and right however often it is halved. */

#include "tests/unit/test.h"

#include <math.h>

#include "daemon/jobs/history/job-history.h"
#include "history/msg_history.h"

static void note(struct vrt_job_history *history, double elapsed_s, double frames, int64_t bytes)
{
    vrt_job_history_note(history, &(struct vrt_job_look){ elapsed_s, frames, bytes });
}

/* As it is told, decoded again; the caller's. */
static struct vrt_job_history told(const struct vrt_job_history *history)
{
    struct vrt_buf text = { .limit_bytes = 0 };
    struct vrt_job_history again = { .n_points = 0 };

    expect_int(vrt_job_history_print(history, &text), 0);
    expect_int(vrt_job_history_read(text.data, &again), 0);
    vrt_buf_done(&text);
    return again;
}

/* A job of a second has a point for each look; the last look is the last point. */
static void test_short(void)
{
    struct vrt_job_history history = { .n_points = 0 };

    for (int i = 1; i <= 5; i++)
        note(&history, 0.2 * i, i * i, i == 3 ? 700 : 100 * i);
    struct vrt_job_history again = told(&history);
    expect_int(again.n_points, 5);
    for (int i = 1; i <= 5; i++) {
        const struct vrt_history_point *point = &again.points[i - 1];
        expect_near(point->elapsed_s, 0.2 * i, 1e-9);
        expect_near(point->frames, i * i, 1e-9);
        expect_near(point->fps, (2 * i - 1) / 0.2, 1e-3);
        expect_int(point->memory_bytes, i == 3 ? 700 : 100 * i);
    }
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

/* Three days at 5 looks a second, the second half twice as fast, with one peak of memory. */
static void test_days(void)
{
    struct vrt_job_history history = { .n_points = 0 };
    const int n = 3 * 24 * 3600 * 5;
    size_t most = 0;

    for (int i = 1; i <= n; i++) {
        double half_s = n / 5.0 / 2, now_s = i / 5.0;
        note(&history, now_s, now_s + fmax(now_s - half_s, 0), i == n / 3 ? 9000 : 1000);
        most = VRT_MAX(most, history.n_points);
    }
    expect_int(most, VRT_API_HISTORY_POINTS);
    expect_true(history.n_points > VRT_API_HISTORY_POINTS / 2);
    struct vrt_job_history again = told(&history);
    int n_peaks = 0;
    for (size_t i = 0; i < again.n_points; i++) {
        double expected = again.points[i].elapsed_s <= n / 5.0 / 2 ? 1 : 2;
        bool is_between = i > 0 && again.points[i].elapsed_s > n / 5.0 / 2 &&
                          again.points[i - 1].elapsed_s < n / 5.0 / 2;
        if (!is_between)
            expect_near(again.points[i].fps, expected, 2e-3);
        n_peaks += again.points[i].memory_bytes == 9000;
        /* Even distances, but of the last one. */
        if (i > 0 && i + 1 < again.n_points)
            expect_near(again.points[i].elapsed_s - again.points[i - 1].elapsed_s,
                        again.period_s, 0.11 * again.period_s);
    }
    expect_int(n_peaks, 1);
    expect_near(again.points[again.n_points - 1].elapsed_s, n / 5.0, 1e-9);
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

/* A job that goes on from a segment, or begins anew, has no other past than that. */
static void test_going_back(void)
{
    struct vrt_job_history history = { .n_points = 0 };

    for (int i = 1; i <= 100; i++)
        note(&history, i, 10 * i, 5);
    note(&history, 50.5, 300, 5);
    expect_int(history.n_points, 31);
    expect_near(history.points[30].elapsed_s, 50.5, 1e-9);
    expect_near(history.points[29].frames, 300, 1e-9);
    /* That it waits adds nothing, nor what is rounded. */
    for (int i = 0; i < 50; i++)
        note(&history, 50.5, 300 + 2.0 / 3, 5);
    expect_true(history.n_points <= 32);
    expect_near(history.points[history.n_points - 1].frames, 300.667, 1e-9);
    note(&history, 0, 0, -1);
    expect_int(history.n_points, 1);
    struct vrt_job_history again = told(&history);
    expect_true(isnan(again.points[0].fps));
    expect_int(again.points[0].memory_bytes, VRT_UNKNOWN);
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

static void test_texts(void)
{
    const char *const bad[] = {
        "", "[]", "{\"points\":7}", "{\"points\":[{\"elapsed_s\":-1}]}",
        "{\"period_s\":-1,\"points\":[]}",
        "{\"points\":[{\"elapsed_s\":2,\"frames\":1},{\"elapsed_s\":1,\"frames\":1}]}",
    };
    struct vrt_job_history history = { .n_points = 0 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(bad); i++) {
        expect_true(vrt_job_history_read(bad[i], &history) < 0);
        expect_int(history.n_points, 0);
    }
    expect_int(vrt_job_history_read("{\"newer\":1}", &history), 0);
    note(&history, 1, 2, 3);
    expect_int(history.n_points, 1);
    vrt_job_history_done(&history);
}

int main(void)
{
    test_short();
    test_days();
    test_going_back();
    test_texts();
    return 0;
}
