/* SPDX-License-Identifier: MIT */

/* How a film stands is in two places: what is made, and what tasks say of it, in its folder; what
 * waits and runs, with Slurm, which forgets what has ended. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/cluster/film.h"
#include "client/cluster/slurm.h"
#include "fields.h"

const char *const vrt_film_state_names[] = {
    [VRT_FILM_WAITING] = "waiting",
    [VRT_FILM_PLANNING] = "planning",
    [VRT_FILM_RESTORING] = "restoring",
    [VRT_FILM_JOINING] = "joining",
    [VRT_FILM_HELD] = "held",
    [VRT_FILM_LOST] = "lost",
    [VRT_FILM_DONE] = "done",
    [VRT_FILM_FAILED] = "failed",
    [VRT_FILM_CANCELLED] = "cancelled",
    [VRT_FILM_STATE_COUNT] = NULL,
};

/* What --json says. */
struct report {
    struct vrt_film film;
    struct vrt_film_look look;
};

#define T struct report
#define IN_FILM(type, member, ...) VRT_FIELD_IN(type, T, film, member, __VA_ARGS__)
#define IN_LOOK(type, member, ...) VRT_FIELD_IN(type, T, look, member, __VA_ARGS__)
static const struct vrt_field report_fields[] = {
    IN_FILM(TEXT, input, 0, .size = sizeof(((T *)0)->film.input)),
    IN_FILM(TEXT, output, 0, .size = sizeof(((T *)0)->film.output)),
    IN_FILM(TEXT, folder, 0, .size = sizeof(((T *)0)->film.folder)),
    IN_LOOK(ENUM, state, 0, .names = vrt_film_state_names),
    IN_LOOK(INT, frames_total, VRT_FIELD_NULLABLE, .min = 0, .max = INT64_MAX),
    IN_LOOK(INT, frames_done, 0, .min = 0, .max = INT64_MAX),
    IN_LOOK(INT, segments_total, VRT_FIELD_NULLABLE, .min = 0, .max = INT64_MAX),
    IN_LOOK(INT, segments_done, 0, .min = 0, .max = INT64_MAX),
    IN_LOOK(INT, tasks_running, 0, .min = 0, .max = INT64_MAX),
    IN_LOOK(INT, tasks_waiting, VRT_FIELD_NULLABLE, .min = 0, .max = INT64_MAX),
    IN_LOOK(TEXT, reason, 0, .size = sizeof(((T *)0)->look.reason)),
    IN_LOOK(TEXT, error, 0, .size = sizeof(((T *)0)->look.error)),
    IN_LOOK(OBJECT, comparison, VRT_FIELD_NULLABLE, .extra = offsetof(T, look.has_comparison),
            .fields = vrt_job_comparison_fields),
    IN_FILM(INT, nodes, 0, .min = 1, .max = VRT_FILM_NODES_MAX),
    IN_FILM(INT, plan, 0, .min = 0, .max = INT64_MAX),
    IN_FILM(INT, array, 0, .min = 0, .max = INT64_MAX),
    IN_FILM(INT, rest, 0, .min = 0, .max = INT64_MAX),
    IN_FILM(INT, join, 0, .min = 0, .max = INT64_MAX),
    IN_FILM(INT, submissions, 0, .min = 0, .max = INT32_MAX),
    VRT_FIELDS_END,
};
#undef T

/* What of a task's note counts here. */
struct note {
    char state[16], node[64], error_id[64];
    char error[VRT_API_TEXT_BYTES];
    bool has_comparison;
    struct vrt_compare_report comparison;
};

static const struct vrt_field note_fields[] = {
    VRT_FIELD_TEXT(struct note, state, 0),
    VRT_FIELD_TEXT(struct note, node, 0),
    VRT_FIELD_TEXT(struct note, error_id, 0),
    VRT_FIELD_TEXT(struct note, error, 0),
    VRT_FIELD_OPTIONAL(struct note, comparison, has_comparison, vrt_job_comparison_fields),
    VRT_FIELDS_END,
};

/* What task `name` says; nothing, where it hasn't yet. */
static struct note read_note(const struct vrt_film *film, const char *name)
{
    struct vrt_error ignored = { .id = NULL };
    struct note note = { .state = "" };
    char file[64];
    json_t *json = NULL;

    snprintf(file, sizeof(file), "tasks/%s.json", name);
    if (vrt_film_read(film->folder, file, &json, &ignored) < 0 ||
        vrt_fields_decode(note_fields, json, VRT_FIELDS_LENIENT, &note, &ignored) < 0)
        note = (struct note){ .state = "" };
    json_decref(json);
    return note;
}

/* Whether it is joined, and how near it is to its reference then. */
static bool is_joined(const struct vrt_film *film, struct vrt_film_look *look)
{
    const struct note note = read_note(film, "join");
    const bool is_done = strcmp(note.state, "done") == 0;

    look->has_comparison = is_done && note.has_comparison;
    look->comparison = note.comparison;
    return is_done;
}

/* Counts what is made of what is planned. */
static void count_segments(const struct vrt_film *film, struct vrt_film_look *look)
{
    struct vrt_error ignored = { .id = NULL };
    char path[VRT_API_PATH_BYTES + 64];
    const json_t *segment;
    json_t *json = NULL;
    size_t i;

    if (vrt_film_read(film->folder, "plan.json", &json, &ignored) < 0)
        return;
    look->frames_total = look->segments_total = 0;
    json_array_foreach(json_object_get(json, "segments"), i, segment) {
        const int64_t n = json_integer_value(json_object_get(segment, "n_frames"));
        snprintf(path, sizeof(path), "%s/segments/%05zu.seg", film->folder, i);
        const bool is_made = look->state == VRT_FILM_DONE || access(path, F_OK) == 0;
        look->segments_total++;
        look->frames_total += n;
        look->segments_done += is_made;
        look->frames_done += is_made ? n : 0;
    }
    json_decref(json);
}

/* What Slurm has of it. */
struct counts {
    bool plans, joins, any_held;
};

static void count_jobs(const struct vrt_film *film, const struct vrt_slurm_job *jobs, size_t n,
                       struct vrt_film_look *look, struct counts *counts)
{
    for (size_t i = 0; i < n; i++) {
        const bool waits = strcmp(jobs[i].state, "PENDING") == 0;
        look->tasks_waiting += waits;
        look->tasks_running += !waits;
        counts->plans |= !waits && jobs[i].batch == film->plan;
        counts->joins |= !waits && jobs[i].batch == film->join;
        counts->any_held |= waits && strncmp(jobs[i].reason, "JobHeld", 7) == 0;
        if (waits && strcmp(jobs[i].reason, "Dependency") != 0 && !look->reason[0])
            snprintf(look->reason, sizeof(look->reason), "%s", jobs[i].reason);
    }
}

/* The tasks without which there is no film, the first that is asked what went wrong first: what is
 * joined misses what the rest couldn't make. Then its parts. */
static const char *const whole_names[] = { "rest", "join", "plan" };

#define N_WHOLE ((int64_t)VRT_ARRAY_SIZE(whole_names))

/* What task `i` of all says. */
static struct note read_ith(const struct vrt_film *film, int64_t i)
{
    char name[24];

    if (i < N_WHOLE)
        return read_note(film, whole_names[i]);
    snprintf(name, sizeof(name), "%" PRId64, i - N_WHOLE);
    return read_note(film, name);
}

/* Whether it went wrong by what another node may have otherwise: its disk, its cards. What tasks
 * share (spool.full) is the same everywhere. */
static bool is_nodes_own(const struct note *note)
{
    return strncmp(note->error_id, "store.", 6) == 0 || strncmp(note->error_id, "device.", 7) == 0;
}

/* What last went wrong, of whichever task says so. */
static void find_error(const struct vrt_film *film, struct vrt_film_look *look)
{
    for (int64_t i = 0; !look->error[0] && i < N_WHOLE + film->nodes; i++) {
        const struct note note = read_ith(film, i);
        snprintf(look->error, sizeof(look->error), "%s", note.error);
        look->may_help = is_nodes_own(&note) || strcmp(note.error_id, "cluster.segment") == 0;
    }
}

/* Whether a task's note says that it is in that state. */
static bool says(const struct vrt_film *film, const char *name, const char *state)
{
    return strcmp(read_note(film, name).state, state) == 0;
}

static bool has_failed(const struct vrt_film *film)
{
    for (int64_t i = 0; i < N_WHOLE; i++)
        if (says(film, whole_names[i], "failed"))
            return true;
    return false;
}

/* Whether a node is one of those, which have commas between. */
static bool is_among(const char *nodes, const char *node)
{
    const size_t n = strlen(node);

    for (const char *at = nodes; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, node, n) == 0 && (!at[n] || at[n] == ','))
            return true;
    }
    return false;
}

void vrt_film_exclude(struct vrt_film *film)
{
    for (int64_t i = 0; i < N_WHOLE + film->nodes; i++) {
        const struct note note = read_ith(film, i);
        const size_t n = strlen(film->excluded);
        /* One that finds no room may fail once more. */
        if (is_nodes_own(&note) && note.node[0] && !is_among(film->excluded, note.node) &&
            n + strlen(note.node) + 2 < sizeof(film->excluded))
            snprintf(film->excluded + n, sizeof(film->excluded) - n, "%s%s", n ? "," : "",
                     note.node);
    }
}

/* Tasks that find no room on the disk that they share may have none to say so. */
static void find_full_disk(const struct vrt_film *film, struct vrt_film_look *look)
{
    struct statvfs disk;

    if (look->state != VRT_FILM_LOST || statvfs(film->folder, &disk) < 0 || disk.f_bavail ||
        !disk.f_blocks)
        return;
    look->state = VRT_FILM_FAILED;
    look->may_help = false;
    snprintf(look->error, sizeof(look->error), "the disk of %.300s is full: make room, and go on "
             "with vrtctl cluster retry", film->folder);
}

int vrt_film_look(const struct vrt_film *film, struct vrt_film_look *ret_look,
                  struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct vrt_slurm_job *jobs = NULL;
    struct vrt_film_look look = { .frames_total = VRT_UNKNOWN, .segments_total = VRT_UNKNOWN };
    struct counts counts = { .plans = false };
    size_t n = 0;

    /* Slurm is asked first: what has ended since has said so. */
    int r = vrt_slurm_list(film->slurm_url, film->tag, &jobs, &n, error);
    const bool is_done = is_joined(film, &look);
    if (r < 0 && !is_done)
        return vrt_fold(r);
    count_jobs(film, jobs, n, &look, &counts);
    if (is_done)
        look.state = VRT_FILM_DONE;
    else if (n == 0)
        look.state = film->is_cancelled ? VRT_FILM_CANCELLED : has_failed(film) ? VRT_FILM_FAILED :
                     VRT_FILM_LOST;
    else if (counts.joins)
        look.state = VRT_FILM_JOINING;
    else if (look.tasks_running)
        look.state = counts.plans ? VRT_FILM_PLANNING : VRT_FILM_RESTORING;
    else
        look.state = counts.any_held ? VRT_FILM_HELD : VRT_FILM_WAITING;
    count_segments(film, &look);
    if (!is_done)
        find_error(film, &look);
    find_full_disk(film, &look);
    *ret_look = look;
    return 0;
}

void vrt_film_glance(const struct vrt_film *film, struct vrt_film_look *ret_look)
{
    struct vrt_film_look look = {
        .frames_total = VRT_UNKNOWN,
        .segments_total = VRT_UNKNOWN,
        .tasks_waiting = VRT_UNKNOWN,
    };

    for (int64_t i = 0; i < N_WHOLE + film->nodes; i++)
        look.tasks_running += strcmp(read_ith(film, i).state, "running") == 0;
    look.state = is_joined(film, &look) ? VRT_FILM_DONE :
                 film->is_cancelled ? VRT_FILM_CANCELLED :
                 has_failed(film) ? VRT_FILM_FAILED :
                 says(film, "join", "running") ? VRT_FILM_JOINING :
                 says(film, "plan", "running") ? VRT_FILM_PLANNING :
                 look.tasks_running ? VRT_FILM_RESTORING : VRT_FILM_WAITING;
    if (look.state >= VRT_FILM_DONE)
        look.tasks_running = 0;
    count_segments(film, &look);
    if (look.state != VRT_FILM_DONE)
        find_error(film, &look);
    *ret_look = look;
}

json_t *vrt_film_report(const struct vrt_film *film, const struct vrt_film_look *look)
{
    const struct report report = { *film, *look };
    json_t *json = vrt_fields_encode(report_fields, &report);

    if (json && json_object_set_new(json, "kind", json_string("film")) < 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}
