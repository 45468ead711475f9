/* SPDX-License-Identifier: MIT */
#pragma once

/* What submit and the command cluster share. */

#include "base/error.h"

struct vrt_cli;
struct vrt_film;
struct vrt_job_request;

/* What the command line gets wrong about --cluster. Return: enum vrt_exit. */
int vrt_cluster_check(const struct vrt_cli *cli);

/* Makes a film of what is asked, submits it, and says so. Return: 0; -errno with `error`. */
int vrt_cluster_submit(const struct vrt_cli *cli, const struct vrt_job_request *request,
                       struct vrt_error *error);

/* Shows how the film whose result is `path` gets on until it is over; what Slurm has lost is
 * submitted again, once. Return: enum vrt_exit; all was said. */
int vrt_cluster_follow(const struct vrt_cli *cli, const char *path);
