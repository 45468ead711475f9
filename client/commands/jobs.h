/* SPDX-License-Identifier: MIT */
#pragma once

/* The daemon's jobs, all of them: page by page, since a history may be long; and one of them. */

#include <stddef.h>

#include "client/cli.h"

struct json_t;

/* Sets of states: 1U << each enum vrt_job_state. */
#define VRT_JOBS_ANY (~0U)
#define VRT_JOBS_STRANGE (1U << 31)         /* a state of a later version */
#define VRT_JOBS_OVER (1U << VRT_JOB_DONE | 1U << VRT_JOB_FAILED | 1U << VRT_JOB_CANCELLED)

/*
 * Calls `take` with each job in one of `states`: with the daemon's object, and what it says.
 * Return: 0; VRT_CONN_E_*; -errno; what `take` returned, where that isn't 0. `error` tells why.
 */
int vrt_jobs_each(struct vrt_cli *cli, unsigned states,
                  int (*take)(void *ctx, struct json_t *json, const struct vrt_job_info *job),
                  void *ctx, struct vrt_error *error);

/*
 * The numbers that the operands are; with --all those of the user's own jobs in one of `states`,
 * which may be none: that was said then, as `nothing`.
 * Return: VRT_EXIT_OK, *ret_ids is the caller's (NULL: there are none); another enum vrt_exit, all
 * was said.
 */
int vrt_jobs_named(struct vrt_cli *cli, unsigned states, const char *nothing, long long **ret_ids,
                   int *ret_n);

/*
 * Has a picture made of before and after, of a job that is done and of the moment that --at names,
 * and says where it is: at `path`, else (NULL) beside the result. Return: enum vrt_exit; all was
 * said.
 */
int vrt_jobs_preview(struct vrt_cli *cli, long long id, const char *path);

/*
 * Whether that could be made beside the result at `output`, which needn't be there yet. Return: 0;
 * -errno with `error`.
 */
int vrt_jobs_check_preview(const struct vrt_cli *cli, const char *output, struct vrt_error *error);

/* Cancels a job, and says what becomes of it. Return: enum vrt_exit; all was said. */
int vrt_jobs_cancel(struct vrt_cli *cli, long long id);

/* "failed,done" as a set. NULL: `otherwise`. Return: 0: no state is called so, which was said. */
unsigned vrt_jobs_states(const struct vrt_cli *cli, const char *text, unsigned otherwise);
