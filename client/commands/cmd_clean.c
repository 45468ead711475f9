/* SPDX-License-Identifier: MIT */
/* vrtctl clean: takes jobs that are over out of the list. Their results stay where they are. */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/commands/jobs.h"

/* Return: enum vrt_exit; everything was said. */
static int clean_one(struct vrt_cli *cli, long long id)
{
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%lld/forget", id);
    int r = vrt_conn_request(cli->conn, &(struct vrt_request){ .method = "POST", .path = path },
                             &json, &error);
    if (r == 0 && cli->args.json)
        vrt_cli_print_json(json);
    json_decref(json);
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : VRT_EXIT_OK;
}

static int run(struct vrt_cli *cli)
{
    VRT_CLEANUP(vrt_freep) long long *ids = NULL;
    /* What failed or was cancelled may be retried from where it got to: that is asked for. */
    unsigned states = vrt_jobs_states(cli, cli->args.state, 1U << VRT_JOB_DONE);
    int n = 0, n_removed = 0;

    if (!states)
        return VRT_EXIT_USAGE;
    if (!(states & VRT_JOBS_OVER) || states & ~VRT_JOBS_OVER)
        return vrt_cli_misused(cli, "--state: only jobs that are over can be removed: done, failed "
                               "or cancelled");
    if (cli->args.all && !cli->args.state)
        states = VRT_JOBS_OVER;
    cli->args.all |= cli->args.n_operands == 0;
    int exit = vrt_jobs_named(cli, states, "there is nothing to remove", &ids, &n);
    for (int i = 0; ids && i < n && exit != VRT_EXIT_UNREACHABLE; i++) {
        int one = clean_one(cli, ids[i]);
        n_removed += one == VRT_EXIT_OK;
        exit = one != VRT_EXIT_OK ? one : exit;
    }
    if (n_removed && !cli->args.json)
        printf("%d %s removed from the list\n", n_removed,
               n_removed == 1 ? "job was" : "jobs were");
    return exit;
}

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "all", 'a', VRT_OPTION_FLAG, offsetof(A, all),
      .help = "also jobs that failed or were cancelled: they can't be retried then" },
    { "state", 0, VRT_OPTION_TEXT, offsetof(A, state),
      .names = vrt_job_state_names, .argument = "STATES",
      .help = "those in such states, as failed,cancelled (default: done)" },
    { .name = NULL },
};
#undef A

const struct vrt_command vrt_command_clean = {
    .name = "clean",
    .operands = "[ID]...",
    .summary = "remove jobs from the list that are over; results stay",
    .options = options,
    .max_operands = 10000,
    .run = run,
};
