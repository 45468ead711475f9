/* SPDX-License-Identifier: MIT */

#include "client/commands/jobs.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/conn.h"

/* What is done with each job of a page. */
struct page_taker {
    unsigned states;
    int (*take)(void *ctx, json_t *json, const struct vrt_job_info *job);
    void *ctx;
};

static int take_page(const json_t *page, const struct page_taker *taker, struct vrt_error *error)
{
    const json_t *jobs = json_object_get(page, "jobs");
    int r = 0;

    if (!json_is_array(jobs))
        return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                          "vrtd's answer holds no list of jobs");
    for (size_t i = 0; r == 0 && i < json_array_size(jobs); i++) {
        struct vrt_job_info job;
        if (vrt_job_info_decode(json_array_get(jobs, i), &job, error) < 0)
            return VRT_CONN_E_BROKEN;
        if (taker->states & (job.state >= 0 ? 1U << job.state : VRT_JOBS_STRANGE))
            r = taker->take(taker->ctx, json_array_get(jobs, i), &job);
        vrt_job_info_done(&job);
    }
    return r < 0 ? vrt_refuse_errno(error, r, "listing jobs") : r;
}

/* Behind which job the next page begins; 0: this was the last one. */
static int take_next(const json_t *page, long long *after, struct vrt_error *error)
{
    const json_t *next = json_object_get(page, "next");
    long long id = json_integer_value(next);

    /* One that doesn't lead on would be asked for again and again. */
    if (next && !json_is_null(next) && id <= *after)
        return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                          "vrtd's answer doesn't say where its list goes on");
    *after = id;
    return 0;
}

int vrt_jobs_each(struct vrt_cli *cli, unsigned states,
                  int (*take)(void *ctx, json_t *json, const struct vrt_job_info *job), void *ctx,
                  struct vrt_error *error)
{
    const struct page_taker taker = { states, take, ctx };
    long long after = 0;
    int r;

    do {
        json_t *page = NULL;
        r = vrt_conn_get(cli->conn, &page, error, "/v1/jobs?active=%s&after=%lld",
                         states & VRT_JOBS_OVER ? "false" : "true", after);
        if (r == 0)
            r = take_page(page, &taker, error);
        if (r == 0)
            r = take_next(page, &after, error);
        json_decref(page);
    } while (r == 0 && after > 0);
    return r;
}

struct numbers {
    long long *ids;
    int n, capacity;
};

/* Of others' jobs nobody but their owner and administrators learns the names. */
static int take_number(void *ctx, json_t *json, const struct vrt_job_info *job)
{
    struct numbers *numbers = ctx;

    (void)json;
    if (!job->input_name[0])
        return 0;
    if (numbers->n == numbers->capacity) {
        int capacity = numbers->capacity ? numbers->capacity * 2 : 64;
        long long *ids = reallocarray(numbers->ids, (size_t)capacity, sizeof(*ids));
        if (!ids)
            return vrt_raise(-ENOMEM);
        numbers->ids = ids;
        numbers->capacity = capacity;
    }
    numbers->ids[numbers->n++] = job->id;
    return 0;
}

int vrt_jobs_named(struct vrt_cli *cli, unsigned states, const char *nothing, long long **ret_ids,
                   int *ret_n)
{
    struct numbers numbers = { 0 };
    struct vrt_error error = { 0 };

    *ret_n = cli->args.n_operands;
    if (!cli->args.all)
        return vrt_cli_job_ids(cli, cli->args.n_operands, ret_ids);
    int r = vrt_jobs_each(cli, states, take_number, &numbers, &error);
    if (r != 0) {
        free(numbers.ids);
        return vrt_cli_fail(cli, NULL, r, &error);
    }
    if (numbers.n == 0 && !cli->args.json)
        puts(nothing);
    *ret_ids = numbers.ids;
    *ret_n = numbers.n;
    return VRT_EXIT_OK;
}

unsigned vrt_jobs_states(const struct vrt_cli *cli, const char *text, unsigned otherwise)
{
    unsigned states = 0;

    if (!text)
        return otherwise;
    for (const char *word = text;; word++) {
        char name[32], known[200] = "";
        size_t n = 0;
        int length = (int)strcspn(word, ",");
        snprintf(name, sizeof(name), "%.*s", length, word);
        int state = vrt_name_find(vrt_job_state_names, name);
        for (int i = 0; i < VRT_JOB_STATE_COUNT && n < sizeof(known); i++)
            n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "",
                                  vrt_job_state_names[i]);
        if (state == VRT_UNKNOWN) {
            vrt_cli_misused(cli, "--state: \"%s\" is no state; there are %s",
                            vrt_printable(name, name, sizeof(name)), known);
            return 0;
        }
        states |= 1U << state;
        word += length;
        if (!*word)
            return states;
    }
}
