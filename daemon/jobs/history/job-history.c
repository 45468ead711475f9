/* SPDX-License-Identifier: MIT */
/*
 * The last point is open: it moves with each look, until it is a period away from the one before
 * it. So the history always ends with the last look, and nobody needs to close it.
 */

#include "daemon/jobs/history/job-history.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "history/msg_history.h"

/* Of a job that just began: no look comes sooner. */
#define PERIOD_S 0.2

/* A little less than a period is one: looks don't come to the millisecond. */
#define NEARLY 0.9

/* Joins each two points: the last one of an odd number stays. */
static void halve(struct vrt_job_history *history)
{
    size_t n = 0;

    for (size_t i = 0; i < history->n_points; i += 2) {
        struct vrt_history_point point = history->points[i];
        if (i + 1 < history->n_points) {
            point = history->points[i + 1];
            point.memory_bytes = VRT_MAX(point.memory_bytes, history->points[i].memory_bytes);
        }
        history->points[n++] = point;
    }
    history->n_points = n;
    history->period_s *= 2;
}

/* Forgets what the job went back behind. */
static void forget(struct vrt_job_history *history, const struct vrt_history_point *now)
{
    const struct vrt_history_point *points = history->points;

    while (history->n_points > 0 &&
           (points[history->n_points - 1].elapsed_s > now->elapsed_s ||
            points[history->n_points - 1].frames > now->frames))
        history->n_points--;
}

/* Room for one more. Return: 0, -ENOMEM. */
static int make_room(struct vrt_job_history *history)
{
    size_t capacity = VRT_MIN(VRT_MAX(2 * history->capacity, 16), VRT_API_HISTORY_POINTS);
    struct vrt_history_point *points;

    if (history->n_points < history->capacity)
        return 0;
    if (history->n_points == VRT_API_HISTORY_POINTS) {
        halve(history);
        return 0;
    }
    points = reallocarray(history->points, capacity, sizeof(*points));
    if (!points)
        return vrt_raise(-ENOMEM);
    history->points = points;
    history->capacity = capacity;
    return 0;
}

void vrt_job_history_note(struct vrt_job_history *history, const struct vrt_job_look *look)
{
    struct vrt_history_point point = {
        .elapsed_s = round(look->elapsed_s * 1000) / 1000,
        .frames = round(look->frames * 1000) / 1000,
        .fps = NAN,
        .memory_bytes = look->memory_bytes,
    };

    forget(history, &point);
    if (history->n_points == 0 && history->period_s <= 0)
        history->period_s = PERIOD_S;
    size_t n = history->n_points;
    double begun_s = n > 1 ? history->points[n - 2].elapsed_s : 0;
    if (n > 0 && history->points[n - 1].elapsed_s - begun_s < NEARLY * history->period_s) {
        point.memory_bytes = VRT_MAX(point.memory_bytes, history->points[n - 1].memory_bytes);
        history->points[n - 1] = point;
    } else if (make_room(history) == 0) {
        history->points[history->n_points++] = point;
    }
}

/* Fills in the rates, of what is to be told. */
static void fill_rates(struct vrt_history_point *points, size_t n)
{
    double elapsed_s = 0, frames = 0;

    for (size_t i = 0; i < n; i++) {
        double lasted_s = points[i].elapsed_s - elapsed_s;
        points[i].fps = lasted_s > 0 ? round(1000 * (points[i].frames - frames) / lasted_s) / 1000
                                     : NAN;
        elapsed_s = points[i].elapsed_s;
        frames = points[i].frames;
    }
}

int vrt_job_history_print(const struct vrt_job_history *history, struct vrt_buf *buf)
{
    const struct vrt_history_report report = {
        .period_s = history->period_s,
        .points = history->points,
        .n_points = history->n_points,
    };

    fill_rates(history->points, history->n_points);
    return vrt_fold(vrt_fields_print(vrt_history_fields, &report, buf));
}

/* Whether a history could be so, as it only ever grows. */
static bool is_plausible(const struct vrt_history_report *report)
{
    for (size_t i = 1; i < report->n_points; i++)
        if (report->points[i].elapsed_s < report->points[i - 1].elapsed_s ||
            report->points[i].frames < report->points[i - 1].frames)
            return false;
    return report->period_s >= 0;
}

int vrt_job_history_read(const char *text, struct vrt_job_history *history)
{
    struct vrt_history_report report = { 0 };
    json_t *json = NULL;
    int r = vrt_json_parse(text, strlen(text), &json, NULL);

    if (r == 0)
        r = vrt_fields_decode(vrt_history_fields, json, VRT_FIELDS_LENIENT, &report, NULL);
    json_decref(json);
    if (r < 0)
        return vrt_fold(r);
    if (!is_plausible(&report)) {
        vrt_fields_done(vrt_history_fields, &report);
        return vrt_raise(-EINVAL);
    }
    *history = (struct vrt_job_history){
        .points = report.points,
        .n_points = report.n_points,
        .capacity = report.n_points,
        .period_s = report.period_s,
    };
    return 0;
}

void vrt_job_history_done(struct vrt_job_history *history)
{
    free(history->points);
    *history = (struct vrt_job_history){ .n_points = 0 };
}
