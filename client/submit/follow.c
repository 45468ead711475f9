/* SPDX-License-Identifier: MIT */

#include "client/submit/submit.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "client/control/handover.h"
#include "client/cluster/cluster.h"
#include "client/commands/jobs.h"
#include "client/watch/watch.h"

/* An output that we made and that a job left empty serves nobody. */
static void tidy_output(void *context, const struct vrt_job_info *job)
{
    const struct vrt_submissions *s = context;

    for (size_t i = 0; i < s->n_items; i++)
        if (s->items[i].id == job->id && job->state != VRT_JOB_DONE)
            vrt_file_remove_created(s->items[i].output, &s->items[i].file);
}

/* The daemon was restarted and has the job's files no more: here they are. */
static bool give_again(void *context, const struct vrt_job_info *job)
{
    struct vrt_submissions *s = context;
    const struct vrt_args *args = &s->cli->args;
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    size_t i = 0;
    int r;

    while (i < s->n_items && s->items[i].id != job->id)
        i++;
    vrt_assert(i < s->n_items);
    bool model_is_file = args->model && vrt_file_is_model_path(args->model);
    r = vrt_handover_send(s->cli, &(struct vrt_handover){
        .id = job->id,
        .verb = "resume",
        .input = s->pipes.has_input ? VRT_PIPES_INPUT_NAME :
                 s->items[i].folder.path ? s->items[i].folder.path : args->operands[i],
        .output = s->items[i].output,
        .input_fd = vrt_pipes_input_again(&s->pipes),
        .output_fd = vrt_pipes_output_again(&s->pipes),
        .model = model_is_file ? args->model : NULL,
        .reference = args->reference,
        .overwrite = args->overwrite,
    }, &json, &error);
    json_decref(json);
    if (r != 0)
        vrt_cli_complain(s->cli, NULL, &error);
    return r == 0;
}

static bool is_unwanted(void *context)
{
    struct vrt_submissions *s = context;

    return vrt_pipes_is_unwanted(&s->pipes);
}

/* Those that Slurm restores, one after the other: all go on meanwhile. Return: enum vrt_exit. */
static int follow_films(const struct vrt_submissions *s)
{
    int exit = VRT_EXIT_OK;

    for (size_t i = 0; i < s->n_items; i++) {
        const int one = s->items[i].is_submitted ?
                        vrt_cluster_follow(s->cli, s->items[i].output, false) : VRT_EXIT_OK;
        exit = one != VRT_EXIT_OK ? one : exit;
    }
    return exit;
}

int vrt_submissions_follow(struct vrt_submissions *s)
{
    struct vrt_cli *cli = s->cli;
    const bool is_piped = s->pipes.has_output || (s->pipes.has_input && !s->pipes.is_regular);
    VRT_CLEANUP(vrt_freep) long long *ids = calloc(s->n_items, sizeof(*ids));
    struct vrt_watch_params params = {
        .ids = ids,
        .say_how_to_cancel = !is_piped,
        .on_end = tidy_output,
        .on_needs_input = give_again,
        .is_unwanted = is_piped ? is_unwanted : NULL,
        .context = s,
    };

    if (cli->args.cluster)
        return follow_films(s);
    if (!ids) {
        struct vrt_error error = { 0 };
        const int r = vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "following the jobs");
        return vrt_cli_fail(cli, NULL, r, &error);
    }
    for (size_t i = 0; i < s->n_items; i++)
        if (s->items[i].id > 0)
            ids[params.n_ids++] = s->items[i].id;
    int exit = params.n_ids ? vrt_watch(cli, &params) : VRT_EXIT_OK;
    if (is_piped && params.n_ids && exit == VRT_EXIT_INTERRUPTED)
        vrt_jobs_cancel(cli, ids[0]);
    exit = params.n_ids ? vrt_pipes_finish(&s->pipes, cli, exit) : exit;
    for (size_t i = 0; exit == VRT_EXIT_OK && cli->args.preview && i < params.n_ids; i++)
        exit = vrt_jobs_preview(cli, ids[i], NULL);
    return exit;
}
