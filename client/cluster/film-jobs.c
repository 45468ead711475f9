/* SPDX-License-Identifier: MIT */

/* A film's four batch jobs: submitted, held and ended. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "client/cluster/film.h"
#include "client/cluster/slurm.h"

/* One of its jobs. */
struct part_job {
    const char *name, *parts;
    const char *array, *dependency;         /* NULL: none */
    bool is_light;                  /* it needs neither cards nor a whole node */
};

/* Submits it. Return: 0; -errno with `error`. */
static int submit(const struct vrt_film *film, const struct part_job *job, int64_t *ret_id,
                  struct vrt_error *error)
{
    struct vrt_buf script = { .limit_bytes = VRT_FILM_FILE_BYTES_MAX };
    struct vrt_buf folder = { .limit_bytes = VRT_FILM_FILE_BYTES_MAX };
    char title[32];

    snprintf(title, sizeof(title), "vrtd-%s", job->name);
    int r = vrt_film_quote(film->folder, &folder);
    if (r == 0)
        r = vrt_buf_printf(&script, "#!/bin/sh\nexec sh %s/task.sh %s\n", folder.data,
                           job->parts);
    vrt_buf_done(&folder);
    r = r < 0 ? vrt_refuse_errno(error, r, "Slurm's script") :
        vrt_slurm_submit(film->slurm_url, &(struct vrt_slurm_batch){
        .name = title,
        .comment = film->tag,
        .script = script.data,
        .folder = film->folder,
        .output = job->array ? "logs/%x-%a.log" : "logs/%x.log",
        .array = job->array,
        .dependency = job->dependency,
        .wants = {
            .partition = film->partition[0] ? film->partition : NULL,
            .account = film->account[0] ? film->account : NULL,
            .time = film->time[0] ? film->time : NULL,
            .gpus = job->is_light ? 0 : film->gpus,
            .whole_node = !job->is_light && !film->gpus,
            .excluded = film->excluded[0] ? film->excluded : NULL,
        },
    }, ret_id, error);
    vrt_buf_done(&script);
    return vrt_fold(r);
}

int vrt_film_order(const struct vrt_film *film, enum vrt_slurm_order order, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct vrt_slurm_job *jobs = NULL;
    int64_t last = 0;
    size_t n = 0;
    int r = vrt_slurm_list(film->slurm_url, film->tag, &jobs, &n, error);

    for (size_t i = 0; r == 0 && i < n; i++) {
        /* What runs can only be ended. */
        if (jobs[i].batch == last ||
            (order != VRT_SLURM_CANCEL && strcmp(jobs[i].state, "PENDING") != 0))
            continue;
        last = jobs[i].batch;
        r = vrt_slurm_order(film->slurm_url, last, order, error);
    }
    return vrt_fold(r);
}

/* Submits all of its jobs. Return: 0; -errno with `error`. */
static int submit_all(struct vrt_film *film, struct vrt_error *error)
{
    char part[64], array[32], after[64];
    const struct {
        struct part_job job;
        const char *condition;      /* with `before`, the job before */
        const int64_t *before;
        int64_t *ret_id;
    } jobs[] = {
        { { "plan", "plan" }, NULL, NULL, &film->plan },
        { { "part", part, array }, "afterok", &film->plan, &film->array },
        /* Where all parts are done, this can't come true, and Slurm ends it before it begins. */
        { { "rest", "0/1" }, "afternotok", &film->array, &film->rest },
        { { "join", "join", .is_light = true }, "afterany", &film->rest, &film->join },
    };

    snprintf(part, sizeof(part), "\"$SLURM_ARRAY_TASK_ID/%" PRId64 "\"", film->nodes);
    snprintf(array, sizeof(array), "0-%" PRId64, film->nodes - 1);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(jobs); i++) {
        struct part_job job = jobs[i].job;
        if (jobs[i].condition) {
            snprintf(after, sizeof(after), "%s:%" PRId64, jobs[i].condition, *jobs[i].before);
            job.dependency = after;
        }
        int r = submit(film, &job, jobs[i].ret_id, error);
        if (r < 0)
            return vrt_fold(r);
    }
    return 0;
}

/* Ends the jobs that were submitted a moment ago. */
static void take_back(const struct vrt_film *film)
{
    const int64_t ids[] = { film->join, film->rest, film->array, film->plan };
    struct vrt_error ignored = { .id = NULL };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(ids); i++)
        if (ids[i])
            (void)!vrt_slurm_order(film->slurm_url, ids[i], VRT_SLURM_CANCEL, &ignored);
}

/* Notes what was submitted, unless somebody else has submitted the film meanwhile: his jobs make
 * it. Return: 0; -errno with `error`. */
static int settle(struct vrt_film *film, struct vrt_error *error)
{
    struct vrt_film now = *film;
    int r = vrt_film_load(&now, error);

    if (r < 0)
        return vrt_fold(r);
    if (strcmp(now.submitter, film->submitter) == 0)
        return vrt_fold(vrt_film_save(film, error));
    take_back(film);
    *film = now;
    return 0;
}

int vrt_film_submit(struct vrt_film *film, struct vrt_error *error)
{
    char host[40] = "";
    int r = vrt_film_order(film, VRT_SLURM_CANCEL, error);

    if (r < 0)
        return vrt_fold(r);
    gethostname(host, sizeof(host) - 1);
    snprintf(film->submitter, sizeof(film->submitter), "%s.%ld.%" PRId64, host, (long)getpid(),
             vrt_clock_wall_ns());
    film->submissions++;
    film->is_cancelled = false;
    film->plan = film->array = film->rest = film->join = 0;
    /* Before anything can be lost. */
    r = vrt_film_save(film, error);
    if (r < 0)
        return vrt_fold(r);
    r = submit_all(film, error);
    if (r == 0)
        r = settle(film, error);
    if (r >= 0)
        return 0;
    /* What there is of it would wait in vain, also where Slurm's answer got lost. */
    struct vrt_error ignored = { .id = NULL };
    (void)!vrt_film_order(film, VRT_SLURM_CANCEL, &ignored);
    return vrt_fold(r);
}

int vrt_film_cancel(struct vrt_film *film, struct vrt_error *error)
{
    film->is_cancelled = true;
    int r = vrt_film_save(film, error);

    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_film_order(film, VRT_SLURM_CANCEL, error));
}
