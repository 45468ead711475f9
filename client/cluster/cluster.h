/* SPDX-License-Identifier: MIT */
#pragma once

/* What submit and the command cluster share. */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct vrt_cli;
struct vrt_film;
struct vrt_job_request;

/* What the command line gets wrong about --cluster. Return: enum vrt_exit. */
int vrt_cluster_check(const struct vrt_cli *cli);

/* Makes a film of what is asked, submits it, and says so. Return: 0; -errno with `error`. */
int vrt_cluster_submit(const struct vrt_cli *cli, const struct vrt_job_request *request,
                       struct vrt_error *error);

/* Shows how the film whose result is `path` gets on until it is over, `quiet`: only its end; what
 * Slurm has lost is submitted again, once. Return: enum vrt_exit; all was said. */
int vrt_cluster_follow(const struct vrt_cli *cli, const char *path, bool quiet);

/* Whether an operand can only be a file's path, and no job's number. Pure. */
bool vrt_cluster_is_path(const char *operand);

/*
 * Does to each film among the operands, in place of a job's number, what `vrtctl cluster WORD FILM`
 * does, and takes it off them. Where an operand is neither, nothing is done to any.
 * Return: whether something is left to do, for jobs; *ret_exit: enum vrt_exit, all was said.
 */
bool vrt_cluster_take(struct vrt_cli *cli, const char *word, int *ret_exit);

/* Lists the user's films in one of `states`, jobs' (commands/jobs.h), below those if `is_below`,
 * as the options of vrtctl list want it. Slurm is not asked. Return: whether there are any. */
bool vrt_cluster_list(const struct vrt_cli *cli, unsigned states, bool is_below);
