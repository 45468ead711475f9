/* SPDX-License-Identifier: MIT */

/*
 * slurmrestd's messages. PLAIN is v0.0.38 as Slurm 22.05 takes it, which isn't all as its
 * description says; TYPED is v0.0.40 and later, as Slurm 24.11 takes it.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/cluster/slurm-impl.h"

/* More tasks of an array that waits aren't counted. */
#define TASKS_MAX 10000

#define MINUTES_MAX 1000000000

static const char token_variable[] = "SLURM_JWT=";

int64_t vrt_slurm_minutes(const char *text)
{
    int64_t numbers[3] = { 0 }, days = 0, minutes;
    size_t n = 0;
    bool has_days = false;

    if (strcasecmp(text, "infinite") == 0 || strcasecmp(text, "unlimited") == 0 ||
        strcmp(text, "-1") == 0)
        return -1;
    for (const char *at = text;; at++) {
        char *end;
        if (*at < '0' || *at > '9' || n == VRT_ARRAY_SIZE(numbers))
            return -EINVAL;
        numbers[n] = strtoll(at, &end, 10);
        if (numbers[n++] > MINUTES_MAX)
            return -EINVAL;
        at = end;
        if (!*at)
            break;
        if (*at == '-' && n == 1 && !has_days) {
            has_days = true;
            days = numbers[0];
            n = 0;
        } else if (*at != ':') {
            return -EINVAL;
        }
    }
    /* One number is minutes, or hours behind days; two begin with what one is. */
    if (has_days || n == 3)
        minutes = (days * 24 + numbers[0]) * 60 + numbers[1] + (numbers[2] + 59) / 60;
    else
        minutes = numbers[0] + (numbers[1] + 59) / 60;
    return minutes > MINUTES_MAX ? -EINVAL : minutes;
}

/* A number of any shape. Return: -1: it isn't set. */
static int64_t number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_object(value))
        value = json_is_true(json_object_get(value, "set")) ? json_object_get(value, "number") :
                NULL;
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* A word, or the first of several. */
static const char *word_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *word = json_string_value(json_is_array(value) ? json_array_get(value, 0) : value);

    return word ? word : "";
}

/* Whether a job is over, though Slurm still tells of it for a while. */
static bool is_over(const char *state)
{
    static const char *const names[] = {
        "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
        "PREEMPTED", "TIMEOUT",
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++)
        if (strcmp(state, names[i]) == 0)
            return true;
    return false;
}

/* Appends one for each task that waits, of "0-3,7%2". Return: 0; -ENOMEM. */
static int add_tasks(const char *tasks, const struct vrt_slurm_job *job,
                     struct vrt_slurm_job **jobs, size_t *n)
{
    const size_t before = *n;
    char *end;
    int r = 0;

    for (const char *at = tasks; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : "") {
        const int64_t first = strtoll(at, &end, 10);
        const int64_t last = *end == '-' ? strtoll(end + 1, &end, 10) : first;
        for (int64_t i = first; r == 0 && i <= last && *n - before < TASKS_MAX; i++)
            r = vrt_slurm_add(jobs, n, job);
    }
    return r;
}

/* Reads a job. Return: whether it is one that is asked for. */
static bool read_job(const json_t *json, const char *user, const char *comment,
                     struct vrt_slurm_job *job)
{
    const int64_t array = number_of(json, "array_job_id");
    const char *said = word_of(json, "comment");

    if (strcmp(word_of(json, "user_name"), user) != 0 ||
        strncmp(said, comment, strlen(comment)) != 0 || is_over(word_of(json, "job_state")))
        return false;
    *job = (struct vrt_slurm_job){ .id = number_of(json, "job_id") };
    job->batch = array > 0 ? array : job->id;
    vrt_slurm_take_word(word_of(json, "job_state"), job->state, sizeof(job->state));
    vrt_slurm_take_word(word_of(json, "state_reason"), job->reason, sizeof(job->reason));
    snprintf(job->comment, sizeof(job->comment), "%s", said);
    snprintf(job->folder, sizeof(job->folder), "%s", word_of(json, "current_working_directory"));
    return job->id > 0;
}

int vrt_slurm_jobs_of_json(const json_t *json, const char *user, const char *comment,
                           struct vrt_slurm_job **ret_jobs, size_t *ret_n,
                           struct vrt_error *error)
{
    const json_t *list = json_object_get(json, "jobs"), *item;
    struct vrt_slurm_job *jobs = NULL, job;
    size_t n = 0, i;
    int r = 0;

    if (!json_is_array(list))
        return vrt_refuse(error, vrt_raise(-EPROTO), "client.slurm", "slurmrestd's answer has no "
                          "list of jobs");
    json_array_foreach(list, i, item) {
        const char *tasks = word_of(item, "array_task_string");
        if (r < 0 || !read_job(item, user, comment, &job))
            continue;
        r = tasks[0] ? add_tasks(tasks, &job, &jobs, &n) : vrt_slurm_add(&jobs, &n, &job);
    }
    if (r < 0) {
        free(jobs);
        return vrt_refuse_errno(error, r, "slurmrestd's answer");
    }
    *ret_jobs = jobs;
    *ret_n = n;
    return 0;
}

/* The environment as it is wanted. Return: NULL: no memory. */
static json_t *environment_of(char *const *environment, enum vrt_slurm_shape shape)
{
    json_t *json = shape == VRT_SLURM_PLAIN ? json_object() : json_array();
    char name[256];

    for (; json && *environment; environment++) {
        const char *text = *environment, *value = strchr(text, '=');
        if (!value || value - text >= (int)sizeof(name) ||
            strncmp(text, token_variable, strlen(token_variable)) == 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(value - text), text);
        /* What isn't UTF-8 has no place in it, and stays out. */
        if (shape == VRT_SLURM_PLAIN)
            (void)!json_object_set_new(json, name, json_string(value + 1));
        else
            (void)!json_array_append_new(json, json_string(text));
    }
    return json;
}

static json_t *texts_of(const char *texts)
{
    json_t *json = json_array();
    size_t n;

    for (; json && *texts; texts += n + (texts[n] == ',')) {
        n = strcspn(texts, ",");
        (void)!json_array_append_new(json, json_stringn(texts, n));
    }
    return json;
}

/* What both shapes call alike. */
static json_t *common_of(const struct vrt_slurm_batch *batch, const char *output)
{
    const struct vrt_slurm_wants *wants = &batch->wants;

    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:i, s:s*, s:s*, s:s*, s:s*}",
                     "name", batch->name, "comment", batch->comment,
                     "current_working_directory", batch->folder, "standard_output", output,
                     "requeue", true, "tasks", 1, "array", batch->array,
                     "dependency", batch->dependency, "partition", wants->partition,
                     "account", wants->account);
}

static json_t *plain_of(const struct vrt_slurm_batch *batch)
{
    const struct vrt_slurm_wants *wants = &batch->wants;
    char gpus[24];

    snprintf(gpus, sizeof(gpus), "%" PRId64, wants->gpus);
    return json_pack("{s:[i, i], s:s, s:s*, s:s*, s:s*, s:s*, s:b}", "nodes", 1, 1,
                     "open_mode", "append", "time_limit", wants->time,
                     "exclude_nodes", wants->excluded, "gpus_per_node", wants->gpus ? gpus : NULL,
                     "exclusive", wants->whole_node ? "exclusive" : NULL,
                     "kill_on_invalid_dependency", batch->dependency != NULL);
}

static json_t *typed_of(const struct vrt_slurm_batch *batch, int64_t minutes)
{
    const struct vrt_slurm_wants *wants = &batch->wants;
    json_t *limit = !wants->time ? NULL :
                    json_pack("{s:b, s:b, s:I}", "set", minutes >= 0, "infinite", minutes < 0,
                              "number", (json_int_t)VRT_MAX(minutes, 0));
    char gpus[40];

    snprintf(gpus, sizeof(gpus), "gres/gpu:%" PRId64, wants->gpus);
    return json_pack("{s:i, s:i, s:[s], s:o*, s:o*, s:s*, s:o*, s:o*}", "minimum_nodes", 1,
                     "maximum_nodes", 1, "open_mode", "APPEND", "time_limit", limit,
                     "excluded_nodes", wants->excluded ? texts_of(wants->excluded) : NULL,
                     "tres_per_node", wants->gpus ? gpus : NULL,
                     "shared", wants->whole_node ? json_pack("[s]", "none") : NULL,
                     "flags", batch->dependency ? json_pack("[s]", "KILL_INVALID_DEPENDENCY") :
                     NULL);
}

int vrt_slurm_json_of_batch(const struct vrt_slurm_batch *batch, enum vrt_slurm_shape shape,
                            char *const *environment, json_t **ret_json, struct vrt_error *error)
{
    struct vrt_buf output = { .limit_bytes = 0 };
    const int64_t minutes = batch->wants.time ? vrt_slurm_minutes(batch->wants.time) : 0;

    if (minutes < -1)
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.slurm", "--time: expected minutes, "
                          "H:MM:SS or D-HH:MM, not %.100s", batch->wants.time);
    int r = vrt_slurm_output(batch, &output);
    json_t *job = r == 0 ? common_of(batch, output.data) : NULL;
    json_t *more = shape == VRT_SLURM_PLAIN ? plain_of(batch) : typed_of(batch, minutes);

    vrt_buf_done(&output);
    r = job && more ? json_object_update(job, more) : -1;
    json_decref(more);
    if (r == 0)
        r = json_object_set_new(job, "environment", environment_of(environment, shape));
    json_t *json = r == 0 ? json_pack("{s:s, s:O}", "script", batch->script, "job", job) : NULL;
    json_decref(job);
    if (!json)
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.slurm", "what is asked of Slurm "
                          "isn't all UTF-8, or there is no memory");
    *ret_json = json;
    return 0;
}
