/* SPDX-License-Identifier: MIT */
#pragma once

/* What submit --dry-run prints, and parts of it that show prints of a job, too. */

#include "base/error.h"

struct json_t;
struct vrt_cli;
struct vrt_job_recipe;

/* Prints the plan that the daemon answered with, its warnings on standard error. Return: 0;
 * VRT_CONN_E_BROKEN, see error; -errno. */
int vrt_plan_print(const struct vrt_cli *cli, const struct json_t *json, struct vrt_error *error);

/* Prints how the result is encoded: the codec, what it does so by, how well. */
void vrt_plan_print_encoding(const struct vrt_job_recipe *recipe);
